from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState
from grader_daemon.domain.calendar import start_of, week_of
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.insight import Concern, Coverage, Example
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import StoredReport
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.units import unit

SECOND = timedelta(seconds=1)
WEEK = week_of(date(2026, 11, 21))
SINCE, UNTIL = datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)


def save_report(store: SqliteStore, content: str = "{}", *, basis: int = 1, now: datetime = NOW) -> None:
    with store.transaction():
        store.reports.save(WEEK, content, basis=basis, now=now)


def save(store: SqliteStore, *made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def file(store: SqliteStore, path: str, state: FileState, *, at: datetime = NOW, reason: str | None = None) -> None:
    mtime_ns = int((at - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1)) * 1000
    entry = LedgerEntry(unit=unit(path), stamp=b"1", written_ns=mtime_ns, state=state, reason=reason)
    with store.transaction():
        store.save_entries([entry], now=NOW)


# -- reports -------------------------------------------------------------------------------------------------------


def test_a_report_is_kept_as_it_was_written(store: SqliteStore) -> None:
    save_report(store, '{"text": "Größe"}', basis=7)
    assert store.reports.report(WEEK.first) == StoredReport(content='{"text": "Größe"}', basis=7)
    assert store.reports.bases() == {WEEK.first: 7}
    assert store.rows("SELECT week_start, week_end, generated_at FROM weekly_reports") == [
        ("2026-11-16", "2026-11-22", NOW.isoformat())
    ]


def test_a_later_report_takes_the_place_of_an_earlier_one(store: SqliteStore) -> None:
    save_report(store, "old", basis=1)
    save_report(store, "new", basis=2, now=NOW + SECOND)
    assert store.reports.report(WEEK.first) == StoredReport(content="new", basis=2)
    assert store.rows("SELECT generated_at FROM weekly_reports") == [((NOW + SECOND).isoformat(),)]


def test_a_week_without_a_report_has_none(store: SqliteStore) -> None:
    assert store.reports.report(WEEK.first) is None
    assert store.reports.bases() == {}


def test_a_report_of_the_original_program_is_not_ours(store: SqliteStore) -> None:
    store.connection.execute(
        "INSERT INTO weekly_reports (week_start, week_end, generated_at, report_json)"
        " VALUES ('2026-11-16', '2026-11-22', 'x', '{\"old\": true}')"
    )
    assert store.reports.report(WEEK.first) is None
    assert store.reports.bases() == {}


# -- coverage ------------------------------------------------------------------------------------------------------


def coverage(store: SqliteStore, *, graded: int = 0, open_sessions: int = 0) -> Coverage:
    return store.reports.coverage(graded=graded, open_sessions=open_sessions, since=SINCE, until=UNTIL)


def test_reports_that_are_kept_come_newest_first(store: SqliteStore) -> None:
    weeks = [WEEK, WEEK.before(), WEEK.before().before()]
    with store.transaction():
        for number, week in enumerate(weeks):
            store.reports.save(week, str(number), basis=1, now=NOW)

    assert store.reports.kept(date.max, 2) == ["0", "1"]
    assert store.reports.kept(WEEK.first, 9) == ["1", "2"]


def test_files_without_a_grade_are_counted_by_why(store: SqliteStore) -> None:
    file(store, "/s/a", FileState.SKIPPED, reason="copy")
    file(store, "/s/b", FileState.SKIPPED, reason="copy")
    file(store, "/s/c", FileState.SKIPPED, reason="request_dump")
    file(store, "/s/d", FileState.RETRY, reason="Permission denied")
    file(store, "/s/e", FileState.RETRY, reason="cut short")
    file(store, "/s/f", FileState.DEAD, reason="no JSON")
    file(store, "/s/g", FileState.GRADED)
    assert coverage(store, graded=10, open_sessions=2) == Coverage(
        seen=18, graded=10, open_sessions=2, skipped={"copy": 2, "request_dump": 1}, waiting=2, dead=1
    )


def test_without_files_there_is_nothing_to_count(store: SqliteStore) -> None:
    assert coverage(store) == Coverage(seen=0, graded=0, open_sessions=0, skipped={}, waiting=0, dead=0)


def test_a_skipped_file_without_a_reason_is_counted_too(store: SqliteStore) -> None:
    file(store, "/s/a", FileState.SKIPPED)
    found = coverage(store)
    assert (found.seen, sum(found.skipped.values())) == (1, 1)


@pytest.mark.parametrize(
    ("at", "counted"),
    [
        pytest.param(SINCE - timedelta(microseconds=1), False, id="just-before"),
        pytest.param(SINCE, True, id="at-the-beginning"),
        pytest.param(UNTIL - timedelta(microseconds=1), True, id="just-before-the-end"),
        pytest.param(UNTIL, False, id="at-the-end"),
        pytest.param(datetime(1970, 1, 1, tzinfo=UTC), False, id="long-ago"),
        pytest.param(datetime(2200, 1, 1, tzinfo=UTC), False, id="far-ahead"),
    ],
)
def test_a_file_counts_in_the_week_in_which_it_was_written(store: SqliteStore, at: datetime, counted: bool) -> None:
    file(store, "/s/a", FileState.DEAD, at=at)
    assert coverage(store).dead == int(counted)


@pytest.mark.parametrize(
    ("since", "until"),
    [
        pytest.param(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), id="always"),
        pytest.param(datetime(9999, 12, 20, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), id="the-last-week"),
    ],
)
def test_any_span_has_a_coverage(store: SqliteStore, since: datetime, until: datetime) -> None:
    file(store, "/s/a", FileState.DEAD)
    found = store.reports.coverage(graded=0, open_sessions=0, since=since, until=until)
    assert found.dead == int(since <= NOW)


# -- examples ------------------------------------------------------------------------------------------------------


def failures(*of: tuple[str, Category]) -> tuple[Failure, ...]:
    return tuple(Failure(2 * number, tool, category) for number, (tool, category) in enumerate(of))


def good(session_id: str, **changes: object) -> Grade:
    return msgspec.structs.replace(grade(session_id=session_id), **changes)


TIMEOUT = failures(("terminal", Category.TIMEOUT))


@pytest.mark.parametrize(
    ("why", "shown", "other"),
    [
        pytest.param(
            Example(Concern.ENDED_BADLY),
            {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CONTRADICTED},
            {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CLAIMED},
            id="contradicted",
        ),
        pytest.param(
            Example(Concern.EFFICIENCY), {"tool_calls_efficient": 2}, {"tool_calls_efficient": 3}, id="inefficient"
        ),
        pytest.param(
            Example(Concern.RECOVERY),
            {"total_errors": 1, "errors_recovered": False},
            {"total_errors": 1, "errors_recovered": True},
            id="not-recovered",
        ),
        pytest.param(
            Example(Concern.TASK_TYPE, "testing"), {"task_type": "testing"}, {"task_type": "general"}, id="task-type"
        ),
        pytest.param(
            Example(Concern.TOOL, "terminal"),
            {"failures": TIMEOUT, "total_errors": 1},
            {"failures": failures(("browser", Category.TIMEOUT)), "total_errors": 1},
            id="tool",
        ),
        pytest.param(
            Example(Concern.ERROR, "timeout"),
            {"failures": TIMEOUT, "total_errors": 1},
            {"failures": failures(("terminal", Category.UNKNOWN)), "total_errors": 1},
            id="error",
        ),
    ],
)
def test_examples_show_the_concern(
    store: SqliteStore, why: Example, shown: dict[str, object], other: dict[str, object]
) -> None:
    save(store, good("shown", **shown), good("other", **other), good("open", state=SessionState.OPEN, **shown))
    assert store.reports.examples(why, WEEK) == ("shown",)


@pytest.mark.parametrize(
    "why", [Example(Concern.TOOL, "terminal"), Example(Concern.ERROR, "timeout")], ids=["tool", "error"]
)
def test_a_probe_is_no_example(store: SqliteStore, why: Example) -> None:
    save(store, good("probed", failures=(msgspec.structs.replace(TIMEOUT[0], kind=FailureKind.PROBE),)))
    assert store.reports.examples(why, WEEK) == ()


def test_there_are_up_to_three_examples_those_with_most_failures_first(store: SqliteStore) -> None:
    for number, errors in enumerate((1, 4, 0, 2, 4)):
        save(
            store,
            good(
                f"s{number}",
                ending=EndingKind.LEFT,
                standing=ResultStanding.NO_CLAIM,
                ended_at=NOW + number * SECOND,
                total_errors=errors,
                failures=TIMEOUT * errors,
            ),
        )
    found = store.reports.examples(Example(Concern.ENDED_BADLY), WEEK)
    assert found == ("s4", "s1", "s3")


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        pytest.param("2026-11-15", False, id="sunday-before"),
        pytest.param("2026-11-16", True, id="monday"),
        pytest.param("2026-11-22", True, id="sunday"),
        pytest.param("2026-11-23", False, id="monday-after"),
    ],
)
@pytest.mark.parametrize(
    "hours", [pytest.param(-14, id="east"), pytest.param(0, id="utc"), pytest.param(12, id="west")]
)
def test_examples_are_of_the_span_in_whatever_zone_they_ended(
    store: SqliteStore, day: str, shown: bool, hours: int
) -> None:
    for number, local_hour in enumerate((0, 23.99)):
        ended_at = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(hours=hours + local_hour)
        bad = {"ending": EndingKind.LEFT, "standing": ResultStanding.NO_CLAIM}
        save(store, good(f"s{number}", ended_at=ended_at, ended_on=day, **bad))
    assert len(store.reports.examples(Example(Concern.ENDED_BADLY), WEEK)) == 2 * shown


def test_the_installation_is_the_first_migration(store: SqliteStore) -> None:
    store.connection.execute("UPDATE schema_migrations SET applied_at = '2026-11-22 23:30:00+00:00' WHERE version = 1")
    store.connection.execute("UPDATE schema_migrations SET applied_at = '2026-12-24 00:00:00+00:00' WHERE version > 1")
    assert store.reports.installed_at() == datetime(2026, 11, 22, 23, 30, tzinfo=UTC)


def test_a_database_without_migrations_was_never_installed(store: SqliteStore) -> None:
    store.connection.execute("DELETE FROM schema_migrations")
    assert store.reports.installed_at() is None


def test_a_new_basis_leaves_the_report_as_it_was(store: SqliteStore) -> None:
    save_report(store, "{}", basis=1)
    with store.transaction():
        store.reports.note_basis(WEEK.first, 9)
    assert store.reports.report(WEEK.first) == StoredReport(content="{}", basis=9)
    assert store.rows("SELECT generated_at FROM weekly_reports") == [(NOW.isoformat(),)]


# -- people --------------------------------------------------------------------------------------------------------


def test_sessions_are_counted_in_which_people_objected(store: SqliteStore) -> None:
    def said(name: str, *kinds: SignalKind, **changes: object) -> Grade:
        signals = tuple(PersonSignal(kind, 2 + index) for index, kind in enumerate(kinds))
        return good(name, signals_from_people=signals, **changes)

    save(
        store,
        said("complaint", SignalKind.COMPLAINT, SignalKind.THANKS),
        said("correction", SignalKind.CORRECTION),
        said("gave-up", SignalKind.GAVE_UP),
        said("thanks", SignalKind.THANKS, SignalKind.REPEATED),
        said("nothing"),
        said("open", SignalKind.COMPLAINT, state=SessionState.OPEN),
        said("week-before", SignalKind.COMPLAINT, ended_on=(WEEK.first - timedelta(days=1)).isoformat()),
    )
    assert store.reports.from_people(WEEK).objected == 3


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        pytest.param({}, 1, id="in-the-week"),
        pytest.param({"state": SessionState.OPEN}, 0, id="not-finished"),
        pytest.param({"ended_on": (WEEK.last + timedelta(days=1)).isoformat()}, 0, id="in-the-week-after"),
    ],
)
def test_what_was_asked_again_counts_where_it_came_again(
    store: SqliteStore, changes: dict[str, object], counted: int
) -> None:
    before = WEEK.first - timedelta(days=1)
    save(
        store,
        good("a", asked_again="b", ended_on=before.isoformat(), ended_at=start_of(before, UTC)),
        good("b", **changes),
        good("c", asked_again="gone"),
    )
    assert store.reports.from_people(WEEK).asked_again == counted
