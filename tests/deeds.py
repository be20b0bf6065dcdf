"""Calls of tools, as the analysis sees them."""

from __future__ import annotations

import json

from grader_daemon.analysis.tool_calls import Deed
from grader_daemon.domain.session import FunctionCall, ToolCall

Arguments = str | dict[str, object] | None


def deed_of(tool: str, arguments: Arguments = None) -> Deed:
    """A call of a tool with its arguments as they are."""
    return Deed(tool, ToolCall(id="1", function=FunctionCall(name=tool, arguments=arguments)))


def deed(tool: str, **arguments: object) -> Deed:
    """A call of a tool with these arguments, written as JSON."""
    return deed_of(tool, json.dumps(arguments))


def family_in(arguments: Arguments) -> str | None:
    """The family of the command that a call is given."""
    return deed_of("t", arguments).family
