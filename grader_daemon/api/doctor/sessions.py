"""Checks of where sessions come from: the watched folders, the kernel's events, the agents, and what was given up."""

from __future__ import annotations

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path

from grader_daemon.api.doctor.context import DoctorContext
from grader_daemon.api.doctor.words import some, span
from grader_daemon.api.sources import ungraded_agents
from grader_daemon.domain.check import Finding, ok, problem, unknown, warning
from grader_daemon.integrations.machine import inotify_limits, inotify_use, mount_of
from grader_daemon.reports.numbers import count
from grader_daemon.sources.hermes.homes import HermesHome

_SEEN_APART_SECONDS = 3600.0
"""So much newer may the agent's database be than its newest session file: a turn may take long."""
_SET_SNAPSHOTS = 'below "sessions:" write the line "  write_json_snapshots: true" in'


def folders(context: DoctorContext) -> Finding:
    """Are the watched folders there, and may they be read?"""
    roots = context.settings.watch_roots
    missing = [root for root in roots if not root.is_dir()]
    if missing:
        made = " ".join(shlex.quote(str(root)) for root in missing)
        return problem(f"no such folder: {some(missing)}", f"mkdir -p {made}, or set watch_roots")
    closed = [root for root in roots if root not in context.folders]
    if closed:
        return problem(f"may not be read: {some(closed)}", "run it as the user whose folder it is")
    below = [folder for survey in context.surveys.values() for folder in survey.unreadable]
    if below:
        return warning(f"{count(len(below), 'folder')} may not be read: {some(below)}", "give this user the right to")
    number = sum(survey.folders for survey in context.surveys.values())
    return ok(f"{count(number, 'folder')} at and below {some(roots)}")


def file_systems(context: DoctorContext) -> Finding:
    """Are the watched folders on disks of this machine, so that the kernel tells of every write?"""
    found = [(root, mount_of(root, context.mounts)) for root in context.settings.watch_roots]
    if any(mount is None for _, mount in found):
        return unknown("the kernel does not tell its mounts")
    remote = [f"{root} ({mount.kind})" for root, mount in found if mount is not None and mount.is_remote]
    if remote:
        every = f"{context.settings.scan_seconds:g} s"
        return warning(
            f"what other machines write is found by scans alone, every {every} or less often: {some(remote)}",
            "run the daemon where the sessions are written, or set scan_seconds lower",
        )
    return ok(some(sorted({f"{mount.kind} at {mount.point}" for _, mount in found if mount is not None})))


def inotify(context: DoctorContext) -> Finding:
    """Does the kernel allow to watch every folder?"""
    limits = inotify_limits()
    if limits is None:
        return unknown("the kernel does not tell its limits")
    needed = sum(survey.folders for survey in context.surveys.values())
    used = inotify_use(besides=context.daemon_pid)
    if used.watches + needed > limits.watches:
        return warning(
            f"{needed:,} folders and {used.watches:,} watches of other programs, {limits.watches:,} allowed:"
            " what is not watched is scanned every 2 s",
            f"sudo sysctl fs.inotify.max_user_watches={2 * (used.watches + needed)}",
        )
    if used.instances + len(context.folders) > limits.instances:
        return warning(
            f"{used.instances:,} instances of other programs, {limits.instances:,} allowed: folders are scanned"
            " every 2 s",
            f"sudo sysctl fs.inotify.max_user_instances={2 * limits.instances}",
        )
    others = f"other programs have {used.watches:,} and {used.instances:,}"
    return ok(f"{needed:,} of {limits.watches:,} watches, {limits.instances:,} instances; {others}")


def agents(context: DoctorContext) -> Finding:
    """Does every agent leave session files, and in a watched folder?"""
    homes = [home for survey in context.surveys.values() for home in survey.homes]
    silent = [home for home in homes if _works_unseen(home)]
    if silent:
        return _silence(silent[0], context)
    ungraded = ungraded_agents(context.settings)
    if ungraded:
        told = [f"{each.title}, {count(each.sessions, 'session')} in {each.path}" for each in ungraded]
        return warning(f"not graded: {some(told)}", ungraded[0].fix)
    return ok(f"{count(len(homes), 'home')} of Hermes: {some([home.path for home in homes])}" if homes else "none seen")


def dead_files(context: DoctorContext) -> Finding:
    """Are there files that could not be graded?"""
    if not context.has_database:
        return ok("none")
    dead = [path for path in context.inspection.dead() if os.path.lexists(path)]
    waiting = context.store.file_counts().get("retry", 0)
    newest = next(
        (e for e in context.store.troubled_entries(limit=20) if e.state == ("dead" if dead else "retry")), None
    )
    why = f"; {newest.unit}: {newest.reason}" if newest is not None else ""
    if dead:
        again = "correct or remove them; grader-daemon doctor --repair tries each once more"
        one = f"one of them now: grader-daemon grade {shlex.quote(dead[0])}"
        return problem(f"{count(len(dead), 'file')} given up, {waiting:,} to be tried again{why}", f"{again}; {one}")
    return ok(f"none given up, {waiting:,} to be tried again{why if waiting else ''}")


def last_session(context: DoctorContext) -> Finding:
    """When did the last session end?"""
    ended = context.store.grades.last_ended_at() if context.has_database else None
    if ended is None:
        return ok("no session is graded yet")
    return ok(f"{span(context.now - ended)} ago, {ended:%Y-%m-%d %H:%M} UTC")


def _works_unseen(home: HermesHome) -> bool:
    return home.newest_session is None or home.worked_at - home.newest_session > _SEEN_APART_SECONDS


def _silence(home: HermesHome, context: DoctorContext) -> Finding:
    """An agent works and no session file shows it."""
    worked = span(context.now - datetime.fromtimestamp(home.worked_at, UTC))
    newest = "none yet"
    if home.newest_session is not None:
        newest = f"the newest is {span(context.now - datetime.fromtimestamp(home.newest_session, UTC))} old"
    found = f"Hermes in {home.path} worked {worked} ago and leaves no session files ({newest})"
    if home.writes_snapshots:
        return problem(found, "its config.yaml asks for them: use Hermes 0.13 to 0.19, newer ones write none")
    return problem(found, f"{_SET_SNAPSHOTS} {Path(home.path) / 'config.yaml'} (Hermes 0.15 to 0.19)")
