"""What the features say about small sessions."""

from __future__ import annotations

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.features import FEATURES
from grader_daemon.domain.session import ASSISTANT, FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import session

FAILED = '{"output": "boom", "exit_code": 1, "error": null}'


_ANALYZER = Analyzer(load_rules())


def calling(tool: str, arguments: str | dict[str, object] | None = None, text: str = "") -> Message:
    """A message of the agent with one call."""
    function = FunctionCall(name=tool, arguments=arguments)
    return Message(role=ASSISTANT, content=text, tool_calls=(ToolCall(id="1", function=function),))


def values_of(*messages: Message) -> dict[str, float]:
    """The features of a session, by name."""
    return dict(zip(FEATURES, _ANALYZER.analyze(session(*messages), idle=True).features, strict=True))


def value_of(name: str, *messages: Message) -> float:
    """One feature of a session."""
    return values_of(*messages)[name]
