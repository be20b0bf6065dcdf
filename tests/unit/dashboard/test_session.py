"""The page of a session: the conversation, and what stands beside it."""

from __future__ import annotations

import json
import re
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.api.grader import SelfGrader
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import ANSWER, PERMISSION_DENIED, replace, turns, write
from tests.strategies import NOW, grade, json_answer, json_round, json_user, new_grade
from tests.unit.dashboard.conftest import MakeClient

Messages = list[dict[str, object]]


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def graded(client_of: MakeClient, home: Path, messages: Messages, *, name: str = "told") -> TestClient:
    """Return a client of a home in which a session of these messages is graded."""
    write(home / "sessions", name, messages)
    with SelfGrader(db_path=home / "grades.db", watch_roots=home / "sessions") as grader:
        grader.grade_latest_sessions()
    return client_of(home / "grades.db")


def test_a_session_is_shown_with_its_failures_its_claims_and_why(client_of: MakeClient, tmp_path: Path) -> None:
    messages = [json_user("Fix it"), *json_round(PERMISSION_DENIED, arguments='{"command": "cp x y"}')]
    text = graded(client_of, tmp_path, [*messages, json_answer(ANSWER)]).get("/session/told").text

    assert "$ cp x y" in text
    assert "failure: permission denied, never worked later" in text
    assert 'href="#m2">message 2</a>' in text
    assert "Claims and evidence" in text
    assert "Why this grade" in text
    assert "Why the task is " in text


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        pytest.param("Bash", {"command": "ls -l", "run_in_background": False}, "$ ls -l", id="a-command"),
        pytest.param(
            "str_replace_editor",
            {"command": "view", "path": "/a.py", "view_range": [1, 9]},
            "view · /a.py · view_range: [1,9]",
            id="what-an-editor-is-to-do",
        ),
        pytest.param("memory", {"command": "view", "path": "/m"}, "view · /m", id="what-another-tool-is-to-do"),
        pytest.param(
            "Edit",
            {"replace_all": False, "file_path": "/a.py", "old_string": "x", "new_string": "y"},
            "/a.py",
            id="the-file-of-an-edit",
        ),
        pytest.param("Grep", {"pattern": "x: y"}, "pattern: x: y", id="any-other"),
    ],
)
def test_a_call_is_told_on_a_line(
    client_of: MakeClient, tmp_path: Path, tool: str, arguments: dict[str, object], told: str
) -> None:
    called = json_round("ok", tool=tool, arguments=json.dumps(arguments))
    text = graded(client_of, tmp_path, [json_user("Look"), *called, json_answer(ANSWER)]).get("/session/told").text

    assert f'<span class="brief">{told}</span>' in text


def test_a_claim_stands_on_top_beside_the_run_that_speaks_against_it(client_of: MakeClient, tmp_path: Path) -> None:
    output = json.dumps({"output": "FAILED a.py\n1 failed, 11 passed", "exit_code": 1})
    messages = [json_user("Fix it"), *json_round(output, arguments='{"command": "pytest -q"}')]
    text = graded(client_of, tmp_path, [*messages, json_answer("Fixed. All 12 tests pass.")]).get("/session/told").text

    assert text.index("All 12 tests pass") < text.index('class="strip"')
    assert "$ pytest -q\nFAILED a.py\n1 failed, 11 passed\nexit 1</pre>" in text
    assert "≠" in text
    assert "exit 1 · FAILED a.py" in text, "the result, folded"


@pytest.mark.parametrize(
    ("columns", "is_reached"), [pytest.param(40, False, id="low"), pytest.param(400, True, id="high")]
)
def test_the_keyboard_reaches_evidence_that_is_higher_than_its_box(
    client_of: MakeClient, tmp_path: Path, columns: int, is_reached: bool
) -> None:
    output = json.dumps({"output": f"{'x' * columns}\n1 failed, 11 passed", "exit_code": 1})
    messages = [json_user("Fix it"), *json_round(output, arguments='{"command": "pytest -q"}')]
    text = graded(client_of, tmp_path, [*messages, json_answer("Fixed. All 12 tests pass.")]).get("/session/told").text

    assert ('<pre tabindex="0" role="group" aria-label="Evidence">$ pytest -q' in text) is is_reached


def test_it_tells_how_it_came_to_that(client_of: MakeClient, tmp_path: Path) -> None:
    output = json.dumps({"output": "FAILED a.py\n1 failed, 11 passed", "exit_code": 1})
    rounds = [json_round(output, arguments='{"command": "pytest -q"}', call_id=f"call_{n}") for n in range(2)]
    messages = [json_user("Fix it"), *rounds[0], *rounds[1], json_answer("Fixed. All 12 tests pass.")]
    text = graded(client_of, tmp_path, messages).get("/session/told").text
    story = text.partition('class="panel story"')[2].partition("</section>")[0]

    assert '<a href="#m2">Show where it went wrong</a>' in text
    assert "check failed, 2 times, never fixed" in story
    assert story.index("turning point") < story.index("false claim") < story.index("All 12 tests pass")


@pytest.mark.parametrize(
    ("query", "told", "shown"),
    [
        pytest.param("only=failures", "2 of 206 messages with failures", ["202", "204"], id="failures"),
        pytest.param("find=CP+X", "1 of 206 messages with these words", ["201"], id="words-of-a-call"),
        pytest.param("find=Permission", "2 of 206 messages with these words", ["202", "204"], id="words-of-a-result"),
        pytest.param("find=sk-test", "0 of 206 messages with these words", [], id="a-secret"),
    ],
)
def test_some_messages_of_all_pages_are_shown_alone(
    client_of: MakeClient, tmp_path: Path, query: str, told: str, shown: list[str]
) -> None:
    key = "sk-test-" + "a1B2c3D4" * 5
    failing = [json_round(PERMISSION_DENIED, arguments='{"command": "cp x y"}'), json_round(PERMISSION_DENIED)]
    messages = [*turns(100)[:-1], *failing[0], *failing[1], json_answer(f"The key is {key}.")]
    text = graded(client_of, tmp_path, messages).get(f"/session/told?{query}").text

    assert told in text
    assert re.findall(r'<article id="m(\d+)"', text) == shown
    assert all(f'class="at" href="?from=200#m{each}"' in text for each in shown), "among all others"


def test_a_page_says_that_more_messages_have_the_words_than_it_shows(client_of: MakeClient, tmp_path: Path) -> None:
    client = graded(client_of, tmp_path, turns(201))

    assert "200 or more of 404 messages with these words" in client.get("/session/told?find=fine").text
    assert "201 of" not in client.get("/session/told?find=fine").text


def test_head_has_how_long_it_took_and_the_command_that_resumes_it(client_of: MakeClient, tmp_path: Path) -> None:
    made = grade(
        session_id="0a1b-2c",
        format="codex",
        project="/home/you/a b",
        duration_seconds=540,
        ended_at=NOW,
        cost_usd=0.25,
    )
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(made)])
    text = unescape(client_of(tmp_path / "grades.db").get("/session/0a1b-2c").text)

    assert " · 9 min · $0.25" in text
    assert "data-copy=\"cd '/home/you/a b' && codex resume 0a1b-2c\"" in text


def test_a_report_of_it_can_be_copied(client_of: MakeClient, tmp_path: Path) -> None:
    output = json.dumps({"output": "1 failed, 11 passed", "exit_code": 1})
    messages = [json_user("Fix it"), *json_round(output, arguments='{"command": "pytest -q"}')]
    client = graded(client_of, tmp_path, [*messages, json_answer("Fixed. All 12 tests pass.")])

    assert 'href="/session/told/report" data-copy' in client.get("/session/told").text
    answer = client.get("/session/told/report")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "says `All 12 tests pass`. Contradicted: the last run failed" in answer.text
    assert str(tmp_path) not in answer.text


def test_the_beginning_of_an_id_is_enough(client_of: MakeClient, tmp_path: Path) -> None:
    assert graded(client_of, tmp_path, turns(1)).get("/session/tol").status_code == 200


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        pytest.param("/session/other", 404, "begins with", id="unknown"),
        pytest.param("/session/told?from=99", 404, "no message 99; the session has 4", id="no-message"),
        pytest.param("/session/told?from=x", 400, "is not the number of a message", id="no-number"),
        pytest.param("/session/told?from=-1", 400, "is not the number of a message", id="below-0"),
        pytest.param("/session/told?from=9999999999999", 400, "is not the number of a message", id="huge"),
        pytest.param("/session/told/message/99", 404, "there is no message 99", id="whole-message-that-is-not-there"),
        pytest.param("/session/told/message/x", 400, "is not the number of a message", id="whole-message-no-number"),
    ],
)
def test_what_is_not_there_is_said(
    client_of: MakeClient, tmp_path: Path, *, address: str, status: int, words: str
) -> None:
    answer = graded(client_of, tmp_path, turns(1)).get(address)

    assert answer.status_code == status
    assert words in answer.text


def test_a_long_session_has_pages(client_of: MakeClient, tmp_path: Path) -> None:
    client = graded(client_of, tmp_path, turns(150))

    first, second = client.get("/session/told").text, client.get("/session/told?from=200").text

    assert "messages 0 to 199 of 302" in first
    assert 'href="?from=200#m200">later' in first
    assert 'id="m199"' in first
    assert 'id="m200"' not in first
    assert "messages 200 to 301 of 302" in second
    assert 'href="?from=0#m0">← earlier' in second
    assert 'href="?from=200#m301"' in first, "the answer is linked where it stands"


def test_findings_of_other_pages_are_linked(client_of: MakeClient, tmp_path: Path) -> None:
    messages = turns(120)
    messages[4]["content"] = PERMISSION_DENIED
    client = graded(client_of, tmp_path, [*messages[:-1], *json_round(PERMISSION_DENIED), json_answer("Sorry.")])

    assert 'href="?from=200#m242" data-go="next-finding"' in client.get("/session/told").text
    assert 'href="?from=0#m4" data-go="previous-finding"' in client.get("/session/told?from=200").text


def test_long_texts_are_cut_and_stand_whole_on_a_page_of_their_own(client_of: MakeClient, tmp_path: Path) -> None:
    output = json.dumps({"output": "\n".join(f"line {number}" for number in range(2000)), "exit_code": 0})
    client = graded(client_of, tmp_path, [json_user("Look"), *json_round(output), json_answer(ANSWER)])

    text = client.get("/session/told").text
    whole = client.get("/session/told/message/2").text

    assert "line 1999" not in text
    assert 'more characters: <a href="/session/told/message/2">' in text
    assert "line 1999" in whole


def test_what_a_session_says_is_never_markup(client_of: MakeClient, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> [a](javascript:b) `<b>` **<i>** {{ 7 * 7 }}"
    table = f"{hostile} | b\n--- | ---\n<img src=x> | y"
    messages = [
        json_user(f"{hostile}\n\n# {hostile}\n\n{table}\n\n```{hostile.split(maxsplit=1)[0]}\n{hostile}\n```"),
        *json_round(f"@@ -1 +1 @@\n-{hostile}\n+{hostile}", arguments=json.dumps({"command": f"{hostile}\n{hostile}"})),
        json_answer(hostile),
    ]
    text = graded(client_of, tmp_path, messages).get("/session/told").text

    assert "&lt;script&gt;alert(1)" in text
    assert "{{ 7 * 7 }}" in text
    assert not [found for found in ("<script>", "<b>", "<i>", "<img", 'href="javascript') if found in text]


def test_blocks_are_set_as_what_they_are(client_of: MakeClient, tmp_path: Path) -> None:
    said = "# Head\n\na | b\n--- | ---\n1 | 2\n\n```diff\n-old\n+new\n```\n\n```py\nx = `1`\n```\n\nUse `ls` **now**"
    text = graded(client_of, tmp_path, [json_user("Do"), json_answer(said)]).get("/session/told").text

    assert '<p class="said-heading" dir="auto">Head' in text
    assert '<th scope="col">a' in text
    assert '<span class="removed">-old</span><span class="added">+new</span>' in text
    assert '<pre data-language="py">x = `<span class="value">1</span>`</pre>' in text
    assert "Use <code>ls</code> <strong>now</strong>" in text


def test_an_edit_is_set_as_a_diff(client_of: MakeClient, tmp_path: Path) -> None:
    edit = json.dumps({"path": "x.py", "old_string": "a\nb", "new_string": "a\nc"})
    messages = [json_user("Do"), *json_round("fine", arguments=edit), json_answer(ANSWER)]
    text = graded(client_of, tmp_path, messages).get("/session/told").text

    assert '<span class="same"> a</span><span class="removed">-b</span><span class="added">+c</span>' in text


def test_a_file_that_changed_is_not_what_was_graded(client_of: MakeClient, tmp_path: Path, sessions: Path) -> None:
    client = graded(client_of, tmp_path, turns(1))
    path = sessions / "session_told.json"
    replace(path, path.read_bytes().replace(b"the date parser works", b"the date parser is fine"))

    text = client.get("/session/told").text

    assert "The file changed since it was graded" in text
    assert "the date parser is fine" in text


def test_of_a_file_that_is_gone_the_grade_stays(client_of: MakeClient, tmp_path: Path, sessions: Path) -> None:
    client = graded(client_of, tmp_path, turns(1))
    (sessions / "session_told.json").unlink()

    answer = client.get("/session/told?from=200")

    assert answer.status_code == 200
    assert "The messages cannot be shown" in answer.text
    assert "The session&#39;s file is gone; its grade stays." in answer.text
    assert "Why this grade" in answer.text
    assert client.get("/session/told/message/0").status_code == 404


def test_what_a_person_said_of_it_is_told_with_what_would_stand_otherwise(
    client_of: MakeClient, tmp_path: Path
) -> None:
    client = graded(client_of, tmp_path, turns(1))
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=tmp_path / "sessions") as grader:
        grader.labels.add("told", completed=False, quality=2, note="wrong file")

    text = client.get("/session/told").text

    assert "Not done (labelled by " in text
    assert ". The grader said: " in text
    assert "2 of 5, labelled by " in text
    assert "wrong file" in text


def test_a_page_has_bounds_whatever_a_session_holds(client_of: MakeClient, tmp_path: Path) -> None:
    [call] = json_round("", arguments=json.dumps({"command": "x" * 3000}))[0]["tool_calls"]
    calls = [{**call, "id": f"call_{number}"} for number in range(500)]
    busy = {"role": "assistant", "content": "y" * 100_000, "tool_calls": calls}
    messages = [json_user("Do all"), *([busy] * 20), {"role": "r" * 10_000, "content": "z"}, json_answer(ANSWER)]

    client = graded(client_of, tmp_path, messages)
    text, whole = client.get("/session/told").text, client.get("/session/told/message/1").text

    assert len(text) < 1_000_000
    assert "460 more calls are not shown." in text
    assert "r" * 100 not in text
    assert len(whole) < 1_000_000
