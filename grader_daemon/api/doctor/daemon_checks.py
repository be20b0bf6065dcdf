"""Checks of the daemon: does it run, does it move, will it after the next boot, and does its scorer answer?

The scorer is not called for that; what it said last tells.
"""

from __future__ import annotations

import getpass
from datetime import datetime, timedelta

from grader_daemon.api.doctor.check_words import span
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.api.status import how_to_run
from grader_daemon.domain.check import Finding, ok, problem, unknown, warning
from grader_daemon.domain.text import count
from grader_daemon.integrations.machine import has_launchd, has_systemd, lingers, unit_file
from grader_daemon.storage.records import DaemonStatus

_LONGEST_SILENCE = timedelta(hours=2)
"""The daemon says how it stands after every scan, which is at most an hour apart unless `scan_seconds` is more."""
_INSTALL = "grader-daemon service install"


def daemon(context: DoctorContext) -> Finding:
    """Check that a daemon runs on this database, and said so lately."""
    if not context.is_running:
        return warning("the daemon does not run; new sessions wait on disk until it does", how_to_run())
    said = f"it runs, pid {context.daemon_pid or 'unknown'}"
    status = context.status
    if status is None or status.pid != context.daemon_pid:
        return ok(f"{said}, and has not reported its progress yet")
    silent = context.now - status.said_at
    said = f"{said}, {count(status.backlog, 'file')} waiting as of {span(silent)} ago"
    longest = max(_LONGEST_SILENCE, timedelta(seconds=2 * context.settings.scan_seconds))
    if silent > longest:
        return problem(f"{said}, and has reported nothing since", "read the daemon's log, and restart the daemon")
    return _of_status(said, status, now=context.now, longest=longest)


def _of_status(said: str, status: DaemonStatus, *, now: datetime, longest: timedelta) -> Finding:
    """Return what is wrong by what the daemon says of itself, the worst first."""
    if status.failing:
        failures = sum(status.failures.get(source, 0) for source in status.failing)
        return problem(
            f"{said}; {', '.join(status.failing)} cannot be read completely (a bug), {count(failures, 'failure')}",
            "look for source.failed in its log, report the bug, and restart the daemon",
        )
    since = now - (status.compared_at or status.started_at)
    if since > longest:
        return warning(f"{said}; no complete scan of the folders for {span(since)}", "look at its log")
    if status.longest_wait is not None:
        return warning(
            f"{said}, the oldest for {span(status.longest_wait)}: sessions arrive faster than they are graded",
            "use top to find other programs that keep CPU and disk busy",
        )
    if status.blind:
        root, why = next(iter(status.blind.items()))
        return warning(f"{said}; {root} is scanned, not watched: {why}", "see the doctor checks folders and inotify")
    failed = ", ".join(f"{source} {number:,}" for source, number in sorted(status.failures.items()))
    return ok(f"{said}; failures since its start: {failed}" if failed else said)


def service(context: DoctorContext) -> Finding:
    """Check that the daemon is a service that starts by itself."""
    if not has_systemd() and not has_launchd():
        return ok("this machine was not booted with systemd; start the daemon with your own supervisor")
    if context.home is None:
        return unknown("the home directory is unknown", "set HOME")
    unit = unit_file(context.home)
    if not unit.exists():
        return warning("not installed: the daemon does not start automatically", _INSTALL)
    if has_launchd():
        return ok(f"installed ({unit}), and runs while you are logged in")
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        return unknown("this user's name is unknown")
    linger = lingers(user)
    if linger is None:
        return unknown(f"installed ({unit}); whether it runs without a login is unknown")
    if not linger:
        return warning(f"installed ({unit}), but it stops when {user} logs out", f"sudo loginctl enable-linger {user}")
    return ok(f"installed ({unit}), and runs without a login")
