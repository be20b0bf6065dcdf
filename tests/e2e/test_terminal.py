"""What reaches a terminal or a pipe: tables where they are seen, nothing that a session could smuggle in."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon_process import environment, run_command
from tests.e2e.session_files import turns, write, write_many
from tests.examples import repeats
from tests.needs import require
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import PATIENCE_SECONDS

RED = "\x1b[31m"
REVERSED = "\u202e"
HOSTILE = f"Fix {RED}the{REVERSED} parser \x9b31m \x07 [bold red]loud[/] \r\n\x1b]0;title\x07"
NAME = f"evil{RED}{REVERSED}"
DENIED = json.dumps({"output": f"{RED}Permission denied{REVERSED}", "exit_code": 1, "error": None})
_SMALLEST_PIPE_BYTES = 4096
"""What this holds is less than is said of 150 sessions: who writes that waits for its reader."""

_STYLE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a session that has escapes wherever text goes; tests only ask."""
    home = tmp_path_factory.mktemp("hostile")
    sessions = home / ".timmy" / "hermes" / "sessions"
    tool = json_round(DENIED, tool=f"tool{RED}{REVERSED}")
    answer = json_answer(f"I could not {RED}do it{REVERSED}.")
    write(sessions, "hostile", [json_user(HOSTILE), *tool, answer], model=NAME, platform=NAME)
    assert run_command(home, "grade", sessions).returncode == 0
    return home


COMMANDS = [
    ["list"],
    ["show", "hostile"],
    ["show", "hostile", "--transcript"],
    ["show", "hostile", "--around", "1"],
    ["why", "hostile"],
    [],
    ["status"],
    ["label", "--list"],
    ["grade", ".timmy"],
    ["grade", "--dry-run"],
    ["report", "patterns", "-d", "1000"],
    ["report", "errors", "list", "--all"],
    ["report", "errors", "show", "2"],
    ["report", "errors", "reopen", "1"],
    ["alerts"],
    ["report", "--week", "2026-W47"],
    ["doctor"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0] if arguments else "alone")
def test_escapes_of_a_session_never_reach_a_pipe(hostile_home: Path, arguments: list[str]) -> None:
    ended = run_command(hostile_home, *arguments)

    _assert_harmless(ended.stdout + ended.stderr)


@pytest.mark.parametrize(
    "arguments", COMMANDS[:: repeats(3, thorough=1)], ids=lambda arguments: arguments[0] if arguments else "alone"
)
def test_escapes_of_a_session_never_reach_a_terminal(hostile_home: Path, arguments: list[str]) -> None:
    shown = _on_a_terminal(hostile_home, arguments)

    assert RED not in shown
    _assert_harmless(_STYLE.sub("", shown))


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--json"],
        ["show", "hostile", "--json"],
        ["show", "hostile", "--transcript", "--json"],
        ["why", "hostile", "--json"],
        ["report", "patterns", "-d", "1000", "--json"],
        ["report", "errors", "show", "2", "--json"],
    ],
)
def test_json_documents_escape_control_characters(hostile_home: Path, arguments: list[str]) -> None:
    ended = run_command(hostile_home, *arguments)

    json.loads(ended.stdout)
    assert not {"\x1b", "\x07", "\x9b"} & set(ended.stdout)


def test_escapes_in_an_id_never_reach_a_terminal(home: Path, sessions: Path) -> None:
    write(sessions, "plain", session_id=f"id{RED}{REVERSED}")
    assert run_command(home, "grade", sessions).returncode == 0

    for arguments in (["list"], ["show", "id"], ["why", "id"], ["show", f"x{RED}"]):
        ended = run_command(home, *arguments)
        _assert_harmless(ended.stdout + ended.stderr)


def test_markup_of_a_session_is_shown_as_it_is(home: Path, sessions: Path) -> None:
    write(sessions, "marked", turns(1, task="Fix [bold red]loud[/bold red] [link=http://x]"))
    assert run_command(home, "grade", sessions).returncode == 0

    assert "[bold red]loud" in _on_a_terminal(home, ["list"], columns=200)


def test_escapes_of_a_session_never_reach_the_daemons_console(home: Path, sessions: Path) -> None:
    write(sessions, "hostile", [json_user(HOSTILE), json_answer(f"{RED}No{REVERSED}")], session_id=f"id{RED}{REVERSED}")

    ended = run_command(home, "run", "--once", "--log-format", "console")

    assert ended.returncode == 0
    assert "1 session graded" in ended.stderr
    _assert_harmless(ended.stdout + ended.stderr)


@pytest.mark.parametrize("columns", [80, 120])
def test_run_speaks_to_the_person_at_a_terminal(home: Path, sessions: Path, columns: int) -> None:
    name = "20261121_100000_abcdef"
    write(sessions, name, turns(2, task=f"Fix the {RED}date parser of the importer that reads mails{REVERSED}"))
    (sessions / "session_bad.json").write_text('{"cut": ')

    shown = _on_a_terminal(home, ["run", "--once"], columns=columns)
    lines = _STYLE.sub("", shown).splitlines()

    shown_id = name if columns > 80 else name[:13]  # what is left goes to the task
    graded = next(line for line in lines if shown_id in line)
    assert re.search(rf"^\d\d:\d\d:\d\d ~ unsure \.\d\d debugging  Fix the .*  {shown_id}$", graded)
    assert all(len(line) <= columns for line in lines)
    assert "times in UTC" in lines[0]
    assert any("! warning: ~/.timmy/" in line and "next try at" in " ".join(lines) for line in lines)
    assert "1 session graded" in " ".join(lines)
    assert RED not in shown
    _assert_harmless("\n".join(lines))


def test_what_was_asked_for_is_in_no_file(home: Path, sessions: Path) -> None:
    write(sessions, "private", turns(1, task="Plan the surprise party"))

    for log_format in ("json", "console"):
        ended = run_command(home, "run", "--once", "--log-format", log_format, db_path=str(home / log_format / "g.db"))
        assert "private" in ended.stderr
        assert "surprise" not in ended.stderr


def test_a_terminal_gets_a_table(hostile_home: Path) -> None:
    shown = _on_a_terminal(hostile_home, ["list"])

    assert "─" in shown
    assert "hostile" in shown


def test_a_pipe_gets_plain_text(hostile_home: Path) -> None:
    ended = run_command(hostile_home, "list")

    assert "─" not in ended.stdout
    assert "\x1b" not in ended.stdout
    assert ended.stdout.startswith("session ")


def test_no_color_is_respected(hostile_home: Path) -> None:
    colored = _on_a_terminal(hostile_home, ["list"])
    plain = _on_a_terminal(hostile_home, ["list"], NO_COLOR="1")

    assert "\x1b[" in colored
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", plain)


@pytest.mark.parametrize("columns", [40, 80, 250])
def test_a_table_fits_its_terminal(hostile_home: Path, columns: int) -> None:
    shown = _STYLE.sub("", _on_a_terminal(hostile_home, ["list"], columns=columns))

    assert all(len(line) <= columns for line in shown.replace("\r", "").split("\n"))


@pytest.mark.parametrize("columns", [40, 80, 250])
def test_a_table_fits_a_terminal_and_its_short_ids_are_enough(home: Path, sessions: Path, columns: int) -> None:
    name = "20261121_100000_abcdef"
    write(sessions, name, turns(2, task="Fix the parser"))
    assert run_command(home, "grade", sessions).returncode == 0

    shown = _STYLE.sub("", _on_a_terminal(home, ["list"], columns=columns))

    words = shown.split()
    (short,) = {word for word in words if len(word) > 1 and name.startswith(word)}
    assert {"session", "verdict", "task", "unsure"} <= set(words)
    assert run_command(home, "show", short).returncode == 0
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "-n", "300"],
        pytest.param(["list", "-n", "300", "--json"], marks=pytest.mark.thorough),
        pytest.param(["grade", "--dry-run"], marks=pytest.mark.thorough),
    ],
)
def test_a_reader_that_leaves_early_is_no_error(home: Path, sessions: Path, arguments: list[str]) -> None:
    write_many(sessions, 150)
    if arguments[0] == "list":
        assert run_command(home, "grade").returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "grader_daemon", *arguments],
        env=environment(home, {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        pipesize=_SMALLEST_PIPE_BYTES,
    )
    assert process.stdout is not None
    assert process.stderr is not None

    process.stdout.readline()
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()

    assert process.wait(PATIENCE_SECONDS) in (0, -signal.SIGPIPE, 128 + signal.SIGPIPE)
    assert told == ""


def test_a_closed_standard_output_is_no_traceback(hostile_home: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m grader_daemon list >&-"],
        env=environment(hostile_home, {}),
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )

    assert "Traceback" not in ended.stderr


def test_a_full_disk_for_the_output_is_told_in_one_line(hostile_home: Path) -> None:
    require(Path("/dev/full").exists(), "/dev/full")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "grader_daemon", "list"],
            env=environment(hostile_home, {}),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )

    assert ended.returncode == 2
    assert ended.stderr == "grader-daemon: cannot print: No space left on device\n"


def test_a_locale_without_unicode_is_no_error(home: Path, sessions: Path) -> None:
    write(sessions, "unicode", turns(1, task="Größe 漢字 prüfen"))

    ended = subprocess.run(
        [sys.executable, "-m", "grader_daemon", "grade", str(sessions)],
        env={**environment(home, {}), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )

    assert ended.returncode == 0
    assert ended.stderr == b""


def _on_a_terminal(home: Path, arguments: list[str], *, columns: int = 120, **variables: str) -> str:
    """Run a command with a terminal as its input and outputs; gives all that it shows."""
    leader, follower = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "grader_daemon", *arguments],
            env={
                **environment(home, {}),
                "TERM": "xterm-256color",
                "PAGER": "cat",
                "COLUMNS": str(columns),
                **variables,
            },
            cwd=home,
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        shown = b"".join(iter(lambda: _read(leader), b""))
        process.wait(PATIENCE_SECONDS)
    finally:
        os.close(leader)
    return shown.decode()


def _read(leader: int) -> bytes:
    """What comes next; nothing once the other end is closed."""
    try:
        return os.read(leader, 65536)
    except OSError:
        return b""


def _assert_harmless(shown: str) -> None:
    assert shown
    text = shown.replace("\r\n", "\n")
    assert all(character.isprintable() or character == "\n" for character in text), ascii(text)
