from __future__ import annotations

import json

import pytest
from hypothesis import given

from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.sources.hermes.sharegpt import Turn, to_messages
from tests.strategies import texts

CALL = '<tool_call>\n{"name": "terminal", "arguments": {"command": "ls"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        pytest.param("human", "user", id="human"),
        pytest.param("user", "user", id="user"),
        pytest.param("gpt", "assistant", id="gpt"),
        pytest.param("assistant", "assistant", id="assistant"),
        pytest.param("tool", "tool", id="tool"),
        pytest.param("system", "system", id="system"),
    ],
)
def test_speakers_have_roles(speaker: str, role: str) -> None:
    assert to_messages((Turn(speaker, "hi"),)) == (Message(role=role, content="hi"),)


def test_tool_calls_are_taken_out_of_the_text() -> None:
    (message,) = to_messages((Turn("gpt", f"<think>\nhm\n</think>\nI look.\n{CALL}\n{CALL}"),))
    expected = ToolCall(function=FunctionCall(name="terminal", arguments={"command": "ls"}))
    assert (message.text, message.tool_calls) == ("I look.", (expected, expected))


def test_an_answer_has_no_tool_calls() -> None:
    (message,) = to_messages((Turn("gpt", "<think>hm</think>It is 4."),))
    assert (message.text, message.tool_calls) == ("It is 4.", None)


def test_a_broken_call_is_still_a_call() -> None:
    (message,) = to_messages((Turn("gpt", "<tool_call>{oops</tool_call>"),))
    assert message.tool_calls is not None
    assert (len(message.tool_calls), message.tool_calls[0].tool) == (1, None)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("plain", "plain", id="text"),
        pytest.param({"output": "x", "exit_code": 1}, '{"output": "x", "exit_code": 1}', id="object"),
        pytest.param('{"exit_code": 1}', '{"exit_code": 1}', id="object-in-a-text"),
    ],
)
def test_each_tool_response_is_a_message(content: object, text: str) -> None:
    block = json.dumps({"tool_call_id": "c", "name": "terminal", "content": content})
    turn = Turn("tool", f"<tool_response>\n{block}\n</tool_response>\n" * 2)
    message = Message(role="tool", content=text, name="terminal", tool_call_id="c")
    assert to_messages((turn,)) == (message, message)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("<tool_response>{oops</tool_response>", "{oops", id="broken-response"),
        pytest.param("just text", "just text", id="no-response"),
        pytest.param(None, "", id="null"),
    ],
)
def test_other_tool_turns_are_kept_as_text(value: str | None, text: str) -> None:
    (message,) = to_messages((Turn("tool", value),))
    assert (message.role, message.text) == ("tool", text)


@given(value=texts)
def test_any_turn_gives_messages_of_its_role(value: str) -> None:
    wrapped = f"<tool_call>{value}</tool_call>"
    assert [message.role for message in to_messages((Turn("gpt", wrapped), Turn("human", value)))] == [
        "assistant",
        "user",
    ]


@pytest.mark.parametrize(
    ("value", "text", "calls"),
    [
        pytest.param("a <think> b", "a <think> b", 0, id="without-an-end"),
        pytest.param("a <think> b </tool_call>", "a <think> b </tool_call>", 0, id="with-the-end-of-another"),
        pytest.param(f"<think> a {CALL} b", "<think> a  b", 1, id="around-one-that-has-an-end"),
        pytest.param("a <think>b</think> c <think> d", "a  c <think> d", 0, id="after-one-that-has-an-end"),
    ],
)
def test_a_tag_without_its_end_is_text(value: str, text: str, calls: int) -> None:
    (message,) = to_messages((Turn("gpt", value),))
    assert (message.text, len(message.tool_calls or ())) == (text, calls)
