"""Size that the index of messages would have, before there is one."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import Final

from grader_daemon.api.context import GraderContext
from grader_daemon.messages.store import sessions_since

_LOOKED_AT: Final = 200
_OF_A_BYTE: Final = 0.5
"""Bytes of the index for one of a session's file: see docs/message-search.md."""
_LEAST: Final = 2_000


def expected_bytes(context: GraderContext, *, days: int) -> tuple[int, int]:
    """Return about how many bytes the index of so many days would have, and of how many sessions.

    Raises:
        NoDatabaseError: nothing was graded yet.
    """
    rows = sessions_since(context.store, context.now() - timedelta(days=days))
    looked_at = [path for _, _, path in rows[:_LOOKED_AT]]
    written = sum(map(_size, set(looked_at)))  # one file may hold many sessions
    each = max(_LEAST, _OF_A_BYTE * written / len(looked_at)) if looked_at else 0
    return int(each * len(rows)), len(rows)


def _size(path: str) -> int:
    with suppress(OSError, ValueError):
        return os.stat(path).st_size
    return 0
