"""Changes at a stream's drop: other work, the same work done worse, another model, platform or tool list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt

import msgspec

from grader_daemon.alerts.baseline import Totals
from grader_daemon.alerts.streams import reading, shown_change
from grader_daemon.domain.alert import Decomposition, DropCause, Observation, ShareChange, Stream
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import AlertRules

_SURE_Z = 3.0
"""Some forty names are looked at for one alert; by chance, one alert in ten names one."""

_MARGIN_Z = 1.959963984540054
"""The margins of 95 % intervals. Where only the mix changed, work is named in 4 to 9 of 100 alerts (simulated)."""

_NOISE = 1e-9
"""Rounding error of sums of floats; no loss."""

_CAUSES = {
    (True, True): DropCause.BOTH,
    (True, False): DropCause.MIX,
    (False, True): DropCause.WORK,
    (False, False): DropCause.UNCLEAR,
}
"""Causes by whether the mix is a loss for sure, and the work."""

_MOST_CHANGES = 8
_MOST_SESSIONS = 5


_Key = Callable[[Observation], str]
"""Key that tells sessions apart."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A session of a stream, with its value there."""

    observation: Observation
    value: float


def members(observations: Sequence[Observation], stream: Stream) -> list[Member]:
    """Return the sessions that are part of a stream, in the order given."""
    valued = [(observation, reading(observation, stream)) for observation in observations]
    return [Member(observation, value) for observation, value in valued if value is not None]


def weightiest(since: Sequence[Member], *, below: float) -> tuple[str, ...]:
    """Return the ids of the sessions with the lowest values below `below`, newest first among equals; at most five."""
    low = [member for member in reversed(since) if member.value < below]
    low.sort(key=lambda member: member.value)
    return tuple([member.observation.session_id for member in low[:_MOST_SESSIONS]])


def share_changes(before: Sequence[Member], since: Sequence[Member], *, rules: AlertRules) -> tuple[ShareChange, ...]:
    """Return the names that surely have another share of the sessions now, or are new; the biggest change first."""
    if not before or not since:
        return ()
    counts, counts_since = _counts(before), _counts(since)
    changes = [
        ShareChange(
            dimension=key[0], name=key[1], before=counts[key] / len(before), since=counts_since[key] / len(since)
        )
        for key in counts.keys() | counts_since.keys()
    ]
    found = [
        change for change in changes if _matters(change, before=len(before), since=len(since), least=rules.share_change)
    ]
    found.sort(key=lambda change: (-abs(change.since - change.before), change.dimension, change.name))
    return tuple(found[:_MOST_CHANGES])


def decompose(
    before: Sequence[Member], since: Sequence[Member], *, stream: Stream, dispersion: float
) -> Decomposition | None:
    """Split the change of the mean by task types (Kitagawa, JASA 50, 1955); None when neither part is a loss.

    The mix has the changes of shares at the average of the means, the work the changes of means at the average of the
    shares; they add up to the change. A type that is on one side only has no change of its mean, so it is all mix. The
    cause names the parts that are losses beyond their own 95 % intervals; `dispersion` of days widens these.
    """
    if not before or not since:
        return None
    mix, work = _parts(before, since, by=lambda observation: observation.task_type)
    if max(0.0, -mix.amount) + max(0.0, -work.amount) <= _NOISE:
        return None
    return Decomposition(
        mix=shown_change(stream.metric, mix.amount),
        work=shown_change(stream.metric, work.amount),
        mix_margin=abs(shown_change(stream.metric, mix.margin(dispersion))),
        work_margin=abs(shown_change(stream.metric, work.margin(dispersion))),
        cause=_CAUSES[mix.is_loss(dispersion), work.is_loss(dispersion)],
    )


def is_mix_of_agents(before: Sequence[Member], since: Sequence[Member], *, dispersion: float) -> bool:
    """Return whether the mean fell only because other agents do more of the sessions than before.

    Agents write down different things, and machines of a fleet do other work, so their rates lie apart: none of them
    does worse. A loss within the agents of each machine beyond its 95 % interval is one that people are told of,
    whatever their mix.
    """
    agents = {_agent_of(member.observation) for member in (*before, *since)}
    if len(agents) < 2 or not before or not since:  # noqa: PLR2004  of one there is no mix
        return False
    mix, work = _parts(before, since, by=_agent_of)
    return mix.is_loss(dispersion) and not work.is_loss(dispersion)


def _matters(change: ShareChange, *, before: int, since: int, least: float) -> bool:
    difference = abs(change.since - change.before)
    if difference < least:
        return False
    if change.before == 0:
        return True
    pooled = (change.before * before + change.since * since) / (before + since)
    error = sqrt(pooled * (1 - pooled) * (1 / before + 1 / since))
    return difference >= _SURE_Z * error


def _counts(part: Sequence[Member]) -> Counter[tuple[Dimension, str]]:
    return Counter([key for member in part for key in _names(member.observation)])


def _names(observation: Observation) -> Iterator[tuple[Dimension, str]]:
    yield Dimension.TASK_TYPE, observation.task_type
    if observation.agent is not None:
        yield Dimension.AGENT, observation.agent
    if observation.host is not None:
        yield Dimension.HOST, observation.host
    if observation.model is not None:
        yield Dimension.MODEL, observation.model
    if observation.platform is not None:
        yield Dimension.PLATFORM, observation.platform
    for tool in {use.tool for use in observation.tools}:
        yield Dimension.TOOL, tool


def _agent_of(observation: Observation) -> str:
    return f"{observation.agent or ''} on {observation.host or ''}"


class _Part(msgspec.Struct, frozen=True):
    """A part of a change, with the variance that it has by chance while sessions are independent."""

    amount: float
    variance: float

    def margin(self, dispersion: float) -> float:
        return _MARGIN_Z * sqrt(dispersion * self.variance)

    def is_loss(self, dispersion: float) -> bool:
        return self.amount + self.margin(dispersion) < -_NOISE


class _Kind(msgspec.Struct, frozen=True):
    """A task type, or an agent: its share of the sessions, the mean of its values, and the variance of that mean."""

    share: float
    mean: float
    variance: float


def _kinds(part: Sequence[Member], by: _Key) -> dict[str, _Kind]:
    values: dict[str, list[float]] = {}
    for member in part:
        values.setdefault(by(member.observation), []).append(member.value)
    return {name: _kind(found, share=len(found) / len(part)) for name, found in values.items()}


def _kind(values: Sequence[float], *, share: float) -> _Kind:
    totals = Totals(len(values), sum(values), sum([value * value for value in values]))
    _, variance = totals.moments()
    return _Kind(share, totals.total / totals.sessions, variance / totals.sessions)


def _parts(before: Sequence[Member], since: Sequence[Member], *, by: _Key) -> tuple[_Part, _Part]:
    """Return mix and work, with their variances by the delta method: shares are multinomial, means have their own."""
    kinds, kinds_since = _kinds(before, by), _kinds(since, by)
    mix, work = _Part(0.0, 0.0), _Part(0.0, 0.0)
    heights = {}
    for name in sorted(kinds.keys() | kinds_since.keys()):
        height, change = _height_and_change(kinds.get(name), kinds_since.get(name))
        heights[name] = height.amount
        share, share_since = _share_of(kinds, name), _share_of(kinds_since, name)
        mix = _plus(mix, height, weight=share_since - share)
        work = _plus(work, change, weight=(share + share_since) / 2)
    by_shares = _spread(kinds, heights) / len(before) + _spread(kinds_since, heights) / len(since)
    return _Part(mix.amount, mix.variance + by_shares), work


def _height_and_change(kind: _Kind | None, since: _Kind | None) -> tuple[_Part, _Part]:
    """Return the average of the two means of a type, and their difference."""
    if kind is not None and since is not None:
        variance = kind.variance + since.variance
        return _Part((kind.mean + since.mean) / 2, variance / 4), _Part(since.mean - kind.mean, variance)
    known = kind or since
    assert known is not None
    return _Part(known.mean, known.variance), _Part(0.0, 0.0)


def _plus(part: _Part, more: _Part, *, weight: float) -> _Part:
    return _Part(part.amount + weight * more.amount, part.variance + weight**2 * more.variance)


def _share_of(kinds: Mapping[str, _Kind], name: str) -> float:
    return kinds[name].share if name in kinds else 0.0


def _spread(kinds: Mapping[str, _Kind], heights: Mapping[str, float]) -> float:
    """Return the variance of the height of a session's type."""
    mean = sum([kind.share * heights[name] for name, kind in kinds.items()])
    return sum([kind.share * (heights[name] - mean) ** 2 for name, kind in kinds.items()])
