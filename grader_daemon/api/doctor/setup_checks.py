"""Checks of what stands before any session: settings, rules, clock, time zone, SQLite."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.api.permissions import exposed_configuration
from grader_daemon.domain.calendar import local
from grader_daemon.domain.check import Finding, ok, problem, warning
from grader_daemon.errors import ConfigurationError, GraderError
from grader_daemon.integrations.packages import how_to_add
from grader_daemon.rules import load_rules
from grader_daemon.setting_sources import unknown_zone
from grader_daemon.storage.maintenance.inspection import is_wal_reset_fixed, sqlite_version
from grader_daemon.storage.sqlite.rows import to_moment

_FIRST_YEAR = 2024
"""No session of an agent that this program knows is older."""
_AHEAD = timedelta(days=1)


def settings(context: DoctorContext) -> Finding:
    """Check that the settings can be read."""
    try:
        given = context.settings
    except ConfigurationError as error:
        if isinstance(error.__cause__, PermissionError):
            return problem(str(error), "give yourself the right to read it, or run this as its owner")
        return problem(str(error), "correct it there; grader-daemon config show lists every setting")
    file = given.given.file
    source = f"{file} is read" if file.is_file() else f"there is no {file}"
    exposed = exposed_configuration(given)
    if exposed:
        runs = (
            f", which names programs that run with your permissions ({', '.join(given.runners)})"
            if given.runners
            else ""
        )
        tell = problem if given.runners else warning
        return tell(f"other users can write to {exposed[0].path} (mode {exposed[0].mode}){runs}", exposed[0].fix)
    if given.warnings:
        return warning("; ".join(given.warnings), "correct it there")
    changed = len(given.given.sources)
    return ok(f"{changed} of {len(given.names)} settings are set, all others have their default; {source}")


def rules(context: DoctorContext) -> Finding:
    """Check that the rules can be read."""
    file = context.settings.rules_file
    try:
        version = load_rules(file).version
    except ConfigurationError as error:
        return problem(str(error), "correct the file, or unset rules_file")
    return ok(f"version {version}, {'as shipped' if file is None else f'with your rules from {file}'}")


def clock(context: DoctorContext) -> Finding:
    """Check that the clock is set, and goes forwards."""
    fix = "set the clock, for example: sudo timedatectl set-ntp true"
    if context.now.year < _FIRST_YEAR:
        return problem(f"the clock says {context.now:%Y-%m-%d}, before any session", fix)
    said = f"{context.now:%Y-%m-%d %H:%M} UTC"
    seen = None
    with suppress(GraderError, OSError):  # of a database that cannot be read, the check database tells
        seen = to_moment(context.inspection.last_seen_at(context.sampled_day))
    if seen is not None and seen > context.now + _AHEAD:
        return warning(f"{said}, but a file was seen at {seen:%Y-%m-%d %H:%M}: the clock was set back", fix)
    return ok(said)


def time_zone(context: DoctorContext) -> Finding:
    """Check that the person's time zone is known."""
    zone = context.settings.zone
    offset = f"{local(context.now, zone):%H:%M} there now"
    if zone is not None:
        return ok(f"{context.settings.timezone}, by the setting timezone; {offset}")
    for words in unknown_zone():
        return warning(words, "set timezone, or correct TZ")
    return ok(f"{local(context.now, None):%Z}, the machine's; {offset}")


def sqlite(_: DoctorContext) -> Finding:
    """Check that this SQLite keeps a database whole which several programs write."""
    version = sqlite_version()
    flaw = "the bug in 3.7.0 to 3.51.2 that can damage a database used by two programs"
    if not is_wal_reset_fixed(version):
        return problem(f"{version} has {flaw}", how_to_add("apsw>=3.51.3"))
    return ok(f"{version}, from apsw, without {flaw}")
