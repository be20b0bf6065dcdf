"""Kinds of work, each told by a session of its kind."""

from __future__ import annotations

import pytest

from grader_daemon.analysis.features.kind_of_work import KindOfWork, kind_of
from grader_daemon.analysis.features.session_window import RecentMessages, window_of
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.analysis.tool_calls import view_of
from grader_daemon.domain.session import ASSISTANT, FunctionCall, Message, ToolCall


def told(request: str, *tools: str, people: int = 1) -> KindOfWork:
    recent = RecentMessages()
    for _ in range(people):
        recent.note_person(request)
    for tool in tools:
        called = ToolCall(id="1", function=FunctionCall(name=tool, arguments='{"about": "it"}'))
        recent.note_answer(Message(role=ASSISTANT, content="", tool_calls=(called,)), [view_of(called)])
    return kind_of(window_of(recent, LastWord.ANSWER, request=request))


@pytest.mark.parametrize(
    ("kind", "request_", "tools"),
    [
        pytest.param(KindOfWork.FILES, "Fix the script", ["search"], id="a-request-about-files"),
        pytest.param(KindOfWork.FILES, "Fix it", ["search", "write_file"], id="a-file-was-written"),
        pytest.param(KindOfWork.COMPUTING, "How many?", ["python", "sql", "search"], id="code-in-most-calls"),
        pytest.param(KindOfWork.SERVICE, "Book a seat", ["get_seats", "book_seat"], id="something-was-changed"),
        pytest.param(KindOfWork.LOOKUP, "Who wrote it?", ["search", "finish"], id="only-looked"),
        pytest.param(KindOfWork.TALK, "Who wrote it?", [], id="no-call"),
    ],
)
def test_the_request_and_the_tools_tell_the_kind(kind: KindOfWork, request_: str, tools: list[str]) -> None:
    assert told(request_, *tools) is kind


def test_looking_up_with_a_person_who_goes_on_is_a_service() -> None:
    assert told("Where is my order?", "get_order", people=2) is KindOfWork.SERVICE
