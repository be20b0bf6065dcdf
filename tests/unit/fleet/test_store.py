from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.errors import InputError
from grader_daemon.fleet.store import CopyTables
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import FleetCopyState, Position
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.strategies import NOW, grade, new_grade

LAPTOP = FleetHostState(host="laptop", user="anna", epoch=2, seq=70, version="0.1.0", last_seen=NOW)


def test_what_is_known_of_hosts_is_kept(store: SqliteStore) -> None:
    desk = msgspec.structs.replace(LAPTOP, host="desk", user=None, version=None, last_seen=None)
    with store.transaction():
        for host in (LAPTOP, desk, msgspec.structs.replace(LAPTOP, seq=71)):
            CopyTables(store).save_host(host)
    assert CopyTables(store).hosts() == [desk, msgspec.structs.replace(LAPTOP, seq=71)]
    with store.transaction():
        CopyTables(store).forget_host("desk")
    assert [host.host for host in CopyTables(store).hosts()] == ["laptop"]


def test_a_machine_s_own_database_is_no_copy(store: SqliteStore) -> None:
    assert CopyTables(store).state() is None
    state = FleetCopyState(fleet="f", version="1", read_at=NOW, decisions=3, labels_at=NOW - timedelta(hours=1))
    with store.transaction():
        CopyTables(store).save_state(state)
    assert CopyTables(store).state() == state


def test_sessions_of_a_host_are_those_whose_ids_begin_with_its_name(store: SqliteStore) -> None:
    with store.transaction():
        save_grades(
            store,
            [
                new_grade(grade(session_id=name, session_file=f"/{number}"))
                for number, name in enumerate(("laptop/a", "laptop/é", "laptop-2/b", "lap", "laptop0"))
            ],
        )
    assert sorted(CopyTables(store).sessions_of("laptop", 10)) == ["laptop/a", "laptop/é"]
    assert len(CopyTables(store).sessions_of("laptop", 1)) == 1


def test_decisions_of_one_copy_are_those_of_another(tmp_path: Path) -> None:
    one, other = (SqliteStore(tmp_path / name) for name in ("one.db", "other.db"))
    position = Position(datetime(2026, 11, 20, tzinfo=UTC), "laptop/m")
    drop = alert()
    seen = [new_grade(grade(session_id=f"laptop/{name}", session_file=f"/{name}")) for name in "az"]
    for store in (one, other):
        with store.transaction():
            save_grades(store, seen)
    with one.transaction():
        kept = one.alerts.add(drop)
        one.alerts.begin(position, now=NOW)
        one.alerts.silence([each.stream for each in drop.drops], NOW + timedelta(days=1))
        one.outbox.put(kind="alert", subject="1", event="opened", channel="webhook", payload="{}", now=NOW)
    with other.transaction():  # what it decided by itself gives way, and what it took up is taken up again
        other.alerts.add(msgspec.structs.replace(drop, note="another"))
        other.outbox.put(kind="alert", subject="9", event="opened", channel="command", payload="{}", now=NOW)
        other.connection.execute("UPDATE session_details SET watched = 1")
        CopyTables(other).replace_decisions(CopyTables(one).decisions())
    assert CopyTables(other).decisions() == CopyTables(one).decisions()
    assert other.alerts.open() == [kept]
    assert other.alerts.position() == position
    assert other.alerts.silenced(NOW) == one.alerts.silenced(NOW)
    assert (other.outbox.waiting(["webhook"]), other.outbox.waiting(["command"])) == (1, 0)
    assert not any(each.watched for each in other.grades.stored(["laptop/z"]).values())
    one.close()
    other.close()


def test_an_agent_of_a_fleet_is_another_one_on_each_machine(store: SqliteStore) -> None:
    with store.transaction():
        save_grades(
            store,
            [
                new_grade(grade(session_id=f"{host}/a", session_file=f"/{host}", host=host, agent="hermes", model="m"))
                for host in ("desk", "laptop")
            ],
        )

    def agents() -> set[str | None]:
        return {task.agent for task in store.grades.finished_tasks(since=NOW - timedelta(days=99), limit=9)}

    assert agents() == {"hermes"}
    with store.transaction():
        CopyTables(store).save_state(FleetCopyState(fleet="f", version="1"))
    assert agents() == {"hermes on desk", "hermes on laptop"}


def test_reports_and_marks_of_one_copy_are_those_of_another(tmp_path: Path) -> None:
    first, second = (SqliteStore(tmp_path / f"{name}.db") for name in ("first", "second"))
    week = Span(date(2026, 11, 9), date(2026, 11, 15))
    with first.transaction():
        first.reports.save(week, "{}", basis=7, now=NOW)
    decided = msgspec.json.decode(CopyTables(first).decisions())
    decided["marks"] = [["of-no-session-here", NOW.isoformat(), None]]
    with second.transaction():
        CopyTables(second).replace_decisions(msgspec.json.encode(decided))
    assert second.reports.report(week.first) == first.reports.report(week.first)
    assert msgspec.json.decode(CopyTables(second).decisions()) == decided
    first.close()
    second.close()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"null", id="nothing"),
        pytest.param(b'{"alerts": "x"}', id="no-rows"),
        pytest.param(b"{}", id="no-tables"),
        pytest.param({"alert_position": [[1, "x", "y", "z"]]}, id="no-moment"),
        pytest.param({"alert_position": [[1, "2026-01-01", "y", None]]}, id="a-moment-of-no-zone"),
        pytest.param({"outbox": [["x"] * 11]}, id="no-number"),
        pytest.param({"alert_silences": [[1, 2, 3, 4]]}, id="no-texts"),
        pytest.param({"marks": [["f", "infinity", None]]}, id="for-ever"),
        pytest.param({"marks": [["f"]]}, id="too-few-columns"),
    ],
)
def test_decisions_that_cannot_be_read_change_nothing(
    store: SqliteStore, content: bytes | dict[str, list[object]]
) -> None:
    with store.transaction():
        store.alerts.begin(Position(NOW, "s"), now=NOW)
    before = CopyTables(store).decisions()
    told = content if isinstance(content, bytes) else msgspec.json.encode({**msgspec.json.decode(before), **content})
    with store.transaction(), pytest.raises(InputError, match="cannot read"):
        CopyTables(store).replace_decisions(told)
    assert CopyTables(store).decisions() == before
