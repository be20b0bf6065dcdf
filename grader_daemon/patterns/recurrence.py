"""Ends of one request in other sessions, and the call at which those that failed and completed it part.

No mining of sequences: over different requests these only say how far a session got. Within one request each failed
session is compared with one that completed it, no session twice. Looked at is the
call that most pairs part at, whoever makes it. If calls had nothing to do with the outcome, that would be the failed or
the completed one with the same chance; so it is told where all of the 95 % interval of the share is above one half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from grader_daemon.domain.analysis import Called
from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.domain.similar import (
    FEWEST_PAIRS,
    AskedAlike,
    ModelRecord,
    PartingCall,
    Similar,
    SimilarSession,
    SkillOutcome,
)
from grader_daemon.domain.wording import NEAR, likeness

_FEWEST_SESSIONS = 5
_MOSTLY = 0.5
_MOST_PAIRS = 20
"""Their sessions are read: 2 ms each."""


def similar(
    found: Iterable[AskedAlike],
    *,
    session_id: str | None,
    request: int | None,
    wording: bytes | None,
    most: int,
    listed: int,
    calls_of: Callable[[str], Sequence[Called]] = lambda _: (),
) -> Similar:
    """Return what became of a request in other sessions.

    Args:
        found: sessions that may have been asked for the same, in any order.
        session_id: the session that is asked about, which is left out; None if it is none.
        request: its digest, as far as it has one.
        wording: how it is worded, likewise.
        most: so many of each kind were looked at; more may have been asked.
        listed: so many sessions are named.
        calls_of: returns the first calls of a session, none where they are not known; asked for what is compared.
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
    pairs = _pairs(sessions, calls_of)
    return Similar(
        session_id=session_id,
        same=same,
        near=len(near) - same,
        more=len(known) >= most,
        completion=_completion(sessions),
        models=_models(sessions),
        skills=_skills(sessions),
        pairs=len(pairs),
        parting=parting_call(pairs),
        sessions=tuple(
            SimilarSession(
                session_id=each.session_id,
                ended_at=each.ended_at,
                model=each.model,
                completed=each.completed,
                outcome=each.outcome,
                likeness=share,
            )
            for each, share in near[:listed]
        ),
    )


def parting_call(pairs: Sequence[tuple[Sequence[Called], Sequence[Called]]]) -> PartingCall | None:
    """Return the call that most pairs part at, if it surely tells failed sessions from completed ones; else None.

    `pairs` are the first calls of a failed and of a completed session, each session in one pair.
    """
    if len(pairs) < FEWEST_PAIRS:
        return None
    parted = [found for failed, completed in pairs if (found := _first_difference(failed, completed)) is not None]
    by_failed, by_completed = (Counter(each[side] for each in parted) for side in (0, 1))
    made = by_failed + by_completed
    call = max(made, key=lambda each: (made[each], each.tool, each.command or ""), default=None)
    if call is None:
        return None
    is_by_completed = by_completed[call] > by_failed[call]
    times = max(by_completed[call], by_failed[call])
    share = proportion(times, made[call], fewest=FEWEST_PAIRS)
    if (share.low or 0.0) < _MOSTLY:
        return None
    return PartingCall(
        tool=call.tool,
        command=call.command,
        by_completed=is_by_completed,
        times=times,
        pairs=made[call],
        share=share,
    )


def _first_difference(failed: Sequence[Called], completed: Sequence[Called]) -> tuple[Called, Called] | None:
    """Return the first calls that differ; None where one session only goes on farther than the other."""
    return next(((one, other) for one, other in zip(failed, completed, strict=False) if one != other), None)


def _likeness(each: AskedAlike, request: int | None, wording: bytes | None) -> float:
    if request is not None and each.request == request:
        return 1.0
    return 0.0 if wording is None or each.wording is None else likeness(wording, each.wording)


def _pairs(
    sessions: Sequence[AskedAlike], calls_of: Callable[[str], Sequence[Called]]
) -> list[tuple[Sequence[Called], Sequence[Called]]]:
    """Pair failed and completed sessions whose calls are known, the newest first; what is over has no pair."""
    failed, completed = (
        [each.session_id for each in sessions if each.completed is outcome] for outcome in (False, True)
    )
    pairs = zip(failed[:_MOST_PAIRS], completed[:_MOST_PAIRS], strict=False)
    found = [(calls_of(one), calls_of(other)) for one, other in pairs]
    return [each for each in found if all(each)]


def _completion(sessions: Sequence[AskedAlike]) -> Estimate:
    outcomes = [each.completed for each in sessions if each.completed is not None]
    return proportion(sum(outcomes), len(outcomes), fewest=_FEWEST_SESSIONS)


def _models(sessions: Sequence[AskedAlike]) -> tuple[ModelRecord, ...]:
    of_model: dict[str | None, list[AskedAlike]] = {}
    for each in sessions:
        of_model.setdefault(each.model, []).append(each)
    records = [
        ModelRecord(model=model, sessions=len(those), completion=_completion(those))
        for model, those in of_model.items()
    ]
    return tuple(sorted(records, key=lambda record: (-record.sessions, record.model or "")))


def _skills(sessions: Sequence[AskedAlike]) -> tuple[SkillOutcome, ...]:
    with_skill: dict[str, list[AskedAlike]] = {}
    for each in sessions:
        for skill in dict.fromkeys(use.name for use in each.skills or () if use.how.is_use):
            with_skill.setdefault(skill, []).append(each)
    outcomes = [
        SkillOutcome(skill=skill, sessions=len(those), completion=_completion(those))
        for skill, those in with_skill.items()
    ]
    return tuple(sorted(outcomes, key=lambda outcome: (-outcome.sessions, outcome.skill)))
