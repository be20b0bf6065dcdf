from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from grader_daemon.settings import Settings, is_secret
from grader_daemon.storage.lock import DaemonLock
from tests.unit.cli.conftest import Run

FILE = ".config/grader-daemon/config.toml"
SECRET = "correct horse battery staple"


def written(home: Path) -> dict[str, object]:
    return tomllib.loads((home / FILE).read_text("utf-8"))


def test_small_numbers_are_shown_as_they_are(home: Path, run: Run) -> None:
    assert re.search(r"^scan_cpu_share +0\.001 ", run(home, "config", "show").stdout, re.MULTILINE)


def test_every_setting_is_shown_with_its_source(home: Path, run: Run) -> None:
    (home / ".config/grader-daemon").mkdir(parents=True)
    (home / FILE).write_text(f'quiet_seconds = 3\nalert_webhook_secret = "{SECRET}"')
    text = run(home, "config", "show", "--db-path", "/x.db").stdout
    document = json.loads(run(home, "config", "show", "--json", "--db-path", "/x.db").stdout)
    shown = {each["name"]: (each["value"], each["source"], each["said_by"]) for each in document["settings"]}
    assert list(shown) == list(Settings.model_fields)
    assert shown["quiet_seconds"] == (3.0, "file", str(home / FILE))
    assert shown["db_path"] == ("/x.db", "flag", "flag --db-path")
    assert shown["verdict"] == ("rules", "environment", "environment GRADER_VERDICT")
    assert shown["queue_size"] == (10_000, "default", "default")
    assert shown["watch_roots"][0] == [str(home / ".timmy")]
    assert shown["alert_webhook_secret"][0] == "(set)"
    assert SECRET not in text
    assert "environment GRADER_VERDICT" in text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("quiet_seconds", ["0.25"], id="number"),
        pytest.param("watch_roots", ["/a b", "/c"], id="list"),
        pytest.param("fleet_texts", ["false"], id="yes-or-no"),
        pytest.param("route_file", [], id="no-value"),
    ],
)
def test_one_setting_is_printed_as_it_is_set(home: Path, run: Run, name: str, lines: list[str]) -> None:
    (home / ".config/grader-daemon").mkdir(parents=True)
    (home / FILE).write_text('quiet_seconds = 0.25\nwatch_roots = ["/a b", "/c"]\n')

    assert run(home, "config", "get", name).stdout.splitlines() == lines
    assert json.loads(run(home, "config", "get", name, "--json").stdout)["name"] == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("quiet_second", "there is no setting 'quiet_second'; did you mean quiet_seconds?", id="unknown"),
        pytest.param("alert_webhook_secret", "alert_webhook_secret is a secret and not shown", id="secret"),
    ],
)
def test_a_setting_that_is_not_printed_says_why(home: Path, run: Run, name: str, words: str) -> None:
    found = run(home, "config", "get", name)
    assert (found.returncode, words in found.stderr) == (2, True)
    assert found.stdout == ""


def test_the_file_is_named_whether_it_exists_or_not(home: Path, run: Run) -> None:
    ended = run(home, "config", "path")
    assert (ended.returncode, ended.stdout) == (0, f"{home / FILE}\n")
    assert "does not exist yet" in ended.stderr
    assert run(home, "config", "path", "--config", "mine.toml").stdout == f"{home}/mine.toml\n"


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        pytest.param(("quiet_seconds", "3"), 3.0, id="number"),
        pytest.param(("queue_size", "12"), 12, id="whole-number"),
        pytest.param(("quality_judge_plain_http", "yes"), True, id="yes-or-no"),
        pytest.param(("watch_roots", "~/a", "/b c"), ["~/a", "/b c"], id="folders"),
        pytest.param(("watch_roots", "~/a"), ["~/a"], id="one-folder"),
        pytest.param(("watch_roots", '["/a:b"]'), ["/a:b"], id="list-as-in-the-file"),
        pytest.param(("retry_seconds", "1", "2.5"), [1.0, 2.5], id="numbers"),
        pytest.param(("alert_command", "sh", "true it's"), ["sh", "true it's"], id="words"),
        pytest.param(("db_path", "~/g.db"), "~/g.db", id="home"),
        pytest.param(("alert_webhook_secret", SECRET), SECRET, id="secret"),
        pytest.param(("quality_judge_model", 'a"b\\ü'), 'a"b\\ü', id="quotes"),
    ],
)
def test_a_setting_is_written_as_it_is_meant(home: Path, run: Run, arguments: tuple[str, ...], value: object) -> None:
    ended = run(home, "config", "set", *arguments)
    assert ended.returncode == 0
    assert ("no such folder:" in ended.stderr) == (arguments[0] == "watch_roots")
    assert f"{arguments[0]} is set to" in ended.stdout
    assert SECRET not in ended.stdout
    assert written(home) == {arguments[0]: value}
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    assert run(home, "config", "unset", arguments[0]).returncode == 0
    assert written(home) == {}


def test_a_relative_path_is_written_from_the_root(home: Path, run: Run) -> None:
    run(home, "config", "set", "watch_roots", "here")
    assert written(home) == {"watch_roots": [f"{home}/here"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("quite_seconds", "3"), "did you mean quiet_seconds?", id="name"),
        pytest.param(("quiet_seconds", "soon"), "(new value): 'soon' is not a number; give a number", id="value"),
        pytest.param(("quiet_seconds", "1", "2"), "takes one value, not 2", id="two-values"),
        pytest.param(("watch_roots", "/a:/b"), "several folders", id="colons"),
        pytest.param(("alert_command", "say hello"), "notify-send", id="words-in-one"),
        pytest.param(("quiet_seconds", "-1"), "'-1' is too small; give 0 or more", id="less-than-nothing"),
        pytest.param(("queue_size", "9" * 20), "is too large; give 10000000 or less", id="more-than-memory"),
        pytest.param(("rules_file", "/nope"), "/nope", id="no-rules"),
        pytest.param(("calibration_prior", "/nope"), "/nope", id="no-prior"),
        pytest.param(("sources", "hermes", "borg"), "'borg': no installed package provides it", id="no-adapter"),
        pytest.param(("quality_judge_url", "http://127.0.0.1/"), "quality_judge_model must be set", id="half"),
    ],
)
def test_what_is_wrong_is_not_written(home: Path, run: Run, arguments: tuple[str, ...], words: str) -> None:
    run(home, "config", "set", "queue_size", "12")
    before = (home / FILE).read_bytes()
    ended = run(home, "config", "set", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert (home / FILE).read_bytes() == before


def test_a_wrong_file_can_be_mended(home: Path, run: Run) -> None:
    (home / ".config/grader-daemon").mkdir(parents=True)
    (home / FILE).write_text("queue_size = 0  # none\n")
    assert run(home, "config", "set", "queue_size", "7").returncode == 0
    assert (home / FILE).read_text() == "queue_size = 7  # none\n"


def test_a_linked_file_is_changed_where_it_lies(home: Path, run: Run) -> None:
    (home / ".config/grader-daemon").mkdir(parents=True)
    (home / "dotfiles.toml").write_text("# mine\n")
    (home / FILE).symlink_to(home / "dotfiles.toml")
    run(home, "config", "set", "queue_size", "7")
    assert (home / FILE).is_symlink()
    assert (home / "dotfiles.toml").read_text() == "# mine\nqueue_size = 7\n"


def test_what_stands_above_a_written_setting_is_told(home: Path, run: Run) -> None:
    assert "environment GRADER_VERDICT overrides it" in run(home, "config", "set", "verdict", "auto").stderr


def test_a_daemon_that_must_be_started_again_is_told(home: Path, run: Run) -> None:
    with DaemonLock(home / ".timmy/uniwizard/session_grades.db"):
        ended = run(home, "config", "set", "queue_size", "7")
    assert f"The daemon (pid {os.getpid()}) uses the old value" in ended.stdout


def test_settings_are_checked_with_what_they_name(home: Path, run: Run) -> None:
    ended = run(home, "config", "check")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"no such folder: {home}/.timmy" in ended.stderr
    (home / ".timmy").mkdir()
    fine = run(home, "config", "check")
    assert (fine.returncode, fine.stderr) == (0, "")
    assert fine.stdout == "No problem found: 1 setting changed, all others have their default.\n"
    (home / FILE).parent.mkdir(parents=True)
    (home / FILE).write_text('rules_file = "/nowhere.toml"')
    assert run(home, "config", "check").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("watch_roots", "/etc/passwd"), "no such folder: /etc/passwd", id="a-file"),
        pytest.param(("watch_roots", "/nope"), "no such folder: /nope", id="missing-folder"),
        pytest.param(("alert_command", "/nope/x"), "there is no program '/nope/x'", id="missing-program"),
        pytest.param(("queue_size", "7"), None, id="only-what-is-said-of-the-new-value"),
    ],
)
def test_what_is_probably_not_meant_is_told_when_it_is_set(
    home: Path, run: Run, arguments: tuple[str, ...], words: str | None
) -> None:
    """There is no ~/.timmy in this home, which is not said of other settings."""
    ended = run(home, "config", "set", *arguments)
    assert ended.returncode == 0
    assert ended.stderr.count("\n") == (words is not None)
    assert (words or "") in ended.stderr


def test_what_was_not_set_is_not_taken_out(home: Path, run: Run) -> None:
    run(home, "config", "set", "queue_size", "7")
    said = [run(home, "config", "unset", "queue_size").stdout for _ in range(2)]
    assert ["is removed" in each for each in said] == [True, False]
    assert "was not set" in said[1]


URL = "postgresql://grader_host_a:S3cretPW@db.example/fleet"


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if is_secret(name)])
def test_a_secret_is_shown_neither_when_it_is_set_nor_later(home: Path, run: Run, name: str) -> None:
    secret = URL if name.endswith("_url") else "x-header: S3cretPW-that-is-long-enough-to-be-one"

    said = [
        run(home, "config", "set", name, secret),
        run(home, "config", "show"),
        run(home, "config", "show", "--json"),
    ]

    assert written(home)[name] == secret
    assert "S3cretPW" not in str(said)
    assert f"next time: grader-daemon config set {name} -" in said[0].stderr


@pytest.mark.parametrize("value", [f"{SECRET}\n", f"{SECRET}\r\n", SECRET])
def test_a_value_is_read_from_standard_input_and_not_echoed(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(value))

    ended = run(home, "config", "set", "alert_webhook_secret", "-")

    assert written(home) == {"alert_webhook_secret": SECRET}
    assert (ended.returncode, ended.stderr) == (0, "")
    assert SECRET not in ended.stdout


def test_what_is_typed_is_not_shown(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return SECRET

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("grader_daemon.cli.config.getpass", ask)

    run(home, "config", "set", "alert_webhook_secret", "-")

    assert written(home) == {"alert_webhook_secret": SECRET}
    assert asked == ["alert_webhook_secret: "]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_on_standard_input_is_no_value(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    ended = run(home, "config", "set", "alert_webhook_secret", "-")

    assert (ended.returncode, ended.stderr) == (
        2,
        "grader-daemon: standard input has no value for alert_webhook_secret\n",
    )
