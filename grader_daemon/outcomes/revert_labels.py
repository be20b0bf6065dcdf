"""A revert as a label: the task was not done. It is taken back where the work stands again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from grader_daemon.domain.feedback import Feedback, FeedbackSource, Said
from grader_daemon.outcomes.model import SeenFate
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.storage.sqlite.store import SqliteStore

_BY: Final = "git"
_SHOWN: Final = 7


def keep_revert(store: SqliteStore, session_id: str, fate: SeenFate, *, now: datetime) -> None:
    """Keep what a fate says of completion as a label, unless that was done; call it inside a transaction.

    A label of a revert that a person took back is not given again.
    """
    said = revert_said(session_id, fate, store.feedback.said([session_id]))
    if said is not None:
        add_feedback(store, [said], now=now)


def revert_said(session_id: str, fate: SeenFate, given: Sequence[Feedback]) -> Said | None:
    """Return what is to be said of a session of which this was `given`, in this order; None where all is said."""
    withdrawn = {each.withdraws for each in given}
    ours = [each for each in given if each.source is FeedbackSource.REVERT and each.withdraws is None]
    standing = next((each for each in ours if each.id not in withdrawn), None)
    if not fate.is_reverted:
        if standing is None:
            return None
        return Said(session_id=session_id, by=_BY, source=FeedbackSource.REVERT, withdraws=standing.id)
    note = f"reverted by {fate.reverted[0].by[:_SHOWN]}"
    if standing is not None or any(each.note == note and _is_by_person(each, given) for each in ours):
        return None
    return Said(session_id=session_id, by=_BY, source=FeedbackSource.REVERT, completed=False, note=note)


def _is_by_person(label: Feedback, given: Sequence[Feedback]) -> bool:
    """Return whether a person took a label back, whatever was done since."""
    return any(each.withdraws == label.id and each.source is not FeedbackSource.REVERT for each in given)
