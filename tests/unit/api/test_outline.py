"""How a session went at a glance."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader_daemon import SelfGrader
from grader_daemon.api.outline import Outline, OutlinedMessage, outline
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.redaction import MARK, SECRETS
from grader_daemon.storage.records import StoredGrade
from tests.e2e.session_files import ANSWER, turns, write
from tests.strategies import answer, grade, result, session, user

BEGUN = datetime(2026, 11, 22, 10, tzinfo=UTC)
KEY = "sk-" + "A1b2C3d4" * 6
STORED = StoredGrade(id=1, grade=grade(), detailed=True, digest=None, loop_told=False, watched=False)


def outlined(*messages: Message, **changes: object) -> Outline:
    return outline(STORED, session(*messages, **changes), redactor=SECRETS)


def test_every_message_has_its_length_with_the_arguments_of_its_calls() -> None:
    as_text = ToolCall("a", FunctionCall("terminal", '{"a": 1}'))
    as_object = ToolCall("b", FunctionCall("terminal", {"b": 2}))
    bare = ToolCall("c")
    told = outlined(user("four"), Message("assistant", "xy", (as_text, as_object, bare)), result("abc"))

    assert told.messages == (
        OutlinedMessage("user", 4, None),
        OutlinedMessage("assistant", 2 + len('{"a": 1}') + len('{"b":2}'), None),
        OutlinedMessage("tool", 3, None),
    )


def test_time_passes_between_messages_that_note_when_they_were_written() -> None:
    times = (BEGUN, BEGUN + timedelta(seconds=4), None, BEGUN, BEGUN - timedelta(seconds=1))
    told = outlined(*(user("x") for _ in times), message_times=times)

    assert [message.seconds for message in told.messages] == [None, 4.0, None, None, None]


def test_the_answer_is_the_last_text_of_the_agent() -> None:
    told = outlined(user("Do it"), answer(f"Done with {KEY}"), answer("  "), user("Thanks")).answer

    assert told is not None
    assert told.index == 1
    assert told.text == f"Done with {MARK}"


def test_a_session_in_which_the_agent_said_nothing_has_no_answer() -> None:
    assert outlined(user("Do it")).answer is None


def test_a_session_that_is_gone_has_no_outline(tmp_path: Path) -> None:
    path = write(tmp_path / "sessions", "told", turns(1))
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as grader:
        grader.grade_latest_sessions()
        there = grader.grades.outline("told")
        path.unlink()
        gone = grader.grades.outline("told")

    assert [message.role for message in there.messages] == ["user", "assistant", "tool", "assistant"]
    assert there.answer is not None
    assert there.answer.text == ANSWER
    assert gone == Outline(messages=(), answer=None)


def test_the_outline_of_a_session_that_is_looked_through_is_made_once(tmp_path: Path) -> None:
    write(tmp_path / "sessions", "told", turns(1))
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as grader:
        grader.grade_latest_sessions()
        first = grader.grades.outline("told")
        again = grader.grades.outline("told")
        write(tmp_path / "sessions", "told", turns(2))
        changed = grader.grades.outline("told")

    assert again is first
    assert len(changed.messages) == len(first.messages) + 2
