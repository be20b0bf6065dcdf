"""Entries of the palette: what is there before anybody types, and which sessions are found."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard.pages.palette import PAGES, Entry
from grader_daemon.domain.analysis import Category, ErrorSign, Failure
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import MakeClient

_MOST_BYTES = 20_000


@pytest.fixture
def client(client_of: MakeClient, tmp_path: Path) -> TestClient:
    """A client of a home with 60 sessions, each of a project of its own, with an error of its own."""
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        for number in range(60):
            failure = Failure(1, "terminal", Category.TIMEOUT, "curl", f"1-{number:04}")
            sign = ErrorSign(
                fingerprint=f"1-{number:04}",
                tool="terminal",
                command="curl",
                category=Category.TIMEOUT,
                signal=f"No host {number} \x1b[31m{'x' * 300}",
                example="",
            )
            made = grade(
                session_id=f"session-{number:04}",
                session_file=f"/s/{number}.json",
                task_summary=f"Task {number} <b>",
                project=f"/home/you/{'long/' * 20}{number}",
                agent="codex",
                ended_at=NOW,
                ended_on=f"{NOW:%Y-%m-%d}",
                failures=(failure,),
                total_errors=1,
            )
            save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])
    return client_of(tmp_path / "grades.db")


def entries(client: TestClient, query: str = "") -> list[Entry]:
    answer = client.get(f"{PAGES[0].address}{query}")
    assert answer.status_code == 200
    assert len(answer.content) <= _MOST_BYTES
    return msgspec.json.decode(answer.content, type=list[Entry])


def test_palette_has_every_kind_within_its_bytes(client: TestClient) -> None:
    found = entries(client)

    assert {each.kind for each in found} == {"page", "view", "project", "agent", "model", "error", "command"}
    assert [each.address for each in found if each.words == "Trust"] == ["/trust"]
    assert max(len(each.words) for each in found) == 90
    assert not any("\x1b" in each.words for each in found)
    assert all(bool(each.address) is not bool(each.command) for each in found)


def test_names_that_are_too_many_bytes_are_left_out(client_of: MakeClient, tmp_path: Path) -> None:
    names = [f"/{number:02}{chr(0xFC) * 100}" for number in range(30)]  # each takes 600 bytes in an address
    made = [grade(session_id=name[:3], session_file=name[:3], project=name, ended_at=NOW) for name in names]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(each) for each in made])

    kinds = [each.kind for each in entries(client_of(tmp_path / "grades.db"))]
    assert 10 < kinds.count("project") < 30


def test_palette_keeps_the_scope(client: TestClient) -> None:
    found = {each.words: each.address for each in entries(client, "?days=30&agent=codex")}

    assert found["Usage"] == "/usage?days=30&agent=codex"
    assert found["Sessions: Unsure"] == "/sessions?days=30&agent=codex&verdict=unsure"
    assert client.get(found["m"]).status_code == 200


@pytest.mark.parametrize(
    ("text", "sessions"),
    [
        pytest.param("task 59", ["/session/session-0059"], id="words"),
        pytest.param("session-0007", ["/session/session-0007"], id="id"),
        pytest.param("session-00", [], id="beginning-of-many-ids"),
        pytest.param("??", [], id="no-word"),
        pytest.param("absent", [], id="nothing"),
    ],
)
def test_sessions_are_found_by_words_and_id(client: TestClient, text: str, sessions: list[str]) -> None:
    found = entries(client, f"?text={text}")

    assert [each.address for each in found] == sessions
    assert {each.kind for each in found} <= {"session"}


def test_no_more_sessions_come_than_fit(client: TestClient) -> None:
    assert len(entries(client, "?text=task")) == 8


def test_home_without_a_database_has_the_pages(client_of: MakeClient, tmp_path: Path) -> None:
    client = client_of(tmp_path / "none.db")

    assert {each.kind for each in entries(client)} == {"page"}
    assert entries(client, "?text=task") == []
