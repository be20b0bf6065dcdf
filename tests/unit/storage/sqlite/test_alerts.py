from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader_daemon.domain.alert import (
    Alert,
    AlertKind,
    AlertLevel,
    Decomposition,
    DropCause,
    Observation,
    ShareChange,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.analysis import SessionState, ToolUse
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import ended_badly
from grader_daemon.errors import GraderError, InputError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import Position
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about
from tests.strategies import NOW, counts, finite, grade, grades, moments, names, new_grade, texts

MOMENT = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BEGINNING = Position(datetime(1, 1, 1, tzinfo=UTC), "")
EVER = datetime.max.replace(tzinfo=UTC)
OVERALL = Stream(Metric.ENDED_BADLY, Dimension.OVERALL, "")
SHELL = Stream(Metric.FAILURE_RATE, Dimension.TOOL, "terminal")

streams = st.builds(Stream, st.sampled_from(Metric), st.sampled_from(Dimension), texts)
estimates = st.builds(
    Estimate, value=st.none() | finite, low=st.none() | finite, high=st.none() | finite, sample=counts
)
drops = st.builds(StreamDrop, stream=streams, before=estimates, since=estimates, began_at=moments)
changes = st.builds(ShareChange, dimension=st.sampled_from(Dimension), name=texts, before=finite, since=finite)
splits = st.builds(Decomposition, mix=finite, work=finite, cause=st.sampled_from(DropCause))
alerts = st.builds(
    Alert,
    kind=st.sampled_from(AlertKind),
    level=st.sampled_from(AlertLevel),
    drops=st.lists(drops, min_size=1, max_size=3).map(tuple),
    opened_at=moments,
    began_at=moments,
    sessions=st.lists(names, max_size=3).map(tuple),
    changes=st.lists(changes, max_size=3).map(tuple),
    decomposition=st.none() | splits,
    rule=st.none() | texts,
    resolved_at=st.none() | moments,
    acknowledged_at=st.none() | moments,
    note=st.none() | texts,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """One database for all examples of properties; `emptied` before each."""
    opened = SqliteStore(tmp_path_factory.mktemp("shared") / "a.db")
    yield opened
    opened.close()


def emptied(store: SqliteStore) -> SqliteStore:
    tables = ("session_grades", "session_details", "session_failures", "alerts", "alert_streams")
    for table in tables:
        store.connection.execute(f"DELETE FROM {table}")
    return store


def alert(**changed: object) -> Alert:
    """An alert of the overall completion rate, but for `changed`."""
    drop = StreamDrop(
        stream=OVERALL,
        before=Estimate(value=0.9, low=0.8, high=0.95, sample=300),
        since=Estimate(value=0.3, low=0.1, high=0.5, sample=20),
        began_at=NOW - DAY,
    )
    base = Alert(kind=AlertKind.DEGRADATION, level=AlertLevel.WARNING, drops=(drop,), opened_at=NOW, began_at=NOW - DAY)
    return msgspec.structs.replace(base, **changed)


def add(store: SqliteStore, *made: Alert) -> list[Alert]:
    with store.transaction():
        return [store.alerts.add(each) for each in made]


def numbers(found: list[Alert]) -> list[int | None]:
    return [each.number for each in found]


def ended(store: SqliteStore, session_id: str, ended_at: datetime = NOW, **changed: Any) -> None:
    made = grade(session_id=session_id, ended_at=ended_at, ended_on=ended_at.date().isoformat(), **changed)
    with store.transaction():
        save_grades(store, [new_grade(made)])


def ids(found: list[Observation]) -> list[str]:
    return [each.session_id for each in found]


def unseen(store: SqliteStore, after: Position = BEGINNING, *, until: datetime = EVER, limit: int = 100) -> list[str]:
    return ids(store.alerts.unseen(after, until=until, limit=limit))


def advance(store: SqliteStore, seen: list[Observation]) -> Position:
    position = Position(seen[-1].ended_at, seen[-1].session_id)
    with store.transaction():
        store.alerts.advance(position, seen)
    return position


# -- alerts --------------------------------------------------------------------------------------------------------


@given(made=st.lists(alerts, min_size=1, max_size=3))
def test_alerts_come_back_as_they_were_kept(shared: SqliteStore, made: list[Alert]) -> None:
    store = emptied(shared)
    kept = add(store, *made)
    first = kept[0].number or 0
    assert numbers(kept) == list(range(first, first + len(made)))
    for before, after in zip(made, kept, strict=True):
        assert after == msgspec.structs.replace(before, number=after.number)
        assert after.number is not None
        assert store.alerts.find(after.number) == after


@settings(max_examples=about(15))
@given(first=alerts, second=alerts)
def test_what_became_of_an_alert_takes_its_place(shared: SqliteStore, first: Alert, second: Alert) -> None:
    store = emptied(shared)
    other, kept = add(store, alert(), first)
    assert other.number is not None
    assert kept.number is not None
    changed = msgspec.structs.replace(second, number=kept.number)
    with store.transaction():
        store.alerts.replace(changed)
    assert store.alerts.find(kept.number) == changed
    assert store.alerts.find(other.number) == other


def test_times_are_kept_whatever_zone_they_are_given_in(store: SqliteStore) -> None:
    here = NOW.astimezone(timezone(timedelta(hours=5, minutes=45)))
    [kept] = add(store, alert(opened_at=here))
    assert store.alerts.find(1) == kept
    assert store.alerts.find(1).opened_at.tzinfo is UTC


def test_an_alert_goes_with_the_transaction_that_opened_it(store: SqliteStore) -> None:
    with suppress(GraderError), store.transaction():
        store.alerts.add(alert())
        raise GraderError("in the middle")
    assert store.alerts.latest(10) == []


def test_a_number_is_never_given_twice(store: SqliteStore) -> None:
    add(store, alert(), alert())
    store.connection.execute("DELETE FROM alerts WHERE id = 2")
    assert numbers(add(store, alert())) == [3]


def test_open_alerts_are_those_that_are_not_resolved_newest_first(store: SqliteStore) -> None:
    assert store.alerts.open() == []
    add(
        store,
        alert(opened_at=NOW),
        alert(opened_at=NOW + HOUR, resolved_at=NOW + DAY),
        alert(opened_at=NOW + DAY, acknowledged_at=NOW + DAY),
        alert(opened_at=NOW + DAY),
        alert(opened_at=NOW - HOUR),
    )
    assert numbers(store.alerts.open()) == [4, 3, 1, 5]


@pytest.mark.parametrize(("limit", "found"), [(0, []), (1, [3]), (2, [3, 1]), (9, [3, 1, 2])])
def test_the_latest_are_the_newest_open_or_not(store: SqliteStore, limit: int, found: list[int]) -> None:
    add(store, alert(resolved_at=NOW + HOUR), alert(opened_at=NOW - SECOND), alert(opened_at=NOW + SECOND))
    assert numbers(store.alerts.latest(limit)) == found


@pytest.mark.parametrize(
    ("opened_at", "resolved_at", "is_found"),
    [
        pytest.param(NOW - DAY, None, True, id="open-before-and-still"),
        pytest.param(NOW, None, True, id="opened-at-its-beginning"),
        pytest.param(NOW + HOUR, None, False, id="opened-at-its-end"),
        pytest.param(NOW + HOUR - MOMENT, None, True, id="opened-just-before-its-end"),
        pytest.param(NOW - DAY, NOW - MOMENT, False, id="resolved-just-before"),
        pytest.param(NOW - DAY, NOW, True, id="resolved-at-its-beginning"),
        pytest.param(NOW - DAY, NOW + DAY, True, id="around-it"),
        pytest.param(NOW + SECOND, NOW + 2 * SECOND, True, id="within-it"),
        pytest.param(NOW + DAY, NOW + 2 * DAY, False, id="after-it"),
    ],
)
def test_between_are_those_that_were_open_at_some_time(
    store: SqliteStore, opened_at: datetime, resolved_at: datetime | None, is_found: bool
) -> None:
    add(store, alert(opened_at=opened_at, resolved_at=resolved_at))
    assert numbers(store.alerts.between(NOW, NOW + HOUR)) == [1] * is_found


def test_between_gives_the_oldest_first(store: SqliteStore) -> None:
    add(store, alert(opened_at=NOW + SECOND), alert(opened_at=NOW), alert(opened_at=NOW))
    assert numbers(store.alerts.between(NOW, NOW + HOUR)) == [2, 3, 1]


@pytest.mark.parametrize("number", [0, -1, 2, 2**31, 2**63 - 1, -(2**63), 2**63, 10**30, -(10**30)])
def test_there_is_no_alert_of_another_number(store: SqliteStore, number: int) -> None:
    add(store, alert())
    with pytest.raises(InputError, match=f"no alert {number}$") as told:
        store.alerts.find(number)
    assert "\n" not in str(told.value)


# -- silences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("late", "is_silenced"),
    [
        pytest.param(-MOMENT, True, id="just-before-its-end"),
        pytest.param(timedelta(0), False, id="at-its-end"),
        pytest.param(DAY, False, id="later"),
    ],
)
def test_a_silence_expires(store: SqliteStore, late: timedelta, is_silenced: bool) -> None:
    with store.transaction():
        store.alerts.silence([SHELL], NOW)
    assert store.alerts.silenced(NOW + late) == ({SHELL: NOW} if is_silenced else {})


def test_each_stream_is_silenced_by_itself(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.silence([OVERALL], NOW)
        store.alerts.silence([SHELL], NOW + DAY)
    assert store.alerts.silenced(NOW - HOUR) == {OVERALL: NOW, SHELL: NOW + DAY}
    assert store.alerts.silenced(NOW) == {SHELL: NOW + DAY}


def test_the_last_word_on_a_silence_counts(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.silence([OVERALL, SHELL], NOW + DAY)
        store.alerts.silence([OVERALL], NOW + HOUR)
    assert store.alerts.silenced(NOW) == {OVERALL: NOW + HOUR, SHELL: NOW + DAY}


def test_nothing_is_silenced_at_first(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.silence([], NOW)
    assert store.alerts.silenced(BEGINNING.ended_at) == {}


# -- detectors -----------------------------------------------------------------------------------------------------


@given(states=st.dictionaries(streams, texts.map(str.encode), max_size=5))
def test_detectors_come_back_as_they_were_kept(shared: SqliteStore, states: dict[Stream, bytes]) -> None:
    store = emptied(shared)
    with store.transaction():
        store.alerts.save_streams(states, gone=())
    assert store.alerts.streams() == states
    with store.transaction():
        store.alerts.save_streams({}, gone=frozenset(states))
    assert store.alerts.streams() == {}


def test_detectors_are_replaced_and_forgotten_one_by_one(store: SqliteStore) -> None:
    other = Stream(Metric.QUALITY, Dimension.TOOL, "terminal")
    with store.transaction():
        store.alerts.save_streams({OVERALL: b"1", SHELL: b"2", other: b"3"}, gone=())
    with store.transaction():
        store.alerts.save_streams({OVERALL: b"4"}, gone={SHELL})
    assert store.alerts.streams() == {OVERALL: b"4", other: b"3"}


def test_a_detector_that_is_gone_and_back_is_kept(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.save_streams({SHELL: b"1"}, gone=())
        store.alerts.save_streams({SHELL: b"2"}, gone={SHELL})
    assert store.alerts.streams() == {SHELL: b"2"}


# -- sessions ------------------------------------------------------------------------------------------------------


def test_there_is_no_position_at_first(store: SqliteStore) -> None:
    assert store.alerts.position() is None
    assert store.alerts.watched_from() is None


def test_the_position_is_the_one_noted_last(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.begin(BEGINNING, now=NOW - DAY)
    for position in (Position(NOW, "b"), Position(NOW - DAY, "a"), Position(NOW + MOMENT, "c")):
        with store.transaction():
            store.alerts.advance(position, [])
        assert store.alerts.position() == position
        assert store.alerts.watched_from() == NOW - DAY


def test_sessions_come_in_the_order_in_which_they_ended(store: SqliteStore) -> None:
    for session_id, ended_at in (
        ("half", NOW + SECOND / 2),
        ("whole-b", NOW),
        ("next", NOW + SECOND),
        ("whole-a", NOW),
        ("moment", NOW + MOMENT),
        ("before", NOW - MOMENT),
    ):
        ended(store, session_id, ended_at)
    order = ["before", "whole-a", "whole-b", "moment", "half", "next"]
    assert unseen(store) == order
    assert ids(store.alerts.ended(since=BEGINNING.ended_at, until=EVER, limit=100)) == order


@settings(max_examples=about(25))
@given(ends=st.lists(moments, min_size=1, max_size=8), limit=st.integers(1, 4))
def test_page_by_page_each_session_comes_once(shared: SqliteStore, ends: list[datetime], limit: int) -> None:
    store = emptied(shared)
    for number, ended_at in enumerate(ends):
        ended(store, f"s{number}", ended_at)
    position, found = BEGINNING, []
    while page := store.alerts.unseen(position, until=EVER, limit=limit):
        assert len(page) <= limit
        position = advance(store, page)
        found += page
    assert [(each.ended_at, each.session_id) for each in found] == sorted(
        (ended_at, f"s{number}") for number, ended_at in enumerate(ends)
    )


@pytest.mark.parametrize(
    ("after", "until", "found"),
    [
        pytest.param(Position(NOW - MOMENT, "z"), NOW, ["a", "b"], id="up-to-their-end"),
        pytest.param(Position(NOW - MOMENT, "z"), NOW - MOMENT, [], id="up-to-just-before"),
        pytest.param(Position(NOW, ""), NOW, ["a", "b"], id="from-that-moment"),
        pytest.param(Position(NOW, "a"), NOW, ["b"], id="after-the-first-of-that-moment"),
        pytest.param(Position(NOW, "b"), NOW + DAY, [], id="after-the-last"),
        pytest.param(Position(NOW + MOMENT, ""), NOW + DAY, [], id="after-that-moment"),
    ],
)
def test_unseen_sessions_lie_after_the_position(
    store: SqliteStore, after: Position, until: datetime, found: list[str]
) -> None:
    ended(store, "b")
    ended(store, "a")
    assert unseen(store, after, until=until) == found


def test_a_session_that_was_seen_does_not_come_again(store: SqliteStore) -> None:
    ended(store, "a")
    ended(store, "b", NOW + SECOND)
    position = advance(store, store.alerts.unseen(BEGINNING, until=NOW, limit=9))
    ended(store, "a", NOW + HOUR)
    assert unseen(store, position) == ["b"]
    assert unseen(store) == ["b"]


def test_an_open_session_is_not_one_that_ended(store: SqliteStore) -> None:
    ended(store, "open", state=SessionState.OPEN)
    assert unseen(store) == []
    assert store.alerts.ended(since=NOW - DAY, until=EVER, limit=9) == []
    ended(store, "open")
    assert unseen(store) == ["open"]


def test_what_another_program_graded_has_no_end_and_is_left_out(store: SqliteStore) -> None:
    ended(store, "a")
    store.connection.execute("DELETE FROM session_details")
    assert unseen(store) == []


@pytest.mark.parametrize(
    ("since", "until", "limit", "found"),
    [
        pytest.param(NOW, NOW + 3 * SECOND, 9, ["s0", "s1", "s2"], id="from-and-before"),
        pytest.param(NOW, NOW + 3 * SECOND + MOMENT, 9, ["s0", "s1", "s2", "s3"], id="with-the-last"),
        pytest.param(NOW + MOMENT, NOW + DAY, 9, ["s1", "s2", "s3", "s4"], id="without-the-first"),
        pytest.param(NOW, NOW + DAY, 2, ["s3", "s4"], id="the-newest-in-order"),
        pytest.param(NOW, NOW, 9, [], id="nothing-lies-between"),
        pytest.param(NOW + DAY, NOW, 9, [], id="the-wrong-way-round"),
        pytest.param(NOW, NOW + DAY, 0, [], id="none-wanted"),
    ],
)
def test_ended_gives_the_newest_of_a_time(
    store: SqliteStore, since: datetime, until: datetime, limit: int, found: list[str]
) -> None:
    for number in range(5):
        ended(store, f"s{number}", NOW + number * SECOND)
    assert ids(store.alerts.ended(since=since, until=until, limit=limit)) == found


@settings(max_examples=about(25))
@given(made=grades())
def test_an_observation_is_what_was_graded(shared: SqliteStore, made: Grade) -> None:
    made = msgspec.structs.replace(made, state=SessionState.COMPLETE, scored=True, kind=None)
    assert made.ended_at is not None
    store = emptied(shared)
    with store.transaction():
        save_grades(store, [new_grade(made)])
    assert store.alerts.unseen(BEGINNING, until=EVER, limit=9) == [
        Observation(
            session_id=made.session_id,
            ended_at=made.ended_at,
            ended_on=made.ended_on,
            task_type=made.task_type,
            model=made.model,
            platform=made.platform,
            ended_badly=ended_badly(made.ending, made.standing),
            efficiency=made.tool_calls_efficient,
            quality=made.response_quality,
            tool_calls=made.tool_calls,
            failures=made.total_errors,
            tools=made.tools,
            agent=made.agent,
            job=made.job,
        )
    ]


@pytest.mark.parametrize("kind", [SessionKind.SUB_AGENT, SessionKind.REVIEW])
def test_only_a_task_of_a_person_is_an_observation(store: SqliteStore, kind: SessionKind) -> None:
    ended(store, "side", kind=kind)
    ended(store, "task", kind=SessionKind.MAIN)
    assert unseen(store) == ["task"]


def test_a_scheduled_run_is_an_observation_of_its_own_kind(store: SqliteStore) -> None:
    ended(store, "run", kind=SessionKind.CRON)
    ended(store, "task", kind=SessionKind.MAIN)

    seen = store.alerts.unseen(BEGINNING, until=EVER, limit=9)

    assert [(each.session_id, each.scheduled) for each in seen] == [("run", True), ("task", False)]
    assert ids(store.alerts.ended(since=BEGINNING.ended_at, until=EVER, limit=9)) == ["task"]
    assert ids(store.alerts.ended(since=BEGINNING.ended_at, until=EVER, limit=9, scheduled=True)) == ["run"]


def test_a_session_without_scores_is_no_observation(store: SqliteStore) -> None:
    ended(store, "dead", scored=False, tools=(), tool_calls=0)
    ended(store, "worked")
    assert unseen(store) == ["worked"]
    assert [each.session_id for each in store.alerts.ended(since=BEGINNING.ended_at, until=EVER, limit=9)] == ["worked"]


def test_rows_of_an_older_version_have_a_day_and_no_tools(store: SqliteStore) -> None:
    ended(store, "old", tools=(ToolUse("terminal", 1, 0),))
    store.connection.execute("UPDATE session_details SET ended_on = NULL, tools = NULL")
    [found] = store.alerts.unseen(BEGINNING, until=EVER, limit=9)
    assert (found.ended_on, found.tools) == (NOW.date().isoformat(), ())


@pytest.mark.parametrize("changed", [{}, {"state": SessionState.OPEN}, {"ended_at": NOW + HOUR, "rules_version": "2"}])
def test_a_session_that_is_graded_again_stays_seen(store: SqliteStore, changed: dict[str, Any]) -> None:
    ended(store, "a")
    advance(store, store.alerts.unseen(BEGINNING, until=EVER, limit=9))
    ended(store, "a", **changed)
    ended(store, "a")
    assert unseen(store) == []


def test_the_session_seen_last_is_found_by_its_end(store: SqliteStore) -> None:
    assert store.alerts.last_watched(EVER) is None
    for session_id, ended_at in (("a", NOW), ("c", NOW + HOUR), ("b", NOW + HOUR), ("unseen", NOW + 2 * HOUR)):
        ended(store, session_id, ended_at)
    assert store.alerts.last_watched(EVER) is None
    advance(store, store.alerts.unseen(BEGINNING, until=NOW + HOUR, limit=9))
    assert store.alerts.last_watched(NOW - MOMENT) is None
    assert store.alerts.last_watched(NOW) == Position(NOW, "a")
    assert store.alerts.last_watched(NOW + HOUR - MOMENT) == Position(NOW, "a")
    assert store.alerts.last_watched(EVER) == Position(NOW + HOUR, "c")


def test_what_only_another_version_knows_is_passed_over(store: SqliteStore) -> None:
    with store.transaction():
        store.alerts.save_streams({OVERALL: b"1"}, gone=())
        store.alerts.silence([OVERALL], NOW)
    for metric, dimension in (("happiness", "tool"), ("quality", "moon")):
        key = (metric, dimension, "x", NOW.isoformat())
        store.connection.execute("INSERT INTO alert_streams VALUES (?, ?, ?, ?)", key)
        store.connection.execute("INSERT INTO alert_silences VALUES (?, ?, ?, ?)", key)
    assert store.alerts.streams() == {OVERALL: b"1"}
    assert store.alerts.silenced(NOW - HOUR) == {OVERALL: NOW}
