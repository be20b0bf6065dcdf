"""What tried the work out after the last change, and how that went."""

from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.domain.session_result import Check, CheckKind, CheckResult
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user

PASSED, SOME, ALL = CheckResult.PASSED, CheckResult.SOME_FAILED, CheckResult.ALL_FAILED
TESTS, BUILD, RUN, READ_BACK, CONFIRMED = CheckKind
WRITTEN = json.dumps({"success": True, "bytes_written": 7})
REFUSED = json.dumps({"error": "Permission denied: cannot write"})


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def said(output: str, code: int = 0) -> str:
    return json.dumps({"output": output, "exit_code": code, "error": None})


Step = tuple[str, dict[str, object], str]


def writes(path: str = "/w/app.py", result: str = WRITTEN) -> Step:
    return "write_file", {"path": path, "content": "x = 1"}, result


def runs(command: str, output: str = "", code: int = 0, **more: object) -> Step:
    return "terminal", {"command": command, **more}, said(output, code)


def check_of(analyzer: Analyzer, *steps: Step, last: str = "Here it is.") -> Check | None:
    messages: list[Message] = [user("Please do it")]
    for number, (tool, arguments, result) in enumerate(steps):
        call = ToolCall(id=f"c{number}", function=FunctionCall(name=tool, arguments=json.dumps(arguments)))
        messages.append(Message(role="assistant", content="", tool_calls=(call,), finish_reason="tool_calls"))
        messages.append(Message(role="tool", content=result, name=tool, tool_call_id=f"c{number}"))
    return analyzer.analyze(session(*messages, answer(last))).check


GREEN, RED, ALL_RED = "=== 3 passed in 0.1s ===", "=== 1 failed, 2 passed in 0.1s ===", "=== 3 failed in 0.1s ==="


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param((writes(), runs("pytest -q", GREEN)), (TESTS, PASSED), id="tests"),
        pytest.param((writes(), runs("pytest -q | tail -3", GREEN)), (TESTS, PASSED), id="cut-but-its-words-say-so"),
        pytest.param((writes(), runs("pytest -q", RED, 1)), (TESTS, SOME), id="red-beside-green"),
        pytest.param((writes(), runs("pytest -q", ALL_RED, 1)), (TESTS, ALL), id="all-red"),
        pytest.param(
            (writes(), runs("python -m unittest", "Ran 56 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 1)),
            (TESTS, SOME),
            id="unittest-counts-all-and-those-that-failed",
        ),
        pytest.param(
            (writes(), runs("python -m unittest", "Ran 2 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 1)),
            (TESTS, ALL),
            id="unittest-all-red",
        ),
        pytest.param(
            (writes(), runs("python tests/test_a.py", "FAIL: no m2m")), (TESTS, SOME), id="printed-not-ended-so"
        ),
        pytest.param((writes(), runs("pytest", RED, 1), runs("pytest", GREEN)), (TESTS, PASSED), id="green-in-the-end"),
        pytest.param((writes(), runs("pytest", GREEN), runs("pytest", RED, 1)), (TESTS, SOME), id="red-in-the-end"),
        pytest.param((writes(), runs("mypy src")), (BUILD, PASSED), id="type-check"),
        pytest.param(
            (writes(), runs("ruff check .", "Found 2 errors.", 1)), (BUILD, SOME), id="linter-found-something"
        ),
        pytest.param((writes(), runs("mypy src || true", "Found 3 errors")), (BUILD, SOME), id="masked-but-it-says-so"),
        pytest.param((writes(), runs("cd src; mypy .")), (BUILD, PASSED), id="last-of-a-list"),
        pytest.param((writes(), runs("mypy src; echo $?", "0")), (BUILD, PASSED), id="exit-code-printed"),
        pytest.param((writes(), runs("mypy src"), runs("pytest", GREEN)), (TESTS, PASSED), id="tests-say-more"),
        pytest.param(
            (writes(), runs("pytest", GREEN), runs("mypy src", "1 error", 1)), (BUILD, SOME), id="red-says-most"
        ),
        pytest.param((writes(), runs("python /w/app.py", "42")), (RUN, PASSED), id="the-program-itself"),
        pytest.param(
            (writes(), ("read_file", {"path": "/w/app.py"}, json.dumps({"content": "x = 1"}))),
            (READ_BACK, PASSED),
            id="read-again",
        ),
        pytest.param(
            (("book_flight", {"user": "ann"}, json.dumps({"reservation": "H8Q05L"})),),
            (CONFIRMED, PASSED),
            id="service",
        ),
        pytest.param((runs("pytest", ALL_RED, 1),), (TESTS, ALL), id="nothing-changed"),
    ],
)
def test_the_check_that_says_most_of_the_work_as_it_was_left(
    analyzer: Analyzer, steps: tuple[Step, ...], expected: tuple[CheckKind, CheckResult]
) -> None:
    found = check_of(analyzer, *steps)
    assert found is not None
    assert (found.kind, found.result) == expected


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((), id="no-call"),
        pytest.param((writes(),), id="nothing-tried-it"),
        pytest.param((runs("pytest", GREEN), writes()), id="before-the-change"),
        pytest.param((writes(), runs("pytest", "collected 0 items")), id="no-test"),
        pytest.param((writes(), runs("python -m pytest", "No module named pytest", 1)), id="did-not-run"),
        pytest.param((writes(), runs("mypy src || true")), id="masked"),
        pytest.param((writes(), runs("mypy src | tail -1", "see the log")), id="cut"),
        pytest.param((writes(), runs("mypy src; true", "done")), id="another-program-gives-the-exit-code"),
        pytest.param((writes(), runs("mypy src &")), id="in-the-background"),
        pytest.param((writes(), runs("mypy src", run_in_background=True)), id="told-to-run-in-the-background"),
        pytest.param((writes(), runs("gcc app.c", "gcc: command not found", 127)), id="no-such-compiler"),
        pytest.param((writes(), runs("python /w/other.py")), id="another-program"),
        pytest.param((writes(), runs("ls /w/app.py | head")), id="looked-at-through-a-pipe-is-no-run"),
        pytest.param((("execute_code", {"code": "print(1)"}, said("1")),), id="code-that-asserts-nothing"),
    ],
)
def test_what_shows_nothing_is_no_check(analyzer: Analyzer, steps: tuple[Step, ...]) -> None:
    found = check_of(analyzer, *steps)
    assert found is None or found.kind is READ_BACK


def test_it_knows_the_messages_of_the_result_and_of_the_change(analyzer: Analyzer) -> None:
    found = check_of(analyzer, writes(), runs("ls"), runs("pytest", GREEN))
    assert found == Check(TESTS, PASSED, index=6, change=2)


def test_a_change_that_was_refused_is_none(analyzer: Analyzer) -> None:
    found = check_of(analyzer, writes(), runs("pytest", GREEN), writes(result=REFUSED))
    assert found == Check(TESTS, PASSED, index=4, change=2)


def test_a_change_long_ago_is_not_looked_for(analyzer: Analyzer) -> None:
    looks = [runs("ls")] * 199
    assert check_of(analyzer, writes(), *looks, runs("pytest", GREEN)) is None


def test_an_open_session_has_none(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(user("Do it")))
    assert (found.ending, found.check, found.admitted) == (None, None, False)
