"""The finer kinds of failures, below the nine categories."""

from __future__ import annotations

import pytest

from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader
from grader_daemon.domain.analysis import DIVIDED, Category, Failure, Subcategory
from grader_daemon.domain.rules import Rules
from tests.calls import Arguments, call_of

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1\n'


@pytest.fixture
def reader(rules: Rules) -> OutcomeReader:
    return OutcomeReader(rules.failures)


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "told"),
    [
        pytest.param("editor", {"path": "a"}, "Error: old_str not found in a.", "edit_not_applied", id="editor"),
        pytest.param(
            "patch",
            {"path": "a"},
            '{"success": false, "error": "Could not find a match for old_string"}',
            "edit_not_applied",
            id="patch",
        ),
        pytest.param(
            "edit",
            {"content": "a"},
            "Your proposed edit has introduced new syntax error(s).",
            "edit_not_applied",
            id="an-edit-is-none-of-the-syntax-errors",
        ),
        pytest.param(
            "run",
            {"id": 1},
            "1 validation error for runArguments\nid\n  Field required",
            "invalid_arguments",
            id="arguments",
        ),
        pytest.param("edit", {"content": "a"}, "Usage: edit <start>:<end>", "invalid_arguments", id="usage"),
        pytest.param(
            "sql",
            {"query": "SELECT a"},
            "Error executing query: Unknown column 'a' in 'field list'",
            "query_error",
            id="query",
        ),
        pytest.param(
            "bash",
            {"command": "a.py"},
            f"Exit code: 1\n{TRACEBACK}sqlite3.OperationalError: no such table: a",
            "query_error",
            id="query-of-a-program",
        ),
        pytest.param(
            "bash", {"command": "a.py"}, f"Exit code: 1\n{TRACEBACK}KeyError: 'a'", "exception", id="exception"
        ),
        pytest.param(
            "bash",
            {"command": "a.py"},
            f"Exit code: 1\n{TRACEBACK}ModuleNotFoundError: No module named 'a'",
            "dependency_error",
            id="module",
        ),
        pytest.param(
            "bash",
            {"command": "jq ."},
            "Exit code: 127\nbash: jq: command not found",
            "command_not_found",
            id="command",
        ),
        pytest.param("get_order", {"id": 1}, "Error: Order not found", "not_found", id="not-there"),
        pytest.param(
            "bash", {"command": "pytest"}, "Exit code: 1\n= 1 failed in 0.1s =", "check_failed", id="red-tests"
        ),
        pytest.param("resume", {"id": 1}, "Error: The line is no longer yours", None, id="nothing-known"),
        pytest.param("read", {"path": "a"}, "Error: No such file or directory", None, id="its-category-says-enough"),
    ],
)
def test_finer_kind_is_told_by_what_the_failure_says(
    reader: OutcomeReader, tool: str, arguments: Arguments, text: str, told: str | None
) -> None:
    found = reader.read(tool, text, call_of(tool, arguments))

    assert found.category is not None
    assert found.subcategory == told
    assert told is None or found.category in DIVIDED


def test_a_result_that_worked_has_none(reader: OutcomeReader) -> None:
    assert reader.read("get", "An order was not found in 1999.", call_of("get", {"id": 1})).subcategory is None


@pytest.mark.parametrize(
    ("subcategory", "finest"),
    [
        pytest.param(Subcategory.QUERY_ERROR, "query_error", id="finer"),
        pytest.param(None, "unknown", id="category"),
    ],
)
def test_a_failure_is_called_by_its_finest_kind(subcategory: Subcategory | None, finest: str) -> None:
    assert Failure(2, "sql", Category.UNKNOWN, subcategory=subcategory).finest == finest
