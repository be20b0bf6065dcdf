"""Commands that members have run on the server of a fleet: those that read, in bounds, and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from starlette.testclient import TestClient

from grader_daemon.dashboard import prompt
from grader_daemon.dashboard.app import make_app
from grader_daemon.dashboard.members import let_in, member_door, tokens_path
from grader_daemon.dashboard.prompt import Prompt
from grader_daemon.dashboard.site import Site
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW
from tests.unit.cli.test_usage import COMMANDS

_PORT = 7655
_READ = {
    *(("list",), ("show",), ("why",), ("search", "--similar"), ("route",)),
    *(("report", "week"), ("report", "patterns"), ("report", "usage")),
    *(("report", "errors", "list"), ("report", "errors", "show"), ("report", "errors", "alternatives")),
    *(("alerts", "list"), ("alerts", "show"), ("alerts", "silences")),
}
"""Reviewed by hand: none of them writes, reads a file, waits or calls a server."""

Ask = Callable[..., tuple[int, dict[str, object]]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask as a member does, of a home in which nothing was graded; nothing is run but by a test that says so."""
    settings = load_settings(db_path=tmp_path / "grades.db", timezone="UTC")
    token = let_in(tokens_path(settings), "anna", now=NOW)
    (tmp_path / "home").mkdir()
    app = make_app(Site(settings, member_door(settings, _PORT)), Prompt(settings, tmp_path / "home"))
    client = TestClient(app, base_url=f"http://127.0.0.1:{_PORT}", headers={"authorization": f"Bearer {token}"})

    def asked(*words: str, **more: object) -> tuple[int, dict[str, object]]:
        answer = client.post("/api/prompt", json={"words": words, **more})
        return answer.status_code, answer.json()

    return asked


def test_what_does_more_than_read_is_refused(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prompt, "_run", lambda *_: pytest.fail("it was run"))
    refused = [words for words in COMMANDS if words not in _READ]
    assert len(refused) > 50
    for words in refused:
        arguments = [param for param in COMMANDS[words].params if isinstance(param, click.Argument)]
        status, said = ask(*words, *("1" for _ in arguments))
        assert (status, "only reads grades" in str(said)) == (400, True), words


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--config", "/etc/x", "list"], id="settings-of-another"),
        pytest.param(["list", "--db-path=/etc/x"], id="another-database"),
        pytest.param(["list", "--db", "postgresql://x"], id="another-fleet"),
        pytest.param(["report", "errors", "--watch-root", "/etc"], id="a-folder"),
        pytest.param(["report", "--out", "/tmp/x"], id="a-file-to-write"),
        pytest.param(["--help", "run"], id="help-before-another"),
        pytest.param(["list", "--nonsense"], id="no-such-option"),
        pytest.param(["nonsense"], id="no-such-command"),
        pytest.param(["list", "-n", "5\0"], id="no-text"),
        pytest.param(["list"] * 101, id="too-many-words"),
        pytest.param(["list", "a" * 2001], id="too-long-a-word"),
    ],
)
def test_what_names_something_of_the_server_is_refused(
    ask: Ask, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prompt, "_run", lambda *_: pytest.fail("it was run"))
    assert ask(*words)[0] == 400


def test_a_command_is_run_as_at_a_terminal_of_the_member_and_knows_no_secret(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    monkeypatch.setenv("GRADER_FLEET_READ_URL", "not a URL: a command that knew of it would end by it")
    said = {"output": "No sessions are graded yet.\n", "errors": "", "code": 0}
    assert ask("list", columns=40) == (200, {"schema_version": 1, **said})


def test_the_first_screen_is_there_as_a_document(ask: Ask, tmp_path: Path) -> None:
    SqliteStore(tmp_path / "grades.db").close()
    status, said = ask("-d", "30", "--json")
    assert (status, said["code"], said["errors"]) == (200, 0, "")
    assert '"looks": []' in str(said["output"])


def test_a_command_that_says_too_much_is_ended(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "_MOST_BYTES", 10)
    status, said = ask("list", "--help")
    assert (status, "request less" in str(said)) == (503, True)
