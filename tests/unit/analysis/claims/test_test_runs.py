from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.test_runs import TestsResult, Unseen, read_tests
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Message
from tests.tables import for_each

PASSED, SOME, NONE = TestsResult


def ran(command: str, output: str, *, worked: bool = True, **more: object) -> ToolRun:
    """A shell command with its result."""
    view = CallView("terminal", json.dumps({"command": command, **more}))
    content = json.dumps({"output": output, "exit_code": 0 if worked else 1, "error": None})
    note = (2, view, CallStatus.SUCCESS if worked else CallStatus.FAILURE)
    return ToolRun(note, Message(role="tool", content=content), is_reported=False)


@for_each(
    ("command", "output", "worked", "expected"),
    [
        pytest.param("pytest", "12 passed in 0.3s", True, PASSED, id="green"),
        pytest.param("pytest", "1 failed, 11 passed in 0.3s", False, SOME, id="red-beside-green"),
        pytest.param("pytest", "2 failed in 0.3s", False, NONE, id="all-red"),
        pytest.param("pytest | tail -1", "12 passed in 0.3s", True, PASSED, id="masked-but-counted"),
        pytest.param("pytest | tail -1", "see the log", True, Unseen.MASKED, id="masked"),
        pytest.param("pytest -q || true", "", True, Unseen.MASKED, id="masked-by-or-true"),
        pytest.param("pytest -q; true", "", True, Unseen.MASKED, id="masked-by-a-list"),
        pytest.param("set -o pipefail; pytest -q | tee log", "", True, PASSED, id="pipefail-hands-it-on"),
        pytest.param("cd x; make test", "done", True, PASSED, id="last-of-a-list-hands-it-on"),
        pytest.param("make test && echo fine", "fine", True, PASSED, id="and-hands-it-on"),
        pytest.param("make test; echo $?", "built\n0", True, PASSED, id="its-code-is-printed"),
        pytest.param("make test; echo $?", "built\n2", True, Unseen.MASKED, id="another-code-is-printed"),
        pytest.param("pytest &", "12 passed in 0.3s", True, Unseen.BACKGROUND, id="in-the-background"),
        pytest.param("pytest", "collected 0 items", True, Unseen.EMPTY, id="nothing-collected"),
        pytest.param("pytest -k zzz", "44 deselected in 0.1s", False, Unseen.EMPTY, id="filtered-to-nothing"),
        pytest.param("python manage.py test", "Ran 0 tests in 0.0s\n\nOK", True, Unseen.EMPTY, id="none-ran-though-ok"),
        pytest.param("npx jest zzz", "No tests found, exiting with code 1", False, Unseen.EMPTY, id="no-file-fits"),
        pytest.param("pytest", "pytest: command not found", False, Unseen.BROKEN, id="no-such-program"),
        pytest.param("pytest", "ERROR a.py\n1 error during collection", False, Unseen.BROKEN, id="not-collected"),
        pytest.param("pytest", "12 passed in 0.3s", False, Unseen.BROKEN, id="green-and-yet-it-failed"),
        pytest.param("pytest", "Killed", False, Unseen.BROKEN, id="killed"),
        pytest.param("pytest", "permission denied\n12 passed in 1s", True, PASSED, id="what-is-counted-was-run"),
        pytest.param(
            "npx jest",
            "FAIL src/b.test.ts\nTest Suites: 1 failed, 2 passed\nTests: 12 passed, 12 total",
            False,
            SOME,
            id="a-suite-that-could-not-be-loaded",
        ),
        pytest.param(
            "pytest", "login: 3 failed attempts\n12 passed in 0.3s", True, PASSED, id="words-beside-the-count"
        ),
        pytest.param(
            "npm test && npm run build",
            "12 passed in 0.3s\n" + "chunk.js 12 kB\n" * 300,
            True,
            PASSED,
            id="counted-far-before-its-end",
        ),
        pytest.param("make test", "log line\n" * 900, True, PASSED, id="long-and-silent"),
        pytest.param("python test_a.py", "Error: no such user", True, Unseen.MASKED, id="a-script-that-goes-on"),
        pytest.param("python test_a.py", "printed", True, PASSED, id="a-script-that-ended-well"),
        pytest.param("python test_a.py", "AssertionError", False, SOME, id="a-script-whose-assertion-failed"),
    ],
)
def test_a_run_is_read_by_what_its_runner_says_and_then_by_its_exit_code(
    command: str, output: str, worked: bool, expected: TestsResult | Unseen
) -> None:
    reading = read_tests(ran(command, output, worked=worked))

    assert (reading.result or reading.unseen) is expected
    assert reading.is_green == (expected is PASSED)


def test_a_run_told_to_go_on_in_the_background_says_nothing() -> None:
    assert read_tests(ran("pytest", "12 passed in 1s", run_in_background=True)).unseen is Unseen.BACKGROUND


def test_what_the_runner_counted_is_kept() -> None:
    counts = read_tests(ran("pytest", "1 failed, 11 passed in 0.3s", worked=False)).counts

    assert counts is not None
    assert tuple(counts) == (11, 1, 0)


def told(content: str, *, is_reported: bool = False) -> TestsResult | Unseen | None:
    """Result of `make test` that succeeded as far as is known, with this text as it stands in the session."""
    note = (2, CallView("terminal", json.dumps({"command": "make test"})), CallStatus.SUCCESS)
    reading = read_tests(ToolRun(note, Message(role="tool", content=content), is_reported=is_reported))
    return reading.result or reading.unseen


@pytest.mark.parametrize(
    "content", ["", "(no output)", "Testing a\nTesting b ...[9000 characters truncated]...", '{"output": "Testing a"}']
)
def test_silence_without_an_exit_code_tells_nothing_of_tests(content: str) -> None:
    assert told(content) is Unseen.SILENT


@pytest.mark.parametrize(
    "content",
    [
        "exit code: 0\n",
        "<returncode>0</returncode>\n<output></output>",
        '{"output": "", "exit_code": 0}',
        "12 passed in 1s",
    ],
)
def test_silence_beside_an_exit_code_is_a_pass(content: str) -> None:
    assert told(content) is PASSED


def test_silence_of_a_call_that_the_agent_reports_as_done_is_a_pass() -> None:
    assert told("", is_reported=True) is PASSED
