from __future__ import annotations

import pytest

from grader_daemon.domain.session import FunctionCall, Message, Part, ToolCall
from grader_daemon.scorers.redacted_transcript import RedactedCall, RedactedTurn, transcript
from tests.strategies import answer, session, user

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def calling(arguments: str | dict[str, object] | None, tool: str | None = "terminal") -> Message:
    return Message(
        role="assistant", tool_calls=(ToolCall(id="c1", function=FunctionCall(name=tool, arguments=arguments)),)
    )


def test_messages_are_given_with_their_calls_and_results() -> None:
    made = transcript(
        session(
            user("Fix it"),
            calling('{"command": "ls"}'),
            Message(role="tool", content="fine", tool_call_id="c1"),
            answer("Fixed."),
        )
    )

    assert made == (
        RedactedTurn("user", "Fix it"),
        RedactedTurn("assistant", "", None, (RedactedCall("terminal", '{"command": "ls"}'),)),
        RedactedTurn("tool", "fine", "terminal"),
        RedactedTurn("assistant", "Fixed."),
    )


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_the_agent_was_told_to_be_stays_here(role: str) -> None:
    assert transcript(session(Message(role=role, content="You are Timmy"), user("Hi"))) == (RedactedTurn("user", "Hi"),)


def test_of_a_message_in_parts_the_text_is_given() -> None:
    parts = (Part(type="text", text="Look"), Part(type="image_url"), "at it")

    assert transcript(session(Message(role="user", content=parts)))[0].text == "Look\n\nat it"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        pytest.param(user(f"use {SECRET}"), "use", id="text"),
        pytest.param(user("a" * 100_000 + f" {SECRET}"), "aaa", id="far-into-a-text"),
        pytest.param(user("write to jane.doe@example.org"), "write to", id="an-address"),
        pytest.param(calling('{"api_key": "' + SECRET + '"}'), "api_key", id="arguments-as-text"),
        pytest.param(calling({"env": {"API_KEY": SECRET}}), "API_KEY", id="arguments-as-an-object"),
        pytest.param(calling({"password": "hunter2-and-more"}), "password", id="by-its-name"),
        pytest.param(calling("{}", tool=f"run {SECRET}"), "run", id="the-name-of-a-tool"),
        pytest.param(Message(role="tool", name=f"n {SECRET}", content="x"), "n ", id="the-tool-of-a-result"),
        pytest.param(Message(role=f"r {SECRET}", content="x"), "r ", id="a-role"),
    ],
)
def test_secrets_are_not_handed_over(message: Message, kept: str) -> None:
    shown = repr(transcript(session(message)))

    assert kept in shown
    assert not [secret for secret in (SECRET, SECRET[:12], "jane.doe", "hunter2") if secret in shown]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(user("\ud800"), id="text"),
        pytest.param(calling({"a": "\ud800"}), id="arguments"),
        pytest.param(calling(None, tool="\ud800"), id="the-name-of-a-tool"),
    ],
)
def test_half_characters_become_marks(message: Message) -> None:
    assert "\ud800" not in str(transcript(session(message)))
    assert "?" in str(transcript(session(message)))


def test_a_call_that_names_nothing_is_one() -> None:
    called = Message(role="assistant", tool_calls=(ToolCall(id=None, function=None),))

    assert transcript(session(called))[0].calls == (RedactedCall(""),)
