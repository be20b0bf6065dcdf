"""Work before and since a change: compared within types of task (or scheduled jobs) and platforms, at the mix since.

Other work that comes in moves a plain rate although nothing got better or worse. So each rate, by facts or by labels,
is a mean over strata with the same weights, the shares of the sessions since the change. Which of many differences are
told is settled by Benjamini and Hochberg (JRSS B 57, 1995).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Final

from msgspec.structs import replace

from grader_daemon.domain.calendar import beginning
from grader_daemon.domain.estimate import NO_FIGURE, Estimate, Figure, figure, standardised
from grader_daemon.domain.feedback import FEWEST_DRAWN
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import APART_SESSIONS, FEWEST_SESSIONS, WINDOW, SetupChange, SetupEffect
from grader_daemon.patterns.votes import by_request

_FALSE_SHARE: Final = 0.05
"""Largest share of chance expected among the differences that are told."""

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

_Stratum = tuple[str, str | None]
_Value = Callable[[FinishedSession], float]
_Strata = Mapping[_Stratum, Sequence[float]]


def effects(
    changes: Sequence[SetupChange], sessions: Sequence[FinishedSession], value: _Value, *, since: datetime
) -> list[SetupEffect]:
    """Return what is known of each change since a moment, in order.

    Args:
        changes: in order, earlier ones too.
        sessions: in the order in which they ended.
        value: what a session says of completion, 0 to 1.
        since: changes before it only end the time that is compared.
    """
    groups = [group for group in _groups(changes, sessions) if group[-1].at >= since]
    found = _with_sure([_effect(group, changes, sessions, value) for group in groups])
    differ = _told([effect.ended_badly.change for effect in found])
    return [replace(effect, facts_differ=is_told) for effect, is_told in zip(found, differ, strict=True)]


def by_labels(
    found: Sequence[SetupEffect], sessions: Sequence[FinishedSession], judged_fairly: Collection[str]
) -> list[SetupEffect]:
    """Return effects as labels that nobody chose to give tell them, without a value where these are too few.

    Probabilities alone follow the style of a model: one that only sounds surer would seem to gain.
    """
    return _with_sure([_by_labels(effect, sessions, judged_fairly) for effect in found])


def _by_labels(effect: SetupEffect, sessions: Sequence[FinishedSession], judged_fairly: Collection[str]) -> SetupEffect:
    if effect.completion.change.value is None:
        return replace(effect, by_words=False)
    scope = _of(effect.changes[0].agent, sessions)
    before, after = (
        [session for session in scope if begin <= session.ended_at < end]
        for begin, end in ((effect.since, effect.changes[0].at), (effect.changes[-1].at, effect.until))
    )
    shared = {_stratum(session) for session in before} & {_stratum(session) for session in after}
    earlier, later = (
        [each for each in side if each.judged and each.session_id in judged_fairly and _stratum(each) in shared]
        for side in (before, after)
    )
    completion = Figure(
        now=Estimate(sample=len(later)),
        before=Estimate(sample=len(earlier)),
        change=Estimate(sample=min(len(earlier), len(later))),
    )
    if completion.change.sample >= FEWEST_DRAWN:
        counts = {stratum: len(votes) for stratum, votes in _votes(after, _judged).items()}
        completion = _at_mix(counts, _votes(earlier, _judged), _votes(later, _judged))
    is_known = completion.change.value is not None
    return replace(
        effect,
        completion=completion,
        by_words=is_known,
        labels_missing_before=0 if is_known else max(0, FEWEST_DRAWN - completion.before.sample),
        labels_missing_after=0 if is_known else max(0, FEWEST_DRAWN - completion.now.sample),
    )


def _judged(session: FinishedSession) -> float:
    return float(session.completed)


def compared(before: Iterable[FinishedSession], after: Iterable[FinishedSession], value: _Value) -> Figure:
    """Compare completion for task types with sessions on both sides; without values where too few.

    Sessions of one request are one a week, with their mean; the `sample` of an estimate counts these.
    """
    return _compared(_votes(before, value), _votes(after, value))


def _compared(earlier: _Strata, later: _Strata) -> Figure:
    shared = earlier.keys() & later.keys()
    now, before = (sum(len(side[stratum]) for stratum in shared) for side in (later, earlier))
    if min(now, before) < FEWEST_SESSIONS:
        return Figure(
            now=Estimate(sample=now), before=Estimate(sample=before), change=Estimate(sample=min(now, before))
        )
    return _at_mix({stratum: len(votes) for stratum, votes in later.items()}, earlier, later)


def _at_mix(counts: Mapping[_Stratum, int], earlier: _Strata, later: _Strata) -> Figure:
    """Compare strata with votes on both sides, weighted by their numbers of requests; no values where there are none.

    A mean over all strata would follow which of them the votes are of.
    """
    shared = earlier.keys() & later.keys()
    total = sum(counts[stratum] for stratum in shared)
    if not total:
        return NO_FIGURE
    now, before = (
        standardised([(counts[each] / total, math.fsum(side[each]), len(side[each])) for each in shared])
        for side in (later, earlier)
    )
    return figure(now, before)


def _groups(changes: Sequence[SetupChange], sessions: Sequence[FinishedSession]) -> list[list[SetupChange]]:
    """Group changes of an agent that lie too close to be told apart."""
    groups: list[list[SetupChange]] = []
    for agent in dict.fromkeys(change.agent for change in changes):
        ends = [session.ended_at for session in _of(agent, sessions)]
        first = None
        for change in (each for each in changes if each.agent == agent):
            place = bisect_left(ends, change.at)
            if first is not None and place - first < APART_SESSIONS:
                groups[-1].append(change)
            else:
                groups.append([change])
                first = place
    return sorted(groups, key=lambda group: group[0].at)


def _effect(
    group: Sequence[SetupChange], changes: Sequence[SetupChange], sessions: Sequence[FinishedSession], value: _Value
) -> SetupEffect:
    first, last = group[0].at, group[-1].at
    agents = {change.agent for change in changes} if group[0].agent is None else {group[0].agent, None}
    others = [change for change in changes if change.agent in agents and change not in group]
    same = [change.at for change in others if any(_is_same_thing(change, each) for each in group)]
    begin = max([beginning(WINDOW, first, None), *(at for at in same if at < first)])
    end = min([last + WINDOW, *(at for at in same if at > last)])
    scope = _of(group[0].agent, sessions)
    before = [session for session in scope if begin <= session.ended_at < first]
    after = [session for session in scope if last <= session.ended_at < end]
    votes = _votes(before, value), _votes(after, value)
    earlier, later = (each.keys() for each in votes)
    shared = earlier & later if before and after else earlier | later
    requests = [sum(len(each) for stratum, each in side.items() if stratum in shared) for side in votes]
    recorded = _recorded(before)
    half = len(recorded) // 2
    return SetupEffect(
        changes=tuple(group),
        since=begin,
        until=end,
        meanwhile=tuple(change for change in others if begin < change.at < end),
        sessions_before=sum(_stratum(session) in shared for session in before),
        sessions_after=sum(_stratum(session) in shared for session in after),
        missing_before=max(0, FEWEST_SESSIONS - requests[0]),
        missing_after=max(0, FEWEST_SESSIONS - requests[1]),
        completion=_compared(*votes),
        ended_badly=compared(recorded, _recorded(after), _badly),
        slope_before=compared(recorded[:half], recorded[half:], _badly),
    )


def _badly(session: FinishedSession) -> float:
    return float(bool(session.ended_badly))


def _recorded(sessions: Iterable[FinishedSession]) -> list[FinishedSession]:
    """Return the sessions of which it is known how they ended."""
    return [session for session in sessions if session.ended_badly is not None]


def _of(agent: str | None, sessions: Sequence[FinishedSession]) -> list[FinishedSession]:
    return [session for session in sessions if agent is None or session.agent == agent]


def _is_same_thing(one: SetupChange, other: SetupChange) -> bool:
    return (one.kind, one.name) == (other.kind, other.name)


def _stratum(session: FinishedSession) -> _Stratum:
    return session.job or session.task_type, session.platform


def _votes(sessions: Iterable[FinishedSession], value: _Value) -> dict[_Stratum, list[float]]:
    votes: dict[_Stratum, list[float]] = {}
    for stratum, same in by_request(sessions, _stratum):
        votes.setdefault(stratum, []).append(fmean(map(value, same)))
    return votes


def _with_sure(found: Sequence[SetupEffect]) -> list[SetupEffect]:
    """Mark the differences that are told, of all that could be looked at."""
    told = _told([effect.completion.change for effect in found])
    return [replace(effect, is_sure=is_told) for effect, is_told in zip(found, told, strict=True)]


def _told(changes: Sequence[Estimate]) -> list[bool]:
    """Return which of the differences are told."""
    chances = [_chance(change) for change in changes]
    ranked = sorted(chance for chance in chances if chance is not None)
    limit = max(
        (chance for rank, chance in enumerate(ranked, 1) if chance <= _FALSE_SHARE * rank / len(ranked)), default=-1.0
    )
    return [chance is not None and chance <= limit for chance in chances]


def _chance(change: Estimate) -> float | None:
    """Return how often chance alone makes a difference as large, by the side of its interval that lies towards 0."""
    if change.value is None or change.low is None or change.high is None:
        return None
    margin = change.value - change.low if change.value > 0 else change.high - change.value
    return math.erfc(_Z * abs(change.value) / margin / math.sqrt(2)) if margin > 0 else 0.0
