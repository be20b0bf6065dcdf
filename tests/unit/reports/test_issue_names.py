"""The line of an error issue, with what its failures name."""

from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import Category
from grader_daemon.reports.issue_names import issue_name, shown_tools, tool_words
from tests.reports_examples import example_issue


@pytest.mark.parametrize(
    ("signal", "named", "line"),
    [
        pytest.param("No module named <text>", {"numpy": 3, "yaml": 1}, "No module named |numpy, yaml|", id="few"),
        pytest.param("Tool <text> not found", dict.fromkeys("abcde", 1), "Tool |a, b, c, +2| not found", id="many"),
        pytest.param("No module named <text>", {}, "No module named <text>||", id="none-known"),
        pytest.param("Out of memory", {"x": 1}, "Out of memory||", id="nothing-differs"),
        pytest.param("", {}, "file not found||", id="no-line"),
    ],
)
def test_what_failures_name_stands_where_it_differs(signal: str, named: dict[str, int], line: str) -> None:
    issue = example_issue(signal=signal, named=named, category=Category.FILE_NOT_FOUND)
    assert "|".join(issue_name(issue)) == line


def test_a_tool_is_named_without_its_server_unless_two_would_read_the_same() -> None:
    read, other = (example_issue(fingerprint=name, tool=f"{name}__read", command=None) for name in ("a", "b"))
    nameless = example_issue(fingerprint="c", tool=None)

    assert tool_words("mcp__server__server_read") == "read"
    assert shown_tools([read, nameless]) == {"a": "read", "c": "an unnamed tool"}
    assert shown_tools([read, other]) == {"a": "a__read", "b": "b__read"}
