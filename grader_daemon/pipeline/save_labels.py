"""Labels of people: save them, and lay those that stand over the grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.feedback import (
    NOTHING_SAID,
    Candidate,
    Feedback,
    FeedbackSource,
    FleetLabel,
    Label,
    Said,
    Sampling,
    Standing,
    apply_override,
    feedback_on,
    standing_by_session,
    to_label,
)
from grader_daemon.errors import InputError
from grader_daemon.pipeline.saving import save_verdicts
from grader_daemon.storage.records import ChangeKind
from grader_daemon.storage.sqlite.store import SqliteStore

_MOST_CANDIDATES: Final = 5_000


def add_feedback(store: SqliteStore, said: Sequence[Said], *, now: datetime) -> list[Feedback]:
    """Keep what people say of graded sessions, of each once, and let it stand; call it inside a transaction.

    Raises:
        InputError: one of them has no grade that we made.
    """
    known = store.grades.stored([each.session_id for each in said])
    for each in said:
        if each.session_id not in known or not known[each.session_id].detailed:
            raise InputError(f"session {each.session_id!r} has no grade from this program, so it cannot be labelled")
    given = [
        store.feedback.add(feedback_on(of.grade, each, digest=of.digest, now=now))
        for each in said
        for of in (known[each.session_id],)
    ]
    store.changes.note(ChangeKind.LABEL, list(known))
    stand = standing_of(store, list(known))
    grades = [old.grade for old in known.values()]
    save_verdicts(store, [(old, apply_override(old, stand.get(old.session_id, NOTHING_SAID))) for old in grades])
    return given


def keep_rewards(store: SqliteStore, rewards: Mapping[str, float], *, now: datetime) -> None:
    """Keep the rewards of those sessions that are graded as labels, unless that was done; call it in a transaction.

    1 and more is a task that was done, 0 and less one that was not. What is between says neither, and takes back what
    an earlier reward of the session said. One that a person took back is not said again.
    """
    stored = store.grades.stored(list(rewards))
    known = {session_id: of for session_id, of in stored.items() if of.detailed}
    given: dict[str, list[Feedback]] = {}
    for each in store.feedback.said(list(known)):
        given.setdefault(each.session_id, []).append(each)
    found = [
        _as_label(session_id, rewards[session_id], digest=of.digest, given=given.get(session_id, []))
        for session_id, of in known.items()
    ]
    add_feedback(store, [said for said in found if said is not None], now=now)


def take_labels(store: SqliteStore, given: Sequence[FleetLabel]) -> None:
    """Keep what people said elsewhere in a fleet, unless it is kept, and let it stand; call it inside a transaction.

    What is said of sessions that have no grade of ours any more is passed over.
    """
    for label, said in _new(store, given):
        add_feedback(store, [said], now=label.given_at)


def note_labels(store: SqliteStore, given: Sequence[FleetLabel]) -> None:
    """Keep what the grades of a copy of a fleet say already; else as `take_labels`."""
    for label, said in _new(store, given):
        of = store.grades.stored([label.session_id])[label.session_id]
        store.feedback.add(feedback_on(of.grade, said, digest=of.digest, now=label.given_at))


def _new(store: SqliteStore, given: Sequence[FleetLabel]) -> Iterator[tuple[FleetLabel, Said]]:
    """Yield what is not kept, in order."""
    for label in given:
        kept = store.feedback.said([label.session_id])
        graded = store.grades.stored([label.session_id]).get(label.session_id)
        if graded is None or not graded.detailed or _find(kept, label.given_by, label.given_at) is not None:
            continue
        withdrawn = _find(kept, label.withdraws_by, label.withdraws)
        if label.withdraws is None or withdrawn is not None:
            yield label, _as_said(label, withdrawn)


def _find(kept: Sequence[Feedback], by: str | None, at: datetime | None) -> int | None:
    return next((each.id for each in kept if each.given_by == by and each.given_at == at), None)


def _as_said(label: FleetLabel, withdrawn: int | None) -> Said:
    return Said(
        session_id=label.session_id,
        by=label.given_by,
        source=FeedbackSource.FLEET,
        completed=label.completed,
        quality=label.quality,
        note=label.note,
        withdraws=withdrawn,
    )


def _as_label(session_id: str, reward: float, *, digest: str | None, given: Sequence[Feedback]) -> Said | None:
    """Return what a reward says of a session of which this was `given`, in this order; None where that says it."""
    said = Said(session_id=session_id, by=FeedbackSource.REWARD, source=FeedbackSource.REWARD)
    before = next((each for each in reversed(given) if each.source is FeedbackSource.REWARD), None)
    if not 0 < reward < 1:
        completed = reward >= 1
        if before is not None and before.completed is completed:
            is_taken_back = any(each.withdraws == before.id for each in given)
            if is_taken_back or before.digest == digest:
                return None
        return msgspec.structs.replace(said, completed=completed, note=f"reward {reward:g}")
    if before is None or before.completed is None:
        return None
    return msgspec.structs.replace(said, withdraws=before.id)


def standing_of(store: SqliteStore, session_ids: Sequence[str]) -> dict[str, Standing]:
    """Return what stands of what was said of those of `session_ids` of which anything ever was."""
    return standing_by_session(store.feedback.said(session_ids))


def labels(store: SqliteStore, session_ids: Sequence[str] | None = None) -> list[Label]:
    """Return the labels that stand, of some sessions or of all, in the order in which they were given."""
    said = standing_by_session(store.feedback.said(session_ids))
    found = [(said[session.session_id].last, session) for session in store.feedback.judged(session_ids)]
    stand = sorted(((last, session) for last, session in found if last is not None), key=lambda each: each[0].id)
    return [to_label(said[session.session_id], last, session) for last, session in stand]


def reviews_since(store: SqliteStore, moment: datetime) -> list[Feedback]:
    """Return the last answer on each session that was judged in reviews since then, and not taken back."""
    said = standing_by_session(store.feedback.said_of_reviewed(moment))
    lasts = [each.last for each in said.values() if each.last is not None]
    return [last for last in lasts if last.source is FeedbackSource.REVIEW and last.given_at >= moment]


def is_turn_of_chance(store: SqliteStore) -> bool:
    """Return whether the next question should be drawn by chance: half of those that were answered are."""
    given = [each.last for each in standing_by_session(store.feedback.said()).values() if each.last is not None]
    drawn = [last.sampled is Sampling.RANDOM for last in given if last.source is FeedbackSource.REVIEW]
    return 2 * sum(drawn) <= len(drawn)


def candidates(store: SqliteStore, *, since: datetime | None) -> list[Candidate]:
    """Return the finished sessions with scores that ended since then, or ever, and of whose completion nobody speaks.

    The newest 5,000 at most.
    """
    said = standing_by_session(store.feedback.said())
    judged = {session_id for session_id, stands in said.items() if stands.completed is not None}
    found = store.feedback.finished(since=since, limit=_MOST_CANDIDATES + len(judged))
    return [each for each in found if each.session_id not in judged][:_MOST_CANDIDATES]
