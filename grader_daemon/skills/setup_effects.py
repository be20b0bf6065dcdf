"""Work before and since a change: compared within types of task (or scheduled jobs) and platforms, at the mix since.

Other work that comes in moves a plain rate although nothing got better or worse. So each rate, by facts or by labels,
is a mean over strata with the same weights, the shares of the sessions since the change.

Which of many changes are told is settled by Benjamini and Hochberg (JRSS B 57, 1995), by what facts and labels say
together (Stouffer's sum; Stouffer et al., The American Soldier, 1949). Of these, either alone is told by the same
limit, so that two looks at a change are wrong no more often than one (Marcus, Peritz and Gabriel, Biometrika 63, 1976).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
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
"""Largest share of chance expected among the changes that are told."""

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

_LEAST_MARGIN: Final = 1e-9
"""Margin of a change that leaves no doubt."""

_Stratum = tuple[str, str | None]
_Value = Callable[[FinishedSession], float]
_Strata = Mapping[_Stratum, Sequence[float]]


def effects(
    changes: Sequence[SetupChange], sessions: Sequence[FinishedSession], value: _Value, *, since: datetime
) -> list[SetupEffect]:
    """Return what is known of each change since a moment, in order, without what is told of it; see `settled`.

    Args:
        changes: in order, earlier ones too.
        sessions: in the order in which they ended.
        value: what a session says of completion, 0 to 1.
        since: changes before it only end the time that is compared.
    """
    groups = [group for group in _groups(changes, sessions) if group[-1].at >= since]
    return [_effect(group, changes, sessions, value) for group in groups]


def by_labels(
    found: Sequence[SetupEffect], sessions: Sequence[FinishedSession], judged_fairly: Collection[str]
) -> list[SetupEffect]:
    """Return effects as labels that nobody chose to give tell them, without a value where these are too few.

    Probabilities alone follow the style of a model: one that only sounds surer would seem to gain.
    """
    return [_by_labels(effect, sessions, judged_fairly) for effect in found]


def settled(
    found: Sequence[SetupEffect], sessions: Sequence[FinishedSession], counted: Collection[str]
) -> list[SetupEffect]:
    """Mark the differences that are told, of all that could be looked at; completion is by sessions in `counted`."""
    scores = [(_score(effect.completion.change), _score(effect.ended_badly.change)) for effect in found]
    together = [
        _together(*each, alike=_alike(effect, sessions, counted)) for effect, each in zip(found, scores, strict=True)
    ]
    limit = _limit([_chance(score) for score in together if score is not None])
    return [
        replace(effect, together_differ=True, is_sure=_is_told(done, limit), facts_differ=_is_told(badly, limit))
        if _is_told(both, limit)
        else effect
        for effect, both, (done, badly) in zip(found, together, scores, strict=True)
    ]


def _by_labels(effect: SetupEffect, sessions: Sequence[FinishedSession], judged_fairly: Collection[str]) -> SetupEffect:
    if effect.completion.change.value is None:
        return replace(effect, by_words=False)
    before, after = _sides(effect, sessions)
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


def _sides(
    effect: SetupEffect, sessions: Sequence[FinishedSession]
) -> tuple[list[FinishedSession], list[FinishedSession]]:
    """Return the sessions that are compared, before the first change and after the last one."""
    scope, first, last = _of(effect.changes[0].agent, sessions), effect.changes[0].at, effect.changes[-1].at
    before = [session for session in scope if effect.since <= session.ended_at < first]
    return before, [session for session in scope if last <= session.ended_at < effect.until]


def _order(session: FinishedSession) -> tuple[str, str]:
    kind, platform = _stratum(session)
    return kind, platform or ""


def _stratum(session: FinishedSession) -> _Stratum:
    return session.job or session.task_type, session.platform


def _votes(sessions: Iterable[FinishedSession], value: _Value) -> dict[_Stratum, list[float]]:
    votes: dict[_Stratum, list[float]] = {}
    for stratum, same in by_request(sessions, _stratum):
        votes.setdefault(stratum, []).append(fmean(map(value, same)))
    return votes


def _together(done: float | None, badly: float | None, *, alike: float) -> float | None:
    """Return how sure both say that work got better, or worse, in standard errors; None where neither is known."""
    if done is None or badly is None:
        return done if badly is None else -badly
    return (done - badly) / math.sqrt(2 + 2 * alike)


def _alike(effect: SetupEffect, sessions: Sequence[FinishedSession], counted: Collection[str]) -> float:
    """Return the correlation of the two differences, 0 to 1: a session that ended badly may have a label, too."""
    together = of_done = of_well = 0.0
    recorded, known = [], []
    for side in map(_recorded, _sides(effect, sessions)):
        both = [session for session in side if session.judged and session.session_id in counted]
        recorded.append(len(side))
        known.append(len(both))
        for _, same in groupby(sorted(both, key=_order), key=_order):
            ended = [(float(session.completed), float(not session.ended_badly)) for session in same]
            done, well = (fmean(values) for values in zip(*ended, strict=True))
            together += math.fsum((one - done) * (other - well) for one, other in ended)
            of_done += math.fsum((one - done) ** 2 for one, _ in ended)
            of_well += math.fsum((other - well) ** 2 for _, other in ended)
    if together <= 0:
        return 0.0
    overlap = math.fsum(1 / number for number in recorded) / math.fsum(1 / number for number in known if number)
    return min(1.0, together / math.sqrt(of_done * of_well) * math.sqrt(overlap))


def _limit(chances: Sequence[float]) -> float:
    """Return how large the chance of a difference may be that is told; below all where none is told."""
    limits = [(chance, _FALSE_SHARE * rank / len(chances)) for rank, chance in enumerate(sorted(chances), 1)]
    return max((limit for chance, limit in limits if chance <= limit), default=-1.0)


def _is_told(score: float | None, limit: float) -> bool:
    return score is not None and _chance(score) <= limit


def _chance(score: float) -> float:
    """Return how often chance alone makes a difference as large."""
    return math.erfc(abs(score) / math.sqrt(2))


def _score(change: Estimate) -> float | None:
    """Return a change in standard errors, by the side of its interval that lies towards 0."""
    if change.value is None or change.low is None or change.high is None:
        return None
    margin = change.value - change.low if change.value > 0 else change.high - change.value
    return _Z * change.value / max(margin, _LEAST_MARGIN)
