"""The page for programs: the documents of the commands, as their schemas say, and one line for what cannot be had."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Match, Route
from starlette.testclient import TestClient

from grader_daemon.dashboard.http_api import ENDPOINTS
from tests import demo_home
from tests.reference.openapi import openapi
from tests.reference.pages import SCHEMAS
from tests.reference.validation import misfits
from tests.unit.dashboard.conftest import ACCESS, MakeClient

_BEARER = {"authorization": f"Bearer {ACCESS.token}"}
_SESSION = "demo_01"
_ISSUE = "{issue}"

_ASKED = [
    *("/api/summary", "/api/summary?days=30", "/api/status", "/api/patterns?days=30", "/api/sessions"),
    *("/api/usage", "/api/usage?days=30&by=task_type"),
    "/api/sessions?verdict=not_done&sort=errors&limit=2",
    *(f"/api/sessions/{_SESSION}", f"/api/sessions/{_SESSION}/why", f"/api/sessions/{_SESSION}/transcript?count=2"),
    *("/api/errors?days=30", "/api/errors?state=ignored", f"/api/errors/{_ISSUE}", "/api/alerts", "/api/alerts/1"),
    *(f"/api/similar?asked={_SESSION}", "/api/similar?asked=Write+tests+for+the+parser&limit=3"),
    *("/api/route", "/api/route?task_type=debugging&max_cost=0.5"),
    *("/api/setup-changes?days=30", "/api/skills", "/api/skills/deploy", "/api/skill-advice?name=debugging"),
    *(
        "/api/alternatives?tool=terminal&category=timeout",
        "/api/alternatives?tool=a&category=unknown&command=b&days=7",
    ),
    *("/api/report", "/api/report?week=2026-W47", "/api/calibration", "/api/changes", "/api/changes?after=3&limit=2"),
]
_SAID = [
    ("POST", f"/api/sessions/{_SESSION}/label", {"completed": False, "quality": 2, "note": "it was not"}),
    ("DELETE", "/api/sessions/demo_03/label", None),
    *(("POST", f"/api/errors/{_ISSUE}/{mark}", None) for mark in ("resolve", "ignore", "reopen")),
    ("POST", "/api/alerts/1/ack", {"note": "known"}),
    ("DELETE", "/api/alerts/1/ack", None),
    ("POST", "/api/alerts/1/silence", {"for": "12h"}),
    ("DELETE", "/api/alerts/1/silence", None),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    demo_home.make(home)
    return home


@pytest.fixture
def reader(made: Path, client_of: MakeClient, tmp_path: Path) -> TestClient:
    """Make a client of a home that tests may read but not change, and that has a skill."""
    demo_home.install(tmp_path / "skills/deploy", "Deploys a release.")
    return client_of(made / demo_home.DATABASE)


@pytest.fixture
def writer(made: Path, tmp_path: Path, client_of: MakeClient) -> TestClient:
    """Make a client of a home of the test's own."""
    home = tmp_path / "home"
    shutil.copytree(made, home)
    return client_of(home / demo_home.DATABASE)


def _address(client: TestClient, written: str) -> str:
    if _ISSUE not in written:
        return written
    issues = client.get("/api/errors?days=30").json()["issues"]
    return written.replace(_ISSUE, issues[0]["fingerprint"])


def _document_of(method: str, address: str) -> str:
    """Return the name of the document of the endpoint that answers there."""
    scope = {"type": "http", "method": method, "path": address.partition("?")[0], "headers": []}
    for endpoint in ENDPOINTS:
        route = Route(endpoint.address, lambda _: None, methods=[endpoint.method])
        if route.matches(scope)[0] is Match.FULL:
            return endpoint.document
    raise AssertionError(address)


def _misfits(document: Any, name: str) -> list[str]:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return list(misfits(document, schema, root=schema))


@pytest.mark.parametrize("asked", _ASKED)
def test_answers_are_as_their_schemas_say(asked: str, reader: TestClient) -> None:
    answer = reader.get(_address(reader, asked), headers=_BEARER)

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert _misfits(answer.json(), _document_of("GET", asked)) == []


@pytest.mark.parametrize(("method", "asked", "body"), _SAID)
def test_changes_are_made_and_told_as_their_schemas_say(method: str, asked: str, body: Any, writer: TestClient) -> None:
    answer = writer.request(method, _address(writer, asked), json=body, headers=_BEARER)

    assert answer.status_code == 200, answer.text
    assert _misfits(answer.json(), _document_of(method, asked)) == []


def test_every_endpoint_is_tried() -> None:
    tried = {(method, _document_of(method, asked)) for method, asked, _ in _SAID}
    tried |= {("GET", _document_of("GET", asked)) for asked in _ASKED}

    assert tried == {(endpoint.method, endpoint.document) for endpoint in ENDPOINTS}


def test_a_label_stands_until_it_is_taken_back(writer: TestClient) -> None:
    address = f"/api/sessions/{_SESSION}"
    before = writer.get(address).json()["grade"]["task_completed"]

    writer.post(f"{address}/label", json={"completed": not before}, headers=_BEARER)
    said = writer.get(address).json()["grade"]["task_completed"]
    writer.delete(f"{address}/label", headers=_BEARER)

    assert (said, writer.get(address).json()["grade"]["task_completed"]) == (not before, before)


def test_pages_of_sessions_follow_each_other(reader: TestClient) -> None:
    whole = [each["session_id"] for each in reader.get("/api/sessions?limit=1000").json()["grades"]]
    read: list[str] = []
    following: dict[str, str] = {}
    while True:
        page = reader.get("/api/sessions", params={"limit": "3", **following}).json()
        read += [each["session_id"] for each in page["grades"]]
        if page["next"] is None:
            break
        following = {"before": page["next"]}

    assert read == whole
    assert len(whole) > 3


def test_changes_are_followed_by_their_number(writer: TestClient) -> None:
    last = writer.get("/api/changes").json()["changes"][-1]["seq"]
    writer.post(f"/api/sessions/{_SESSION}/label", json={"completed": True}, headers=_BEARER)

    told = writer.get(f"/api/changes?after={last}").json()["changes"]

    assert {each["subject"] for each in told} == {_SESSION}
    assert "label" in {each["kind"] for each in told}


@pytest.mark.parametrize(
    ("method", "asked", "status", "says"),
    [
        ("GET", "/api/sessions?days=soon", 400, "days"),
        ("GET", "/api/sessions?limit=0", 400, "limit"),
        ("GET", "/api/sessions?verdict=maybe", 400, "verdict"),
        ("GET", "/api/sessions?colour=red", 400, "colour"),
        ("GET", "/api/sessions?before=3", 400, "address"),
        ("GET", "/api/summary?days=1&days=2", 400, "days appears twice"),
        ("GET", "/api/changes?after=-1", 400, "after"),
        ("GET", "/api/changes?after=99999999999999999999", 400, "after"),
        ("GET", "/api/route?max_cost=0", 400, "max_cost"),
        ("GET", "/api/report?week=2026-W99", 400, "2026-W99"),
        ("GET", "/api/sessions/no-such", 404, "no-such"),
        ("GET", "/api/sessions/demo", 400, "several session ids"),
        ("GET", "/api/errors/no-such", 404, "no-such"),
        ("GET", "/api/alerts/99", 404, "99"),
        ("GET", "/api/alerts/99999999999999999999", 404, "alert"),
        ("GET", f"/api/alerts/{'9' * 5000}", 404, "number"),
        ("GET", "/api/nothing", 404, "address"),
        ("POST", f"/api/sessions/{_SESSION}/label", 400, ""),
        ("POST", "/api/alerts/1/silence", 400, "truncated"),
        ("DELETE", "/api/summary", 405, ""),
    ],
)
def test_what_cannot_be_had_is_one_line(method: str, asked: str, status: int, says: str, reader: TestClient) -> None:
    body = b"{" if method == "POST" else None

    answer = reader.request(method, asked, content=body, headers=_BEARER)

    assert answer.status_code == status
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_the_description_says_which_parameters_are_needed(reader: TestClient) -> None:
    described = {
        address: {each["name"] for each in said["get"]["parameters"] if each["in"] == "query" and each.get("required")}
        for address, said in openapi()["paths"].items()
        if "parameters" in said.get("get", ())
    }

    needed = {address: names for address, names in described.items() if names}
    assert needed == {
        "/api/alternatives": {"tool", "category"},
        "/api/similar": {"asked"},
        "/api/skill-advice": {"name"},
    }
    assert {reader.get(address).status_code for address in needed} == {400}


def test_a_home_without_a_database_says_so(client: TestClient) -> None:
    assert client.get("/api/status").json()["running"] is False
    assert client.get("/api/summary").json()["summary"] is None
    assert client.get("/api/sessions").status_code == 404


def test_only_who_sends_the_token_changes_something(writer: TestClient) -> None:
    answer = writer.post(f"/api/sessions/{_SESSION}/label", json={"completed": False})

    assert answer.status_code == 403
    assert "token" in answer.json()["error"]


def test_a_body_is_bounded(writer: TestClient) -> None:
    said = {"completed": True, "note": "x" * 70_000}

    assert writer.post(f"/api/sessions/{_SESSION}/label", json=said, headers=_BEARER).status_code == 413
