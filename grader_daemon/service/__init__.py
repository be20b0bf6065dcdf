"""Background services of the user: install, status, removal.

Each is a value, a `unit_value.Unit`, and stands in the table UNITS: the daemon's here, the others in `wings`.
`install.UserService` has systemd run any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grader_daemon.wings import imported, units

if TYPE_CHECKING:
    from grader_daemon.service.unit_value import Unit

UNITS: Final = {"daemon": "grader_daemon.service.daemon_unit:DAEMON", **units()}
"""Place of each unit by its name."""


def named(name: str) -> Unit:
    """Return a unit of the table."""
    unit: Unit = imported(UNITS[name])
    return unit


def without_systemd() -> str:
    """Return advice on how to run the same where systemd does not."""
    *others, last = (f"`{named(name).foreground}`" for name in UNITS)
    return f"run {', '.join(others)} or {last} in the foreground or under your own supervisor"
