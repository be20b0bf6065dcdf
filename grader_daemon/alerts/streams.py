"""Streams of a session, each with its value: from 0 to 1, higher is better.

A session is one value whatever it called how often, because sessions are the independent units. So a failure rate here
is the mean over sessions of the part of their calls that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import assert_never

from grader_daemon.alerts.baseline import Totals
from grader_daemon.domain.alert import SCHEDULED, Observation, Stream
from grader_daemon.domain.estimate import Estimate, mean, proportion
from grader_daemon.domain.rollup import Dimension, Metric

_LONGEST_NAME = 200
"""Characters. Names come from files that we do not trust; what is longer is not watched."""

_OF_BAD = frozenset({Metric.ENDED_BADLY, Metric.FAILURE_RATE})
"""Metrics that are lower the better it is."""

_LOWEST, _SPAN = 1, 4
"""Lowest score, and the distance to the highest: 1 to 5."""


def readings(observation: Observation) -> Iterator[tuple[Stream, float]]:
    """Return the streams that a session is part of, each once, with its value there.

    Whether a task was done is no reading: a guess follows the style of answers. How a session ended is a fact. Of a
    tool, these are the endings of the sessions that used it and the failures of its own calls. Runs that a
    schedule began are a group of their own: nobody sees one fail, and among the tasks of persons they would hide these.
    Those of one job are another: how they ended, by the record, and the failures of their calls.
    """
    well = None if observation.ended_badly is None else float(not observation.ended_badly)
    scores = [
        None if score is None else (score - _LOWEST) / _SPAN for score in (observation.efficiency, observation.quality)
    ]
    values = [well, *scores, _worked(observation.failures, observation.tool_calls)]
    for dimension, name in _groups(observation):
        yield from _known(_streams(dimension, name), values)
    if observation.job is not None:
        yield from _known(_job_streams(observation.job), (well, values[-1]))
    for use in () if observation.scheduled else observation.tools:
        if use.calls > 0 and _is_watched(use.tool):
            endings, _, _, failures = _streams(Dimension.TOOL, use.tool)
            yield from _known((endings, failures), (well, _worked(use.failures, use.calls)))


def reading(observation: Observation, stream: Stream) -> float | None:
    """Return the value of a session in one stream; None when it is no part of it."""
    return dict(readings(observation)).get(stream)


def shown(metric: Metric, value: float) -> float:
    """Return a value, or the mean of values, on the metric's own scale."""
    if metric.is_score:
        return _LOWEST + _SPAN * value
    return 1 - value if metric in _OF_BAD else value


def shown_change(metric: Metric, change: float) -> float:
    """Return a change of a mean on the metric's own scale: failures and bad endings rise when values fall."""
    return shown(metric, change) - shown(metric, 0.0)


def estimate(metric: Metric, values: Totals) -> Estimate:
    """Estimate the mean of the values on the metric's own scale."""
    sessions = values.sessions
    match metric:
        case Metric.ENDED_BADLY:
            return proportion(sessions - round(values.total), sessions)
        case Metric.COMPLETION_RATE:
            return Estimate(sample=sessions)  # labels tell it, and nothing is watched
        case Metric.FAILURE_RATE:
            failed = sessions - values.total
            squares = sessions - 2 * values.total + values.squares
            return mean(failed, squares, sessions, lowest=0.0, highest=1.0)
        case Metric.EFFICIENCY | Metric.QUALITY:
            scores = _LOWEST * sessions + _SPAN * values.total
            squares = _LOWEST * sessions + 2 * _LOWEST * _SPAN * values.total + _SPAN**2 * values.squares
            return mean(scores, squares, sessions, lowest=_LOWEST, highest=_LOWEST + _SPAN)
        case _:
            assert_never(metric)


def _groups(observation: Observation) -> Iterator[tuple[Dimension, str]]:
    if observation.scheduled:
        yield SCHEDULED
        return
    yield Dimension.OVERALL, ""
    if _is_watched(observation.task_type):
        yield Dimension.TASK_TYPE, observation.task_type
    if observation.model is not None and _is_watched(observation.model):
        yield Dimension.MODEL, observation.model
    if observation.agent is not None and _is_watched(observation.agent):
        yield Dimension.AGENT, observation.agent
    if observation.host is not None:
        yield Dimension.HOST, observation.host


def _is_watched(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME


@lru_cache(maxsize=1024)
def _streams(dimension: Dimension, name: str) -> tuple[Stream, Stream, Stream, Stream]:
    """Return the streams of a group; made once, because making one costs as much as a step of the detector."""
    return (
        Stream(Metric.ENDED_BADLY, dimension, name),
        Stream(Metric.EFFICIENCY, dimension, name),
        Stream(Metric.QUALITY, dimension, name),
        Stream(Metric.FAILURE_RATE, dimension, name),
    )


@lru_cache(maxsize=1024)
def _job_streams(job: str) -> tuple[Stream, Stream]:
    return (Stream(Metric.ENDED_BADLY, Dimension.JOB, job), Stream(Metric.FAILURE_RATE, Dimension.JOB, job))


def _known(streams: Iterable[Stream], values: Iterable[float | None]) -> Iterator[tuple[Stream, float]]:
    """Leave out the streams in which nothing is known of the session."""
    for stream, value in zip(streams, values, strict=True):
        if value is not None:
            yield stream, value


def _worked(failures: int, calls: int) -> float | None:
    return 1 - min(1.0, failures / calls) if calls > 0 else None
