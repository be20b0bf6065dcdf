from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader_daemon import SelfGrader
from grader_daemon.api.transcript import Finding, FindingKind, Transcript, edits_apart
from grader_daemon.api.transcript import transcript as told_of
from grader_daemon.errors import InputError
from grader_daemon.redaction import MARK, SECRETS
from tests.e2e.session_files import ANSWER, PERMISSION_DENIED, replace, turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.transcripts import Transcript as Noted
from tests.transcripts import call

HOSTILE = "\x1b[31m\u202e\x9b31m\x07"
KEY = "sk-" + "A1b2C3d4" * 6


def transcript(home: Path, messages: list[dict[str, object]], **asked: Any) -> Transcript:
    write(home / "sessions", "told", messages)
    with SelfGrader(db_path=home / "grades.db", watch_roots=[home / "sessions"]) as grader:
        grader.grade_latest_sessions()
        return grader.grades.transcript("told", **asked)


def test_every_message_bears_what_was_found_in_it(tmp_path: Path) -> None:
    messages = [
        json_user("Fix the tests"),
        *json_round(PERMISSION_DENIED, arguments='{"command": "cp x y"}'),
        json_answer("Done, all tests pass."),
        json_user("No, that is wrong."),
        json_answer(ANSWER),
    ]

    told = transcript(tmp_path, messages)

    found = {message.index: message.findings for message in told.messages}
    assert (told.total, told.note) == (6, None)
    assert found[2] == (Finding(FindingKind.FAILURE, "permission denied, never worked later"),)
    assert [finding.kind for finding in found[4]] == [FindingKind.PERSON]
    assert FindingKind.CLAIM in [finding.kind for finding in found[5]]
    assert found[0] == found[1] == ()


def test_a_probe_that_failed_was_expected(tmp_path: Path) -> None:
    missing = '{"output": "", "exit_code": 1, "error": null}'
    messages = [json_user("Look"), *json_round(missing, arguments='{"command": "which jq"}'), json_answer(ANSWER)]

    [found] = transcript(tmp_path, messages).messages[2].findings

    assert found == Finding(FindingKind.EXPECTED_FAILURE, "command failed, a probe")


def test_a_call_that_the_agent_notes_as_refused_says_so(tmp_path: Path) -> None:
    noted = Noted()
    noted.prompt("Delete it")
    noted.answer(call("c1", command="rm x"), stop="tool_use")
    noted.result("c1", "This command requires approval", error=True)
    noted.answer("The command was not allowed.")
    write(tmp_path / "sessions", "told")
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as grader:
        grader.grade_latest_sessions()
        stored = grader.grades.find("told")

    told = told_of(stored, noted.session(), note=None, redactor=SECRETS, shown=range(4))

    assert Finding(FindingKind.REFUSED, "the call was not allowed") in told.messages[2].findings


def test_calls_and_results_stand_in_lines_of_their_own(tmp_path: Path) -> None:
    result = '{"output": "one\\ntwo", "exit_code": 0, "error": null}'
    messages = [json_user("Look"), *json_round(result, arguments='{"command": "ls -l"}'), json_answer(ANSWER)]

    told = transcript(tmp_path, messages).messages

    assert [(call.tool, call.arguments) for call in told[1].calls] == [("terminal", "command: ls -l")]
    assert (told[2].role, told[2].tool) == ("tool", "terminal")
    assert told[2].text.splitlines() == ["output: ", "one", "two", "exit_code: 0", "error: null"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param("{not json", "{not json", id="broken-json-as-it-is"),
        pytest.param("[1, 2]", "[1, 2]", id="no-object-as-it-is"),
        pytest.param("plain\ntext", "plain\ntext", id="plain-text"),
        pytest.param('{"a": {"b": [1]}}', 'a: {"b":[1]}', id="nested-as-json"),
    ],
)
def test_what_is_no_json_object_stands_as_it_is(tmp_path: Path, written: str, shown: str) -> None:
    messages = [json_user("Look"), *json_round(written), json_answer(ANSWER)]

    assert transcript(tmp_path, messages).messages[2].text == shown


def test_nothing_shown_is_a_secret_or_obeyed_by_a_terminal(tmp_path: Path) -> None:
    hidden = f"first\nmysql -u root -pGh4tx9Qz {KEY} {HOSTILE}"
    result = msgspec.json.encode({"output": hidden, "exit_code": 0}).decode()
    call = msgspec.json.encode({"command": hidden}).decode()
    messages = [json_user(hidden), *json_round(result, arguments=call), json_answer(hidden)]

    told = transcript(tmp_path, messages)

    shown = msgspec.json.encode(told.messages).decode()
    assert "A1b2" not in shown
    assert "Gh4tx9Qz" not in shown
    assert MARK in shown
    assert not any(character in message.text for message in told.messages for character in "\x1b\u202e\x9b\x07")


def test_only_the_messages_around_one(tmp_path: Path) -> None:
    told = transcript(tmp_path, turns(10), around=12)

    assert [message.index for message in told.messages] == [9, 10, 11, 12, 13, 14, 15]
    assert told.messages[3].tool == "terminal"
    assert told.total == 22


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param({"first": 0, "count": 3}, [0, 1, 2], id="the-first-page"),
        pytest.param({"first": 20, "count": 5}, [20, 21], id="the-last-page"),
        pytest.param({"first": 20}, [20, 21], id="all-from-one-on"),
    ],
)
def test_a_page_of_messages(tmp_path: Path, asked: dict[str, int], shown: list[int]) -> None:
    told = transcript(tmp_path, turns(10), **asked)

    assert [message.index for message in told.messages] == shown
    assert told.total == 22


@pytest.mark.parametrize("asked", [{"around": 22}, {"first": 22}, {"first": -1}])
def test_a_message_that_is_not_there_is_named(tmp_path: Path, asked: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"no message -?\d+; the session has 22, numbered from 0"):
        transcript(tmp_path, turns(10), **asked)


def test_long_texts_are_cut_and_the_rest_is_counted_without_showing_half_a_secret(tmp_path: Path) -> None:
    hidden = f"{'a' * 90} {KEY} {'b' * 2000}"
    call = msgspec.json.encode({"command": hidden}).decode()
    messages = [json_user(hidden), *json_round("fine", arguments=call), json_answer(ANSWER)]

    told = transcript(tmp_path, messages, longest=100).messages

    assert [message.left_out for message in told] == [len(hidden) - 100, 0, 0, 0]
    assert [each.left_out for each in told[1].calls] == [len(f"command: {hidden}") - 100]
    assert all(len(text) <= 100 for text in (told[0].text, told[1].calls[0].arguments))
    assert "A1b2" not in msgspec.json.encode(told).decode()


def test_a_file_that_changed_since_is_told(tmp_path: Path) -> None:
    transcript(tmp_path, turns(1))
    path = tmp_path / "sessions" / "session_told.json"
    replace(path, path.read_bytes().replace(b"the date parser works", b"the date parser is fine"))

    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as grader:
        told = grader.grades.transcript("told")

    assert "changed since it was graded" in (told.note or "")
    assert told.total == 4


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    transcript(tmp_path, turns(1))
    (tmp_path / "sessions" / "session_told.json").unlink()

    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as grader:
        told = grader.grades.transcript("told", around=3)

    assert (told.total, told.messages) == (0, ())
    assert "cannot be shown" in (told.note or "")


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
