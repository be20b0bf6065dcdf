from __future__ import annotations

import io
import itertools
import json
import tempfile
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import structlog
from hypothesis import example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from grader_daemon import log
from grader_daemon.alerts.detector import DetectorState
from grader_daemon.alerts.settlement import BEGUN_ANEW
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, DropCause, Stream
from grader_daemon.domain.analysis import SessionState, ToolUse
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.feedback import Sampling
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.rules import AlertRules, ThresholdRule
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.setup_changes import SetupKind
from grader_daemon.errors import ConfigurationError, GraderError, StoreError
from grader_daemon.jobs import degradation
from grader_daemon.jobs.degradation import DegradationWatch
from grader_daemon.log.events import sentence
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.reports.phrasing import alert_cause, alert_lines, alert_title
from grader_daemon.reports.safe_text import plain
from grader_daemon.rules import load_rules
from grader_daemon.skills.read_changes import changes_between
from grader_daemon.storage.records import Position
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about
from tests.feedback_examples import said
from tests.strategies import grade, new_grade

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
YEAR = timedelta(days=365)
SETTLED_AFTER = timedelta(minutes=30)
START = datetime(2026, 9, 1, tzinfo=UTC)
SHIPPED = load_rules().alerts
CHANNELS = ("webhook", "command")
OVERALL = Stream(Metric.ENDED_BADLY, Dimension.OVERALL, "")
HOSTILE = "evil\x1b[31m\u202e\x9b31m\r\n\x07"
TABLES = ("alerts", "alert_streams", "alert_position", "outbox", "alert_silences")
Logs = list[MutableMapping[str, Any]]


def at(days: float) -> datetime:
    """So many days after the first session."""
    return START + timedelta(days=days)


def of_ten(number: int, good: int) -> bool:
    """Is this one of the `good` in ten sessions that do not end badly? They are spread evenly."""
    return number * 7 % 10 < good


def end_of(made: Grade) -> datetime:
    assert made.ended_at is not None
    return made.ended_at


class World:
    """A database, and the watch over it."""

    def __init__(
        self,
        store: SqliteStore,
        rules: AlertRules = SHIPPED,
        *,
        channels: Sequence[str] = CHANNELS,
        first_start: datetime | None = START - YEAR,
    ) -> None:
        """`first_start` is when the daemon started first, a year ago; None when it never did."""
        self.store = store
        self.rules = rules
        self.settled = True
        self.channels = channels
        self._numbers = itertools.count()
        self.restart()
        if first_start is not None:
            with store.transaction():
                store.alerts.begin(Position(START - YEAR, ""), now=first_start)

    def restart(self, rules: AlertRules | None = None) -> None:
        """The daemon starts again, with other rules if there are any."""
        self.rules = rules or self.rules
        self.watch = DegradationWatch(
            self.store,
            self.rules,
            channels=self.channels,
            zone=UTC,
            settled_after=SETTLED_AFTER,
            is_settled=lambda: self.settled,
            changes=partial(changes_between, self.store),
        )

    def run(self, now: datetime) -> bool:
        return self.watch.run(now)

    def save(self, *grades: Grade) -> None:
        with self.store.transaction():
            save_grades(self.store, [new_grade(each) for each in grades])

    def session(self, ended_at: datetime, *, session_id: str | None = None, **changes: Any) -> Grade:
        """Grade a session that ended then; without other wishes a good one."""
        made = self.made(ended_at, session_id=session_id, **changes)
        self.save(made)
        return made

    def made(
        self, ended_at: datetime, *, session_id: str | None = None, ended_badly: bool = False, **changes: Any
    ) -> Grade:
        """A session that is not graded yet."""
        return grade(
            ending=EndingKind.ANSWERED,
            standing=ResultStanding.CHECK_FAILED if ended_badly else ResultStanding.CHECKED,
            session_id=session_id or f"s{next(self._numbers):04}",
            ended_at=ended_at,
            ended_on=ended_at.date().isoformat(),
            **changes,
        )

    def phase(self, first: float, last: float, *, good: int, a_day: int = 20, **changes: Any) -> list[Grade]:
        """Sessions spread evenly over days, of which so many in ten do not end badly."""
        made = [
            self.made(at(first + number / a_day), ended_badly=not of_ten(number, good), **changes)
            for number in range(round((last - first) * a_day))
        ]
        self.save(*made)
        return made

    def drop(self) -> None:
        """Fifteen good days and five bad ones."""
        self.phase(0, 15, good=9)
        self.phase(15, 20, good=3)

    def run_daily(self, first: int, last: int) -> None:
        for number in range(first, last + 1):
            self.run(at(number))

    def alerts(self) -> list[Alert]:
        """The oldest first."""
        return self.store.alerts.latest(1000)[::-1]

    def alert(self) -> Alert:
        [found] = self.alerts()
        return found

    def letters(self) -> list[tuple[int, str, str]]:
        return self.store.rows("SELECT CAST(subject AS INTEGER), event, channel FROM outbox ORDER BY id")

    def payloads(self) -> list[dict[str, Any]]:
        return [json.loads(row[0]) for row in self.store.rows("SELECT payload FROM outbox ORDER BY id")]

    def findings(self) -> dict[str, list[Any]]:
        """All that the watch keeps, but for how far it has read."""
        return self.rows(*(table for table in TABLES if table != "alert_position"))

    def rows(self, *tables: str) -> dict[str, list[Any]]:
        return {table: self.store.rows(f"SELECT * FROM {table}") for table in tables or TABLES}

    def watched(self) -> set[str]:
        """Ids of the sessions that were taken up."""
        return {row[0] for row in self.store.rows("SELECT session_id FROM session_details WHERE watched")}

    def detector(self, stream: Stream = OVERALL) -> DetectorState:
        return msgspec.json.decode(self.store.alerts.streams()[stream], type=DetectorState)

    def counted(self) -> int:
        """How many sessions the detector of all has seen."""
        return self.detector().seen.sessions

    def silence(self, streams: Sequence[Stream], until: datetime) -> None:
        with self.store.transaction():
            self.store.alerts.silence(streams, until)


@contextmanager
def breaking(store: SqliteStore, change: str, *, when: str = "1") -> Iterator[None]:
    """Every change of a table ("INSERT ON …") fails, as on a full disk."""
    store.connection.execute(
        f"CREATE TEMP TRIGGER breaks BEFORE {change} WHEN {when} BEGIN SELECT RAISE(ABORT, 'broken'); END"
    )
    try:
        yield
    finally:
        store.connection.execute("DROP TRIGGER breaks")


@pytest.fixture
def world(store: SqliteStore) -> World:
    return World(store)


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


def told(logs: Logs) -> list[tuple[str, int]]:
    return [(each["event"], each["alert"]) for each in logs]


# -- a drop ----------------------------------------------------------------------------------------------------------


def test_nothing_happens_before_it_is_settled(world: World, logs: Logs) -> None:
    world.drop()
    world.settled = False
    before = world.store.connection.total_changes()
    assert not world.run(at(20))
    assert world.store.connection.total_changes() == before
    assert logs == []
    world.settled = True
    assert world.run(at(20))
    assert len(world.alerts()) == 1


def test_nothing_happens_without_sessions(world: World, logs: Logs) -> None:
    assert not world.run(at(0))
    assert not any(world.findings().values())
    assert logs == []


def test_a_drop_opens_one_alert_that_is_told_once(world: World, logs: Logs) -> None:
    world.drop()
    world.run_daily(1, 21)
    alert = world.alert()
    assert (alert.number, alert.kind, alert.level) == (1, AlertKind.DEGRADATION, AlertLevel.CRITICAL)
    assert alert.drops[0].stream == OVERALL
    assert alert.drops[0].before.value == pytest.approx(0.1, abs=0.02)
    assert alert.drops[0].since.value == pytest.approx(0.7, abs=0.1)
    assert abs(alert.began_at - at(15)) < DAY
    assert at(15) < alert.opened_at < at(18)
    assert alert.resolved_at is None
    assert alert.decomposition is not None
    assert alert.decomposition.cause is DropCause.WORK
    failed = {f"s{number:04}" for number in range(300, 400) if not of_ten(number - 300, 3)}
    assert set(alert.sessions) < failed
    assert [(each["event"], each["log_level"]) for each in logs] == [("alert.opened", "warning")]
    assert world.letters() == [(1, "opened", "webhook"), (1, "opened", "command")]


def test_the_log_tells_the_numbers_of_an_alert(world: World, logs: Logs) -> None:
    world.drop()
    world.run_daily(1, 21)
    drop = world.alert().drops[0]
    assert logs == [
        {
            "event": "alert.opened",
            "log_level": "warning",
            "alert": 1,
            "kind": "degradation",
            "severity": "critical",
            "metric": "ended_badly",
            "dimension": "overall",
            "name": "",
            "before": drop.before.value,
            "since": drop.since.value,
            "began_at": world.alert().began_at,
            "title": plain(alert_title(world.alert())),
            "cause": alert_cause(world.alert()),
            "command": "grader-daemon alerts show 1",
        }
    ]


def test_an_alert_names_the_change_that_is_nearest_to_its_beginning(world: World, logs: Logs) -> None:
    world.phase(0, 5, good=9, agent="hermes", model="first")
    world.phase(5, 15, good=9, agent="hermes", model="strong")
    world.phase(15, 20, good=3, agent="hermes", model=HOSTILE)
    world.run_daily(1, 21)

    change = world.alert().setup_change

    assert change is not None
    assert (change.kind, change.before, change.after, change.at) == (SetupKind.MODEL, "strong", HOSTILE, at(15))
    assert "Nearest change: the model of hermes changed from strong to evil" in logs[0]["cause"]
    assert "\x1b" not in logs[0]["cause"]


def test_scheduled_runs_that_fall_open_an_alert_of_their_own(world: World, logs: Logs) -> None:
    world.phase(0, 20, good=8, a_day=5, agent="hermes", model="strong")
    world.phase(0, 15, good=9, agent="hermes", model="strong", kind=SessionKind.CRON)
    world.phase(15, 20, good=3, agent="hermes", model="weak", kind=SessionKind.CRON)
    world.run_daily(1, 21)

    alert = world.alert()

    assert {drop.stream.is_scheduled for drop in alert.drops} == {True}
    assert plain(alert_title(alert)).startswith("Alert 1, critical: bad endings of scheduled runs, ")
    assert alert.decomposition is not None
    assert alert.decomposition.cause is DropCause.WORK
    assert "the model of hermes in scheduled runs changed from strong to weak" in logs[0]["cause"]
    assert set(alert.sessions) < {f"s{number:04}" for number in range(400, 500)}


def test_a_nightly_job_that_begins_to_fail_is_told_by_its_name(world: World, logs: Logs) -> None:
    world.phase(0, 60, good=8, a_day=5)
    job: dict[str, Any] = {"kind": SessionKind.CRON, "job": "a1b2", "job_name": "Check the backups"}
    other = {**job, "job": "c3d4", "job_name": "Read the mail"}
    for number in range(60):
        world.session(at(number + 0.1), ended_badly=number >= 40 and number % 4 != 0, **job)
        world.session(at(number + 0.2), **other)
    world.run_daily(1, 61)

    alert = world.alert()

    title = plain(alert_title(alert))
    assert title.startswith("Alert 1, critical: bad endings of scheduled job Check the backups (a1b2), ")
    assert alert.opened_at < at(52)
    assert alert.decomposition is not None
    assert [event["event"] for event in logs] == ["alert.opened"]
    assert "Check the backups" in sentence(logs[0], UTC)


def test_a_drop_of_tasks_is_not_laid_to_a_change_of_scheduled_runs(world: World) -> None:
    world.phase(0, 15, good=9, agent="hermes", model="strong")
    world.phase(15, 20, good=3, agent="hermes", model="strong")
    world.phase(0, 15, good=9, a_day=5, agent="hermes", model="strong", kind=SessionKind.CRON)
    world.phase(15, 20, good=9, a_day=5, agent="hermes", model="other", kind=SessionKind.CRON)
    world.run_daily(1, 21)

    assert world.alert().setup_change is None


def test_a_change_weeks_before_an_alert_is_not_named(world: World) -> None:
    world.phase(0, 5, good=9, agent="hermes", model="first")
    world.phase(5, 15, good=9, agent="hermes", model="strong")
    world.phase(15, 20, good=3, agent="hermes", model="strong")
    world.run_daily(1, 21)

    assert world.alert().setup_change is None


def test_the_line_of_an_alert_says_what_fell_since_when_why_and_where_to_read_on(world: World, logs: Logs) -> None:
    world.drop()
    world.run_daily(1, 21)
    [event] = logs

    said = sentence(event, UTC)

    told = (
        "bad endings of all sessions, ",
        " before, ",
        " since, began 2026-",
        "the same tasks went worse",
        "alerts show 1",
    )
    assert [words for words in told if words.lower() not in said.lower()] == []


def test_without_channels_only_the_log_is_told(store: SqliteStore, logs: Logs) -> None:
    world = World(store, channels=())
    world.drop()
    world.run(at(20))
    assert told(logs) == [("alert.opened", 1)]
    assert world.letters() == []


def test_a_letter_is_a_document_with_the_alert(world: World) -> None:
    world.drop()
    world.run_daily(1, 21)
    for payload in world.payloads():
        assert set(payload) == {"schema_version", "event", "title", "cause", "command", "alert"}
        assert payload["cause"].startswith("The same tasks went worse")
        assert payload["command"] == "grader-daemon alerts show 1"
        assert (payload["schema_version"], payload["event"]) == (1, "opened")
        assert payload["title"].startswith("Alert 1, critical: bad endings of all sessions, 10 %")
        assert msgspec.convert(payload["alert"], Alert) == world.alert()


def test_running_again_writes_and_tells_nothing(world: World, logs: Logs) -> None:
    world.drop()
    assert world.run(at(21))
    before, changes = world.rows(), world.store.connection.total_changes()
    logs.clear()
    for now in (at(21), at(21) + SECOND, at(21.4)):
        assert not world.run(now)
    world.restart()
    assert not world.run(at(21.5))
    assert world.rows() == before
    assert world.store.connection.total_changes() == changes
    assert logs == []


def test_a_session_is_taken_up_when_it_has_been_quiet_for_long_enough(world: World) -> None:
    world.session(at(0))
    assert not world.run(at(0) + SETTLED_AFTER - timedelta(microseconds=1))
    assert world.run(at(0) + SETTLED_AFTER)
    assert world.counted() == 1


def test_of_a_new_database_the_last_weeks_are_taken_up(store: SqliteStore) -> None:
    world = World(store, first_start=None)
    world.session(at(0))
    world.session(at(56))
    world.run(at(56) + HOUR)
    assert world.counted() == 1


# -- history ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def new_world(store: SqliteStore) -> World:
    """A daemon that never started."""
    return World(store, first_start=None)


def test_an_archive_that_is_graded_for_the_first_time_opens_nothing(new_world: World, logs: Logs) -> None:
    new_world.drop()
    assert new_world.run(at(20))
    assert new_world.alerts() == []
    assert logs == []
    assert new_world.counted() == 400


def test_the_first_start_counts_and_not_the_end_of_the_first_grading(new_world: World) -> None:
    new_world.phase(0, 15, good=9)
    new_world.settled = False
    new_world.run(at(15))
    new_world.phase(15, 20, good=3)
    new_world.settled = True
    new_world.run(at(20))
    assert len(new_world.alerts()) == 1


def test_an_archive_that_comes_after_the_start_is_history(new_world: World) -> None:
    new_world.run(at(20))
    new_world.drop()
    new_world.run(at(20) + HOUR)
    assert new_world.alerts() == []
    assert new_world.counted() == 400


def test_sessions_that_are_imported_days_after_they_ended_are_history(world: World) -> None:
    world.phase(0, 15, good=9)
    world.run_daily(1, 25)
    world.phase(16, 23, good=2)
    world.run_daily(26, 30)
    assert world.alerts() == []


def test_what_ended_while_the_daemon_was_down_is_no_history(world: World) -> None:
    world.phase(0, 15, good=9)
    world.run_daily(1, 15)
    world.phase(15, 25, good=2)
    world.run(at(25))
    assert len(world.alerts()) == 1


def test_a_first_start_under_a_clock_that_was_ahead_is_forgotten(store: SqliteStore) -> None:
    world = World(store, first_start=at(0) + YEAR)
    world.run(at(0))
    world.drop()
    world.run_daily(1, 20)
    assert len(world.alerts()) == 1


def test_a_database_that_does_not_know_its_first_start_was_always_watched(world: World) -> None:
    world.store.connection.execute("UPDATE alert_position SET watched_from = NULL")
    world.drop()
    world.run_daily(1, 20)
    assert len(world.alerts()) == 1


# -- once, however it is cut -----------------------------------------------------------------------------------------

Phase = tuple[float, float, int]
HISTORIES: dict[str, list[Phase]] = {
    "drop-and-recovery": [(0, 12, 9), (12, 15, 3), (15, 21, 9)],
    "two-drops": [(0, 12, 10), (12, 17, 7), (17, 24, 10), (24, 26, 2)],
    "drop-and-a-long-silence": [(0, 12, 9), (12, 15, 3), (115, 118, 9)],
}


def _mixed(world: World, history: Sequence[Phase]) -> list[Grade]:
    """Sessions with several task types, models and tools, which do not all fall."""
    made = []
    for first, last, good in history:
        for number in range(round((last - first) * 20)):
            kind = number % 3
            is_good = of_ten(number, 9 if kind == 2 else good)
            tools = (ToolUse("terminal", 4, 0 if is_good else 3), *((ToolUse("browser", 1, 0),) * (number % 2)))
            made.append(
                world.made(
                    at(first + number / 20),
                    ended_badly=not is_good,
                    task_type=f"type{kind}",
                    model=f"model{number % 2}",
                    tools=tools,
                    tool_calls=4 + number % 2,
                    total_errors=0 if is_good else 3,
                )
            )
    return made


def _outcome(history: str, cuts: Sequence[int], *, at_once: int = 2000) -> dict[str, list[Any]]:
    """What the watch has found when it ran after so many sessions; whether it told of it depends on the cut."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, capture_logs() as logs:
        patch.setattr(degradation, "_AT_ONCE", at_once)
        world = World(SqliteStore(Path(folder) / "a.db"))
        made = _mixed(world, HISTORIES[history])
        done = 0
        for cut in sorted({1, *(cut for cut in cuts if cut < len(made)), len(made)}):
            world.save(*made[done:cut])
            world.run(end_of(made[cut - 1]) + SETTLED_AFTER)
            world.restart()
            done = cut
        found = world.rows("alert_streams", "alert_position")
        found["alerts"] = [msgspec.structs.replace(alert, told=False) for alert in world.alerts()]
        opened = [each["alert"] for each in logs if each["event"] == "alert.opened"]
        resolved = [each["alert"] for each in logs if each["event"] == "alert.resolved"]
        assert opened == [alert.number for alert in world.alerts() if alert.told]
        assert set(resolved) == {alert.number for alert in world.alerts() if alert.told and alert.resolved_at}
        assert len(resolved) == len(set(resolved))
        world.store.close()
    return found


@pytest.fixture(scope="module")
def whole() -> dict[str, dict[str, list[Any]]]:
    """What one run over everything finds."""
    return {history: _outcome(history, []) for history in HISTORIES}


def test_the_histories_have_alerts(whole: dict[str, dict[str, list[Any]]]) -> None:
    assert {history: len(found["alerts"]) >= 1 for history, found in whole.items()} == dict.fromkeys(HISTORIES, True)


@pytest.mark.thorough
@pytest.mark.parametrize("history", HISTORIES)
@settings(max_examples=about(4))
@given(
    cuts=st.lists(st.integers(1, 480) | st.sampled_from([239, 240, 241, 255, 299, 300, 301]), max_size=8),
    at_once=st.sampled_from([37, 100, 2000]),
)
@example(cuts=list(range(230, 300, 7)), at_once=2000)
@example(cuts=[], at_once=11)
def test_any_cut_into_runs_and_batches_gives_the_same(
    whole: dict[str, dict[str, list[Any]]], history: str, cuts: list[int], at_once: int
) -> None:
    assert _outcome(history, cuts, at_once=at_once) == whole[history]


@pytest.mark.parametrize(
    "change",
    [
        *(f"INSERT ON {table}" for table in ("alerts", "alert_streams", "outbox")),
        "UPDATE ON alert_position",
        "UPDATE ON session_details",
    ],
)
def test_of_a_run_that_breaks_nothing_is_kept_or_told(world: World, logs: Logs, change: str) -> None:
    world.phase(0, 15, good=9)
    world.run(at(15))
    world.phase(15, 20, good=3)
    before = world.rows()
    with breaking(world.store, change), pytest.raises(GraderError, match="broken"):
        world.run(at(20))
    assert world.rows() == before
    assert logs == []
    assert world.run(at(20))
    assert told(logs) == [("alert.opened", 1)]
    assert world.letters() == [(1, "opened", "webhook"), (1, "opened", "command")]


@pytest.mark.parametrize("number", [0, 99, 100, 250, 315, 399])
def test_a_watch_that_is_killed_between_batches_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(degradation, "_AT_ONCE", 100)
    found = []
    for name in ("undisturbed", "killed"):
        world = World(SqliteStore(tmp_path / f"{name}.db"))
        world.drop()
        if name == "killed":
            dies = breaking(world.store, "UPDATE ON session_details", when=f"NEW.session_id = 's{number:04}'")
            with dies, pytest.raises(GraderError):
                world.run(at(20))
            assert len(world.watched()) == number // 100 * 100
            world.restart()
        world.run(at(20))
        found.append(world.rows())
        world.store.close()
    undisturbed, killed = found
    for each in (undisturbed, killed):
        each["outbox"] = [row[1:5] for row in each["outbox"]]
    assert killed == undisturbed


# -- every session counts once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="graded-again"),
        pytest.param({"standing": ResultStanding.CHECK_FAILED, "rules_version": "r2"}, id="other-rules"),
        pytest.param({"ended_at": at(9.9) + SECOND}, id="resumed-soon"),
        pytest.param({"ended_at": at(10.5), "standing": ResultStanding.CHECK_FAILED}, id="resumed-later"),
        pytest.param({"task_type": "another", "model": "another"}, id="other-groups"),
    ],
)
def test_a_session_that_was_seen_does_not_count_again(world: World, logs: Logs, changes: dict[str, Any]) -> None:
    world.phase(0, 10, good=9)
    seen = world.session(at(9.9), session_id="again")
    world.run(at(10))
    before = world.rows()
    world.save(msgspec.structs.replace(seen, **changes))
    assert not world.run(at(11))
    assert world.rows() == before
    assert logs == []


def test_what_people_say_of_sessions_that_were_seen_is_no_drop(world: World, logs: Logs) -> None:
    made = world.phase(0, 15, good=9)
    world.run(at(15))
    before = (world.rows(), world.watched())
    with world.store.transaction():
        add_feedback(world.store, [said(each.session_id) for each in made], now=at(15))
    assert not world.run(at(15) + HOUR)
    assert (world.rows(), world.watched()) == before
    assert logs == []


def test_what_people_say_of_a_session_before_it_is_seen_counts(world: World) -> None:
    world.phase(0, 10, good=10)
    world.session(at(10), session_id="judged")
    with world.store.transaction():
        add_feedback(world.store, [said("judged")], now=at(10))
    world.run(at(10) + HOUR)
    seen = world.detector().seen
    assert (seen.sessions, "judged" in world.watched()) == (201, True)
    assert world.store.rollups.group(Dimension.OVERALL, "", Span(at(0).date(), at(11).date())).completed == 200


def test_rules_that_change_all_grades_are_no_drop(world: World, logs: Logs) -> None:
    made = world.phase(0, 15, good=9)
    world.run(at(15))
    world.save(
        *(msgspec.structs.replace(each, standing=ResultStanding.CHECK_FAILED, rules_version="r2") for each in made)
    )
    assert not world.run(at(15) + HOUR)
    assert world.alerts() == []
    assert logs == []


def test_an_open_session_counts_when_it_is_finished(world: World) -> None:
    world.session(at(0), session_id="goes-on", state=SessionState.OPEN)
    assert not world.run(at(1))
    world.session(at(1), session_id="goes-on")
    assert world.run(at(2))
    assert not world.run(at(3))
    assert world.counted() == 1


def test_sessions_that_arrive_late_do_not_disturb(world: World, logs: Logs) -> None:
    world.phase(0, 10, good=9)
    world.run(at(10))
    before = world.rows()
    world.phase(2.001, 4.001, good=0)
    assert not world.run(at(11))
    assert world.rows() == before
    assert logs == []


def test_a_session_that_is_taken_back_disturbs_nothing(world: World) -> None:
    world.drop()
    world.run(at(20))
    before = world.rows()
    with world.store.transaction():
        for number in range(290, 400):
            world.store.connection.execute("DELETE FROM session_grades WHERE session_id = ?", (f"s{number:04}",))
            world.store.connection.execute("DELETE FROM session_details WHERE session_id = ?", (f"s{number:04}",))
    assert not world.run(at(21))
    assert world.rows() == before


def test_sessions_that_ended_at_one_moment_count_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(degradation, "_AT_ONCE", 3)
    world.save(*(world.made(at(1)) for _ in range(10)))
    world.run(at(2))
    assert world.counted() == 10


@pytest.mark.parametrize("later", [1, 89, 91, 400])
def test_a_session_does_not_count_again_however_late_it_is_resumed(world: World, later: int) -> None:
    world.session(at(0), session_id="resumed")
    world.run(at(1))
    world.session(at(later), session_id="resumed", state=SessionState.OPEN)
    world.session(at(later) + HOUR, session_id="resumed")
    assert not world.run(at(later + 1))
    assert world.counted() == 1


# -- the end of an alert ---------------------------------------------------------------------------------------------


def test_an_alert_resolves_by_itself_and_is_told_once(world: World, logs: Logs) -> None:
    world.drop()
    world.phase(20, 30, good=9)
    world.run_daily(1, 32)
    resolved_at = world.alert().resolved_at
    assert resolved_at is not None
    assert at(20) < resolved_at < at(30)
    assert [(each["event"], each["log_level"], each.get("level")) for each in logs] == [
        ("alert.opened", "warning", None),
        ("alert.resolved", "info", "notice"),
    ]
    assert world.letters() == [(1, event, channel) for event in ("opened", "resolved") for channel in CHANNELS]
    assert msgspec.convert(world.payloads()[-1]["alert"], Alert) == world.alert()
    assert world.store.alerts.open() == []


@pytest.mark.parametrize("drops", [False, True], ids=["fine-before", "bad-before"])
def test_weeks_without_sessions_say_nothing(world: World, logs: Logs, drops: bool) -> None:
    world.phase(0, 15, good=9)
    if drops:
        world.phase(15, 20, good=3)
    world.run(at(20))
    logs.clear()
    before = world.findings()
    for number in range(21, 100, 3):
        assert not world.run(at(number))
    assert world.findings() == before
    assert len(world.store.alerts.open()) == drops
    assert logs == []


# -- silences --------------------------------------------------------------------------------------------------------


def _all_streams(world: World) -> list[Stream]:
    return list(world.store.alerts.streams())


@pytest.mark.parametrize(
    ("late", "is_told"), [(-SECOND, True), (timedelta(0), True), (SECOND, False)], ids=["over", "at-its-end", "not-yet"]
)
def test_a_silence_ends_in_time(world: World, logs: Logs, late: timedelta, is_told: bool) -> None:
    world.phase(0, 15, good=9)
    world.run(at(15))
    world.silence(_all_streams(world), at(20) + late)
    world.phase(15, 20, good=3)
    world.run(at(20))
    assert bool(logs) is is_told


# -- clocks ----------------------------------------------------------------------------------------------------------


def test_sessions_of_the_future_wait_for_their_time(world: World) -> None:
    world.phase(0, 2, good=9)
    world.session(at(400))
    world.run(at(2.5))
    assert world.counted() == 40
    world.phase(3, 4, good=9)
    world.run(at(4.5))
    assert world.counted() == 60
    assert not world.run(at(400) + SETTLED_AFTER - SECOND)
    assert world.run(at(400) + SETTLED_AFTER)


@pytest.mark.parametrize("ahead", [2 * DAY, 30 * DAY, 80 * DAY], ids=["days", "a-month", "almost-a-quarter"])
@pytest.mark.parametrize("ended", [False, True], ids=["no-session-ended-then", "a-session-ended-then"])
def test_a_clock_that_was_ahead_makes_no_session_count_twice_or_never(
    world: World, ended: bool, ahead: timedelta
) -> None:
    world.phase(0, 10, good=9)
    world.run(at(10))
    if ended:
        world.session(at(10) + ahead)
    world.session(at(10) - MINUTE, session_id="resumed")
    world.run(at(10) + ahead + HOUR)
    world.session(at(10.05), session_id="resumed")
    world.phase(10.1, 12.1, good=9)
    world.run_daily(11, 13)
    assert world.counted() == 200 + ended + 1 + 40


@pytest.mark.parametrize("ended", [False, True], ids=["no-session-ended-then", "a-session-ended-then"])
def test_a_clock_that_was_a_year_ahead_makes_no_session_count_twice(world: World, ended: bool) -> None:
    world.phase(0, 10, good=9)
    world.run(at(10))
    if ended:
        world.session(at(10) + YEAR)
    world.session(at(10) - MINUTE, session_id="resumed")
    world.run(at(10) + YEAR + HOUR)
    before = world.counted()
    world.session(at(10.05), session_id="resumed")
    world.phase(10.1, 12.1, good=9)
    world.run_daily(11, 13)
    assert world.counted() == before + 40


def test_a_position_of_the_future_is_left(world: World) -> None:
    world.phase(0, 10, good=9)
    world.session(at(10) + YEAR)
    world.run(at(10) + YEAR + HOUR)
    world.phase(10.2, 12.2, good=9)
    assert world.run(at(12.5))
    position = world.store.alerts.position()
    assert position is not None
    assert at(12) < position.ended_at < at(12.5)
    assert not world.run(at(12.5))


def test_after_a_clock_was_ahead_a_drop_is_found(world: World, logs: Logs) -> None:
    world.phase(0, 10, good=9)
    world.run(at(10))
    world.session(at(10) + YEAR)
    world.run(at(10) + YEAR + HOUR)
    world.phase(10.1, 25.1, good=9)
    world.run_daily(11, 25)
    assert logs == []
    world.phase(25.1, 30.1, good=3)
    world.run_daily(26, 31)
    assert told(logs) == [("alert.opened", 1)]


@pytest.mark.parametrize("back", [HOUR, 2 * DAY, 40 * DAY, YEAR], ids=["an-hour", "days", "weeks", "a-year"])
def test_a_clock_that_is_behind_takes_nothing_up_twice(world: World, logs: Logs, back: timedelta) -> None:
    world.drop()
    world.run(at(20))
    before = world.rows()
    logs.clear()
    assert not world.run(at(20) - back)
    assert not world.run(at(20) + HOUR)
    assert world.rows() == before
    assert logs == []


def test_a_clock_that_is_a_year_ahead_resolves_nothing_by_itself(world: World, logs: Logs) -> None:
    world.drop()
    world.run(at(20))
    logs.clear()
    assert not world.run(at(20) + YEAR)
    assert len(world.store.alerts.open()) == 1
    assert logs == []


# -- states that cannot be used --------------------------------------------------------------------------------------


def test_an_alert_ends_when_its_detectors_are_damaged_and_begin_anew(world: World, logs: Logs) -> None:
    world.drop()
    world.run(at(20))
    world.store.connection.execute("UPDATE alert_streams SET state = ''")
    world.phase(20, 35, good=9)
    world.run_daily(21, 35)
    assert world.store.alerts.open() == []
    assert world.alert().note == BEGUN_ANEW
    world.phase(35, 40, good=3)
    world.run_daily(36, 40)
    assert told(logs) == [("alert.opened", 1), ("alert.resolved", 1), ("alert.opened", 2)]


def test_a_detector_of_an_unknown_metric_is_passed_over(world: World, logs: Logs) -> None:
    world.phase(0, 15, good=9)
    world.run(at(15))
    world.store.connection.execute("INSERT INTO alert_streams VALUES ('happiness', 'moon', 'x', '{}')")
    world.phase(15, 20, good=3)
    world.run(at(20))
    assert told(logs) == [("alert.opened", 1)]


# -- thresholds ------------------------------------------------------------------------------------------------------

HALF_FAILS = ThresholdRule(name="half fails", metric=Metric.ENDED_BADLY, above=0.5, clear=0.4, days=7, sessions=10)
EACH_TYPE = ThresholdRule(
    name="each type",
    metric=Metric.QUALITY,
    dimension=Dimension.TASK_TYPE,
    below=2.0,
    clear=3.0,
    days=7,
    sessions=10,
)


def with_thresholds(*thresholds: ThresholdRule) -> AlertRules:
    return msgspec.structs.replace(SHIPPED, thresholds=thresholds)


def _ended(world: World, day: float, *, well: int, badly: int, **changes: Any) -> None:
    outcomes = [False] * well + [True] * badly
    world.save(
        *(
            world.made(at(day) + number * SECOND, ended_badly=outcome, **changes)
            for number, outcome in enumerate(outcomes)
        )
    )


def test_a_threshold_opens_once_and_ends_where_it_clears(store: SqliteStore, logs: Logs) -> None:
    world = World(store, with_thresholds(HALF_FAILS))
    _ended(world, 0, well=4, badly=6)
    for minutes in range(3):
        world.run(at(0.5) + minutes * MINUTE)
    assert world.alert().opened_at == at(0.5)
    _ended(world, 1, well=5, badly=0)
    for minutes in range(3):
        world.run(at(1.5) + minutes * MINUTE)
    assert world.alert().resolved_at == at(1.5)
    assert told(logs) == [("alert.opened", 1), ("alert.resolved", 1)]
    assert world.letters() == [(1, event, channel) for event in ("opened", "resolved") for channel in CHANNELS]


@pytest.mark.parametrize(("failures", "opens"), [pytest.param(4, True, id="above"), pytest.param(0, False, id="fine")])
def test_a_threshold_looks_at_the_group_that_it_names(store: SqliteStore, failures: int, opens: bool) -> None:
    shell = ThresholdRule(
        name="shell", metric=Metric.FAILURE_RATE, dimension=Dimension.TOOL, group="terminal", above=0.3, clear=0.2,
        days=3, sessions=10,
    )  # fmt: skip
    world = World(store, with_thresholds(shell))
    tools = (ToolUse("terminal", 10, failures), ToolUse("browser", 10, 10 - failures))
    _ended(world, 0, well=10, badly=0, tool_calls=20, tools=tools)
    world.run(at(0.5))
    assert len(world.alerts()) == opens


@pytest.mark.parametrize(
    ("first_start", "opens"),
    [
        pytest.param(at(0.9), True, id="on-the-day-of-the-first-start"),
        pytest.param(at(1.1), False, id="on-a-day-that-was-over"),
    ],
)
def test_a_threshold_looks_at_no_day_before_the_first_start(
    store: SqliteStore, first_start: datetime, opens: bool
) -> None:
    world = World(store, with_thresholds(HALF_FAILS), first_start=first_start)
    _ended(world, 0, well=0, badly=10)
    world.run(at(1.2))
    assert len(world.alerts()) == opens


def test_a_limit_on_the_completion_rate_looks_at_random_labels(store: SqliteStore) -> None:
    rule = msgspec.structs.replace(HALF_FAILS, metric=Metric.COMPLETION_RATE, above=None, below=0.5, clear=0.6)
    of_types = msgspec.structs.replace(rule, name="types", dimension=Dimension.TASK_TYPE)
    world = World(store, with_thresholds(rule, of_types))
    made = [world.session(at(0), task_completed=True) for _ in range(30)]
    world.run(at(0.5))
    assert world.alerts() == []
    with store.transaction():
        add_feedback(store, [said(each.session_id, sampled=Sampling.RANDOM) for each in made[:20]], now=at(0.6))
    world.run(at(0.7))
    assert {alert.drops[0].stream for alert in world.alerts()} == {
        Stream(Metric.COMPLETION_RATE, Dimension.OVERALL, ""),
        Stream(Metric.COMPLETION_RATE, Dimension.TASK_TYPE, made[0].task_type),
    }


def test_only_the_last_days_count(store: SqliteStore) -> None:
    world = World(store, with_thresholds(HALF_FAILS))
    _ended(world, 0, well=0, badly=10)
    world.run(at(7))
    assert world.alerts() == []
    world.run(at(6.9))
    assert len(world.alerts()) == 1


def test_a_threshold_looks_at_every_group(store: SqliteStore, logs: Logs) -> None:
    world = World(store, with_thresholds(EACH_TYPE))
    for task_type, quality, sessions in (("a", 1, 10), ("b", 5, 10), ("c", 1, 9), ("d", 1, 12)):
        made = (world.made(at(0), task_type=task_type, response_quality=quality) for _ in range(sessions))
        world.save(*made)
    world.run(at(0.5))
    assert {alert.drops[0].stream for alert in world.alerts()} == {
        Stream(Metric.QUALITY, Dimension.TASK_TYPE, "a"),
        Stream(Metric.QUALITY, Dimension.TASK_TYPE, "d"),
    }
    world.save(*(world.made(at(0), task_type="a", response_quality=5) for _ in range(10)))
    world.run(at(0.6))
    assert [alert.drops[0].stream.name for alert in world.store.alerts.open()] == ["d"]
    assert [event for event, _ in told(logs)] == ["alert.opened", "alert.opened", "alert.resolved"]


def test_rules_of_one_name_do_not_open_alert_after_alert(store: SqliteStore, tmp_path: Path) -> None:
    one = '{ name = "x", metric = "ended_badly", above = 0.5, clear = 0.4, days = 7, sessions = 10 }'
    path = tmp_path / "rules.toml"
    path.write_text(f"[alerts]\nthresholds = [{one}, {one}]\n")
    with suppress(ConfigurationError):  # to refuse them is right as well
        world = World(store, load_rules(path).alerts)
        _ended(world, 0, well=0, badly=10)
        for number in range(5):
            world.run(at(0.5) + number * MINUTE)
        assert len(world.alerts()) <= 2


def test_a_threshold_that_breaks_is_kept_whole_or_not_at_all(store: SqliteStore, logs: Logs) -> None:
    world = World(store, with_thresholds(HALF_FAILS))
    _ended(world, 0, well=4, badly=6)
    with breaking(store, "INSERT ON outbox"), pytest.raises(GraderError):
        world.run(at(0) + MINUTE)
    assert world.alerts() == []
    assert logs == []


def test_thresholds_that_stand_write_nothing(store: SqliteStore, logs: Logs) -> None:
    world = World(store, with_thresholds(HALF_FAILS))
    _ended(world, 0, well=4, badly=6)
    world.run(at(0.5))
    changes = store.connection.total_changes()
    logs.clear()
    assert not world.run(at(0.6))
    assert store.connection.total_changes() == changes
    assert logs == []


def test_an_alert_of_a_threshold_is_no_home_for_a_drop(store: SqliteStore, logs: Logs) -> None:
    world = World(store, with_thresholds(msgspec.structs.replace(HALF_FAILS, above=0.01, clear=0.0)))
    world.drop()
    world.run_daily(1, 20)
    assert [(alert.kind, len(alert.drops) > 1) for alert in world.alerts()] == [
        (AlertKind.THRESHOLD, False),
        (AlertKind.DEGRADATION, True),
    ]
    assert told(logs) == [("alert.opened", 1), ("alert.opened", 2)]


def test_what_a_person_says_meanwhile_is_not_lost(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(store, with_thresholds(HALF_FAILS))
    _ended(world, 0, well=4, badly=6)
    world.run(at(0.5))
    _ended(world, 0.6, well=50, badly=0)
    person = SqliteStore(store.path)
    person.connection.set_busy_timeout(10)
    group = store.rollups.group

    def acknowledged_meanwhile(*of: Any) -> Any:
        with person.transaction():
            person.alerts.replace(
                msgspec.structs.replace(person.alerts.find(1), acknowledged_at=at(0.7), note="I know")
            )
        monkeypatch.undo()
        return group(*of)

    monkeypatch.setattr(store.rollups, "group", acknowledged_meanwhile)
    try:
        world.run(at(0.8))
    except StoreError:  # what the watch holds locked already, nobody else can change
        monkeypatch.undo()
        world.run(at(0.8))
        assert world.alert().resolved_at == at(0.8)
        return
    finally:
        person.close()
    alert = world.alert()
    assert (alert.acknowledged_at, alert.note, alert.resolved_at) == (at(0.7), "I know", at(0.8))


# -- names from outside ----------------------------------------------------------------------------------------------


def _hostile(world: World, first: float, last: float, *, good: int) -> None:
    world.phase(first, last, good=good, model=HOSTILE, task_type=HOSTILE, tools=(ToolUse(HOSTILE, 1, 0),))


@pytest.fixture
def hostile(store: SqliteStore) -> World:
    """Rules and sessions that bring escapes to where a title and a log line are made."""
    rule = msgspec.structs.replace(HALF_FAILS, name=HOSTILE, dimension=Dimension.TOOL, above=0.05, clear=0.0)
    world = World(store, with_thresholds(rule))
    _hostile(world, 0, 15, good=9)
    _hostile(world, 15, 20, good=3)
    return world


def test_titles_are_fit_for_a_terminal(hostile: World) -> None:
    hostile.run_daily(1, 20)
    titles = [payload["title"] for payload in hostile.payloads()]
    assert any("evil" in title for title in titles)
    assert all(title.isprintable() for title in titles)
    raw = [row[0] for row in hostile.store.rows("SELECT payload FROM outbox")]
    assert all(not {"\x1b", "\x07", "\n", "\r"} & set(payload) for payload in raw)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_log_lines_are_fit_for_a_terminal(hostile: World, log_format: Literal["json", "console"]) -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format=log_format, stream=stream)
    try:
        hostile.restart()
        hostile.run_daily(1, 20)
    finally:
        structlog.reset_defaults()
    lines = [line for line in stream.getvalue().splitlines() if "times in" not in line]
    assert sum("Alert " in line for line in lines) == len(lines) == len(hostile.alerts())
    assert any("evil" in line for line in lines)
    assert all(not {"\x1b", "\x07", "\x9b"} & set(line) or log_format == "json" for line in lines)
    assert all("\x1b" not in line for line in lines)


def test_names_of_any_length_are_told(world: World, logs: Logs) -> None:
    world.phase(0, 15, good=9, task_type="t" * 10_000, model="m" * 200, tools=(ToolUse("x" * 300, 1, 0),))
    world.phase(15, 20, good=3, task_type="t" * 10_000, model="m" * 200, tools=(ToolUse("x" * 300, 1, 0),))
    world.run_daily(1, 20)
    assert told(logs) == [("alert.opened", 1)]
    assert all(len(payload["title"]) < 300 for payload in world.payloads())


def test_sessions_without_names_are_watched(world: World, logs: Logs) -> None:
    for first, last, good in ((0, 15, 9), (15, 20, 3)):
        world.phase(first, last, good=good, task_type="", model=None, platform=None, tools=(), tool_calls=0)
    world.run_daily(1, 20)
    assert [drop.stream.dimension for drop in world.alert().drops] == [Dimension.OVERALL]
    assert told(logs) == [("alert.opened", 1)]


# -- several agents --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "alerts"),
    [
        pytest.param(("hermes", "codex"), 0, id="agents-that-are-known-apart"),
        pytest.param((None, None), 1, id="one-that-got-worse"),
    ],
)
def test_another_mix_of_agents_alone_is_no_degradation(
    world: World, logs: Logs, agents: tuple[str | None, str | None], alerts: int
) -> None:
    """One completes nine in ten of its sessions, the other five, all the time; only their shares change."""
    one, other = agents
    world.phase(0, 15, good=9, agent=one)
    world.phase(15, 30, good=9, a_day=10, agent=one)
    world.phase(15, 30, good=5, agent=other)

    world.run_daily(1, 31)

    assert (len(world.alerts()), len(told(logs))) == (alerts, alerts)


def test_an_agent_that_gets_worse_is_told_by_its_name(world: World) -> None:
    world.phase(0, 50, good=9, a_day=10, agent="hermes")
    world.phase(15, 40, good=5, agent="codex")
    world.phase(40, 50, good=0, agent="codex")

    world.run_daily(1, 51)

    [found] = world.alerts()
    assert Stream(Metric.ENDED_BADLY, Dimension.AGENT, "codex") in {drop.stream for drop in found.drops}
    assert "agent codex" in " ".join(plain(line) for line in (alert_title(found), *alert_lines(found)))
    assert not any(drop.stream.name == "hermes" for drop in found.drops)


def test_an_agent_alone_needs_no_streams_beside_those_of_all(world: World) -> None:
    world.phase(0, 15, good=9, agent="hermes")
    world.run_daily(1, 16)
    assert not any(stream.dimension is Dimension.AGENT for stream in world.store.alerts.streams())
