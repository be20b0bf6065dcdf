"""What every address does: refuse in one line, keep out forms of others, say what an empty home needs."""

from __future__ import annotations

import gzip
import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from grader_daemon.api.grader import SelfGrader
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.metric_texts import read_classic, read_openmetrics, series, value
from tests.strategies import NOW, grade, new_grade
from tests.unit.dashboard.conftest import ACCESS, HOST, MakeClient
from tests.units import unit

_BEARER = {"authorization": f"Bearer {ACCESS.token}"}
_OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def test_home_without_a_database_says_how_to_begin(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert "grader-daemon service install" in answer.text


def test_address_that_is_none_is_said_in_one_line(client: TestClient) -> None:
    answer = client.get("/nothing-here")
    assert answer.status_code == 404
    assert "This page does not exist." in answer.text


def test_form_without_our_token_changes_nothing(client: TestClient) -> None:
    assert client.post("/theme", data={"theme": "dark"}).status_code == 403
    assert client.post("/theme", data={"theme": "dark", "form_token": "other"}).status_code == 403


def test_form_of_ours_is_followed_by_the_page_that_it_came_from(client: TestClient) -> None:
    answer = _choose(client, came_from="/sessions?state=open")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?state=open")
    assert "grader_theme=dark" in answer.headers["set-cookie"]


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "/\\evil.example", "", "/a\nb"])
def test_form_leads_to_no_other_site(client: TestClient, elsewhere: str) -> None:
    assert _choose(client, came_from=elsewhere).headers["location"] == "/"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        pytest.param(b"x" * 65_537, 413, id="too-large"),
        pytest.param(b"&".join(b"a=1" for _ in range(101)), 400, id="too-many-fields"),
        pytest.param(b"\xff", 400, id="no-form"),
    ],
)
def test_what_is_no_form_is_refused(client: TestClient, content: bytes, status: int) -> None:
    assert client.post("/theme", content=content).status_code == status


def test_damaged_database_is_told_on_a_page_that_tries_again(client_of: MakeClient, tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database")
    answer = client_of(tmp_path / "damaged.db").get("/")
    assert answer.status_code == 503
    assert '<a href="/">Try again</a>' in answer.text
    assert "damaged.db" in answer.text


def test_address_that_is_none_is_said_beside_a_damaged_database_too(client_of: MakeClient, tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database")
    answer = client_of(tmp_path / "damaged.db").get("/nowhere")

    assert (answer.status_code, answer.text) == (404, "This page does not exist.\n")


def test_database_that_was_replaced_is_read_anew(client_of: MakeClient, tmp_path: Path) -> None:
    path, other = tmp_path / "grades.db", tmp_path / "other.db"
    for each in (path, other):
        with SelfGrader(db_path=each, watch_roots=tmp_path) as grader:
            grader.context.make_store()
    client = client_of(path)
    assert client.get("/").status_code == 200
    other.replace(path)
    assert client.get("/").status_code == 200


def test_script_and_style_may_be_kept_for_good_and_need_no_token(client: TestClient) -> None:
    client.cookies.clear()
    for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript")):
        answer = client.get(f"/static/{name}")
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/other").status_code == 404


def test_script_and_style_are_small(client: TestClient) -> None:
    sent = [client.get(f"/static/{name}").content for name in ("page.css", "page.js")]

    assert sum(len(gzip.compress(each)) for each in sent) <= 16 * 1024


def _choose(client: TestClient, *, came_from: str) -> Response:
    return client.post("/theme", data={"theme": "dark", "from": came_from, "form_token": ACCESS.form_token})


def test_page_that_fails_shows_no_traceback_and_is_told_in_the_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ValueError("what a session says")

    monkeypatch.setattr(SelfGrader, "status", fail)
    with capture_logs() as told:
        answer = client.get("/")
    assert answer.status_code == 500
    assert answer.text.count("\n") == 1
    assert "what a session says" not in answer.text
    assert [(line["event"], line["address"]) for line in told] == [("page.crashed", "/")]


def test_pages_script_and_style_are_compressed_for_who_takes_it(client: TestClient) -> None:
    for address in ("/", "/static/page.css", "/static/page.js"):
        assert client.get(address, headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"
        assert "content-encoding" not in client.get(address, headers={"accept-encoding": "identity"}).headers


def test_token_of_a_form_is_another_text_on_each_page_and_each_is_taken(client: TestClient) -> None:
    tokens = {re.findall(r'name="form_token" value="(\w+)"', client.get("/").text)[0] for _ in range(3)}

    assert len(tokens) == 3
    for token in tokens:
        assert client.post("/theme", data={"theme": "dark", "form_token": token}).status_code == 303
    short = next(iter(tokens))[:64]
    for other in ("", short, "zz", "é" * 128):
        assert client.post("/theme", data={"theme": "dark", "form_token": other}).status_code == 403


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
