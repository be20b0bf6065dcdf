"""When a periodic job may run. Pure: times in, times out.

A job itself says whether something is missing; this only keeps a job that fails from being tried all the time. A clock
that went back does not stop a job: what ended in the future ended long ago.
"""

from __future__ import annotations

from datetime import datetime, timedelta

PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240))
"""After the first failure, the second, and so on; the last one for all that follow."""


def may_run(*, failures: int, ended_at: datetime | None, now: datetime) -> bool:
    """May a job run that failed `failures` times in a row, the last time at `ended_at`?"""
    if not failures or ended_at is None or ended_at > now:
        return True
    return now - ended_at >= pause_after(failures)


def pause_after(failures: int) -> timedelta:
    """Give the pause after so many failures in a row, at least one."""
    return PAUSES[min(failures, len(PAUSES)) - 1]
