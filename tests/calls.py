"""Calls of tools, as the analysis sees them."""

from __future__ import annotations

import json

from grader_daemon.analysis.tool_calls import CallView

Arguments = str | dict[str, object] | None


def call_of(tool: str, arguments: Arguments = None) -> CallView:
    """A call of a tool with its arguments as they are."""
    return CallView(tool, arguments)


def call(tool: str, **arguments: object) -> CallView:
    """A call of a tool with these arguments, written as JSON."""
    return call_of(tool, json.dumps(arguments))


def family_in(arguments: Arguments) -> str | None:
    """The family of the command that a call is given."""
    return call_of("t", arguments).family
