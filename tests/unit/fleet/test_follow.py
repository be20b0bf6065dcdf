"""Who watches a fleet: alerts are raised once, whoever works; a real PostgreSQL."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.api.grader import SelfGrader
from grader_daemon.bootstrap import utc_now
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.fleet.admin import configuration_line, fleet_database, fleet_push
from grader_daemon.fleet.copy_settings import settings_of_copy
from grader_daemon.fleet.follow import follow_fleet, watch_fleet
from grader_daemon.fleet.server_admin import FleetLogin
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.records import NewGrade, Position
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.postgres import Server, serving
from tests.strategies import grade, new_grade
from tests.waiting import wait_until

_BEGAN = 14
"""Days ago the watch began; two days later work got worse."""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A file that has a line for each alert that was told."""
    return tmp_path / "told"


@pytest.fixture
def read_url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fleet of a machine whose work got worse, and the URL by which somebody reads it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with fleet_database(server.url()) as fleet:
        fleet.make()
        sends, reads = _url(fleet.add("laptop", user="anna")), _url(fleet.add_member("lead"))
    (tmp_path / "fleet_url").write_text(sends)
    with closing(SqliteStore(tmp_path / "laptop.db", host="here")) as store, store.transaction():
        save_grades(store, [_session(day, number) for day in range(1, 60) for number in range(15)])
    with SelfGrader(settings=_sender(tmp_path)) as grader, closing(fleet_push(grader.context)) as push:
        while push.run().more:
            pass
    return reads


def _url(login: FleetLogin) -> str:
    return configuration_line(login, setting="x").split('"')[1]


def _session(days_ago: int, number: int) -> NewGrade:
    """Nine of ten end well, and from twelve days ago on four of ten."""
    ends_well = (number * 7 + days_ago) % 10 < (9 if days_ago > _BEGAN - 2 else 4)
    ended = utc_now().replace(microsecond=0) - timedelta(days=days_ago, minutes=number)
    name = f"{days_ago:02}_{number:02}"
    return new_grade(
        grade(
            session_id=name,
            session_file=f"/{name}",
            ended_at=ended,
            ended_on=ended.date().isoformat(),
            verdict_by=VerdictBy.MODEL,
            task_completed=ends_well,
            ending=EndingKind.ANSWERED,
            standing=ResultStanding.CHECKED if ends_well else ResultStanding.CHECK_FAILED,
        )
    )


def _settings(read_url: str, copy: Path, told: Path | None = None) -> Settings:
    """Settings of a copy in which the watch has begun, whoever works first."""
    command = None if told is None else json.dumps(["sh", "-c", f"cat >>{told}; echo >>{told}"])
    return settings_of_copy(
        load_settings(fleet_read_url=read_url, fleet_copy_file=str(copy), job_seconds=1.0, alert_command=command)
    )


def _begin(settings: Settings) -> None:
    began = utc_now() - timedelta(days=_BEGAN)
    with SelfGrader(settings=settings) as grader:
        assert grader.read_fleet() == 59 * 15
        with grader.context.deciding():
            grader.context.store.alerts.begin(Position(began - timedelta(days=56), ""), now=began)


@contextmanager
def _watching(settings: Settings) -> Iterator[threading.Event]:
    stop = threading.Event()
    watching = threading.Thread(target=watch_fleet, args=(settings, stop))
    watching.start()
    try:
        yield stop
    finally:
        stop.set()
        watching.join()


def _decided(server: Server) -> tuple[int, int]:
    """The alerts that stand in the fleet's database, and how many messages wait to be told."""
    with server.admin() as connection:
        row = connection.execute(
            "SELECT jsonb_array_length(decisions -> 'alerts'), jsonb_array_length(decisions -> 'outbox')"
            " FROM grader.fleet WHERE decisions IS NOT NULL"
        ).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _leader(server: Server) -> str | None:
    with server.admin() as connection:
        [leader] = connection.execute("SELECT leader::text FROM grader.watch").fetchone() or (None,)
    return None if leader is None else str(leader)


def _opened(told: Path) -> list[str]:
    """The titles of the alerts that were told."""
    lines = told.read_text().splitlines() if told.exists() else []
    return [json.loads(line)["title"] for line in lines if line]


def test_a_drop_is_told_once_and_another_watch_goes_on_where_the_first_ended(
    server: Server, read_url: str, tmp_path: Path, told: Path
) -> None:
    first, second = (_settings(read_url, tmp_path / f"{name}.db", told) for name in ("first", "second"))
    _begin(first)
    with _watching(first) as stop:
        wait_until(lambda: _opened(told) and _decided(server) == (1, 0), "an alert that was told")
        titles, alerts, leader = _opened(told), _decided(server)[0], _leader(server)
        assert len(titles) == alerts
        assert "ad endings" in titles[0]
        with _watching(second):
            wait_until(lambda: _alerts(second) == 1, "the alert in another copy")
            assert _leader(server) == leader
            stop.set()
            wait_until(lambda: _leader(server) not in (None, leader), "the second at work")
    assert (_opened(told), _decided(server)) == (titles, (alerts, 0))


@pytest.mark.thorough
def test_what_is_said_of_an_alert_counts_for_all_who_look(
    server: Server, read_url: str, tmp_path: Path, told: Path
) -> None:
    first, second = (_settings(read_url, tmp_path / f"{name}.db", told) for name in ("first", "second"))
    _begin(first)
    with _watching(first):
        wait_until(lambda: _decided(server) == (1, 0), "an alert")
        with SelfGrader(settings=second) as grader:
            grader.read_fleet()
            grader.insight.acknowledge_alert(1, "the mirror is down")
        wait_until(lambda: _note(first) == "the mirror is down", "the note in the copy of who watches")


def _note(settings: Settings) -> str | None:
    with SelfGrader(settings=settings) as grader:
        return grader.insight.alert(1).note


def _alerts(settings: Settings) -> int:
    with closing(SqliteStore(settings.db_path)) as store:
        return len(store.alerts.open())


@pytest.mark.thorough
def test_a_copy_that_is_followed_has_what_comes_in(read_url: str, tmp_path: Path) -> None:
    settings = _settings(read_url, tmp_path / "copy.db")
    stop = threading.Event()
    following = threading.Thread(target=follow_fleet, args=(settings, stop))
    following.start()
    try:
        wait_until(lambda: _verdict(settings, "laptop/01_00") is VerdictBy.MODEL, "the sessions")
        with SelfGrader(settings=_sender(tmp_path)) as grader, closing(fleet_push(grader.context)) as push:
            for file in settings.db_path.parent.glob(f"{settings.db_path.name}*"):
                file.unlink()  # a copy may be deleted at any time
            grader.labels.add("01_00", completed=False)
            push.run()
        wait_until(lambda: _verdict(settings, "laptop/01_00") is VerdictBy.PERSON, "a person's word")
    finally:
        stop.set()
        following.join()


def _sender(folder: Path) -> Settings:
    return load_settings(db_path=str(folder / "laptop.db"), fleet_url=(folder / "fleet_url").read_text())


def _verdict(settings: Settings, session: str) -> VerdictBy | None:
    with closing(SqliteStore(settings.db_path)) as store:
        found = store.grades.stored([session])
    return found[session].grade.verdict_by if found else None
