"""Files in trouble by what happened to us, not by what is in them: a bug of ours, an end while they were read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from grader_daemon.domain.ledger import NOWHERE, LedgerEntry, ledger_path
from grader_daemon.domain.text import storable
from grader_daemon.errors import ReadError
from grader_daemon.pipeline.examine import Examined, Examiner, TroubledFile
from grader_daemon.sources.reading import look_at, stamp_of

ENDED_THE_DAEMON = "the daemon ended while it read this file"

OnBug = Callable[[str, Exception], None]
"""Is told the path of a file that we fail on, and how."""


def examine_any(
    examiner: Examiner,
    path: str,
    *,
    now: datetime,
    known: LedgerEntry | None = None,
    on_bug: OnBug = lambda _, __: None,
) -> Examined:
    """Examine a file whatever happens: one that we fail on by a bug of ours is told to `on_bug`, and in trouble."""
    try:
        return examiner.examine(path, now=now, known=known)
    except Exception as error:  # noqa: BLE001  told with its traceback
        on_bug(path, error)
        return bug_with(path, error)


def bug_with(path: str, error: Exception) -> TroubledFile:
    """Give a file that we fail on by a bug of ours; trying again is of no use."""
    return trouble_with(path, f"internal error: {type(error).__name__}: {error}", hope=False)


def trouble_with(path: str, error: str, *, hope: bool) -> TroubledFile:
    """Give a file that cannot be graded now; `hope` says whether trying again can help."""
    try:
        stamp = stamp_of(look_at(path))
    except ReadError:
        stamp = NOWHERE
    return TroubledFile(path=ledger_path(path), stamp=stamp, error=storable(error), hope=hope)
