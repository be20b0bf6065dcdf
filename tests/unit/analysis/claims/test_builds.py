from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.builds import BuildKind, read_build
from grader_daemon.analysis.claims.evidence import ToolRun
from tests.tables import for_each
from tests.unit.analysis.claims.test_test_runs import ran

BUILD, TYPES, LINT = BuildKind


@for_each(
    ("command", "kinds"),
    [
        pytest.param("make -j4", {BUILD}, id="make"),
        pytest.param("cargo build --release", {BUILD}, id="cargo"),
        pytest.param("npm run build", {BUILD}, id="script-of-a-package"),
        pytest.param("pnpm --filter web lint", {LINT}, id="script-of-a-part"),
        pytest.param("npx tsc --noEmit", {TYPES}, id="type-check"),
        pytest.param("uv run ruff check . && uv run mypy src", {LINT, TYPES}, id="both"),
        pytest.param("gradle", set(), id="told-nothing"),
        pytest.param("npm install build", set(), id="installs"),
        pytest.param("make lint", {LINT}, id="target"),
        pytest.param("make test", set(), id="tests"),
        pytest.param("echo make", set(), id="spoken-of"),
        pytest.param("", set(), id="no-command"),
    ],
)
def test_commands_that_read_code_without_running_it(command: str, kinds: set[BuildKind]) -> None:
    reading = read_build(ran(command, "")) if command else read_build(ran("", ""))

    assert (reading.kinds if reading else set()) == kinds


@for_each(
    ("command", "output", "worked", "expected"),
    [
        pytest.param("mypy src", "", True, True, id="silent"),
        pytest.param("mypy src", "a.py:1: error: x\nFound 1 error in 1 file", False, False, id="found-something"),
        pytest.param("make", "done", False, False, id="failed-alone"),
        pytest.param("cd x && make", "boom", False, False, id="failed-in-its-folder"),
        pytest.param("make && ./app", "boom", False, None, id="which-of-two-failed"),
        pytest.param("mypy src || true", "Found 3 errors in 1 file", True, False, id="masked-but-it-says-so"),
        pytest.param("mypy src | tail -1", "Success: no issues found", True, True, id="masked-but-it-says-it-is-fine"),
        pytest.param("mypy src | tail -1", "", True, None, id="masked"),
        pytest.param("gcc a.c", "gcc: command not found", False, None, id="not-there"),
        pytest.param("make &", "", True, None, id="in-the-background"),
    ],
)
def test_how_it_went(command: str, output: str, worked: bool, expected: bool | None) -> None:
    reading = read_build(ran(command, output, worked=worked))

    assert reading is not None
    assert reading.passed is expected


@for_each(
    ("command", "output", "empty"),
    [
        pytest.param("mypy src", "Success: no issues found in 0 source files", {TYPES}, id="type-check"),
        pytest.param("ruff check x", "warning: No Python files found under the given path(s)", {LINT}, id="linter"),
        pytest.param("go build ./...", 'go: warning: "./..." matched no packages', {BUILD}, id="build"),
        pytest.param(
            "ruff check . && mypy src",
            "All checks passed!\nno issues found in 0 source files",
            {TYPES},
            id="one-of-two",
        ),
        pytest.param(
            "mypy a; mypy b", "found in 0 source files\nfound in 7 source files", set(), id="another-read-some"
        ),
        pytest.param("mypy src", "Success: no issues found in 10 source files", set(), id="a-number-that-ends-in-0"),
        pytest.param("mypy src &", "in 0 source files", set(), id="in-the-background"),
    ],
)
def test_what_found_nothing_to_read(command: str, output: str, empty: set[BuildKind]) -> None:
    reading = read_build(ran(command, output))

    assert reading is not None
    assert reading.empty == empty


def test_code_for_an_interpreter_builds_nothing(call_of_code: ToolRun) -> None:
    assert read_build(call_of_code) is None


@pytest.fixture
def call_of_code() -> ToolRun:
    from grader_daemon.analysis.tool_calls import CallView
    from grader_daemon.domain.analysis import CallStatus
    from grader_daemon.domain.session import Message

    view = CallView("execute_code", {"code": "make()"})
    return ToolRun((2, view, CallStatus.SUCCESS), Message(role="tool", content="{}"), is_reported=False)
