from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.metric_texts import read_classic, read_openmetrics, series, value
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import ACCESS, HOST, MakeClient
from tests.units import unit

_BEARER = {"authorization": f"Bearer {ACCESS.token}"}
_OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


@pytest.fixture
def full(tmp_path: Path, client_of: MakeClient) -> TestClient:
    """Make a client of a home in which a session was graded as it was written."""
    path = tmp_path / "grades.db"
    written = int((NOW - timedelta(seconds=2)).timestamp() * 1e9)
    entry = LedgerEntry(
        unit=unit("/a"), stamp=b"1", written_ns=written, state=FileState.GRADED, session_id="a", digest="d"
    )
    with closing(SqliteStore(path)) as store, store.transaction():
        store.live_since = NOW - timedelta(hours=1)
        save_grades(store, [new_grade(grade(session_id="a", session_file="/a"))])
        store.save_entries([entry], now=NOW)
    return client_of(path)


def test_prometheus_is_given_what_it_prefers(full: TestClient) -> None:
    answer = full.get("/metrics", headers={**_BEARER, "accept": _OPENMETRICS})
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    families = read_openmetrics(answer.text)
    exemplars = [sample.exemplar for family in families for sample in family.samples if sample.exemplar]
    assert [exemplar.labels for exemplar in exemplars] == [{"session_id": "a"}]


def test_who_asks_for_nothing_special_is_given_the_classic_format(full: TestClient) -> None:
    answer = full.get("/metrics", headers=_BEARER)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    told = read_classic(answer.text)
    assert value(told, "grader_model_sessions", model="m", verdict="done") == 1
    opened = read_openmetrics(full.get("/metrics", headers={**_BEARER, "accept": _OPENMETRICS}).text)
    assert series(told) == series(opened)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"authorization": "Bearer another"}, 401, id="another-token"),
        pytest.param({**_BEARER, "host": "evil.example:7654"}, 421, id="another-name"),
    ],
)
def test_nobody_else_is_told_anything(full: TestClient, headers: dict[str, str], status: int) -> None:
    answer = full.get("/metrics", headers={"host": HOST, **headers})
    assert (answer.status_code, "grader_up" in answer.text) == (status, False)


def test_before_anything_was_graded_there_are_metrics_and_no_database(client: TestClient, tmp_path: Path) -> None:
    answer = client.get("/metrics", headers=_BEARER)
    assert value(read_classic(answer.text), "grader_up") == 0
    assert not (tmp_path / "grades.db").exists()


def test_a_database_that_cannot_be_read_is_told_in_one_line(tmp_path: Path, client_of: MakeClient) -> None:
    (tmp_path / "broken.db").write_bytes(b"no database" * 1000)
    answer = client_of(tmp_path / "broken.db").get("/metrics", headers=_BEARER)
    assert (answer.status_code, answer.text.count("\n")) == (503, 1)
