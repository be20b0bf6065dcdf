"""Who may look, and who may change anything."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message

from grader_daemon.dashboard.access import (
    MOST_HEADER_BYTES,
    Access,
    Guard,
    read_token,
    renew_token,
    token_path,
    write_way_in,
)
from grader_daemon.errors import ConfigurationError
from grader_daemon.settings import load_settings
from tests.unit.dashboard.conftest import MakeClient

_ACCESS = Access("the-token", frozenset({"127.0.0.1:7654"}), 7654)
_COOKIE = {"cookie": f"{_ACCESS.cookie}={_ACCESS.cookie_value}"}
_OWN = {"origin": "http://127.0.0.1:7654"}


def _ask(
    headers: Mapping[str, str], *, method: str = "GET", path: str = "/", query: str = ""
) -> tuple[int, dict[str, str]]:
    """Return status and headers of the answer; the app behind the guard says 200."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    given = {"host": "127.0.0.1:7654", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(Guard(PlainTextResponse("in"), lambda: _ACCESS)(scope, receive, send))
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_cookie_and_bearer_token_let_in() -> None:
    assert _ask(_COOKIE)[0] == 200
    assert _ask({"authorization": "Bearer the-token"})[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"cookie": f"{_ACCESS.cookie}=the-token"}, id="the-token-as-cookie"),
        pytest.param({"cookie": f"grader_dashboard_1={_ACCESS.cookie_value}"}, id="the-cookie-of-another-port"),
        pytest.param({"authorization": "Bearer other"}, id="another-token"),
        pytest.param({"authorization": "Basic the-token"}, id="another-scheme"),
    ],
)
def test_nothing_else_lets_in(headers: Mapping[str, str]) -> None:
    assert _ask(headers)[0] == 401


def test_another_name_of_the_machine_is_refused() -> None:
    assert _ask({**_COOKIE, "host": "evil.example:7654"})[0] == 421


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        pytest.param({}, "GET", 401, id="nothing"),
        pytest.param({**_COOKIE, "sec-fetch-site": "cross-site"}, "GET", 403, id="another-site"),
        pytest.param({**_COOKIE, "origin": "http://evil.example"}, "POST", 403, id="change-by-another-site"),
        pytest.param({**_COOKIE, "host": "evil.example:7654"}, "GET", 421, id="another-host"),
        pytest.param({**_COOKIE, "x": "x" * MOST_HEADER_BYTES}, "GET", 431, id="too-large"),
    ],
)
def test_who_is_refused_is_answered_in_json_below_the_addresses_for_programs(
    headers: Mapping[str, str], method: str, status: int
) -> None:
    refused = _ask(headers, method=method, path="/api/summary")
    shown = _ask(headers, method=method, path="/sessions")

    assert (refused[0], refused[1]["content-type"]) == (status, "application/json")
    assert (shown[0], shown[1]["content-type"]) == (status, "text/plain; charset=utf-8")


def test_the_token_in_an_address_becomes_a_cookie() -> None:
    status, headers = _ask({}, path="/sessions", query="state=open&token=the-token")
    assert (status, headers["location"]) == (303, "/sessions?state=open")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=strict" in headers["set-cookie"]
    assert "the-token" not in headers["set-cookie"]


def test_the_way_in_leads_to_no_other_site() -> None:
    assert _ask({}, path="//evil.example", query="token=the-token")[1]["location"] == "/evil.example"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({**_COOKIE, **_OWN}, 200, id="a-form-of-ours"),
        pytest.param({"authorization": "Bearer the-token"}, 200, id="a-program"),
        pytest.param(_COOKIE, 403, id="no-origin"),
        pytest.param({**_COOKIE, "origin": "null"}, 403, id="a-sandboxed-page"),
        pytest.param({**_COOKIE, "origin": "http://evil.example"}, 403, id="another-site"),
    ],
)
def test_only_pages_of_ours_change_anything(headers: Mapping[str, str], status: int) -> None:
    assert _ask(headers, method="POST")[0] == status


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        pytest.param("same-origin", "cors", 200, id="our-own-script"),
        pytest.param("none", "navigate", 200, id="an-address-that-was-typed"),
        pytest.param("cross-site", "navigate", 200, id="a-link"),
        pytest.param("same-site", "no-cors", 403, id="a-picture-in-a-page-of-another-port"),
        pytest.param("cross-site", "cors", 403, id="a-script-of-another-site"),
    ],
)
def test_only_pages_of_ours_load_parts_of_it(site: str, mode: str, status: int) -> None:
    assert _ask({**_COOKIE, "sec-fetch-site": site, "sec-fetch-mode": mode})[0] == status


def test_every_answer_says_what_a_browser_may_do() -> None:
    for headers in ({}, _COOKIE):
        said = _ask(headers)[1]
        assert "default-src 'none'" in said["content-security-policy"]
        assert said["x-content-type-options"] == "nosniff"
        assert said["cache-control"] == "no-store"


def test_token_stays_the_same_and_is_its_owners_alone(tmp_path: Path) -> None:
    database = tmp_path / "new" / "grades.db"
    token = read_token(database)
    assert read_token(database) == token
    assert stat.S_IMODE(token_path(database).stat().st_mode) == 0o600


def test_token_that_cannot_be_kept_is_another_one_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    database = tmp_path / "file" / "grades.db"
    assert read_token(database) != read_token(database)


@pytest.mark.parametrize("left", [b"", b"\xff\xfe"])
def test_token_that_was_cut_off_is_made_anew(tmp_path: Path, left: bytes) -> None:
    database = tmp_path / "grades.db"
    token_path(database).write_bytes(left)

    made = read_token(database)

    assert len(made) > 30
    assert read_token(database) == made
    assert [each.name for each in tmp_path.iterdir()] == [token_path(database).name]


def test_renewed_token_ends_what_the_old_one_let_in_while_the_page_runs(tmp_path: Path, client_of: MakeClient) -> None:
    database = tmp_path / "grades.db"
    client = client_of(database)
    client.cookies.clear()
    old = {"authorization": f"Bearer {read_token(database)}"}
    assert client.get("/", headers=old).status_code == 200

    renew_token(load_settings(db_path=database))

    assert client.get("/", headers=old).status_code == 401
    assert client.get("/", headers={"authorization": f"Bearer {read_token(database)}"}).status_code == 200
    assert stat.S_IMODE(token_path(database).stat().st_mode) == 0o600


def test_token_of_the_settings_is_not_renewed(tmp_path: Path) -> None:
    database = tmp_path / "grades.db"

    with pytest.raises(ConfigurationError, match="dashboard_token"):
        renew_token(load_settings(db_path=database, dashboard_token="t" * 40))

    assert not token_path(database).exists()


def test_token_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="stays valid"):
        renew_token(load_settings(db_path=tmp_path / "file" / "grades.db"))


def test_way_in_of_a_browser_is_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    path = write_way_in('http://127.0.0.1:1/?token="x', tmp_path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert 'url=http://127.0.0.1:1/?token=&quot;x"' in path.read_text()
    with pytest.raises(ConfigurationError, match="by hand"):
        write_way_in("http://127.0.0.1:1/", tmp_path / "missing")


def test_browser_that_a_file_leads_here_is_led_on_by_a_page_of_ours() -> None:
    """A cookie that other sites may not send would be missing where a file leads by way of a redirect."""
    status, headers = _ask({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, query="token=the-token")

    assert status == 200
    assert headers["set-cookie"].startswith(f"{_ACCESS.cookie}={_ACCESS.cookie_value}")
