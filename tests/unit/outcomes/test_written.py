from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import TOOL, Message
from grader_daemon.outcomes.model import MOST_LINES, Work, line_digests
from grader_daemon.outcomes.written import work_of
from grader_daemon.redaction import SECRETS
from tests.strategies import NOW, session

OK, FAILED = CallStatus.SUCCESS, CallStatus.FAILURE


def work(*calls: tuple[str, object, CallStatus, str], project: str | None = "/src") -> Work:
    """Return the work of a session of these calls: a tool, its arguments, how it ended, and what it said."""
    made = session(*[Message(TOOL, said) for *_, said in calls], project=project)
    notes = [
        (index, CallView(tool, given if isinstance(given, str) else json.dumps(given)), status)
        for index, (tool, given, status, _) in enumerate(calls)
    ]
    return work_of(made, notes, ended=NOW, redactor=SECRETS)


def lines(text: str) -> set[int]:
    return set(line_digests(text.encode()))


def written(of: Work) -> dict[str, set[int]]:
    return {file.path: set(file.lines) for file in of.files}


ONE, TWO = "the first line\nthe second line\n", "the third line\n"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        pytest.param("write_file", {"path": "a.py", "content": ONE}, id="hermes"),
        pytest.param("Write", {"file_path": "/src/a.py", "content": ONE}, id="claude-code"),
        pytest.param("write", {"filePath": "/src/x/../a.py", "content": ONE}, id="opencode"),
        pytest.param("Edit", {"file_path": "a.py", "old_string": "gone with it", "new_string": ONE}, id="an-edit"),
        pytest.param(
            "edit",
            {"path": "a.py", "edits": [{"oldText": "", "newText": line} for line in ONE.splitlines()]},
            id="several-of-pi",
        ),
        pytest.param(
            "str_replace_editor", {"command": "create", "path": "/src/a.py", "file_text": ONE}, id="openhands"
        ),
        pytest.param("bash", {"command": f"cat > a.py <<'EOF'\n{ONE}EOF\nls"}, id="a-here-document"),
        pytest.param(
            "shell",
            {"command": "apply_patch <<'P'\n*** Begin Patch\n*** Add File: a.py\n+the first line\n+the second line\nP"},
            id="a-patch-in-a-shell",
        ),
    ],
)
def test_lines_are_those_that_calls_wrote(tool: str, given: object) -> None:
    assert written(work((tool, given, OK, ""))) == {"/src/a.py": lines(ONE)}


def test_a_file_that_is_removed_keeps_no_lines() -> None:
    made = work(
        ("Write", {"file_path": "/src/a.py", "content": ONE}, OK, ""),
        ("apply_patch", "*** Begin Patch\n*** Delete File: /src/a.py\n*** End Patch", OK, ""),
    )

    assert written(made) == {"/src/a.py": set()}


def test_what_failed_wrote_nothing() -> None:
    assert work(("Write", {"file_path": "/src/a.py", "content": ONE}, FAILED, "")).is_nothing


def test_a_line_that_is_replaced_later_is_no_work_of_the_session() -> None:
    made = work(
        ("Write", {"file_path": "/src/a.py", "content": ONE + TWO}, OK, ""),
        ("Edit", {"file_path": "/src/a.py", "old_string": ONE, "new_string": "the first line\nanother one"}, OK, ""),
    )

    assert written(made) == {"/src/a.py": lines("the first line\nanother one\n" + TWO)}


def test_a_file_that_is_written_anew_has_its_last_lines() -> None:
    made = work(
        ("Write", {"file_path": "/src/a.py", "content": ONE}, OK, ""),
        ("Write", {"file_path": "/src/a.py", "content": TWO}, OK, ""),
    )

    assert written(made) == {"/src/a.py": lines(TWO)}


@pytest.mark.parametrize(
    ("path", "project"),
    [
        pytest.param("a.py", None, id="nobody-knows-where"),
        pytest.param("a.py", "here", id="below-a-folder-without-a-place"),
        pytest.param("$HOME/a.py", "/src", id="by-a-variable"),
        pytest.param("/a\0b", "/src", id="no-path"),
        pytest.param("/a\udc80b", "/src", id="no-text"),
        pytest.param("/" + "a" * 2_000, "/src", id="without-end"),
        pytest.param("/src/sk-ant-api03-" + "a1B2" * 20, "/src", id="with-a-secret-in-it"),
    ],
)
def test_a_file_whose_place_is_not_known_is_not_followed(path: str, project: str | None) -> None:
    assert work(("Write", {"file_path": path, "content": ONE}, OK, ""), project=project).is_nothing


@pytest.mark.parametrize(
    ("command", "said", "commits"),
    [
        pytest.param("git commit -m x", "[main 1a2b3c4] Fix\n 1 file changed", ("1a2b3c4",), id="a-commit"),
        pytest.param(
            "git add . && git -C /src commit -qam x", "[main (root-commit) 1a2b3c4] x", ("1a2b3c4",), id="first"
        ),
        pytest.param(
            "git commit -m x",
            json.dumps({"output": "ok\n[main 1a2b3c4] Fix", "exit_code": 0}),
            ("1a2b3c4",),
            id="hermes",
        ),
        pytest.param("git cherry-pick abc", "[detached HEAD 1a2b3c4] Fix", ("1a2b3c4",), id="picked"),
        pytest.param("git log --oneline", "[main 1a2b3c4] Fix", (), id="no-commit"),
        pytest.param("git commit -m x", "nothing to commit, working tree clean", (), id="nothing-committed"),
    ],
)
def test_commits_are_those_that_git_said_it_made(command: str, said: str, commits: tuple[str, ...]) -> None:
    assert work(("Bash", {"command": command}, OK, said)).commits == commits


def test_of_very_many_lines_some_are_drawn() -> None:
    text = "".join(f"line number {number}\n" for number in range(2_000))

    made = work(("Write", {"file_path": "/src/a.py", "content": text}, OK, ""))

    assert made.wrote == 2_000
    assert len(made.files[0].lines) == MOST_LINES


@pytest.mark.parametrize("given", ["{", '{"file_path": "/src/a.py", "content"', "[]", '{"content": 7, "path": "a"}'])
def test_arguments_that_are_broken_wrote_nothing_that_is_known(given: str) -> None:
    assert work(("Write", given, OK, "")).is_nothing
