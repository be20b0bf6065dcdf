from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
import pytest

from grader_daemon.alerts.settlement import (
    drop_of,
    explained,
    home,
    is_news,
    joined,
    level_of,
    opened,
    resolved,
    silent_until,
)
from grader_daemon.domain.alert import (
    Alert,
    AlertKind,
    AlertLevel,
    DropCause,
    Metric,
    Observation,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.rollup import Dimension
from tests.alert_examples import (
    OVERALL,
    SHIPPED,
    alarmed,
    alert,
    at,
    bad_observation,
    evenly,
    observation,
    stream_drop,
    totals,
)

RULES = msgspec.structs.replace(SHIPPED, critical_rate_drop=0.2, critical_score_drop=0.8)
CODING = Stream(Metric.COMPLETION_RATE, Dimension.TASK_TYPE, "coding")
SLIGHT = totals(*evenly(0.8, 100))


# -- which alert an alarm belongs to -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alerts", "expected"),
    [
        pytest.param([], None, id="none-is-open"),
        pytest.param([alert(opened_at=at(11))], 0, id="it-began-before-the-alert-was-opened"),
        pytest.param([alert(opened_at=at(10))], 0, id="it-began-as-the-alert-was-opened"),
        pytest.param([alert(opened_at=at(9))], None, id="it-began-after-the-alert-was-opened"),
        pytest.param([alert(opened_at=at(11), resolved_at=at(11.5))], None, id="the-alert-is-resolved"),
        pytest.param([alert(opened_at=at(11), kind=AlertKind.THRESHOLD)], None, id="the-alert-is-of-a-threshold"),
        pytest.param([alert(opened_at=at(11)), alert(opened_at=at(12))], 1, id="the-newest-of-two"),
        pytest.param([alert(opened_at=at(12)), alert(opened_at=at(9))], 0, id="the-only-one-that-fits"),
    ],
)
def test_an_alarm_belongs_to_an_alert_that_was_opened_after_its_drop_began(
    alerts: Sequence[Alert], expected: int | None
) -> None:
    assert home(alarmed(began=10), alerts) == (None if expected is None else alerts[expected])


# -- one more stream -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "since", "expected"),
    [
        pytest.param(AlertLevel.WARNING, SLIGHT, AlertLevel.WARNING, id="a-slight-drop-leaves-a-warning"),
        pytest.param(AlertLevel.WARNING, totals(*evenly(0.2, 100)), AlertLevel.CRITICAL, id="a-deep-drop-raises-it"),
        pytest.param(AlertLevel.CRITICAL, SLIGHT, AlertLevel.CRITICAL, id="a-slight-drop-does-not-lower-it"),
    ],
)
def test_an_alert_is_as_bad_as_its_worst_drop(level: AlertLevel, since: object, expected: AlertLevel) -> None:
    one = alert(level=level)
    event = msgspec.structs.replace(alarmed(CODING), alarm=msgspec.structs.replace(alarmed().alarm, since=since))
    after = joined(one, event, rules=RULES)
    assert after.level is expected
    assert after.drops == (*one.drops, drop_of(event))


@pytest.mark.parametrize(
    ("began", "expected"),
    [pytest.param(8, 8, id="earlier-than-known"), pytest.param(11, 10, id="later-than-known")],
)
def test_an_alert_began_with_its_first_drop(began: float, expected: float) -> None:
    assert joined(alert(began_at=at(10)), alarmed(CODING, began=began), rules=RULES).began_at == at(expected)


def test_joining_changes_nothing_else() -> None:
    one = alert(note="looked at", acknowledged_at=at(13), sessions=("a",))
    after = joined(one, alarmed(CODING, began=11), rules=RULES)
    assert msgspec.structs.replace(after, drops=one.drops, level=one.level) == one


# -- a new alert ---------------------------------------------------------------------------------------------------


def history() -> tuple[list[Observation], list[Observation]]:
    """Good sessions of one model, then bad ones of another."""
    before = [observation(number / 20, model="old") for number in range(100)]
    since = [bad_observation(10 + number / 20, model="new") for number in range(40)]
    return before, since


def test_a_new_alert_says_what_fell_and_why() -> None:
    before, since = history()
    event = alarmed(since=totals(*[0.0] * 40))
    made = explained(opened(event, rules=RULES), event, before=before, since=since, rules=RULES)
    assert made.drops == (drop_of(event),)
    assert (made.kind, made.level) == (AlertKind.DEGRADATION, AlertLevel.CRITICAL)
    assert (made.began_at, made.opened_at) == (at(10), at(12))
    assert made.sessions == tuple(one.session_id for one in since[:-6:-1])
    assert [(change.dimension, change.name) for change in made.changes] == [
        (Dimension.MODEL, "new"),
        (Dimension.MODEL, "old"),
    ]
    assert made.decomposition is not None
    assert made.decomposition.cause is DropCause.WORK
    assert made.number is None
    assert made.rule is None
    assert made.resolved_at is None


def test_sessions_of_other_streams_are_passed_over() -> None:
    before, since = history()
    mine = [bad_observation(11 + number / 20, task_type="coding") for number in range(3)]
    made = explained(alert(), alarmed(CODING), before=before, since=[*since, *mine], rules=RULES)
    assert made.sessions == tuple(one.session_id for one in reversed(mine))
    assert made.changes == ()
    assert made.decomposition is None


def test_an_alert_can_be_opened_without_a_sample() -> None:
    made = explained(alert(), alarmed(), before=(), since=(), rules=RULES)
    assert (made.sessions, made.changes, made.decomposition) == ((), (), None)


# -- the end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("standing", "is_resolved"),
    [
        pytest.param(set(), True, id="none-stands"),
        pytest.param({OVERALL}, False, id="the-first-stands"),
        pytest.param({CODING}, False, id="the-second-stands"),
        pytest.param({OVERALL, CODING}, False, id="both-stand"),
        pytest.param({Stream(Metric.QUALITY, Dimension.OVERALL, "")}, True, id="another-alert's-stands"),
    ],
)
def test_an_alert_ends_when_all_its_streams_are_back(standing: set[Stream], is_resolved: bool) -> None:
    one = joined(alert(), alarmed(CODING), rules=RULES)
    after = resolved(one, standing=standing, at=at(20))
    assert after == (msgspec.structs.replace(one, resolved_at=at(20)) if is_resolved else None)


# -- numbers and levels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "before", "since"),
    [
        pytest.param(Metric.COMPLETION_RATE, 0.75, 0.25, id="completion-as-a-rate"),
        pytest.param(Metric.EFFICIENCY, 4.0, 2.0, id="efficiency-as-a-score"),
        pytest.param(Metric.QUALITY, 4.0, 2.0, id="quality-as-a-score"),
        pytest.param(Metric.FAILURE_RATE, 0.25, 0.75, id="failures-as-a-rate-that-rises"),
    ],
)
def test_a_drop_is_told_on_the_scale_of_the_metric(metric: Metric, before: float, since: float) -> None:
    stream = Stream(metric, Dimension.OVERALL, "")
    event = alarmed(stream, normal=totals(*evenly(0.75, 100)), since=totals(*evenly(0.25, 40)), began=9)
    drop = drop_of(event)
    assert drop.stream == stream
    assert drop.began_at == at(9)
    assert drop.before.value == pytest.approx(before)
    assert drop.since.value == pytest.approx(since)
    assert (drop.before.sample, drop.since.sample) == (100, 40)


@pytest.mark.parametrize(
    ("drop", "level"),
    [
        pytest.param(stream_drop(Metric.COMPLETION_RATE, 0.9, 0.71), AlertLevel.WARNING, id="rate-within-the-limit"),
        pytest.param(stream_drop(Metric.COMPLETION_RATE, 0.2, 0.0), AlertLevel.CRITICAL, id="rate-at-the-limit"),
        pytest.param(stream_drop(Metric.COMPLETION_RATE, 0.9, 0.69), AlertLevel.CRITICAL, id="rate-beyond-the-limit"),
        pytest.param(stream_drop(Metric.FAILURE_RATE, 0.1, 0.29), AlertLevel.WARNING, id="failures-within-the-limit"),
        pytest.param(stream_drop(Metric.FAILURE_RATE, 0.1, 0.31), AlertLevel.CRITICAL, id="failures-beyond-the-limit"),
        pytest.param(stream_drop(Metric.QUALITY, 4.0, 3.25), AlertLevel.WARNING, id="score-within-the-limit"),
        pytest.param(stream_drop(Metric.QUALITY, 4.0, 3.15), AlertLevel.CRITICAL, id="score-beyond-the-limit"),
        pytest.param(stream_drop(Metric.EFFICIENCY, 4.0, 3.7), AlertLevel.WARNING, id="a-score-is-no-rate"),
    ],
)
def test_a_deep_drop_is_critical(drop: StreamDrop, level: AlertLevel) -> None:
    assert level_of(drop, rules=RULES) is level


# -- what people know of -------------------------------------------------------------------------------------------


def in_two_streams() -> Alert:
    first = alert().drops[0]
    return alert(drops=(first, msgspec.structs.replace(first, stream=CODING)))


@pytest.mark.parametrize(
    ("silences", "until"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({OVERALL: at(20)}, None, id="one-of-two-streams"),
        pytest.param({OVERALL: at(20), CODING: at(21)}, at(20), id="until-the-first-ends"),
    ],
)
def test_an_alert_is_silent_while_all_of_it_is(silences: dict[Stream, datetime], until: datetime | None) -> None:
    assert silent_until(in_two_streams(), silences) == until


@pytest.mark.parametrize(
    ("changes", "silences", "news"),
    [
        pytest.param({}, {}, True, id="open"),
        pytest.param({"resolved_at": at(20)}, {}, False, id="resolved"),
        pytest.param({"acknowledged_at": at(20)}, {}, False, id="acknowledged"),
        pytest.param({}, {OVERALL: at(20)}, False, id="silenced"),
    ],
)
def test_what_somebody_knows_of_is_no_news(
    changes: dict[str, datetime], silences: dict[Stream, datetime], news: bool
) -> None:
    assert is_news(alert(**changes), silences) is news
