"""Ends of one request in other sessions: their verdicts, and how many ended badly, by model and skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.domain.similar import AskedAlike, ModelRecord, Similar, SimilarSession, SkillOutcome
from grader_daemon.domain.verdict import Outcome, VerdictCounts
from grader_daemon.domain.wording import NEAR, likeness

_FEWEST_SESSIONS = 5


def similar(
    found: Iterable[AskedAlike],
    *,
    session_id: str | None,
    request: int | None,
    wording: bytes | None,
    most: int,
    listed: int,
) -> Similar:
    """Return what became of a request in other sessions.

    Args:
        found: sessions that may have been asked for the same, in any order.
        session_id: the session that is asked about, which is left out; None if it is none.
        request: its digest, as far as it has one.
        wording: how it is worded, likewise.
        most: so many of each kind were looked at; more may have been asked.
        listed: so many sessions are named.
    """
    known = list(found)
    alike = [(each, _likeness(each, request, wording)) for each in known if each.session_id != session_id]
    near = sorted(
        ((each, share) for each, share in alike if share >= NEAR),
        key=lambda one: (one[0].ended_at, one[0].session_id),
        reverse=True,
    )
    sessions = [each for each, _ in near]
    same = sum(share == 1 for _, share in near)
    return Similar(
        session_id=session_id,
        same=same,
        near=len(near) - same,
        more=len(known) >= most,
        verdicts=_verdicts(sessions),
        ended_badly=_ended_badly(sessions),
        models=_models(sessions),
        skills=_skills(sessions),
        sessions=tuple(
            SimilarSession(
                session_id=each.session_id,
                ended_at=each.ended_at,
                model=each.model,
                outcome=each.outcome,
                ended_badly=each.ended_badly,
                likeness=share,
            )
            for each, share in near[:listed]
        ),
    )


def _likeness(each: AskedAlike, request: int | None, wording: bytes | None) -> float:
    if request is not None and each.request == request:
        return 1.0
    return 0.0 if wording is None or each.wording is None else likeness(wording, each.wording)


def _verdicts(sessions: Sequence[AskedAlike]) -> VerdictCounts:
    counted = Counter(each.outcome for each in sessions)
    return VerdictCounts(**{str(outcome): counted[outcome] for outcome in Outcome})


def _ended_badly(sessions: Sequence[AskedAlike]) -> Estimate:
    known = [each.ended_badly for each in sessions if each.ended_badly is not None]
    return proportion(sum(known), len(known), fewest=_FEWEST_SESSIONS)


def _models(sessions: Sequence[AskedAlike]) -> tuple[ModelRecord, ...]:
    of_model: dict[str | None, list[AskedAlike]] = {}
    for each in sessions:
        of_model.setdefault(each.model, []).append(each)
    records = [
        ModelRecord(model=model, sessions=len(those), verdicts=_verdicts(those), ended_badly=_ended_badly(those))
        for model, those in of_model.items()
    ]
    return tuple(sorted(records, key=lambda record: (-record.sessions, record.model or "")))


def _skills(sessions: Sequence[AskedAlike]) -> tuple[SkillOutcome, ...]:
    with_skill: dict[str, list[AskedAlike]] = {}
    for each in sessions:
        for skill in dict.fromkeys(use.name for use in each.skills or () if use.how.is_use):
            with_skill.setdefault(skill, []).append(each)
    outcomes = [
        SkillOutcome(skill=skill, sessions=len(those), verdicts=_verdicts(those), ended_badly=_ended_badly(those))
        for skill, those in with_skill.items()
    ]
    return tuple(sorted(outcomes, key=lambda outcome: (-outcome.sessions, outcome.skill)))
