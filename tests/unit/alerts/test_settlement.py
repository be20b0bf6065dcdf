from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from grader_daemon.alerts.detector import DetectorState
from grader_daemon.alerts.settlement import (
    BEGUN_ANEW,
    LOST,
    announced,
    drop_of,
    explained,
    home,
    is_news,
    is_only_mix,
    joined,
    level_of,
    opened,
    resolved,
    settle,
    silent_until,
)
from grader_daemon.alerts.watch import Event, Lost, Recovered, watch
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, DropCause, Observation, Stream, StreamDrop
from grader_daemon.domain.rollup import Dimension, Metric
from tests.alert_examples import (
    OVERALL,
    SHIPPED,
    alarmed,
    alert,
    at,
    bad_observation,
    evenly,
    observation,
    phase,
    stream_drop,
    totals,
    use,
)

RULES = msgspec.structs.replace(SHIPPED, critical_rate_drop=0.2, critical_score_drop=0.8)
CODING = Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "coding")
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


@pytest.mark.parametrize(
    ("stream", "first", "joins"),
    [
        pytest.param(("job", "a"), ("job", "a"), True, id="another-metric-of-the-job"),
        pytest.param(("job", "a"), ("job", "b"), False, id="another-job"),
        pytest.param(("job", "a"), ("overall", ""), False, id="a-job-and-tasks-of-persons"),
        pytest.param(("overall", ""), ("job", "a"), False, id="tasks-of-persons-and-a-job"),
        pytest.param(("kind", "cron"), ("job", "a"), True, id="all-scheduled-runs-and-a-job"),
        pytest.param(("job", "a"), ("kind", "cron"), False, id="a-job-and-all-scheduled-runs"),
    ],
)
def test_each_scheduled_job_has_alerts_of_its_own(stream: tuple[str, str], first: tuple[str, str], joins: bool) -> None:
    event, other = (Stream(Metric.FAILURE_RATE, Dimension(group), name) for group, name in (stream, first))
    open_one = alert(
        opened_at=at(11), drops=(msgspec.structs.replace(stream_drop(Metric.FAILURE_RATE, 0.1, 0.5), stream=other),)
    )
    assert (home(alarmed(event, began=10), [open_one]) is not None) == joins


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
        pytest.param(Metric.ENDED_BADLY, 0.25, 0.75, id="bad-endings-as-a-rate-that-rises"),
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
        pytest.param(stream_drop(Metric.ENDED_BADLY, 0.1, 0.29), AlertLevel.WARNING, id="rate-within-the-limit"),
        pytest.param(stream_drop(Metric.ENDED_BADLY, 0.0, 0.2), AlertLevel.CRITICAL, id="rate-at-the-limit"),
        pytest.param(stream_drop(Metric.ENDED_BADLY, 0.1, 0.31), AlertLevel.CRITICAL, id="rate-beyond-the-limit"),
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


# -- through days and weeks ----------------------------------------------------------------------------------------


class Room:
    """Alerts as they are kept, without a database: sessions in, what people are told out."""

    def __init__(self) -> None:
        self.states: dict[Stream, DetectorState] = {}
        self.alerts: list[Alert] = []
        self.silences: dict[Stream, datetime] = {}
        self.told: list[tuple[str, int]] = []

    def settle(self, events: Iterable[Event], *, standing: set[Stream], now: datetime) -> None:
        silenced = {stream: until for stream, until in self.silences.items() if until > now}
        is_open = [each for each in self.alerts if each.resolved_at is None]
        for each in settle(events, is_open, standing=standing, rules=RULES, now=now):
            kept, is_told = announced(each.alert, silenced)
            if kept.number is None:
                kept = msgspec.structs.replace(kept, number=len(self.alerts) + 1)
                self.alerts.append(kept)
            self.alerts[(kept.number or 0) - 1] = kept
            if is_told:
                self.told.append(("opened" if kept.resolved_at is None else "resolved", kept.number or 0))

    def watch(self, *phases: Sequence[Observation], daily: bool = True) -> None:
        """Take up sessions in the order in which they ended: day by day, or all at once."""
        seen = sorted((one for each in phases for one in each), key=lambda one: one.ended_at)
        days = groupby(seen, key=lambda one: one.ended_on) if daily else [("", seen)]
        for _, batch in days:
            self._take_up(list(batch))

    def _take_up(self, batch: Sequence[Observation]) -> None:
        standing = {stream for stream, state in self.states.items() if state.alarm is not None}
        watched = watch(self.states, batch, since=at(-365), rules=SHIPPED)
        kept = {stream: state for stream, state in self.states.items() if stream not in watched.gone}
        self.states = kept | watched.states
        self.settle(watched.events, standing=standing, now=batch[-1].ended_at)

    def only(self) -> Alert:
        [found] = self.alerts
        return found


@pytest.fixture
def room() -> Room:
    return Room()


def fallen() -> list[Observation]:
    """Fifteen good days and five bad ones."""
    return [*phase(0, 15, good=9), *phase(15, 20, good=3)]


def test_a_quiet_month_opens_nothing(room: Room) -> None:
    room.watch(phase(0, 40, good=9))
    assert room.alerts == []


def test_one_cause_is_one_alert_that_grows(room: Room) -> None:
    terminal, browser = (use("terminal", 4, 0),), (use("browser", 4, 0),)
    room.watch(
        phase(0, 15, good=9, a_day=10, task_type="a", tools=terminal, tool_calls=4),
        phase(0.01, 15.01, good=9, a_day=10, task_type="b", tools=browser, tool_calls=4),
    )
    sizes = []
    for day in range(15, 26):
        room.watch(
            phase(
                day + 0.05, day + 1.05, good=3, a_day=10, task_type="a", tools=(use("terminal", 4, 3),), tool_calls=4
            ),
            phase(day + 0.06, day + 1.06, good=6, a_day=10, task_type="b", tools=browser, tool_calls=4),
        )
        sizes += [len(each.drops) for each in room.alerts]
    streams = [drop.stream for drop in room.only().drops]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == len(set(streams))
    assert {
        OVERALL,
        Stream(Metric.FAILURE_RATE, Dimension.TOOL, "terminal"),
        Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "a"),
        Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "b"),
    } <= set(streams)
    assert room.told == [("opened", 1)]


def test_a_drop_that_begins_later_is_another_alert(room: Room) -> None:
    room.watch(
        *(
            [*phase(0, fine, good=9, task_type=name), *phase(fine, 30, good=2, task_type=name)]
            for name, fine in (("a", 15), ("b", 25))
        )
    )
    first, second = room.alerts
    assert room.told == [("opened", 1), ("opened", 2)]
    assert first.opened_at < at(20) < at(25) < second.opened_at
    assert Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "a") in {drop.stream for drop in first.drops}
    assert Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "b") in {drop.stream for drop in second.drops}


def test_the_recovery_of_a_group_ends_no_alert_of_another(room: Room) -> None:
    later = {"a": phase(30, 45, good=9, task_type="a"), "b": phase(30, 45, good=2, task_type="b")}
    room.watch(
        *(
            [*phase(0, fine, good=9, task_type=name), *phase(fine, 30, good=2, task_type=name), *later[name]]
            for name, fine in (("a", 15), ("b", 25))
        )
    )
    assert [each.resolved_at for each in room.alerts][1:] == [None]
    assert ("resolved", 2) not in room.told


def test_an_alert_of_the_same_group_after_a_recovery_is_a_new_one(room: Room) -> None:
    room.watch(fallen(), phase(20, 40, good=9), phase(40, 44, good=3))
    assert room.told == [("opened", 1), ("resolved", 1), ("opened", 2)]


def test_an_alert_that_came_and_went_in_one_batch_is_recorded_only(room: Room) -> None:
    room.watch(fallen(), phase(20, 30, good=9), daily=False)
    assert room.only().resolved_at is not None
    assert room.told == []


def test_an_acknowledged_alert_resolves_as_well(room: Room) -> None:
    room.watch(fallen())
    room.alerts[0] = msgspec.structs.replace(room.only(), acknowledged_at=at(20), note="I know")
    room.watch(phase(20, 30, good=9))
    assert (room.only().acknowledged_at, room.only().note) == (at(20), "I know")
    assert room.only().resolved_at is not None
    assert room.told == [("opened", 1), ("resolved", 1)]


def test_an_alert_stays_open_while_one_of_its_streams_is_bad(room: Room) -> None:
    def both(first: float, last: float, *, good_of_b: int) -> None:
        room.watch(phase(first, last, good=9, task_type="a"), phase(first, last, good=good_of_b, task_type="b"))

    room.watch(*([*phase(0, 15, good=9, task_type=name), *phase(15, 20, good=2, task_type=name)] for name in "ab"))
    both(20, 30, good_of_b=2)
    assert room.only().resolved_at is None
    both(31, 45, good_of_b=9)
    assert room.only().resolved_at is not None


def test_an_alert_survives_some_weeks_without_sessions(room: Room) -> None:
    room.watch(fallen(), phase(60, 65, good=3))
    assert room.only().resolved_at is None
    assert room.told == [("opened", 1)]


def test_an_alert_of_a_group_without_sessions_for_long_ends_and_says_that_nobody_knows(room: Room) -> None:
    room.watch(fallen(), phase(120, 121, good=9))
    assert room.only().resolved_at is not None
    assert room.only().note == LOST


def test_an_alert_does_not_stay_open_for_ever_when_its_detectors_begin_anew(room: Room) -> None:
    room.watch(fallen())
    room.states = {}
    room.watch(phase(20, 21, good=9))
    assert (room.only().resolved_at, room.only().note) == (at(20.95), BEGUN_ANEW)


def test_an_alert_of_a_threshold_is_none_of_its_concern(room: Room) -> None:
    room.alerts = [alert(kind=AlertKind.THRESHOLD)]
    room.settle([alarmed(began=11)], standing=set(), now=at(12))
    assert room.alerts[0] == alert(kind=AlertKind.THRESHOLD)
    assert [each.kind for each in room.alerts[1:]] == [AlertKind.DEGRADATION]


# -- silences ------------------------------------------------------------------------------------------------------


def test_of_silenced_streams_an_alert_is_recorded_and_not_told(room: Room) -> None:
    room.watch(phase(0, 15, good=9))
    room.silences = dict.fromkeys(room.states, at(30))
    room.watch(phase(15, 20, good=3))
    assert room.only().resolved_at is None
    room.watch(phase(20, 28, good=9))
    assert room.only().resolved_at is not None
    assert room.told == []


def test_the_end_of_an_alert_that_was_silenced_meanwhile_is_not_told(room: Room) -> None:
    room.watch(fallen())
    room.silences = {drop.stream: at(40) for drop in room.only().drops}
    room.watch(phase(20, 30, good=9))
    assert room.only().resolved_at is not None
    assert room.told == [("opened", 1)]


def test_after_a_silence_new_alerts_are_told(room: Room) -> None:
    room.watch(phase(0, 15, good=9))
    room.silences = dict.fromkeys(room.states, at(30))
    room.watch(phase(15, 19, good=3), phase(19, 40, good=9))
    assert room.told == []
    room.watch(phase(40, 45, good=3))
    assert room.told == [("opened", 2)]


def test_the_end_of_an_alert_that_nobody_was_told_of_is_not_told(room: Room) -> None:
    room.watch(phase(0, 15, good=9))
    room.silences = dict.fromkeys(room.states, at(20))
    room.watch(phase(15, 20, good=3), phase(20, 28, good=9))
    assert room.only().resolved_at is not None
    assert room.told == []


def test_an_alert_that_shows_in_one_stream_more_than_is_silenced_is_told(room: Room) -> None:
    room.watch(phase(0, 15, good=9))
    room.silences = {OVERALL: at(30)}
    room.watch(phase(15, 20, good=3), daily=False)
    assert room.told == [("opened", 1)]


@pytest.mark.parametrize("daily", [False, True], ids=["in-one-run", "in-many-runs"])
def test_what_joins_a_silenced_alert_is_told_if_it_is_not_silenced(room: Room, daily: bool) -> None:
    """However the sessions were cut, a metric that nobody silenced has fallen, and somebody must hear of it."""
    room.watch(*(phase(0, 30, good=9, a_day=a_day, task_type=name) for name, a_day in (("a", 5), ("b", 15))))
    room.silences = {stream: at(90) for stream in room.states if stream.name == "a"}
    room.watch(
        phase(30, 50, good=0, a_day=5, task_type="a"), phase(30, 50, good=9, a_day=15, task_type="b"), daily=daily
    )
    streams = [drop.stream for drop in room.only().drops]
    assert (streams[0].name, streams[-1]) == ("a", OVERALL)
    assert room.told == [("opened", 1)]


# -- whatever happens, in any order ----------------------------------------------------------------------------------

STREAMS = [OVERALL, CODING, Stream(Metric.QUALITY, Dimension.OVERALL, "")]


class AlertsAgainstTheirPromises(RuleBasedStateMachine):
    """Events in batches, beside the same events one by one; steps stop where an alarm joins or opens another alert."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.batched, self.single = Room(), Room()
        self.standing: set[Stream] = set()
        self.standing_before: set[Stream] = set()
        self.waiting: list[Event] = []
        self.ended: dict[int, Alert] = {}

    def _happens(self, event: Event) -> None:
        self.single.settle([event], standing=set(self.standing), now=at(self.now))
        self.waiting.append(event)

    @rule(step=st.sampled_from([0.0, 0.5, 1.0, 10.0]))
    def wait(self, step: float) -> None:
        self.now += step

    @rule(stream=st.sampled_from(STREAMS), age=st.sampled_from([0.0, 0.5, 1.0, 10.0, 50.0]))
    def alarm(self, stream: Stream, age: float) -> None:
        if stream in self.standing:
            return
        began = self.now - age
        known = [each for each in self.single.alerts if each.resolved_at is None and each.opened_at >= at(began)]
        count = len(self.single.alerts)
        self._happens(alarmed(stream, began=began, raised=self.now))
        self.standing.add(stream)
        assert (len(self.single.alerts) > count) is not bool(known)

    @rule(stream=st.sampled_from(STREAMS), kind=st.sampled_from([Recovered, Lost]))
    def end(self, stream: Stream, kind: type[Recovered | Lost]) -> None:
        if stream in self.standing:
            self._happens(kind(stream=stream, at=at(self.now)))
            self.standing.discard(stream)

    @rule()
    def settle_the_batch(self) -> None:
        self.batched.settle(self.waiting, standing=self.standing_before, now=at(self.now))
        self.waiting, self.standing_before = [], set(self.standing)

    @rule(stream=st.sampled_from(STREAMS))
    def begin_anew(self, stream: Stream) -> None:
        self.settle_the_batch()
        self.standing.discard(stream)
        self.standing_before.discard(stream)
        for each in (self.batched, self.single):
            each.settle([], standing=set(self.standing), now=at(self.now))

    @rule(stream=st.sampled_from(STREAMS), days=st.sampled_from([0.5, 10.0]))
    def silence(self, stream: Stream, days: float) -> None:
        self.settle_the_batch()
        for each in (self.batched, self.single):
            each.silences[stream] = at(self.now + days)

    @invariant()
    def every_alarm_that_stands_is_in_an_open_alert_and_every_open_alert_has_one(self) -> None:
        is_open = [each for each in self.single.alerts if each.resolved_at is None]
        assert self.standing <= {drop.stream for each in is_open for drop in each.drops}
        assert all(self.standing & {drop.stream for drop in each.drops} for each in is_open)

    @invariant()
    def what_ended_stays_as_it_was(self) -> None:
        ended = {each.number or 0: each for each in self.single.alerts if each.resolved_at is not None}
        assert {number: ended[number] for number in self.ended} == self.ended
        self.ended = ended

    @invariant()
    def an_alert_is_told_once_and_its_end_after_it(self) -> None:
        for room in (self.batched, self.single):
            for number in range(1, len(room.alerts) + 1):
                of_it = [event for event, of in room.told if of == number]
                assert of_it in ([], ["opened"], ["opened", "resolved"])
                assert room.alerts[number - 1].told is bool(of_it)

    @invariant()
    def batches_make_no_difference_but_to_what_is_told(self) -> None:
        if not self.waiting:
            batched, single = (
                [msgspec.structs.replace(each, told=False) for each in room.alerts]
                for room in (self.batched, self.single)
            )
            assert batched == single


TestAlertsAgainstTheirPromises = AlertsAgainstTheirPromises.TestCase


# -- agents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "expected"),
    [pytest.param("codex", True, id="by-the-agents"), pytest.param("hermes", False, id="by-their-work")],
)
def test_a_stream_falls_by_the_mix_of_agents_alone_or_not(agent: str, expected: bool) -> None:
    before = [observation(ended_badly=number < 10, agent="hermes") for number in range(100)]
    since = [observation(11, ended_badly=number < 1, agent="hermes") for number in range(10)]
    since += [observation(11, ended_badly=number < 50, agent=agent) for number in range(100)]
    assert is_only_mix(alarmed(), before=before, since=since) is expected
