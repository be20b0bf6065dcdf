"""What became of every unit: the memory that makes a lost queue harmless."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from grader_daemon.domain.unit import Stamp, Unit

BEHIND = timedelta(minutes=1)
"""A daemon that keeps up grades a file a moment after it is quiet: one where files wait for so long falls behind."""


class FileState(StrEnum):
    """What became of one unit."""

    GRADED = "graded"
    SKIPPED = "skipped"
    RETRY = "retry"
    DEAD = "dead"


class LedgerEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row of `session_files`. `look_again_at` is when an unchanged unit is due for another look.

    For `written_ns` see `Found`.
    """

    unit: Unit
    stamp: Stamp
    written_ns: int
    state: FileState
    digest: str | None = None
    session_id: str | None = None
    reason: str | None = None
    attempts: int = 0
    look_again_at: datetime | None = None
    rules_version: str | None = None
