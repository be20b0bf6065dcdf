"""What an agent does: what its tools are for, and what one call of them does and to what."""

from grader_daemon.analysis.tool_calls.call_view import Aim, Deed
from grader_daemon.analysis.tool_calls.tools import CHANGING, HARMLESS, Purpose, tool_of

__all__ = ["CHANGING", "HARMLESS", "Aim", "Deed", "Purpose", "tool_of"]
