"""Sizes, spans and lists as the doctor says them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from grader_daemon.errors import StoreError
from grader_daemon.integrations.machine import holders

_SHOWN = 3
UPGRADE = "grader-daemon run --once, which keeps a copy; to see the changes first: grader-daemon grade --again --diff"
EARLIER = "not checked: the database is from an earlier version of grader-daemon"


def size(count: int) -> str:
    """Return a number of bytes: "512 bytes", "9.8 MB"."""
    for limit, unit in ((1_000_000, "kB"), (1_000_000_000, "MB"), (10**12, "GB"), (10**15, "TB")):
        if limit > count >= limit // 1000:
            return f"{1000 * count / limit:.3g} {unit}"
    return f"{count:,} bytes"


def span(time: timedelta) -> str:
    """Return a span of time: "4 s", "12 min", "5 h", "3 days"; one that is negative as none.

    Days are whole ones that passed, as in `status`.
    """
    seconds = max(0.0, time.total_seconds())
    for limit, length, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{time.days:,} days"


def some(names: Sequence[object]) -> str:
    """Return the names of the first few of many."""
    shown = ", ".join(str(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"


def reason(error: StoreError, database: Path) -> str:
    """Return what is wrong with the database, without its name and without what to do."""
    return str(error).removeprefix(f"database {database}: ").partition("; ")[0]


def who_holds(database: Path) -> str:
    """Return the programs that have the database open, as the end of a sentence; nothing if none is seen."""
    held = [f"{holder.program} (pid {holder.pid})" for holder in holders(database)]
    return f"; it is open in {some(held)}" if held else ""
