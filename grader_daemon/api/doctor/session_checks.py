"""Checks of where sessions come from: the folders of agents, the kernel's events, and what was given up."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader_daemon.api.doctor.check_words import some, span
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, problem, unknown, warning
from grader_daemon.domain.text import count
from grader_daemon.integrations.machine import has_launchd, inotify_limits, inotify_use, mount_of
from grader_daemon.setting_sources import setting_of
from grader_daemon.sources.discovery import closed_at, is_missing

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


def folders(context: DoctorContext) -> Finding:
    """Check that the watched folders are there, and may be read."""
    missing = [root for root in context.roots if is_missing(root)]
    expected = [root for root in missing if root in _named_folders(context.settings)]
    if expected:
        made = " ".join(shlex.quote(str(root)) for root in expected)
        given = context.settings.model_fields_set
        of_timmy = [root for root in expected if "watch_roots" not in given and root in context.settings.watch_roots]
        other = "or without Timmy: grader-daemon sources disable hermes" if of_timmy else "or set other folders"
        return problem(f"no such folder: {some(expected)}", f"mkdir -p {made}, {other}")
    closed = [root for root in context.roots if root not in context.folders and root not in missing]
    if closed:
        return problem(f"no permission to read: {some(closed)}", _opened(closed))
    below = [folder for survey in context.surveys.values() for folder in survey.unreadable]
    if below:
        return warning(
            f"{count(len(below), 'folder')} without read permission: {some(below)}", "give this user read permission"
        )
    number = sum(survey.folders for survey in context.surveys.values())
    awaited = f"; missing so far: {some(missing)}" if missing else ""
    watched = f"{count(number, 'folder')} at and below {some(context.folders)}" if context.folders else "no folder yet"
    return ok(f"{watched}{awaited}")


def file_systems(context: DoctorContext) -> Finding:
    """Check that the watched folders are on disks of this machine, so that the kernel tells of every write."""
    found = [(root, mount_of(root, context.mounts)) for root in context.roots]
    if any(mount is None for _, mount in found):
        return unknown("the kernel does not list its mounts")
    remote = [f"{root} ({mount.kind})" for root, mount in found if mount is not None and mount.is_remote]
    if remote:
        every = f"{context.settings.scan_seconds:g} s"
        return warning(
            f"files written by other machines are found only by scans, every {every} or less often: {some(remote)}",
            "run the daemon where the sessions are written, or set scan_seconds lower",
        )
    return ok(some(sorted({f"{mount.kind} at {mount.point}" for _, mount in found if mount is not None})))


def inotify(context: DoctorContext) -> Finding:
    """Check that the kernel allows every folder to be watched."""
    limits = inotify_limits()
    if has_launchd():
        return ok("FSEvents watch whole folders, without a limit")
    if limits is None:
        return unknown("the kernel does not show its limits")
    needed = sum(survey.folders for survey in context.surveys.values())
    used = inotify_use(besides=context.daemon_pid)
    if used.watches + needed > limits.watches:
        return warning(
            f"{needed:,} folders and {used.watches:,} watches of other programs, {limits.watches:,} allowed:"
            " folders without a watch are scanned every 2 s",
            f"sudo sysctl fs.inotify.max_user_watches={2 * (used.watches + needed)}",
        )
    if used.instances + len(context.folders) > limits.instances:
        return warning(
            f"{used.instances:,} instances of other programs, {limits.instances:,} allowed: folders are scanned"
            " every 2 s",
            f"sudo sysctl fs.inotify.max_user_instances={2 * limits.instances}",
        )
    others = f"other programs visible to it have {used.watches:,} and {used.instances:,}"
    return ok(f"{needed:,} of {limits.watches:,} watches, {limits.instances:,} instances; {others}")


def dead_files(context: DoctorContext) -> Finding:
    """Check whether there are files that could not be graded."""
    if not context.has_database:
        return ok("none")
    dead = [path for path in context.inspection.dead() if os.path.lexists(path)]
    waiting = context.store.file_counts().get("retry", 0)
    newest = next(
        (e for e in context.store.troubled_entries(limit=20) if e.state == ("dead" if dead else "retry")), None
    )
    why = f"; {newest.unit}: {newest.reason}" if newest is not None else ""
    if dead:
        again = "fix or remove them; grader-daemon doctor --repair retries each once"
        one = f"to retry one now: grader-daemon grade {shlex.quote(dead[0])}"
        return problem(f"{count(len(dead), 'file')} failed, {waiting:,} waiting for a retry{why}", f"{again}; {one}")
    return ok(f"none failed, {waiting:,} waiting for a retry{why if waiting else ''}")


def last_session(context: DoctorContext) -> Finding:
    """Check when the last session ended."""
    ended = context.store.grades.last_ended_at() if context.has_database else None
    if ended is None:
        return ok("no session is graded yet")
    return ok(f"{span(context.now - ended)} ago, {ended:%Y-%m-%d %H:%M} UTC")


def _opened(closed: Sequence[Path]) -> str:
    """Return what lets this user read folders."""
    places = dict.fromkeys(closed_at(str(folder)) or str(folder) for folder in closed)
    if all(os.stat(place).st_uid == os.geteuid() for place in places):
        return f"chmod u+rx {' '.join(map(shlex.quote, places))}"
    return "run it as the folder's owner"


def _named_folders(settings: Settings) -> set[Path]:
    """Return the folders that somebody named, and the one of Timmy, which is there from the start."""
    is_named = settings.model_fields_set | {"watch_roots"}
    return {root for name in settings.sources if setting_of(name) in is_named for root in settings.roots_of(name)}
