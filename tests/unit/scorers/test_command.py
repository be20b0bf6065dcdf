from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.quality import name_of
from grader_daemon.errors import ScorerError, ScorerUnavailableError
from grader_daemon.scorers.command import CommandScorer
from tests.programs import begin_time_when
from tests.strategies import answer, failures, grade, rounds, session, user
from tests.waiting import PATIENCE_SECONDS

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
SESSION = session(user(f"Fix it with {SECRET}"), *rounds("fine"), answer("Fixed."), model="m")


def program(source: str, *arguments: str, timeout: float = PATIENCE_SECONDS) -> CommandScorer:
    """A small program of Python, with its arguments."""
    return CommandScorer([sys.executable, "-S", "-c", source, *arguments], timeout_seconds=timeout)


def given_to(tmp_path: Path, what: str) -> Any:
    """What a program is given: its `what`, as an expression of Python."""
    out = tmp_path / "given.json"
    source = f"import json, os, sys; json.dump({what}, open(sys.argv[1], 'w')); print(3)"
    made = grade(failures=failures(1), total_errors=1)
    assert program(source, str(out)).validate(SESSION, made) == 3
    return json.loads(out.read_text())


def test_the_program_reads_the_redacted_session_and_its_grade(tmp_path: Path) -> None:
    document = given_to(tmp_path, "json.load(sys.stdin)")

    assert document["schema_version"] == 1
    assert document["session"]["session_id"] == SESSION.session_id
    assert document["session"]["messages"][0] == {"role": "user", "text": "Fix it with [redacted]"}
    assert document["session"]["messages"][-1] == {"role": "assistant", "text": "Fixed."}
    assert document["grade"]["response_quality"] == 3
    assert document["grade"]["reasons"] == [{"score": "response_quality", "rule": "quality.base", "effect": 3.0}]
    assert document["grade"]["failures"] == [{"index": 2, "tool": "terminal", "category": "command_failed"}]
    assert SECRET not in json.dumps(document)


def test_arguments_and_environment_hold_nothing_of_the_session_and_no_secret_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_QUALITY_JUDGE_KEY", "hush hush")
    monkeypatch.setenv("grader_alert_webhook_secret", "hush hush hush")
    monkeypatch.setenv("OF_THE_DAEMON", "kept")

    arguments, environment = given_to(tmp_path, "[sys.argv[1:], dict(os.environ)]")

    assert arguments == [str(tmp_path / "given.json")]
    assert environment["OF_THE_DAEMON"] == "kept"
    assert not [word for word in ("hush", "Fix it", SESSION.session_id) if word in json.dumps(environment)]


def test_arguments_are_given_without_a_shell(tmp_path: Path) -> None:
    given = ("$HOME", "; touch hacked", "$(touch hacked)", "")
    out = tmp_path / "out"
    source = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w')); print(1)"

    program(source, str(out), *given).validate(SESSION, grade())

    assert tuple(json.loads(out.read_text())) == given
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        pytest.param("4", 4.0, id="a-number"),
        pytest.param(" 2.5 \\n", 2.5, id="a-number-among-spaces"),
        pytest.param('{"quality": 1}', 1.0, id="an-object"),
        pytest.param('{"why": "I say so", "quality": 4.5}', 4.5, id="an-object-that-says-more"),
    ],
)
def test_a_number_or_an_object_is_an_answer(written: str, number: float) -> None:
    assert program(f"print('''{written}''')").validate(SESSION, grade()) == number


@pytest.mark.parametrize(
    "written", ["", "0.5", "6", "nan", "four", '"4"', '{"quality": 9}', "{}", "[4]", "4 of 5", "4\\n5", "true"]
)
def test_anything_else_is_none_and_is_not_repeated(written: str) -> None:
    with pytest.raises(ScorerError, match="a number from 1 to 5") as caught:
        program(f"print('''{written}''')").validate(SESSION, grade())

    assert not isinstance(caught.value, ScorerUnavailableError)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("print(4); raise SystemExit(2)", "exit code 2", id="exit-code"),
        pytest.param("print('4' * 100_000)", "more than 4,096 bytes", id="too-much"),
        pytest.param("while True: print('4' * 100_000)", "more than 4,096 bytes", id="without-end"),
    ],
)
def test_a_program_that_fails_is_to_be_asked_later(source: str, words: str) -> None:
    with pytest.raises(ScorerUnavailableError, match=words):
        program(source).validate(SESSION, grade())


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("pass", id="says-nothing"),
        pytest.param("sys.stdout.close()", id="closes-its-output"),
    ],
)
def test_a_program_that_is_late_is_to_be_asked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    ready = tmp_path / "ready"
    begin_time_when(monkeypatch, ready.exists)
    waits = f"import sys, time\n{source}\nopen(sys.argv[1], 'w').close()\ntime.sleep(600)"

    with pytest.raises(ScorerUnavailableError, match=r"timed out after 0\.2 s"):
        program(waits, str(ready), timeout=0.2).validate(SESSION, grade())


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ScorerUnavailableError, match="command no-such-program: ") as caught:
        CommandScorer(["/nowhere/no-such-program", "x"], timeout_seconds=1).validate(SESSION, grade())

    assert "\n" not in str(caught.value)


def test_it_is_known_by_its_program() -> None:
    assert name_of(CommandScorer(["/opt/x/judge.sh", "--key", "hush"], timeout_seconds=1)) == "command judge.sh"
