"""What changed when a stream dropped: other work, the same work done worse, another model, platform or tool list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt

import msgspec

from grader_daemon.alerts.streams import reading, shown_change
from grader_daemon.domain.alert import Decomposition, Observation, ShareChange, Stream, Verdict
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import AlertRules

_SURE_Z = 3.0
"""Some forty names are looked at for one alert; by chance, one alert in ten names one."""

_NOISE = 1e-9
"""What sums of floats are off by; no loss."""

_MOST_CHANGES = 8
_MOST_SESSIONS = 5


class Member(msgspec.Struct, frozen=True, gc=False):
    """A session of a stream, with its value there."""

    observation: Observation
    value: float


def members(observations: Sequence[Observation], stream: Stream) -> list[Member]:
    """Give the sessions that are part of a stream, in the order given."""
    valued = [(observation, reading(observation, stream)) for observation in observations]
    return [Member(observation, value) for observation, value in valued if value is not None]


def weightiest(since: Sequence[Member], *, below: float) -> tuple[str, ...]:
    """Give the ids of the sessions with the lowest values below `below`, newest first among equals; at most five."""
    low = [member for member in reversed(since) if member.value < below]
    low.sort(key=lambda member: member.value)
    return tuple([member.observation.session_id for member in low[:_MOST_SESSIONS]])


def share_changes(before: Sequence[Member], since: Sequence[Member], *, rules: AlertRules) -> tuple[ShareChange, ...]:
    """Give the names that surely have another share of the sessions now, or are new; the biggest change first."""
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
    before: Sequence[Member], since: Sequence[Member], *, stream: Stream, rules: AlertRules
) -> Decomposition | None:
    """Split the change of the mean by task types (Kitagawa, JASA 50, 1955); None when neither part is a loss.

    The mix has the changes of shares at the average of the means, the work the changes of means at the average of the
    shares; they add up to the change. A type that is on one side only has no change of its mean, so it is all mix. The
    verdict is that of the losses: the part that did not pull down is no excuse for the other.
    """
    if not before or not since:
        return None
    mix, work = _parts(_by_type(before), _by_type(since))
    loss = max(0.0, -mix) + max(0.0, -work)
    if loss <= _NOISE:
        return None
    part = max(0.0, -mix) / loss
    verdict = Verdict.BOTH
    if part >= rules.verdict_part:
        verdict = Verdict.MIX
    elif part <= 1 - rules.verdict_part:
        verdict = Verdict.WORK
    return Decomposition(mix=shown_change(stream.metric, mix), work=shown_change(stream.metric, work), verdict=verdict)


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
    if observation.model is not None:
        yield Dimension.MODEL, observation.model
    if observation.platform is not None:
        yield Dimension.PLATFORM, observation.platform
    for tool in {use.tool for use in observation.tools}:
        yield Dimension.TOOL, tool


def _by_type(part: Sequence[Member]) -> dict[str, tuple[float, float]]:
    """Give share and mean of each task type."""
    values: dict[str, list[float]] = {}
    for member in part:
        values.setdefault(member.observation.task_type, []).append(member.value)
    return {name: (len(found) / len(part), sum(found) / len(found)) for name, found in values.items()}


def _parts(before: dict[str, tuple[float, float]], since: dict[str, tuple[float, float]]) -> tuple[float, float]:
    mix = work = 0.0
    for name in sorted(before.keys() | since.keys()):
        share, mean = before.get(name, (0.0, since.get(name, (0.0, 0.0))[1]))
        share_since, mean_since = since.get(name, (0.0, mean))
        mix += (share_since - share) * (mean + mean_since) / 2
        work += (share + share_since) / 2 * (mean_since - mean)
    return mix, work
