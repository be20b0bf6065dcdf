"""Units in trouble by what happened to us, not by what is in them: a bug of ours, an end while they were read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.text import storable
from grader_daemon.domain.unit import NOWHERE, Found, Unit
from grader_daemon.pipeline.examine import Examined, Examiner, TroubledUnit
from grader_daemon.sources.protocol import Sources

ENDED_THE_DAEMON = "the daemon crashed while it read this file"

OnBug = Callable[[Unit, Exception], None]
"""Callback with the unit that we fail on, and the error."""


def examine_any(
    examiner: Examiner,
    unit: Unit,
    *,
    now: datetime,
    known: LedgerEntry | None = None,
    on_bug: OnBug = lambda _, __: None,
) -> Examined:
    """Examine a unit whatever happens: one that we fail on by a bug of ours is told to `on_bug`, and in trouble."""
    try:
        return examiner.examine(unit, now=now, known=known)
    except Exception as error:  # noqa: BLE001  told with its traceback
        on_bug(unit, error)
        return bug_with(unit, error, examiner.sources, hope=True)


def bug_with(unit: Unit, error: Exception, sources: Sources, *, hope: bool) -> TroubledUnit:
    """Return a unit that we fail on by a bug of ours; `hope`: it may lie in what its source remembers now."""
    return trouble_with(unit, f"internal error: {type(error).__name__}: {error}", sources, hope=hope)


def trouble_with(unit: Unit, error: str, sources: Sources, *, hope: bool) -> TroubledUnit:
    """Return a unit that cannot be graded now; `hope` says whether trying again can help."""
    stamp, written_ns = NOWHERE, 0
    with suppress(Exception):  # it is in trouble already, whatever is wrong with it
        seen = sources.look(unit)
        stamp, written_ns = seen.stamp, seen.written_ns
    return TroubledUnit(found=Found(unit.storable(), stamp, written_ns), error=storable(error), hope=hope)
