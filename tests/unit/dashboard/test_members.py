"""Members of a fleet that is served: who is let in, until when, and that nothing is changed."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard.addresses import BAR, GRADER
from grader_daemon.dashboard.app import PAGES, make_app
from grader_daemon.dashboard.http_api import ENDPOINTS
from grader_daemon.dashboard.members import keep_out, let_in, member_door, read_members, tokens_path
from grader_daemon.dashboard.site import Site
from grader_daemon.errors import ConfigurationError, NotFoundError
from grader_daemon.fleet.store import CopyTables
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.records import FleetCopyState
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import NOW, grade, new_grade

_PORT = 7655
_HERE = f"http://127.0.0.1:{_PORT}"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a copy with one session of the machine `desk`."""
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(grade(session_id="desk/1", session_file="", host="desk"))])
        CopyTables(store).save_state(FleetCopyState(fleet="f", version="1"))
    return load_settings(db_path=tmp_path / "grades.db", timezone="UTC")


@pytest.fixture
def tokens(settings: Settings) -> Path:
    return tokens_path(settings)


@pytest.fixture
def client(settings: Settings, clock: Clock) -> Iterator[TestClient]:
    """Somebody who has shown nothing yet."""
    site = Site(settings, member_door(settings, _PORT), clock=clock)
    with TestClient(make_app(site), base_url=_HERE, follow_redirects=False) as made:
        yield made


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_each_member_is_let_in_by_a_token_of_their_own(tokens: Path, client: TestClient) -> None:
    for name in ("anna", "ben"):
        assert client.get("/", headers=_bearer(let_in(tokens, name, now=NOW))).status_code == 200


def test_a_member_is_not_led_to_what_only_the_owner_may_do(tokens: Path, client: TestClient) -> None:
    bar = client.get("/health", headers=_bearer(let_in(tokens, "anna", now=NOW))).text
    assert ("/trust" in bar, "/review" in bar) == (True, False)


def test_an_address_with_a_token_becomes_a_cookie_that_lets_in(tokens: Path, client: TestClient) -> None:
    token = let_in(tokens, "anna", now=NOW)
    welcome = client.get(f"/?token={token}")
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    assert token not in welcome.headers["set-cookie"]
    assert client.get("/").status_code == 200


def test_a_token_that_was_replaced_or_taken_back_ends_with_its_cookie(tokens: Path, client: TestClient) -> None:
    first = let_in(tokens, "anna", now=NOW)
    client.get(f"/?token={first}")
    second = let_in(tokens, "anna", now=NOW)
    assert [client.get("/").status_code, client.get("/", headers=_bearer(first)).status_code] == [401, 401]
    assert client.get("/", headers=_bearer(second)).status_code == 200
    keep_out(tokens, "anna")
    assert client.get("/", headers=_bearer(second)).status_code == 401


def test_whoever_is_not_let_in_is_told_the_same(tokens: Path, client: TestClient) -> None:
    revoked = let_in(tokens, "anna", now=NOW)
    keep_out(tokens, "anna")
    let_in(tokens, "ben", now=NOW)
    told = {
        (answer.status_code, answer.text.partition('"error": ')[2].partition("\n")[0] or answer.text)
        for headers in ({}, _bearer("wrong"), _bearer(revoked), _bearer("\xff"), {"cookie": "grader_dashboard_7655=x"})
        for address in ("/", "/api/summary", "/nowhere")
        for answer in [
            client.get(address, headers={name.encode(): value.encode("latin-1") for name, value in headers.items()})
        ]
    }
    words = "Not signed in: open the address with the token that the administrator gave you."
    assert told == {(401, f"{words}\n"), (401, f'"{words}"')}, "to a person, and to a program"


def test_the_file_lets_nobody_in_and_is_its_owners_alone(tokens: Path, client: TestClient) -> None:
    token = let_in(tokens, "anna", now=NOW)
    [anna] = read_members(tokens)
    assert token not in tokens.read_text()
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    for digest in (anna.token, anna.cookie):
        assert client.get("/", headers=_bearer(digest)).status_code == 401
        assert client.get("/", headers={"cookie": f"grader_dashboard_{_PORT}={digest}"}).status_code == 401


@pytest.mark.parametrize("address", ["/", "/health", "/api/summary"])
def test_nothing_is_shown_of_the_machine_before_the_fleet_was_read(
    settings: Settings, tokens: Path, client: TestClient, address: str
) -> None:
    token = let_in(tokens, "anna", now=NOW)
    settings.db_path.unlink()
    answer = client.get(address, headers=_bearer(token))
    assert (answer.status_code, "fleet has not been read yet" in answer.text) == (503, True)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"members": [{}]}', b"\xff"])
def test_a_file_that_cannot_be_read_lets_nobody_in(
    settings: Settings, tokens: Path, client: TestClient, content: bytes
) -> None:
    token = let_in(tokens, "anna", now=NOW)
    assert client.get("/", headers=_bearer(token)).status_code == 200
    tokens.unlink()
    tokens.write_bytes(content)
    assert client.get("/", headers=_bearer(token)).status_code == 401
    with pytest.raises(ConfigurationError):
        member_door(settings, _PORT)


def test_nobody_can_be_kept_out_twice(tokens: Path) -> None:
    with pytest.raises(NotFoundError, match="anna has no token"):
        keep_out(tokens, "anna")


def test_members_change_nothing(tokens: Path, client: TestClient) -> None:
    program = _bearer(let_in(tokens, "anna", now=NOW))
    writes = [(page.address, "POST") for page in PAGES if page.writes and page.address != "/theme"]
    writes += [(endpoint.address, endpoint.method) for endpoint in ENDPOINTS if endpoint.writes]
    assert len(writes) > 10
    for address, method in writes:
        answer = client.request(method, address.replace("{session_id:path}", "x"), headers=program)
        assert answer.status_code == 403, address
        assert "is read-only" in answer.text


@pytest.mark.parametrize(
    "address", [*(each.address for each in (*BAR, *GRADER) if each.address != "/review"), "/session/desk/1"]
)
def test_members_are_shown_nothing_that_they_cannot_do(tokens: Path, client: TestClient, address: str) -> None:
    shown = client.get(address, headers=_bearer(let_in(tokens, "anna", now=NOW)))
    assert shown.status_code == 200
    assert re.findall('<form[^>]* method="post"[^>]*>', shown.text) == [
        '<form class="theme" method="post" action="/theme">'
    ]
    assert 'href="/review"' not in shown.text
    assert "fleet_tokens_file" not in shown.text


def test_members_choose_their_colours(tokens: Path, client: TestClient) -> None:
    client.get(f"/?token={let_in(tokens, 'anna', now=NOW)}")
    form = {"form_token": re.findall('name="form_token" value="([^"]+)', client.get("/health").text)[0]}
    answer = client.post("/theme", data={**form, "theme": "dark"}, headers={"origin": _HERE})
    assert "grader_theme=dark" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    ("given", "hosts", "origin"),
    [
        pytest.param({}, {"127.0.0.1:7655", "localhost:7655"}, "http://127.0.0.1:7655", id="on-this-machine"),
        pytest.param(
            {"fleet_serve_names": ["g.example"]},
            {"g.example", "g.example:7655", "127.0.0.1:7655", "localhost:7655"},
            "https://g.example",
            id="behind-a-program-with-a-certificate",
        ),
        pytest.param(
            {
                "fleet_serve_names": ["g.example"],
                "fleet_serve_certificate_file": "/c",
                "fleet_serve_key_file": "/k",
                "fleet_serve_address": "10.0.0.1",
            },
            {"g.example:7655", "10.0.0.1:7655"},
            "https://g.example:7655",
            id="with-a-certificate",
        ),
    ],
)
def test_the_names_under_which_it_answers(tmp_path: Path, given: dict[str, Any], hosts: set[str], origin: str) -> None:
    access = member_door(load_settings(db_path=tmp_path / "grades.db", **given), _PORT)()
    assert (set(access.hosts), access.origin, access.is_secure) == (hosts, origin, origin.startswith("https"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({}, "fleet_serve_certificate_file and fleet_serve_key_file must be set", id="plain"),
        pytest.param({"fleet_serve_certificate_file": "/c"}, "or neither", id="no-key"),
    ],
)
def test_another_machine_is_answered_by_https_alone(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_settings(fleet_serve_address="10.0.0.1", **given)
