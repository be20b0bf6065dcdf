from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Iterator, MutableMapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from structlog.testing import capture_logs

from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, SessionState, ToolUse
from grader_daemon.domain.calendar import day_of, week_of
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FeedbackSource, Said, Sampling
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import Coverage, WeeklyReport
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.jobs.weekly import ReportJob, WeeklyReports
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import retract, save_grades
from grader_daemon.reports.document import read_report
from grader_daemon.skills.read_changes import setup_changes
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about, steps
from tests.feedback_examples import said
from tests.strategies import grade, new_grade
from tests.units import unit

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
APIA = ZoneInfo("Pacific/Apia")
W47 = date(2026, 11, 16)
TIMEOUT = (Failure(2, "terminal", Category.TIMEOUT),)
Logs = list[MutableMapping[str, Any]]


def at(day: date, hour: int = 0, zone: tzinfo = BERLIN, *, minute: int = 0) -> datetime:
    """A wall clock's time, in UTC."""
    return datetime.combine(day, time(hour, minute), zone).astimezone(UTC)


def bad(number: int = 0) -> dict[str, Any]:
    """A session that every suggestion could show."""
    return {
        "task_completed": False,
        "ending": EndingKind.ANSWERED,
        "standing": ResultStanding.CHECK_FAILED,
        "tool_calls_efficient": 1,
        "response_quality": 1,
        "errors_recovered": False,
        "task_type": "testing",
        "tool_calls": 4,
        "total_errors": 2 + number,
        "tools": (ToolUse("terminal", 4, 2),),
        "failures": TIMEOUT * (2 + number),
    }


TRUST = Trust(version="m1.model", by=VerdictBy.MODEL)


class World:
    """A database in a place, and the job that writes its reports."""

    def __init__(self, store: SqliteStore, zone: tzinfo | None = BERLIN, *, installed: date = W47) -> None:
        self.store = store
        self.settled = True
        self._numbers = itertools.count()
        store.connection.execute("UPDATE schema_migrations SET applied_at = ?", (f"{installed} 12:00:00+00:00",))
        self.move(zone)

    def move(self, zone: tzinfo | None) -> None:
        """The daemon starts again in another zone."""
        self.zone = zone
        self.reports = WeeklyReports(
            self.store, zone=zone, trust=lambda: TRUST, changes=partial(setup_changes, self.store)
        )
        self.job = ReportJob(self.reports, is_settled=lambda: self.settled)

    def session(self, ended_at: datetime, *, session_id: str | None = None, **changes: Any) -> Grade:
        """Grade a session that ended then; without other wishes a good one."""
        signs = tuple(
            ErrorSign(
                fingerprint=f.fingerprint, tool=f.tool, command=f.command, category=f.category, signal="s", example="e"
            )
            for f in changes.get("failures", ())
            if f.fingerprint
        )
        made = grade(
            session_id=session_id or f"s{next(self._numbers):03}",
            ended_at=ended_at,
            ended_on=day_of(ended_at, self.zone).isoformat(),
            **changes,
        )
        with self.store.transaction():
            save_grades(self.store, [msgspec.structs.replace(new_grade(made), signs=signs)])
        return made

    def run(self, now: datetime) -> bool:
        return self.job.run(now)

    def rows(self) -> dict[str, str]:
        """The reports' bytes by the Monday of their week."""
        return dict(self.store.rows("SELECT week_start, report_json FROM weekly_reports ORDER BY week_start"))

    def weeks(self) -> list[str]:
        return [read_report(content).week for content in self.rows().values()]

    def kept(self, monday: date) -> WeeklyReport:
        return read_report(self.rows()[monday.isoformat()])

    def totals(self) -> dict[str, int]:
        """Sessions by week, of the weeks that had any."""
        found = (read_report(content) for content in self.rows().values())
        return {report.week: report.total_sessions for report in found if report.total_sessions}


@pytest.fixture
def world(store: SqliteStore) -> World:
    """In Berlin, installed on Monday of week 47."""
    return World(store)


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


def test_a_report_has_the_changes_of_its_week_and_its_trend_those_of_all(world: World) -> None:
    for number in range(60):
        model = ("a", "b", "c")[number // 20]
        world.session(at(date(2026, 11, 10)) + number * 4 * HOUR, agent="hermes", model=model, p_completed=None)
    world.run(at(date(2026, 11, 23), 1))

    report = world.kept(W47)

    assert report.changes is not None
    assert [[each.after for each in effect.changes] for effect in report.changes] == [["c"]]
    assert [[each.after for each in point.changes] for point in report.trend[-2:]] == [["b"], ["c"]]
    assert report.changes[0].missing_before == 10, "twenty by b, of thirty"


# -- when ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "written"),
    [
        pytest.param(at(W47, 12), [], id="while-the-week-goes-on"),
        pytest.param(at(date(2026, 11, 23)) - SECOND, [], id="just-before-its-end"),
        pytest.param(at(date(2026, 11, 23)), [], id="at-its-end"),
        pytest.param(at(date(2026, 11, 23), 1) - SECOND, [], id="just-less-than-an-hour-later"),
        pytest.param(at(date(2026, 11, 23), 1), ["2026-W47"], id="an-hour-later"),
        pytest.param(at(date(2026, 11, 29), 23), ["2026-W47"], id="at-the-first-start-after-it"),
        pytest.param(at(date(2026, 11, 30), 1), ["2026-W47", "2026-W48"], id="a-week-later"),
    ],
)
def test_a_week_is_reported_an_hour_after_its_end(world: World, now: datetime, written: list[str]) -> None:
    assert world.run(now) is bool(written)
    assert world.weeks() == written


def test_three_weeks_down_are_three_reports(world: World, logs: Logs) -> None:
    world.run(at(date(2026, 11, 23), 2))
    world.session(at(date(2026, 11, 24), 12))
    world.session(at(date(2026, 12, 12), 12))
    before = len(logs)
    assert world.run(at(date(2026, 12, 14), 9))
    assert world.weeks() == ["2026-W47", "2026-W48", "2026-W49", "2026-W50"]
    assert world.totals() == {"2026-W48": 1, "2026-W50": 1}
    written = [(line["week"], line["revision"], line["sessions"]) for line in logs[before:]]
    assert written == [("2026-W48", 1, 1), ("2026-W49", 1, 0), ("2026-W50", 1, 1)]
    assert {line["event"] for line in logs} == {"report.written"}


def test_reports_are_read_as_they_were_kept_newest_first(world: World) -> None:
    world.run(at(date(2026, 12, 7), hour=2))
    world.store.connection.execute("UPDATE weekly_reports SET report_json = '{}' WHERE week_start = '2026-11-23'")

    assert [report.week for report in world.reports.kept(date.max, 9)] == ["2026-W49", "2026-W47"]


def test_without_a_known_installation_the_weeks_with_sessions_are_reported(world: World) -> None:
    world.store.connection.execute("DELETE FROM schema_migrations")
    world.session(at(W47, 12))
    world.run(at(date(2026, 12, 14), 2))
    assert world.weeks() == ["2026-W47"]


def test_nothing_is_written_before_all_is_graded(world: World) -> None:
    world.settled = False
    world.session(at(W47, 12))
    assert not world.run(at(date(2026, 12, 14)))
    assert world.rows() == {}
    world.settled = True
    assert world.run(at(date(2026, 12, 14)))


def test_a_second_run_has_nothing_to_do(world: World, logs: Logs) -> None:
    world.session(at(W47, 12))
    world.run(at(date(2026, 11, 23), 2))
    before, told = world.store.rows("SELECT * FROM weekly_reports"), len(logs)
    assert not world.run(at(date(2026, 11, 23), 3))
    assert world.store.rows("SELECT * FROM weekly_reports") == before
    assert len(logs) == told


@pytest.mark.parametrize(
    ("zone", "installed_at", "first"),
    [
        pytest.param(BERLIN, "2026-11-22 23:30:00+00:00", "2026-W48", id="east-on-monday-where-utc-has-sunday"),
        pytest.param(NEW_YORK, "2026-11-23 02:00:00+00:00", "2026-W47", id="west-on-sunday-where-utc-has-monday"),
    ],
)
def test_the_week_of_the_installation_is_that_of_the_zone(
    store: SqliteStore, zone: tzinfo, installed_at: str, first: str
) -> None:
    world = World(store, zone)
    store.connection.execute("UPDATE schema_migrations SET applied_at = ?", (installed_at,))
    world.run(at(date(2026, 12, 7), 12, zone))
    assert world.weeks()[0] == first


# -- which week ----------------------------------------------------------------------------------------------------

MONDAYS = [
    pytest.param(BERLIN, date(2026, 11, 23), id="berlin"),
    pytest.param(BERLIN, date(2026, 3, 30), id="berlin-into-summer"),
    pytest.param(BERLIN, date(2026, 10, 26), id="berlin-into-winter"),
    pytest.param(NEW_YORK, date(2026, 3, 9), id="new-york-into-summer"),
    pytest.param(NEW_YORK, date(2026, 11, 2), id="new-york-into-winter"),
    pytest.param(KATHMANDU, date(2026, 11, 23), id="kathmandu"),
    pytest.param(APIA, date(2012, 1, 2), id="apia-after-the-skipped-day"),
    pytest.param(APIA, date(2011, 12, 26), id="apia-before-the-skipped-day"),
    pytest.param(ZoneInfo("Pacific/Kiritimati"), date(2026, 11, 23), id="farthest-east"),
    pytest.param(ZoneInfo("Etc/GMT+12"), date(2026, 11, 23), id="farthest-west"),
    pytest.param(BERLIN, date(2027, 1, 4), id="end-of-2026-W53"),
    pytest.param(BERLIN, date(2026, 12, 28), id="beginning-of-2026-W53"),
    pytest.param(BERLIN, date(2021, 1, 4), id="end-of-2020-W53"),
    pytest.param(BERLIN, date(2024, 12, 30), id="week-1-in-december"),
]


@pytest.mark.parametrize(("zone", "monday"), MONDAYS)
def test_midnight_of_monday_divides_the_weeks(store: SqliteStore, zone: tzinfo, monday: date) -> None:
    world = World(store, zone, installed=monday - WEEK)
    midnight = at(monday, zone=zone)
    last = [world.session(midnight - number * SECOND, **bad()).session_id for number in (1, 2, 3)]
    first = [world.session(midnight + number * SECOND, **bad()).session_id for number in (0, 1, 2)]
    world.run(at(monday + WEEK, 2, zone))
    for begun, ids in ((monday - WEEK, last), (monday, first)):
        report = world.kept(begun)
        assert (report.week_start, report.week_end, report.total_sessions) == (begun, begun + 6 * DAY, 3)
        assert report.suggestions
        assert {session for each in report.suggestions for session in each.sessions} == set(ids)


@pytest.mark.parametrize(("zone", "monday"), MONDAYS)
def test_a_week_has_one_report_and_no_other_week_is_touched(store: SqliteStore, zone: tzinfo, monday: date) -> None:
    world = World(store, zone, installed=monday - 2 * WEEK)
    now = at(monday - 2 * WEEK, zone=zone)
    runs = 0
    while now < at(monday + WEEK, 3, zone):
        runs += world.run(now)
        now += HOUR
    assert [read_report(content).revision for content in world.rows().values()] == [1, 1, 1]
    assert list(world.rows()) == [(monday + number * WEEK).isoformat() for number in (-2, -1, 0)]
    assert runs == 3


@pytest.mark.parametrize(
    ("monday", "names"),
    [
        pytest.param(date(2026, 12, 21), ["2026-W52", "2026-W53", "2027-W01"], id="2026"),
        pytest.param(date(2020, 12, 21), ["2020-W52", "2020-W53", "2021-W01"], id="2020"),
        pytest.param(date(2025, 12, 22), ["2025-W52", "2026-W01", "2026-W02"], id="a-year-of-52-weeks"),
    ],
)
def test_the_end_of_the_year_is_a_week_like_any_other(store: SqliteStore, monday: date, names: list[str]) -> None:
    world = World(store, installed=monday)
    for number in range(3):
        world.session(at(monday + number * WEEK, 12))
    world.run(at(monday + 3 * WEEK, 1))
    assert world.totals() == dict.fromkeys(names, 1)
    assert [report.sessions_before for report in map(world.kept, (monday, monday + WEEK, monday + 2 * WEEK))] == [
        0,
        1,
        1,
    ]


def test_without_a_zone_the_machine_s_counts(store: SqliteStore) -> None:
    world = World(store, None)
    world.session(datetime(2026, 11, 20, 12, tzinfo=UTC))
    world.run(datetime(2026, 11, 24, 12, tzinfo=UTC))
    assert world.totals() == {"2026-W47": 1}


# -- clocks and zones ----------------------------------------------------------------------------------------------


def test_a_clock_that_jumped_ahead_leaves_one_report_a_week(world: World) -> None:
    world.session(at(date(2026, 11, 20)))
    world.run(at(date(2026, 12, 21), 2))
    assert world.weeks() == [f"2026-W{number}" for number in range(47, 52)]
    world.session(at(date(2026, 11, 24)))
    assert not world.run(at(date(2026, 11, 25)))
    for day in range(26, 31):
        world.run(at(date(2026, 11, day), 2))
    assert world.totals() == {"2026-W47": 1, "2026-W48": 1}
    assert (world.kept(date(2026, 11, 23)).late_sessions, world.kept(date(2026, 11, 23)).revision) == (1, 2)
    assert world.weeks() == [f"2026-W{number}" for number in range(47, 52)]


@pytest.mark.parametrize("back", [SECOND, 2 * HOUR, DAY, 30 * DAY])
def test_a_clock_that_went_back_takes_nothing_away(world: World, back: timedelta) -> None:
    now = at(date(2026, 11, 23), 1)
    world.session(now - DAY)
    world.run(now)
    before = world.rows()
    assert not world.run(now - back)
    assert world.rows() == before


def test_a_suspend_over_many_weeks_is_made_up_for(world: World) -> None:
    world.run(at(date(2026, 11, 22), 23))
    world.run(at(date(2027, 2, 1), 8))
    assert world.weeks()[0] == "2026-W47"
    assert world.weeks()[-1] == "2027-W04"
    assert len(world.weeks()) == 11


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(NEW_YORK, KATHMANDU, id="east"),
        pytest.param(KATHMANDU, NEW_YORK, id="west"),
        pytest.param(ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Etc/GMT+12"), id="across-the-world"),
    ],
)
def test_a_change_of_zone_doubles_and_loses_nothing(store: SqliteStore, first: tzinfo, second: tzinfo) -> None:
    world = World(store, first)
    now, end = at(W47, zone=first), at(date(2026, 12, 7), zone=UTC)
    moved_at = at(date(2026, 11, 23), zone=UTC)
    sessions = 0
    while now < end:
        if now >= moved_at and world.zone is first:
            world.move(second)
        world.session(now, **bad())
        sessions += 1
        world.run(now)
        now += 3 * HOUR
    world.run(end + 2 * DAY)
    assert world.weeks() == ["2026-W47", "2026-W48", "2026-W49"]
    assert sum(world.totals().values()) == sum(
        week_of(date.fromisoformat(day)).first < date(2026, 12, 7)
        for (day,) in store.rows("SELECT ended_on FROM session_details")
    )
    assert sum(world.totals().values()) >= sessions - 10


def test_after_a_change_of_zone_a_report_still_shows_sessions_of_its_own(store: SqliteStore) -> None:
    world = World(store, NEW_YORK)
    sunday = [world.session(at(date(2026, 11, 22), 23, NEW_YORK), **bad()).session_id for _ in range(3)]
    monday = [world.session(at(date(2026, 11, 23), 0, NEW_YORK), **bad()).session_id for _ in range(3)]
    world.move(UTC)
    world.run(datetime(2026, 11, 30, 12, tzinfo=UTC))
    for begun, ids in ((W47, sunday), (W47 + WEEK, monday)):
        report = world.kept(begun)
        assert report.total_sessions == 3
        assert [set(each.sessions) for each in report.suggestions] == [set(ids)] * len(report.suggestions)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(NEW_YORK, UTC, id="east"),
        pytest.param(KATHMANDU, NEW_YORK, id="west"),
        pytest.param(ZoneInfo("Etc/GMT+12"), ZoneInfo("Pacific/Kiritimati"), id="from-the-last-to-the-first"),
        pytest.param(ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Etc/GMT+12"), id="from-the-first-to-the-last"),
    ],
)
def test_after_a_change_of_zone_an_issue_of_the_week_is_still_told(
    store: SqliteStore, first: tzinfo, second: tzinfo
) -> None:
    world = World(store, first)
    failed = (Failure(2, "terminal", Category.TIMEOUT, "curl", "1-aaa"),)
    world.session(at(date(2026, 11, 22), 23, first), failures=failed, total_errors=1)
    world.session(at(date(2026, 11, 23), 0, first), failures=failed, total_errors=1)
    world.move(second)
    world.run(at(date(2026, 11, 30), 12, second))
    (issue,) = world.kept(W47).new_issues
    assert (issue.failures, issue.last_seen) == (1, at(date(2026, 11, 22), 23, first))
    assert issue.latest == ("s000",)


@pytest.mark.parametrize(
    "absurd",
    [
        pytest.param(datetime(1970, 1, 1, tzinfo=UTC), id="epoch"),
        pytest.param(datetime(1969, 12, 31, 23, tzinfo=UTC), id="before-the-epoch"),
        pytest.param(datetime.min.replace(tzinfo=UTC), id="first-moment"),
        pytest.param(datetime(1, 1, 9, tzinfo=UTC), id="second-week"),
        pytest.param(datetime(1999, 12, 31, tzinfo=UTC), id="last-century"),
        pytest.param(datetime(2000, 1, 2, 22, tzinfo=UTC), id="just-before-the-first-week"),
        pytest.param(datetime(2262, 4, 12, tzinfo=UTC), id="after-the-end-of-nanoseconds"),
        pytest.param(datetime(9999, 12, 25, tzinfo=UTC), id="last-whole-week"),
        pytest.param(datetime(9999, 12, 31, 12, tzinfo=UTC), id="last-day"),
        pytest.param(datetime.max.replace(tzinfo=UTC), id="last-moment"),
    ],
)
@pytest.mark.parametrize("zone", [pytest.param(BERLIN, id="east"), pytest.param(NEW_YORK, id="west")])
def test_absurd_times_break_nothing(store: SqliteStore, zone: tzinfo, absurd: datetime) -> None:
    world = World(store, zone)
    world.session(absurd, **bad())
    world.session(at(date(2026, 11, 20), 12, zone))
    assert world.run(at(date(2026, 11, 23), 12, zone))
    assert world.totals() == {"2026-W47": 1}
    assert not world.run(at(date(2026, 11, 23), 13, zone))


# -- again ---------------------------------------------------------------------------------------------------------


def test_the_same_sessions_give_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for number, order in enumerate((range(8), reversed(range(8)))):
        world = World(SqliteStore(tmp_path / str(number) / "a.db"))
        for each in order:
            world.session(at(date(2026, 11, 16 + each % 7), 12, minute=each), session_id=f"s{each}", **bad(each))
        world.run(at(date(2026, 11, 23 + number), 5))
        contents.append(world.rows())
        world.store.close()
    assert contents[0] == contents[1]


def test_the_bytes_are_a_document_that_can_be_read_back(world: World) -> None:
    world.session(at(W47, 12), **bad())
    world.run(at(date(2026, 11, 23), 5))
    document = json.loads(world.rows()["2026-11-16"])
    assert (document["schema_version"], document["report_version"], document["week"]) == (1, 3, "2026-W47")
    assert document["complete"] is True


def test_a_late_session_replaces_the_report_and_is_told(world: World, logs: Logs) -> None:
    world.session(at(W47, 12), task_completed=False)
    world.run(at(date(2026, 11, 23), 2))
    world.session(at(date(2026, 11, 22), 23))
    world.session(at(date(2026, 11, 22), 23))
    assert world.run(at(date(2026, 11, 26)))
    report = world.kept(W47)
    assert (report.total_sessions, report.revision, report.late_sessions) == (3, 2, 2)
    assert logs[-1]["revision"] == 2
    world.session(at(date(2026, 11, 18)))
    world.run(at(date(2026, 11, 27)))
    report = world.kept(W47)
    assert (report.total_sessions, report.revision, report.late_sessions) == (4, 3, 3)
    assert len(world.rows()) == 1


def test_a_session_that_goes_on_in_the_next_week_moves_there(world: World) -> None:
    world.session(at(date(2026, 11, 22), 23), session_id="a")
    world.session(at(date(2026, 11, 22), 12))
    world.run(at(date(2026, 11, 23), 2))
    world.session(at(date(2026, 11, 23), 9), session_id="a")
    world.run(at(date(2026, 11, 30), 2))
    assert world.totals() == {"2026-W47": 1, "2026-W48": 1}
    assert world.kept(W47).revision == 2
    assert world.kept(W47).late_sessions == 0


def test_a_report_that_would_say_the_same_stays_as_it_was(world: World, logs: Logs) -> None:
    world.session(at(W47, 12), session_id="a")
    world.run(at(date(2026, 11, 23), 2))
    before, told = world.store.rows("SELECT * FROM weekly_reports"), len(logs)
    world.session(at(W47, 12), session_id="a")
    world.run(at(date(2026, 11, 24), 2))
    assert world.store.rows("SELECT * FROM weekly_reports") == before
    assert len(logs) == told
    assert not world.run(at(date(2026, 11, 24), 3))


def test_a_late_session_is_told_in_the_weeks_that_compare_with_its_own(world: World) -> None:
    for number in range(10):
        world.session(at(W47 + number * WEEK, 12))
    now = at(W47 + 10 * WEEK, 2)
    world.run(now)
    world.session(at(W47 + DAY, 12))
    world.run(now)
    found = [world.kept(W47 + number * WEEK) for number in range(10)]
    assert found[1].sessions_before == 2
    assert [report.trend[-1 - number].sessions for number, report in enumerate(found[:8])] == [2] * 8
    assert [report.revision for report in found] == [2] * 8 + [1, 1]
    assert [report.late_sessions for report in found] == [1] + [0] * 9


def test_a_late_session_of_long_ago_makes_a_new_issue_an_old_one(world: World) -> None:
    failed: dict[str, Any] = {
        "failures": (Failure(2, "terminal", Category.TIMEOUT, "curl", "1-aaa"),),
        "total_errors": 1,
    }
    world.session(at(W47, 12), **failed)
    world.run(at(date(2026, 11, 23), 2))
    assert [issue.state.value for issue in world.kept(W47).new_issues] == ["new"]
    world.session(at(W47 - 10 * WEEK, 12), **failed)
    world.run(at(date(2026, 11, 24), 2))
    assert world.kept(W47).new_issues == ()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"schema_version": 1, "report_version": 99}'])
def test_a_kept_report_that_cannot_be_read_is_made_anew(world: World, content: str) -> None:
    world.session(at(W47, 12))
    world.run(at(date(2026, 11, 23), 2))
    world.store.connection.execute("UPDATE weekly_reports SET report_json = ?", (content,))
    world.session(at(W47, 13))
    world.run(at(date(2026, 11, 30), 2))
    assert world.totals() == {"2026-W47": 2}
    assert world.weeks() == ["2026-W47", "2026-W48"]


# -- asked for -----------------------------------------------------------------------------------------------------


def test_a_week_that_goes_on_has_a_provisional_report(world: World) -> None:
    world.session(at(W47, 12))
    report = world.reports.report(week_of(W47), at(date(2026, 11, 22), 23))
    assert (report.complete, report.total_sessions) == (False, 1)
    assert world.rows() == {}


def test_asking_for_a_week_that_is_over_gives_what_the_daemon_will_keep_and_keeps_nothing(world: World) -> None:
    world.session(at(W47, 12))
    report = world.reports.report(week_of(W47), at(date(2026, 11, 23)))
    assert (report.complete, world.rows()) == (True, {})
    assert world.run(at(date(2026, 11, 23), 2))
    assert world.kept(W47) == report


def test_asking_again_and_again_for_a_report_that_is_out_of_date_counts_one_revision(world: World) -> None:
    """Three sessions come late: the daemon will keep one report more, whoever looked in between."""
    world.session(at(W47, 12))
    world.run(at(date(2026, 11, 23), 2))
    kept = world.rows()
    for _ in range(3):
        world.session(at(W47, 13))
        asked = world.reports.report(week_of(W47), at(date(2026, 11, 24)))
    assert (asked.revision, asked.late_sessions, world.rows()) == (2, 3, kept)
    assert world.run(at(date(2026, 11, 24)))
    assert world.kept(W47) == asked


def test_a_kept_report_is_given_as_it_is_until_something_changes(world: World) -> None:
    world.session(at(W47, 12))
    world.run(at(date(2026, 11, 23), 2))
    kept = world.store.rows("SELECT * FROM weekly_reports")
    assert world.reports.report(week_of(W47), at(date(2026, 11, 24))) == world.kept(W47)
    assert world.store.rows("SELECT * FROM weekly_reports") == kept
    world.session(at(W47, 13))
    assert world.reports.report(week_of(W47), at(date(2026, 11, 24))).late_sessions == 1


def test_a_kept_report_that_cannot_be_read_is_made_anew_when_asked_for(world: World) -> None:
    world.run(at(date(2026, 11, 23), 2))
    world.store.connection.execute("UPDATE weekly_reports SET report_json = 'x'")
    assert world.reports.report(week_of(W47), at(date(2026, 11, 24))).week == "2026-W47"
    assert world.rows() == {"2026-11-16": "x"}


@pytest.mark.parametrize("day", [date(2000, 1, 3), date(2262, 4, 11), date(9999, 12, 20), date.max])
def test_any_week_can_be_asked_for(world: World, day: date) -> None:
    week = week_of(day)
    assert world.reports.report(week, at(date(2026, 11, 24))).week_start == week.first


# -- what it says --------------------------------------------------------------------------------------------------


def test_numbers_of_the_week_stand_beside_the_week_before(world: World) -> None:
    for number in range(4):
        standing = ResultStanding.CLAIMED if number else ResultStanding.CONTRADICTED
        world.session(
            at(W47, 12),
            tool_calls_efficient=3,
            tool_calls=0,
            tools=(),
            ending=EndingKind.ANSWERED,
            standing=standing,
        )
        world.session(at(W47 + WEEK, 12), **bad())
    world.session(at(W47 + WEEK, 12), state=SessionState.OPEN)
    world.run(at(W47 + 2 * WEEK, 2))
    report = world.kept(W47 + WEEK)
    assert (report.total_sessions, report.sessions_before, report.coverage.open_sessions) == (4, 4, 1)
    assert (report.ended_badly.now.value, report.ended_badly.before.value) == (1.0, 0.25)
    assert (report.avg_tool_efficiency.now.value, report.avg_tool_efficiency.before.value) == (1.0, 3.0)
    assert (report.avg_response_quality.now.value, report.avg_response_quality.before.value) == (1.0, 3.0)
    assert (report.error_recovery_rate.now.value, report.error_recovery_rate.before.value) == (0.0, None)
    assert (report.failure_rate.now.value, report.failure_rate.before.value) == (0.5, None)
    assert [(point.week, point.sessions) for point in report.trend[-2:]] == [("2026-W47", 4), ("2026-W48", 4)]
    assert (len(report.trend), report.trend[-3].sessions) == (8, 0)


def judge(world: World, *grades: Grade, completed: bool) -> None:
    """A person judges sessions that a review drew at random."""
    with world.store.transaction():
        words = [said(each.session_id, completed=completed, sampled=Sampling.RANDOM) for each in grades]
        add_feedback(world.store, words, now=at(W47, 20))


def test_random_reviews_of_eight_weeks_check_the_completion_rate(world: World) -> None:
    before = [world.session(at(W47, 12)) for _ in range(20)]
    judge(world, *before[:10], completed=False)
    judge(world, *before[10:], completed=True)
    later = [world.session(at(W47 + WEEK, 12)) for _ in range(50)]
    judge(world, *later[:5], completed=False)
    judge(world, *later[5:10], completed=True)
    world.run(at(W47 + 2 * WEEK, 2))
    report = world.kept(W47 + WEEK)
    assert (report.checked_completion.value, report.checked_completion.sample) == (0.5, 30)
    assert report.checked_completion.low == pytest.approx(0.28, abs=0.05)
    assert world.kept(W47).checked_completion.low == world.kept(W47).checked_completion.high == 0.5


def test_labels_make_a_report_anew(world: World) -> None:
    made = [world.session(at(W47, 12)) for _ in range(12)]
    world.run(at(W47 + WEEK, 2))
    assert world.kept(W47).checked_completion == Estimate()
    judge(world, *made, completed=True)
    assert world.run(at(W47 + WEEK, 3))
    assert world.kept(W47).checked_completion.sample == 12
    assert world.kept(W47).revision == 2


def test_a_report_of_a_version_without_reviews_stands(world: World) -> None:
    world.session(at(W47, 12))
    world.run(at(W47 + WEEK, 2))
    content = json.loads(world.rows()[W47.isoformat()])
    del content["checked_completion"]
    world.store.connection.execute("UPDATE weekly_reports SET report_json = ?", (json.dumps(content),))
    assert world.kept(W47).checked_completion == Estimate()
    assert not world.run(at(W47 + WEEK, 3))


def test_suggestions_have_up_to_three_sessions_with_most_failures_first(world: World) -> None:
    for number in range(5):
        world.session(at(W47, 12), session_id=f"s{number}", **bad(number))
    world.run(at(W47 + WEEK, 2))
    report = world.kept(W47)
    assert [each.text for each in report.suggestions] == [
        "Add pre-task planning steps",
        "Review error recovery patterns",
        "Implement better fallback strategies",
        "Consider skill enhancement for testing",
        "Review usage patterns for terminal",
        "Add targeted error handling for timeout: give long commands more time, or run them in the background",
    ]
    assert {each.sessions for each in report.suggestions} == {("s4", "s3", "s2")}


def test_a_suggestion_for_a_tool_of_a_long_name_has_its_sessions(world: World) -> None:
    tool = "mcp__" + "x" * 200
    failed = {"tools": (ToolUse(tool, 6, 6),), "failures": (Failure(2, tool, Category.TIMEOUT),) * 6, "total_errors": 6}
    world.session(at(W47, 12), session_id="a", tool_calls=6, **failed)
    world.run(at(W47 + WEEK, 2))
    shown = {each.concern.value: each.sessions for each in world.kept(W47).suggestions}
    assert shown["tool"] == ("a",)


def test_issues_of_the_week_are_new_or_have_returned(world: World) -> None:
    def failed(fingerprint: str, day: date) -> None:
        found = Failure(2, "terminal", Category.TIMEOUT, "curl", fingerprint)
        world.session(at(day, 12), failures=(found,), total_errors=1)

    failed("1-new", W47 + 6 * DAY)
    failed("1-monday", W47)
    failed("1-sunday", W47 - DAY)
    failed("1-sunday", W47)
    failed("1-back", W47 - 20 * DAY)
    failed("1-back", W47)
    failed("1-over", W47 - DAY)
    failed("1-later", W47 + WEEK)
    world.run(at(W47 + WEEK, 2))
    report = world.kept(W47)
    assert [issue.fingerprint for issue in report.new_issues] == ["1-monday", "1-new"]
    assert [issue.fingerprint for issue in report.returned_issues] == ["1-back"]
    assert report.new_issues[1].last_seen == at(W47 + 6 * DAY, 12)


def test_coverage_counts_the_files_of_the_week(world: World) -> None:
    def file(path: str, state: FileState, when: datetime, reason: str | None = None) -> LedgerEntry:
        return LedgerEntry(
            unit=unit(path), stamp=b"1", written_ns=int(when.timestamp()) * 10**9, state=state, reason=reason
        )

    with world.store.transaction():
        world.store.save_entries(
            [
                file("/s/a", FileState.SKIPPED, at(W47), SkipReason.COPY),
                file("/s/b", FileState.SKIPPED, at(W47) - SECOND, SkipReason.COPY),
                file("/s/c", FileState.DEAD, at(W47 + WEEK) - SECOND, "no JSON"),
                file("/s/d", FileState.DEAD, at(W47 + WEEK), "no JSON"),
                file("/s/e", FileState.RETRY, at(W47, 12), "cut short"),
                file("/s/f", FileState.GRADED, at(W47, 12)),
            ],
            now=at(W47, 12),
        )
    world.session(at(W47, 12))
    world.session(at(W47, 12), state=SessionState.OPEN)
    world.run(at(W47 + WEEK, 2))
    assert world.kept(W47).coverage == Coverage(
        seen=5, graded=1, open_sessions=1, skipped={SkipReason.COPY: 1}, waiting=1, dead=1
    )


def test_alerts_that_were_open_in_the_week_are_told(world: World) -> None:
    def alert(opened_at: datetime, resolved_at: datetime | None = None) -> Alert:
        return Alert(
            kind=AlertKind.DEGRADATION,
            level=AlertLevel.WARNING,
            drops=(),
            opened_at=opened_at,
            began_at=opened_at - DAY,
            resolved_at=resolved_at,
        )

    with world.store.transaction():
        for each in (
            alert(at(W47 - DAY), at(W47) - SECOND),
            alert(at(W47 - DAY), at(W47 + DAY)),
            alert(at(W47 + 2 * DAY)),
            alert(at(W47 + WEEK)),
        ):
            world.store.alerts.add(each)
    world.run(at(W47 + 2 * WEEK, 2))
    assert [each.opened_at for each in world.kept(W47).alerts] == [at(W47 - DAY), at(W47 + 2 * DAY)]


# -- always --------------------------------------------------------------------------------------------------------

START = date(2026, 3, 23)  # the week in which Berlin's clocks change, two after New York's
ZONES: list[tzinfo] = [BERLIN, NEW_YORK, KATHMANDU, ZoneInfo("Pacific/Kiritimati"), UTC]
landmarks = st.sampled_from([timedelta(0), -SECOND, SECOND, HOUR - SECOND, HOUR, DAY, -DAY])
jumps = st.sampled_from([-SECOND, -2 * HOUR, -DAY, -9 * DAY, -30 * DAY, 9 * DAY, 30 * DAY])


class ReportsThroughTime(RuleBasedStateMachine):
    """Sessions at any time, a clock that runs and jumps, a daemon that moves: the reports are always complete."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Path(self.folder.name) / "a.db")
        self.sessions: dict[str, date] = {}
        self.up_to_date = False

    @initialize(zone=st.sampled_from(ZONES))
    def install(self, zone: tzinfo) -> None:
        self.world = World(self.store, zone, installed=START)
        self.now = at(START, 12, zone)

    def local(self, monday: date) -> datetime:
        assert self.world.zone is not None
        return at(monday, zone=self.world.zone)

    @rule(week=st.integers(-3, 3), landmark=landmarks, trio=st.integers(0, 2))
    def grade(self, week: int, landmark: timedelta, trio: int) -> None:
        """Three sessions at once, so that there is something to suggest; some go on and move to another day."""
        ended_at = self.local(week_of(self.now.date()).first + week * WEEK) + landmark
        for number in range(3):
            made = self.world.session(ended_at, session_id=f"s{trio}{number}", **bad())
            self.sessions[made.session_id] = date.fromisoformat(made.ended_on)
        self.up_to_date = False

    @rule(session_id=st.sampled_from(["s00", "s11", "s22"]))
    def take_back(self, session_id: str) -> None:
        with self.store.transaction():
            retract(self.store, session_id, SkipReason.COPY)
        self.sessions.pop(session_id, None)
        self.up_to_date = False

    @rule(weeks=st.integers(0, 3), landmark=landmarks)
    def wait(self, weeks: int, landmark: timedelta) -> None:
        self.now = max(self.now, self.local(week_of(self.now.date()).first + weeks * WEEK) + landmark)
        self.up_to_date = False

    @rule(jump=jumps)
    def set_clock(self, jump: timedelta) -> None:
        self.now += jump
        self.up_to_date = False

    @rule(zone=st.sampled_from(ZONES))
    def move(self, zone: tzinfo) -> None:
        self.world.move(zone)
        self.up_to_date = False

    @rule()
    def run_job(self) -> None:
        self.world.run(self.now)
        self.up_to_date = True

    @rule()
    def run_unsettled(self) -> None:
        before = self.world.rows()
        self.world.settled = False
        assert not self.world.run(self.now)
        self.world.settled = True
        assert self.world.rows() == before

    @invariant()
    def every_complete_week_has_one_report_that_is_up_to_date(self) -> None:
        if not self.up_to_date:
            return
        assert not self.world.run(self.now)
        assert not self.world.reports.missing(self.now - HOUR)
        ended = Counted(self.sessions)
        this_week = week_of(day_of(self.now - HOUR, self.world.zone)).first
        since_installation = (START + number * WEEK for number in range(max(0, (this_week - START) // WEEK)))
        rows = {date.fromisoformat(monday): read_report(content) for monday, content in self.world.rows().items()}
        expected = {*since_installation, *(week for week in ended.weeks() if week < this_week)}
        assert expected <= set(rows)
        for monday in expected:
            report = rows[monday]
            assert report.week_start == monday
            assert report.total_sessions == ended.of(monday)
            assert report.sessions_before == ended.of(monday - WEEK)
            assert [point.sessions for point in report.trend] == [
                ended.of(monday - back * WEEK) for back in reversed(range(8))
            ]
            shown = {session for each in report.suggestions for session in each.sessions}
            assert shown <= {session for session, day in self.sessions.items() if week_of(day).first == monday}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


class Counted:
    """Sessions by the Monday of their week."""

    def __init__(self, sessions: dict[str, date]) -> None:
        self._mondays = [week_of(day).first for day in sessions.values()]

    def weeks(self) -> set[date]:
        return set(self._mondays)

    def of(self, monday: date) -> int:
        return self._mondays.count(monday)


TestReports = ReportsThroughTime.TestCase
TestReports.settings = settings(max_examples=about(50), stateful_step_count=steps(20))


def test_an_outage_improves_no_figure(world: World) -> None:
    for number in range(12):
        world.session(at(W47, 9 + number % 8), **(bad(number) if number % 3 else {}))
    before = world.reports.report(week_of(W47), at(W47, 23))
    for _ in range(30):
        world.session(at(W47, 20), scored=False, tools=(), tool_calls=0, state=SessionState.INTERRUPTED)
    after = world.reports.report(week_of(W47), at(W47, 23))

    assert (before.unanswered, after.unanswered, after.trend[-1].unanswered) == (0, 30, 30)
    assert (before.coverage.graded, after.coverage.graded) == (12, 42)
    assert _but_unanswered(after) == _but_unanswered(before)


def _but_unanswered(report: WeeklyReport) -> str:
    """All of a report but how many files there were, how many had no answer, and of how many money could be known."""
    unseen = Coverage(seen=0, graded=0, open_sessions=0, skipped={}, waiting=0, dead=0)
    content = msgspec.json.encode(msgspec.structs.replace(report, coverage=unseen)).decode()
    return re.sub(r'"unanswered":[0-9]+,|"no_answer":[0-9]+|"spending":{"sessions":[0-9]+,', "", content)


def test_a_person_says_of_an_outage_that_nothing_was_completed(world: World) -> None:
    world.session(at(W47, 12), session_id="fine")
    dead = [world.session(at(W47, 20), scored=False, tools=(), tool_calls=0) for _ in range(3)]
    with world.store.transaction():
        said = [Said(session_id=one.session_id, completed=False, by="me", source=FeedbackSource.LABEL) for one in dead]
        add_feedback(world.store, said, now=at(W47, 21))
    report = world.reports.report(week_of(W47), at(W47, 23))

    assert report.verdicts is not None
    assert (report.verdicts.done, report.verdicts.not_done) == (1, 3)
    assert (report.total_sessions, report.unanswered) == (1, 3)
