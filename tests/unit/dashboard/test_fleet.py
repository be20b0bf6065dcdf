"""The page of the copy of a fleet: machines where there was a daemon; a copy made by hand, no PostgreSQL."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.analysis import Category, ErrorSign, Failure
from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.fleet.store import CopyTables
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.records import FleetCopyState
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import MakeClient

HOSTS = {
    "desk": FleetHostState(
        host="desk", user=None, epoch=1, seq=9, version="1", last_seen=NOW - timedelta(hours=40), older=1234
    ),
    "laptop": FleetHostState(
        host="laptop", user="anna <b>", epoch=1, seq=9, version="1", last_seen=NOW - timedelta(minutes=4), unread=2
    ),
}


FRESH = FleetHostState(host="new-desk", user=None, epoch=1, seq=0, version=None, last_seen=None)


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    store = SqliteStore(tmp_path / "copy.db")
    with store.transaction():
        save_grades(
            store,
            [
                new_grade(
                    grade(
                        session_id=f"{host}/{number}",
                        session_file="",
                        host=host,
                        ended_at=NOW - timedelta(days=number),
                        ended_on=f"{NOW - timedelta(days=number):%Y-%m-%d}",
                        task_summary=None,
                    )
                )
                for host in HOSTS
                for number in range(5 if host == "desk" else 3)
            ],
        )
        for host in (*HOSTS.values(), FRESH):
            CopyTables(store).save_host(host)
        CopyTables(store).save_state(FleetCopyState(fleet="f", version="1", read_at=NOW - timedelta(seconds=7)))
    store.close()
    return client_of(tmp_path / "copy.db")


def words_of(client: TestClient, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    assert "anna <b>" not in answer.text
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())


def test_the_overview_is_about_machines_and_not_about_a_daemon(client: TestClient) -> None:
    words = words_of(client, "/")
    assert re.search(r"No contact for a day: desk (?!,).*Never sent grades: new-desk ", words)
    assert "2 sessions of laptop cannot be read by this version" in words
    assert "read 7 s ago" in words
    assert "Up to 1,234 older sessions are still being read, newest first" in words
    machines = words.partition("Machines ")[2]
    assert re.search(r"desk \d+ .*2 d ago laptop anna &lt;b&gt; 3 .*4 min ago", machines), machines[:400]
    assert "daemon does not run" not in words
    assert "skipped" not in words


def test_sessions_are_listed_with_their_machines_and_found_by_them(client: TestClient) -> None:
    assert len(re.findall(r'data-id="', client.get("/sessions").text)) == 8
    assert set(re.findall(r'data-id="(\w+)/', client.get("/sessions?host=laptop").text)) == {"laptop"}
    assert len(re.findall(r'data-id="', client.get("/sessions", params={"user": "anna <b>"}).text)) == 3
    assert "machine" in words_of(client, "/sessions")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        pytest.param("/", "3 done, 0 not done, 0 unsure", id="today"),
        pytest.param(
            "/changes?days=30",
            "A change applies to all work of an agent, so the machine filter does not apply here.",
            id="changes",
        ),
        pytest.param("/usage", "Figures cover all machines; only the sessions below are filtered.", id="usage"),
        pytest.param("/sessions", "3 sessions", id="sessions"),
        pytest.param("/errors", "These errors occurred in the chosen sessions", id="errors"),
    ],
)
def test_pages_are_narrowed_to_a_machine_or_say_that_they_are_not(client: TestClient, address: str, words: str) -> None:
    query = "&host=laptop" if "?" in address else "?host=laptop"
    answer = client.get(f"{address}{query}")

    assert words in words_of(client, f"{address}{query}")
    assert '<option value="laptop" selected>laptop</option>' in answer.text
    assert "host=laptop" in answer.text.partition("<nav")[2].partition("</nav>")[0], "it holds from page to page"


def test_errors_are_those_of_a_machine(client: TestClient, tmp_path: Path) -> None:
    failure = Failure(1, "terminal", Category.TIMEOUT, fingerprint="1-slow")
    sign = ErrorSign(
        fingerprint="1-slow", tool="terminal", command=None, category=Category.TIMEOUT, signal="Slow", example=""
    )
    made = grade(session_id="desk/9", session_file="", host="desk", ended_at=NOW, failures=(failure,), total_errors=1)
    with closing(SqliteStore(tmp_path / "copy.db")) as store, store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])

    assert "Slow" in words_of(client, "/errors?host=desk")
    assert "Slow" not in words_of(client, "/errors?host=laptop")


def test_a_session_says_where_its_messages_are(client: TestClient) -> None:
    assert "The messages cannot be shown: they stay on desk." in words_of(client, "/session/desk/1")


def test_health_is_that_of_machines_and_trust_is_theirs(client: TestClient) -> None:
    health = words_of(client, "/health")
    assert "The fleet" in health
    assert "The daemon" not in health
    assert re.search(
        r"last contact sessions not read yet desk - 1 \S+ \S+ UTC 1,234 laptop .* 0 new-desk - no data yet - 0 Read ",
        health,
    ), health
    trust = words_of(client, "/trust")
    assert "Each machine gives its own verdicts" in trust
    assert "calibration needs" not in trust


def test_a_review_says_where_the_rest_is(client: TestClient) -> None:
    assert re.search(r"Answer stored only on (desk|laptop)", words_of(client, "/review"))
