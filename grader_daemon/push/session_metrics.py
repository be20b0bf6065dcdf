"""Facts about all sessions as families of metrics.

Sums fall when a session is graded anew or taken back, so they are gauges: a counter that falls means to Prometheus that
it began anew. Nothing names a session but an exemplar. Each label has at most `MOST_VALUES` values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.alert import AlertLevel
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.ledger import LAG_BOUNDS, FileState, LagSpan
from grader_daemon.domain.rollup import ESTIMATORS, Dimension, Sums
from grader_daemon.domain.text import clean
from grader_daemon.push.exposition import Exemplar, Family, Kind, Sample

MOST_VALUES: Final = 50
OTHER: Final = "other"
"""Value of a label for all that is rarer than what is named."""

WINDOW_DAYS: Final = 7
"""Days over which rates and means are estimated, up to and with today."""

_WINDOW: Final = f"{WINDOW_DAYS}d"
_MILLIONTHS: Final = 1_000_000
_FACTS: Final = {
    fact: ESTIMATORS[fact]
    for fact in ("ended_badly", "contradicted", "check_failed", "admitted", "cut_short", "gave_up", "left_midway")
}
COUNTED: Final = (
    Dimension.TASK_TYPE,
    Dimension.MODEL,
    Dimension.PLATFORM,
    Dimension.AGENT,
    Dimension.TOOL,
    Dimension.CATEGORY,
    Dimension.OVERALL,
)
"""Dimensions of the sums."""


class MetricFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that metrics are made of.

    `rules` and `model` are the versions by which the last grade was made. `sums` are of all time, `window` is of the
    last `WINDOW_DAYS`, and `completion` the rate of these by random labels. `labels` counts what people ever said.
    """

    running: bool
    version: str
    rules: str = ""
    model: str = ""
    sums: Mapping[tuple[Dimension, str], Sums] = {}
    window: Sums = Sums()
    completion: Estimate = Estimate()
    alerts: Mapping[AlertLevel, int] = {}
    files: Mapping[str, int] = {}
    backlog: int | None = None
    last_graded_at: datetime | None = None
    lags: tuple[LagSpan, ...] = ()
    labels: int = 0


def metric_families(facts: MetricFacts) -> list[Family]:
    """Return what can be told; families of which nothing is known have no samples and are left out."""
    made = (*_about_daemon(facts), *_about_sessions(facts), *_about_window(facts), *_about_people(facts))
    return [family for family in made if family.samples]


def _about_daemon(facts: MetricFacts) -> Iterator[Family]:
    build = {"version": facts.version, "rules": facts.rules, "model": facts.model}
    yield _one("grader_up", "Whether the daemon runs on this database.", int(facts.running))
    yield Family(
        name="grader_build",
        kind=Kind.INFO,
        help="Version of the program, and of the rules and the model behind the last grade.",
        samples=(Sample(1, build, "_info"),),
    )
    yield _one("grader_backlog", "Files that wait to be graded, by the daemon's last status.", facts.backlog)
    yield _by(
        "grader_files", "Session files by state.", "state", {state: facts.files.get(state, 0) for state in FileState}
    )
    graded_at = facts.last_graded_at
    yield _one(
        "grader_last_grade_timestamp_seconds",
        "Time of the last grade, in seconds since 1970.",
        None if graded_at is None else round(graded_at.timestamp(), 3),
    )
    yield Family(
        name="grader_grade_lag_seconds",
        kind=Kind.HISTOGRAM,
        help="Time from a session's last write to its grade, while the daemon ran.",
        samples=tuple(_lag_samples(facts.lags)),
    )


def _about_sessions(facts: MetricFacts) -> Iterator[Family]:
    for dimension, name in (
        (Dimension.TASK_TYPE, "grader_sessions"),
        (Dimension.MODEL, "grader_model_sessions"),
        (Dimension.PLATFORM, "grader_platform_sessions"),
        (Dimension.AGENT, "grader_agent_sessions"),
    ):
        words = dimension.replace("_", " ")
        yield _split(name, f"Finished sessions by {words} and verdict.", facts, dimension, _outcomes, label="verdict")
    for dimension, name in ((Dimension.TASK_TYPE, "grader_endings"), (Dimension.MODEL, "grader_model_endings")):
        words = dimension.replace("_", " ")
        yield _split(name, f"Finished sessions by {words} and how they ended.", facts, dimension, _ends, label="ended")
    overall = facts.sums.get((Dimension.OVERALL, ""))
    open_sessions = overall.open_sessions if overall else None
    yield _one("grader_open_sessions", "Unfinished sessions.", open_sessions)
    yield _split("grader_tool_calls", "Tool calls by tool and result.", facts, Dimension.TOOL, _calls, label="outcome")
    yield _whole("grader_failures", "Failed tool calls by kind.", facts, Dimension.CATEGORY, lambda sums: sums.failures)
    yield _whole(
        "grader_model_cost_dollars",
        "Cost of the sessions by model, as far as it is known.",
        facts,
        Dimension.MODEL,
        lambda sums: sums.cost_millionths / _MILLIONTHS if sums.priced else None,
    )


def _about_window(facts: MetricFacts) -> Iterator[Family]:
    window = facts.window
    verdicts = {"done": window.done, "not_done": window.not_done, "unsure": window.unsure}
    yield Family(
        name="grader_verdicts",
        help=f"Finished sessions of the last {WINDOW_DAYS} days by verdict.",
        samples=tuple(Sample(count, {"verdict": key, "window": _WINDOW}) for key, count in verdicts.items()),
    )
    yield Family(
        name="grader_fact_ratio",
        help=f"Share of the sessions of the last {WINDOW_DAYS} days with a fact, with its 95 % range.",
        samples=tuple(
            Sample(sample.value, {"fact": fact, **sample.labels})
            for fact, estimate in _FACTS.items()
            for sample in _bounds(estimate(window))
        ),
    )
    for name, what, estimate in (
        ("grader_completion_ratio", "Share of done sessions, by random labels", facts.completion),
        ("grader_failure_ratio", "Share of tool calls that failed", window.failure_rate()),
        ("grader_efficiency_score", "Mean tool efficiency, 1 to 5", window.mean_efficiency()),
        ("grader_quality_score", "Mean response quality, 1 to 5", window.mean_quality()),
    ):
        yield Family(
            name=name,
            help=f"{what}, over the last {WINDOW_DAYS} days, with its 95 % range.",
            samples=tuple(_bounds(estimate)),
        )


def _about_people(facts: MetricFacts) -> Iterator[Family]:
    yield _by(
        "grader_alerts_open",
        "Alerts that are not resolved.",
        "level",
        {level: facts.alerts.get(level, 0) for level in AlertLevel},
    )
    yield Family(
        name="grader_labels",
        kind=Kind.COUNTER,
        help="Labels that people ever gave or withdrew.",
        samples=(Sample(facts.labels, suffix="_total"),),
    )


def _outcomes(sums: Sums) -> dict[str, float]:
    return {
        "done": sums.done,
        "not_done": sums.not_done,
        "unsure": sums.unsure,
        "no_answer": sums.unanswered - sums.unanswered_judged,
    }


def _ends(sums: Sums) -> dict[str, float]:
    return {
        "badly": sums.ended_badly,
        "otherwise": sums.recorded - sums.ended_badly,
        "unknown": sums.sessions - sums.recorded,
    }


def _calls(sums: Sums) -> dict[str, float]:
    return {"worked": sums.calls - sums.failures, "failed": sums.failures}


def _one(name: str, words: str, value: float | None) -> Family:
    return Family(name=name, help=words, samples=() if value is None else (Sample(value),))


def _by(name: str, words: str, label: str, values: Mapping[str, float]) -> Family:
    return Family(name=name, help=words, samples=tuple(Sample(value, {label: key}) for key, value in values.items()))


def _whole(
    name: str, words: str, facts: MetricFacts, dimension: Dimension, value_of: Callable[[Sums], float | None]
) -> Family:
    def values_of(sums: Sums) -> dict[str, float]:
        value = value_of(sums)
        return {} if value is None else {"": value}

    known = _most(facts, dimension, values_of)
    return _by(name, words, dimension, {key: values[""] for key, values in known.items()})


def _split(
    name: str,
    words: str,
    facts: MetricFacts,
    dimension: Dimension,
    values_of: Callable[[Sums], dict[str, float]],
    *,
    label: str,
) -> Family:
    return Family(
        name=name,
        help=words,
        samples=tuple(
            Sample(value, {dimension: key, label: part})
            for key, values in _most(facts, dimension, values_of).items()
            for part, value in values.items()
        ),
    )


def _most(
    facts: MetricFacts, dimension: Dimension, values_of: Callable[[Sums], dict[str, float]]
) -> dict[str, dict[str, float]]:
    """Return the values of the groups with the largest, and of all others together; names that look alike are one."""
    named: dict[str, dict[str, float]] = {}
    for (of, name), sums in facts.sums.items():
        if of == dimension and (values := values_of(sums)):
            _add(named, clean(name), values)
    ranked = sorted(named, key=lambda name: (name == OTHER, -sum(named[name].values()), name))
    kept = ranked if len(ranked) <= MOST_VALUES else ranked[: MOST_VALUES - 1]
    found = {name: named[name] for name in sorted(kept)}
    for name in ranked[len(kept) :]:
        _add(found, OTHER, named[name])
    return found


def _add(known: dict[str, dict[str, float]], name: str, values: Mapping[str, float]) -> None:
    before = known.get(name, {})
    known[name] = {part: value + before.get(part, 0) for part, value in values.items()}


def _bounds(estimate: Estimate) -> Iterator[Sample]:
    for bound in ("value", "low", "high"):
        value = getattr(estimate, bound)
        if value is not None:
            yield Sample(float(value), {"bound": bound, "window": _WINDOW})


def _lag_samples(lags: tuple[LagSpan, ...]) -> Iterator[Sample]:
    ends = (*LAG_BOUNDS, float("inf"))
    for begin, end in zip((0.0, *LAG_BOUNDS), ends, strict=True):
        within = next((lag for lag in lags if lag.longer_than == begin), None)
        at_most = sum(lag.grades for lag in lags if lag.longer_than < end)
        label = "+Inf" if end == ends[-1] else repr(end)
        yield Sample(at_most, {"le": label}, "_bucket", None if within is None else _exemplar(within))
    yield Sample(sum(lag.seconds for lag in lags), suffix="_sum")
    yield Sample(sum(lag.grades for lag in lags), suffix="_count")


def _exemplar(lag: LagSpan) -> Exemplar | None:
    if lag.session_id is None:
        return None
    return Exemplar({"session_id": lag.session_id}, round(lag.lag_seconds, 3), lag.graded_at)
