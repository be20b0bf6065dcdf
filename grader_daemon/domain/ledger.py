"""What became of every file: the memory that makes a lost queue harmless."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

BEHIND = timedelta(minutes=1)
"""A daemon that keeps up grades a file a moment after it is quiet: one where files wait for so long falls behind."""


class FileState(StrEnum):
    """What became of one file."""

    GRADED = "graded"
    SKIPPED = "skipped"
    RETRY = "retry"
    DEAD = "dead"


def ledger_path(path: str) -> str:
    """Return a path as the ledger keeps it: bytes that are not UTF-8 stand as hexadecimal escapes."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class FileStamp(msgspec.Struct, frozen=True, gc=False):
    """What `stat` says about a file's content; when any of it changes, the file is looked at again.

    A modification time can be set by any program, the change time (`ctime_ns`) only by the kernel.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


NOWHERE = FileStamp(0, 0, 0, 0, 0)
"""The stamp of a file that cannot be looked at."""


class LedgerEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row of `session_files`. `look_again_at` is when an unchanged file is due for another look."""

    path: str
    stamp: FileStamp
    state: FileState
    digest: str | None = None
    session_id: str | None = None
    reason: str | None = None
    attempts: int = 0
    look_again_at: datetime | None = None
    rules_version: str | None = None
