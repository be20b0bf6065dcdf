"""Feedback and labels to build tests of."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.feedback import Feedback, FeedbackSource, Label, Said
from grader_daemon.domain.verdict import VerdictBy
from tests.strategies import NOW, SESSION_ID, label


def feedback(number: int, **changes: object) -> Feedback:
    """Feedback that says that a session was completed, but for `changes`."""
    base = Feedback(
        id=number,
        session_id=SESSION_ID,
        given_at=NOW,
        given_by="timmy",
        completed=True,
        quality=None,
        note=None,
        source=FeedbackSource.LABEL,
        sampled=None,
        digest="d",
        completed_before=False,
        quality_before=3,
        verdict_before=VerdictBy.RULES,
        p_completed=None,
        withdraws=None,
    )
    return msgspec.structs.replace(base, **changes)


def withdrawal(number: int, of: int) -> Feedback:
    """Feedback that takes another one back."""
    return feedback(number, completed=None, withdraws=of)


def said(session_id: str = SESSION_ID, **changes: object) -> Said:
    """What a person says: not completed, but for `changes`."""
    base = Said(session_id=session_id, by="timmy", source=FeedbackSource.LABEL, completed=False)
    return msgspec.structs.replace(base, **changes)


def reviewed(**changes: object) -> Label:
    """A label that agrees with the automatic verdict, of a session drawn at random, but for `changes`."""
    return label(**{"source": FeedbackSource.REVIEW, "drawn_at_random": True, **changes})
