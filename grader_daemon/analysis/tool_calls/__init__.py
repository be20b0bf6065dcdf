"""The calls of an agent: what its tools are for, and what one call of them does and to what."""

from grader_daemon.analysis.tool_calls.call_view import CallView, Operation, view_of
from grader_daemon.analysis.tool_calls.tools import CHANGING, HARMLESS, Purpose, shared_name, tool_of

__all__ = ["CHANGING", "HARMLESS", "CallView", "Operation", "Purpose", "shared_name", "tool_of", "view_of"]
