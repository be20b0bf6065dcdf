"""What an agent does: what its tools are for, and what one call of them does and to what."""

from grader_daemon.analysis.deeds.deed import Aim, Deed
from grader_daemon.analysis.deeds.tools import CHANGING, HARMLESS, Purpose, tool_of

__all__ = ["CHANGING", "HARMLESS", "Aim", "Deed", "Purpose", "tool_of"]
