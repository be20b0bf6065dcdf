"""Sums by day on the fleet's server, which are those of the machine whatever happened to its sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime

import psycopg
import pytest

from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.rollup import SUMMED_BY_MACHINES
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.fleet import sent_sums
from grader_daemon.fleet.admin import configuration_line
from grader_daemon.fleet.push_job import FleetPush
from grader_daemon.fleet.sent_rows import SENT_COLUMNS, sent_rows
from grader_daemon.fleet.sent_sums import changed_days
from grader_daemon.fleet.server_admin import FleetDatabase
from grader_daemon.fleet.server_writes import HostRows
from grader_daemon.pipeline.saving import remove_copies, save_grades
from grader_daemon.storage.records import GradeColumns
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.postgres import Server, serving
from tests.strategies import grade, new_grade

TRUST = Trust(version="none.rules", by=VerdictBy.RULES)
MONTH = "2026-11"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def url(running: Server) -> str:
    """The URL of a host."""
    running.empty()
    with FleetDatabase(running.url()) as fleet:
        fleet.make()
        return configuration_line(fleet.add("laptop"), setting="x").split('"')[1]


@pytest.fixture
def push(store: SqliteStore, url: str) -> Callable[[], int]:
    """Send all that is new; gives how many batches it took."""

    def send() -> int:
        rows = HostRows(url, columns=SENT_COLUMNS, machine="one", version="1", clock=utc_now)
        with closing(FleetPush(store, rows, make_rows=_rows, texts=False)) as job:
            return sum(1 for _ in iter(lambda: job.run().more, False))

    return send


def _rows(graded: GradeColumns) -> list[tuple[object, ...]]:
    return sent_rows(graded, TRUST, texts=False)


def _grade(store: SqliteStore, name: str, *, day: int, model: str = "opus") -> None:
    ended = datetime(2026, 11, day, 12, tzinfo=UTC)
    made = grade(session_id=name, session_file=f"/{name}", model=model, ended_at=ended, ended_on=f"{MONTH}-{day:02}")
    with store.transaction():
        save_grades(store, [new_grade(made)])


def _there(server: Server) -> list[tuple[object, ...]]:
    with server.admin() as connection:
        rows = connection.execute("SELECT s.* FROM grader.daily_sums AS s").fetchall()
    assert {row[0] for row in rows} <= {"laptop"}
    return sorted((str(row[1]), *row[2:]) for row in rows)


def _here(store: SqliteStore) -> list[tuple[object, ...]]:
    return sorted(store.rollups.of_days(store.rollups.revisions(), SUMMED_BY_MACHINES))


def test_the_server_has_the_sums_of_the_machine_after_each_push(
    store: SqliteStore, push: Callable[[], int], running: Server
) -> None:
    for number in range(3):
        _grade(store, f"s{number}", day=20 + number)
    push()
    assert _there(running) == _here(store) != []

    _grade(store, "s0", day=23, model="haiku")  # it goes on, on another day
    push()
    assert _there(running) == _here(store)

    with store.transaction():
        remove_copies(store, ["s1"])
    push()
    assert _there(running) == _here(store)
    assert {row[0] for row in _there(running)} == {f"{MONTH}-22", f"{MONTH}-23"}


def test_a_day_that_did_not_change_is_not_sent_again(
    store: SqliteStore, push: Callable[[], int], running: Server
) -> None:
    _grade(store, "s0", day=20)
    _grade(store, "s1", day=21)
    push()
    with running.admin() as connection:
        connection.execute("UPDATE grader.daily_sums SET sessions = 99")
    _grade(store, "s2", day=21)
    push()
    assert {(row[0], row[3]) for row in _there(running)} == {(f"{MONTH}-20", 99), (f"{MONTH}-21", 2)}


def test_more_days_than_a_batch_has_follow_by_themselves(
    store: SqliteStore, push: Callable[[], int], running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_sums, "_AT_ONCE", 2)
    for day in range(1, 6):
        _grade(store, f"s{day}", day=day)
    assert list(changed_days(store.rollups, {}).revisions) == [date(2026, 11, day) for day in (5, 4)]
    assert push() == 3
    assert _there(running) == _here(store)


def test_who_takes_over_sends_all_days_and_none_of_the_other_machine_stays(
    store: SqliteStore, push: Callable[[], int], running: Server, url: str
) -> None:
    _grade(store, "s0", day=20)
    push()
    with running.admin() as connection:
        connection.execute("UPDATE grader.daily_sums SET day = '2026-01-01'")
    with closing(HostRows(url, columns=SENT_COLUMNS, machine="one", version="1", clock=utc_now)) as rows:
        rows.take_over()
    push()
    assert _there(running) == _here(store)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        pytest.param("DELETE FROM grader.daily_sums", psycopg.errors.InsufficientPrivilege, id="delete"),
        pytest.param("UPDATE grader.daily_sums SET sessions = 1", psycopg.errors.InsufficientPrivilege, id="update"),
        pytest.param(
            "INSERT INTO grader.daily_sums (host, day, dimension, name) VALUES ('other', now(), 'overall', '')",
            psycopg.errors.InsufficientPrivilege,
            id="as-another-host",
        ),
        pytest.param(
            "INSERT INTO grader.daily_sums (host, day, dimension, name, calls)"
            " VALUES ('laptop', now(), 'overall', '', -1)",
            psycopg.errors.CheckViolation,
            id="below-zero",
        ),
        pytest.param(
            "INSERT INTO grader.daily_sums (host, day, dimension, name) VALUES ('laptop', now(), 'host', 'other')",
            psycopg.errors.CheckViolation,
            id="sums-of-hosts",
        ),
    ],
)
def test_a_host_writes_whole_days_of_its_own_within_bounds(
    url: str, running: Server, statement: str, error: type[psycopg.Error]
) -> None:
    with FleetDatabase(running.url()) as fleet:
        fleet.add("other")
    with psycopg.connect(url, autocommit=True) as host, pytest.raises(error):
        host.execute(statement.encode())
