"""Judgement of an external scorer on the quality of a session's answer, beside that of the rules."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

LEAST, MOST = 1.0, 5.0
"""The scale of `response_quality`, which scorers answer on."""


class CheckOutcome(StrEnum):
    """Result of a call to a scorer.

    `ASKED` has not ended, or nobody saw its end. `NO_ANSWER` is about the session: asking again is of no use.
    `UNAVAILABLE` is about the scorer, whatever the session.
    """

    ASKED = "asked"
    ANSWERED = "answered"
    NO_ANSWER = "no_answer"
    UNAVAILABLE = "unavailable"


class QualityCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a scorer. `quality` is its answer, 1 to 5; `ours` is what was graded automatically.

    `discrepancy` is how far they lie apart, 0 to 4. `digest` is that of the file that was judged. Without an answer
    `error` says in one line why.
    """

    id: int
    session_id: str
    scorer: str
    checked_at: datetime
    digest: str | None
    outcome: CheckOutcome
    quality: float | None
    ours: int
    discrepancy: float | None
    error: str | None
