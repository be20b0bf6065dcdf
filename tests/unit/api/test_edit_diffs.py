"""Edits as diffs."""

from __future__ import annotations

import pytest

from grader_daemon.api.edit_diffs import edits_apart
from grader_daemon.redaction import MARK, SECRETS

KEY = "sk-" + "A1b2C3d4" * 6


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        pytest.param("a\nb\nc", "a\nx\nc", ["@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"], id="a-line-between-others"),
        pytest.param("a", "a\nb", ["@@ -1,1 +1,2 @@", " a", "+b"], id="a-line-behind"),
        pytest.param("b", "a\nb", ["@@ -1,1 +1,2 @@", "+a", " b"], id="a-line-before"),
        pytest.param("", "a", ["@@ -0,0 +1,1 @@", "+a"], id="a-new-file"),
        pytest.param("a\na", "a", ["@@ -1,2 +1,1 @@", " a", "-a"], id="no-line-is-counted-twice"),
        pytest.param("a", "a", ["@@ -1,1 +1,1 @@", " a"], id="nothing-changed"),
    ],
)
def test_an_edit_is_the_diff_of_its_texts(before: str, after: str, diff: list[str]) -> None:
    rest, edits = edits_apart({"path": "x.py", "old_str": before, "new_str": after}, SECRETS)

    assert rest == {"path": "x.py"}
    assert [edit.split("\n") for edit in edits] == [["--- old_str", "+++ new_str", *diff]]


@pytest.mark.parametrize(
    "more", [pytest.param({}, id="pi"), pytest.param({"oldText": "a", "newText": "b"}, id="openclaw-says-one-twice")]
)
def test_a_call_may_hold_several_edits(more: dict[str, object]) -> None:
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]

    rest, diffs = edits_apart({"file_path": "x.py", "edits": edits, **more}, SECRETS)

    assert rest == {"file_path": "x.py"}
    assert [diff.split("\n")[3:] for diff in diffs] == [["-a", "+b"], ["-c", "+d"]]


def test_what_is_searched_and_what_replaces_it_are_an_edit() -> None:
    rest, [diff] = edits_apart({"path": "x.py", "search": "a", "replace": "b", "use_regex": "false"}, SECRETS)

    assert rest == {"path": "x.py", "use_regex": "false"}
    assert diff == "--- search\n+++ replace\n@@ -1,1 +1,1 @@\n-a\n+b"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"command": "ls"}, id="no-edit"),
        pytest.param({"old_string": "a"}, id="one-text"),
        pytest.param({"old_string": "a", "new_string": 3}, id="no-text"),
        pytest.param({"edits": []}, id="no-edits"),
        pytest.param({"edits": [{"old_string": "a", "new_string": "b"}, {"line": 3}]}, id="edits-of-another-kind"),
    ],
)
def test_what_is_no_edit_stays_as_it_is(given: dict[str, object]) -> None:
    assert edits_apart(given, SECRETS) == (given, [])


def test_a_sign_in_front_of_a_line_hides_no_secret() -> None:
    lines = f"password: hunter2hunter\nkey={KEY}"

    _, [diff] = edits_apart({"oldString": lines, "newString": f"{lines}\n"}, SECRETS)

    assert MARK in diff
    assert "hunter2" not in diff
    assert "A1b2" not in diff
