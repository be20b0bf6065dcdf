"""What a member's command sends to the server of a fleet, and what it makes of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.cli.served import _cleaned, _read, _words
from grader_daemon.errors import ConfigurationError, DeliveryError, GraderError, InputError
from grader_daemon.integrations.posting import Answer
from grader_daemon.settings import load_settings
from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param([], [], id="the-first-screen"),
        pytest.param(
            ["--db", "https://x", "-d", "30", "--json"], ["-d", "30", "--json"], id="the-first-screen-as-json"
        ),
        pytest.param(["list", "-n", "5"], ["list", "-n", "5"], id="a-command"),
        pytest.param(["--config", "c", "list", "--db=https://x", "-n", "5"], ["list", "-n", "5"], id="of-this-machine"),
        pytest.param(["list", "--timezone", "UTC", "--watch-root=w"], ["list"], id="behind-the-command"),
    ],
)
def test_words_without_what_was_read_here(given: list[str], sent: list[str]) -> None:
    assert _words(given) == sent


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        pytest.param(200, b"<html>", DeliveryError, id="another-server"),
        pytest.param(400, b'{"error": "no such option"}', InputError, id="refused"),
        pytest.param(401, b"who are you", ConfigurationError, id="no-token"),
        pytest.param(503, b'{"error": "ask for less"}', DeliveryError, id="too-much"),
        pytest.param(404, b"", DeliveryError, id="another-address"),
    ],
)
def test_what_is_no_answer_is_told(status: int, body: bytes, error: type[GraderError]) -> None:
    with pytest.raises(error):
        _read(Answer(status, body))


def test_a_server_cannot_move_a_terminal() -> None:
    assert (
        _cleaned("\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J") == "\x1b[31mred\x1b[0m \ufffd]0;title\ufffd \ufffd[2J"
    )


@pytest.mark.parametrize(
    ("url", "token", "said"),
    [
        pytest.param("https://g.example", None, "fleet_read_token_file must be set too", id="no-token"),
        pytest.param("http://g.example", "/t", "https is expected for another machine", id="plain"),
        pytest.param("https://g.example/?a=b", "/t", "nothing after the path", id="a-query"),
        pytest.param("https://anna:x@g.example", "/t", "a URL that begins with", id="a-password"),
        pytest.param("ftp://g.example", "/t", "a URL that begins with postgresql://", id="another-scheme"),
    ],
)
def test_a_server_that_cannot_be_asked_safely_is_refused(url: str, token: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_settings(fleet_read_url=url, fleet_read_token_file=token)


def test_nothing_is_sent_without_a_token(home: Path, run: Run) -> None:
    settings = home / ".config/grader-daemon/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'fleet_read_url = "http://127.0.0.1:1"\nfleet_read_token_file = "{home / "token"}"\n')
    assert "cannot be read: No such file" in run(home, "list").stderr
    (home / "token").write_text("\n")
    assert "contains no token" in run(home, "list").stderr
    (home / "token").write_text("a-token\n")
    assert run(home, "list").stderr == (
        "grader-daemon: the fleet server http://127.0.0.1:1 does not answer: [Errno 111] Connection refused;"
        " is `grader-daemon fleet serve` running there, and is fleet_read_url right?\n"
    )


@pytest.mark.parametrize("words", [(), ("list",)], ids=["alone", "list"])
def test_a_command_ends_as_the_server_says(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    settings = home / "served.toml"
    settings.write_text('fleet_read_url = "http://127.0.0.1:1"\nfleet_read_token_file = "token"\n')
    monkeypatch.setattr("grader_daemon.cli.served.ask_server", lambda _: 1)
    assert run(home, "--config", str(settings), *words) == (1, "", "")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "postgresql://x@127.0.0.1:1/x"])
def test_what_reads_this_machine_alone_says_so_where_nothing_was_graded(home: Path, run: Run, url: str) -> None:
    settings = home / ".config/grader-daemon/config.toml"
    settings.parent.mkdir(parents=True)
    (home / "token").write_text("a-token")
    settings.write_text(f'fleet_read_url = "{url}"\nfleet_read_token_file = "{home / "token"}"\n')

    for words, name in (
        ("changes", "changes list"),
        ("skills suggest debugging", "skills suggest"),
        ("search x", "search"),
    ):
        ended = run(home, *words.split())

        said = f"`{name}` does not read the fleet in fleet_read_url, only sessions of this machine; no database at "
        assert (ended.returncode, ended.stderr.startswith(f"grader-daemon: {said}")) == (2, True), ended.stderr
        assert "start:" not in ended.stderr


def test_a_database_that_is_named_is_read_here(made: Path, home: Path, run: Run) -> None:
    (home / "token").write_text("a-token")
    given = ("--db", "http://127.0.0.1:1", "--db-path", str(made / ".timmy/uniwizard/session_grades.db"))
    assert "fleet_read_token_file must be set too" in run(home, "list", *given).stderr
    settings = home / ".config/grader-daemon/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'fleet_read_token_file = "{home / "token"}"\n')
    assert "demo_03" in run(home, "list", *given).stdout
