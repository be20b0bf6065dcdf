"""What another session is told of one: redacted, bounded, and only what went well."""

from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import WorkDone
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.redaction import MARK
from grader_daemon.rules import load_rules
from tests.strategies import answer, result, session, user

SECRET = "sk-ant-api03-" + "aB3dE5fG7hI9" * 4
GREEN = json.dumps({"output": "=== 3 passed in 0.1s ===", "exit_code": 0, "error": None})
RED = json.dumps({"output": "=== 1 failed, 2 passed in 0.1s ===", "exit_code": 1, "error": None})
WRITTEN = json.dumps({"success": True, "bytes_written": 7})
REFUSED = json.dumps({"error": "Permission denied: cannot write"})


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def did(number: int, tool: str, said: str, **arguments: object) -> tuple[Message, Message]:
    """One call and its result."""
    called = ToolCall(id=f"c{number}", function=FunctionCall(name=tool, arguments=json.dumps(arguments)))
    return (
        Message(role="assistant", content="", tool_calls=(called,), finish_reason="tool_calls"),
        Message(role="tool", content=said, name=tool, tool_call_id=f"c{number}"),
    )


def done(analyzer: Analyzer, request: str, *messages: Message) -> WorkDone:
    return analyzer.analyze(session(user(request), *messages)).done


def test_words_are_those_of_the_whole_request_each_once(analyzer: Analyzer) -> None:
    request = "Fix the bug. " + "The template goes on. " * 40 + "The module is astropy.units, the BUG in parsing."

    words = done(analyzer, request, answer("Done.")).request_words

    assert words == "fix the bug template goes on module is astropy units in parsing"


def test_words_have_no_secret_and_an_end(analyzer: Analyzer) -> None:
    words = done(analyzer, f"Use {SECRET} " + " ".join(f"word{number}" for number in range(999)), answer("Done."))

    assert words.request_words is not None
    assert SECRET.lower() not in words.request_words
    assert len(words.request_words) <= 4_000
    assert words.request_words.startswith("use ")


def test_the_answer_is_one_redacted_line_cut(analyzer: Analyzer) -> None:
    found = done(analyzer, "Deploy", answer(f"Deployed\nwith {SECRET}, " + "and so on " * 99)).answer_beginning

    assert found is not None
    assert found.startswith(f"Deployed with {MARK}")
    assert len(found) <= 200


def test_without_request_and_answer_nothing_is_known(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(*did(1, "terminal", RED, command="ls"))).done == WorkDone()


@pytest.mark.parametrize(
    ("results", "check"),
    [
        pytest.param([("pytest -q a", GREEN), ("pytest -q b", GREEN), ("ls", GREEN)], "pytest -q b", id="the-last"),
        pytest.param([("pytest -q a", GREEN), ("pytest -q b", RED)], "pytest -q a", id="a-later-one-failed"),
        pytest.param([("pytest -q", RED)], None, id="none-passed"),
        pytest.param([("ls", GREEN)], None, id="no-test-run"),
    ],
)
def test_the_last_check_that_passed_is_kept(
    analyzer: Analyzer, results: list[tuple[str, str]], check: str | None
) -> None:
    messages = [
        message
        for number, (command, said) in enumerate(results)
        for message in did(number, "terminal", said, command=command)
    ]

    assert done(analyzer, "Fix it", *messages, answer("Done.")).last_check == check


def test_edited_files_are_those_that_were_written_the_last_one_first(analyzer: Analyzer) -> None:
    messages = [
        *did(1, "write_file", WRITTEN, path="/w/a.py", content="x = 1"),
        *did(2, "write_file", WRITTEN, path="/w/b.py", content="x = 2"),
        *did(3, "write_file", REFUSED, path="/w/refused.py", content="x = 3"),
        *did(4, "read_file", "x = 1", path="/w/read.py"),
        *did(5, "write_file", WRITTEN, path="/w/a.py", content="x = 4"),
    ]

    assert done(analyzer, "Fix it", *messages, answer("Done.")).edited_paths == "/w/a.py\n/w/b.py"


def test_of_many_edited_files_the_last_ones_are_kept(analyzer: Analyzer) -> None:
    messages = [
        message
        for number in range(12)
        for message in did(number, "write_file", WRITTEN, path=f"/w/{number}.py", content="x")
    ]

    paths = (done(analyzer, "Fix it", *messages, answer("Done.")).edited_paths or "").split("\n")

    assert paths == [f"/w/{number}.py" for number in range(11, 3, -1)]


def test_a_result_alone_is_no_check(analyzer: Analyzer) -> None:
    assert done(analyzer, "Fix it", result(GREEN), answer("Done.")).last_check is None
