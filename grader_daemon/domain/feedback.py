"""Feedback of people on grades. It is added and taken back by more of it, never changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import Outcome, VerdictBy

FEWEST_DRAWN: Final = 20
"""Fewest judged random draws for which a rate of completion is told."""

FEWEST_REVIEWS: Final = 10
"""Fewest judged random draws that correct anything."""


class FeedbackSource(StrEnum):
    """Origin of feedback: a person here or elsewhere in a fleet, a run's verifier, or a revert in the repository."""

    LABEL = "label"
    CSV = "csv"
    REVIEW = "review"
    API = "api"
    REWARD = "reward"
    REVERT = "revert"
    FLEET = "fleet"


NOBODYS_WORD: Final = {FeedbackSource.REWARD: VerdictBy.REWARD, FeedbackSource.REVERT: VerdictBy.REVERT}
"""Origins of feedback that no person gave, and whose verdict it is then."""


class Sampling(StrEnum):
    """Reason why `label` asked about a session."""

    RANDOM = "random"
    UNCERTAIN = "uncertain"


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback on one session by a person, a run's verifier or a repository, and the state before.

    `completed` and `quality` (1 to 5) are None if not judged. `digest` is the digest of the judged file: a session that
    has continued since counts as another one for training. `withdraws` is the id of the feedback that this one
    withdraws.
    """

    id: int
    session_id: str
    given_at: datetime
    given_by: str
    completed: bool | None
    quality: int | None
    note: str | None
    source: FeedbackSource
    sampled: Sampling | None
    digest: str | None
    completed_before: bool
    quality_before: int
    verdict_before: VerdictBy
    p_completed: float | None
    withdraws: int | None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback that is not saved yet."""

    session_id: str
    by: str
    source: FeedbackSource
    completed: bool | None = None
    quality: int | None = None
    note: str | None = None
    sampled: Sampling | None = None
    withdraws: int | None = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Result of all the feedback on a session.

    `completed` and `quality` are the feedback whose word on it counts, `last` is what would be taken back first; all
    are None where nobody says anything. `drawn_at_random` says that `label` once asked for the session by chance.
    """

    completed: Feedback | None = None
    quality: Feedback | None = None
    last: Feedback | None = None
    drawn_at_random: bool = False


NOTHING_SAID = Standing()


class FleetLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A person's label on a session of a host, given there or elsewhere in a fleet.

    `given_at` is by the clock of the host, or else of the fleet's database. `withdraws` and `withdraws_by` are when and
    by whom that was said which is taken back by it; None where nothing is. See `Feedback`.
    """

    host: str
    session_id: str
    given_by: str
    given_at: datetime
    completed: bool | None = None
    quality: int | None = None
    note: str | None = None
    withdraws: datetime | None = None
    withdraws_by: str | None = None


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a person judged, with the data to learn from.

    Attributes:
        completed: whether the task was done, by all feedback together; None if nobody says.
        quality: 1 to 5, by all feedback together; None if nobody says.
        given_at: time of the last feedback; `given_by`, `source` and `note` belong to the same feedback.
        drawn_at_random: whether a review chose the session at random; see `Standing`.
        went_on: whether the session continued after the label. The label is still valid, but nothing is learned from
            it.
        is_persons: whether it is a person's task. Nothing is learned from others, such as sub-agents' work.
        automatic_completed: the current verdict without the label.
        automatic_quality: the current quality without the label.
        rules_completed: the rules' current verdict.
        p_completed: the model's current probability that the task is done.
        request: the same number for all sessions with the same request.
        has_scores: whether the session has scores; if not, it says nothing about errors in other verdicts.
    """

    session_id: str
    completed: bool | None
    quality: int | None
    given_at: datetime
    given_by: str
    source: FeedbackSource
    note: str | None
    sampled: Sampling | None
    drawn_at_random: bool
    went_on: bool
    is_persons: bool
    is_finished: bool
    ended_on: str
    automatic_completed: bool
    automatic_quality: int
    rules_completed: bool | None
    p_completed: float | None
    request: int | None
    features: tuple[float, ...]
    has_scores: bool = True


class JudgedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that ever had a label, as it is graded now without it; see `Label`."""

    session_id: str
    digest: str | None
    is_persons: bool
    is_finished: bool
    ended_on: str
    automatic_completed: bool
    automatic_quality: int
    rules_completed: bool | None
    p_completed: float | None
    request: int | None
    features: tuple[float, ...]
    has_scores: bool = True


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A finished session that nobody judged; `completed` is its automatic verdict."""

    session_id: str
    p_completed: float | None
    rules_completed: bool | None
    completed: bool
    request: int | None


def feedback_on(grade: Grade, said: Said, *, digest: str | None, now: datetime) -> Feedback:
    """Return what a person says of a grade, with what stood before; it has no number yet."""
    return Feedback(
        id=0,
        session_id=grade.session_id,
        given_at=now,
        given_by=said.by,
        completed=said.completed,
        quality=said.quality,
        note=said.note,
        source=said.source,
        sampled=said.sampled,
        digest=digest,
        completed_before=grade.task_completed,
        quality_before=grade.response_quality,
        verdict_before=grade.verdict_by,
        p_completed=grade.p_completed,
        withdraws=said.withdraws,
    )


def standing_by_session(said: Iterable[Feedback]) -> dict[str, Standing]:
    """Return what stands of all feedback on each session of which anything was said."""
    by_session: dict[str, list[Feedback]] = {}
    for feedback in said:
        by_session.setdefault(feedback.session_id, []).append(feedback)
    return {session_id: standing(words) for session_id, words in by_session.items()}


def to_label(said: Standing, last: Feedback, session: JudgedSession) -> Label:
    """Return what stands of a session, beside what it is graded as; `last` is what was said of it last."""
    judged = said.completed or last
    return Label(
        completed=None if said.completed is None else said.completed.completed,
        quality=None if said.quality is None else said.quality.quality,
        given_at=last.given_at,
        given_by=last.given_by,
        source=last.source,
        note=last.note,
        sampled=judged.sampled,
        drawn_at_random=said.drawn_at_random,
        went_on=judged.digest != session.digest,
        **{name: getattr(session, name) for name in session.__struct_fields__ if name != "digest"},
    )


def standing(said: Iterable[Feedback]) -> Standing:
    """Return what stands of all feedback on one session, in whatever order it comes: for each part the last word.

    That of a person stands above any reward or revert. Feedback that was taken back counts for nothing, unless what
    took it back was taken back itself. What came from elsewhere in a fleet is as old as it says, by whatever clock;
    else words are in the order in which they were kept, however clocks jump.
    """
    newest_first = sorted(said, key=lambda feedback: feedback.id, reverse=True)
    if any(feedback.source is FeedbackSource.FLEET for feedback in newest_first):
        newest_first.sort(key=lambda feedback: feedback.given_at, reverse=True)
    withdrawn: set[int] = set()
    words: list[Feedback] = []
    for feedback in newest_first:
        if feedback.id in withdrawn:
            continue
        if feedback.withdraws is not None:
            withdrawn.add(feedback.withdraws)
        else:
            words.append(feedback)
    words.sort(key=lambda word: word.source in NOBODYS_WORD)
    return Standing(
        completed=next((word for word in words if word.completed is not None), None),
        quality=next((word for word in words if word.quality is not None), None),
        last=words[0] if words else None,
        drawn_at_random=any(feedback.sampled is Sampling.RANDOM for feedback in newest_first),
    )


def apply_override(grade: Grade, said: Standing) -> Grade:
    """Return a grade with what people say of it above what is automatic, whatever stood above it before."""
    return _above(automatic(grade), said)


def add_override(grade: Grade, said: Standing) -> Grade:
    """Return a grade with what people say of it above what is automatic; what stands above it already stays."""
    completed = said.completed if grade.verdict_by.is_automatic else None
    quality = said.quality if grade.automatic_quality is None else None
    return _above(grade, msgspec.structs.replace(said, completed=completed, quality=quality))


def keep_override(grade: Grade, before: Grade) -> Grade:
    """Return a grade without people's word with the one above it that stands above the grade `before`."""
    if before.automatic_completed is not None:
        grade = msgspec.structs.replace(
            grade,
            task_completed=before.task_completed,
            verdict_by=before.verdict_by,
            automatic_completed=grade.task_completed,
            automatic_by=grade.verdict_by,
        )
    if before.automatic_quality is not None:
        grade = msgspec.structs.replace(
            grade, response_quality=before.response_quality, automatic_quality=grade.response_quality
        )
    return grade


class AnswerEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Change by a person's answer on one session: its verdict, and the completion rate of the last `days` days."""

    verdict_before: Outcome
    verdict: Outcome
    rate_before: Estimate
    rate: Estimate
    days: int


def automatic(grade: Grade) -> Grade:
    """Return a grade without what people say of it."""
    if grade.automatic_completed is not None:
        grade = msgspec.structs.replace(
            grade,
            task_completed=grade.automatic_completed,
            verdict_by=grade.automatic_by or VerdictBy.RULES,
            automatic_completed=None,
            automatic_by=None,
        )
    if grade.automatic_quality is not None:
        grade = msgspec.structs.replace(grade, response_quality=grade.automatic_quality, automatic_quality=None)
    return grade


def _above(bare: Grade, said: Standing) -> Grade:
    completed, quality = said.completed, said.quality
    if completed is not None and completed.completed is not None:
        bare = msgspec.structs.replace(
            bare,
            task_completed=completed.completed,
            verdict_by=NOBODYS_WORD.get(completed.source, VerdictBy.PERSON),
            automatic_completed=bare.task_completed,
            automatic_by=bare.verdict_by,
        )
    if quality is not None and quality.quality is not None:
        bare = msgspec.structs.replace(bare, response_quality=quality.quality, automatic_quality=bare.response_quality)
    return bare
