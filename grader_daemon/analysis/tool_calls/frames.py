"""Frames that agents put around the output of a call: an exit code, a time, a number of tokens, a warning.

The same failure reads the same by whatever agent only without that. Patterns are anchored and bounded.
"""

from __future__ import annotations

import re
from typing import Final

_HEADS: Final = (
    re.compile(r"Exit code -?\d{1,6}(?:\n|$)"),
    re.compile(
        r"(?:(?:Chunk ID|Wall time|Exit code|Original token count|Total output lines): [^\n]{0,80}\n"
        r"|Process (?:exited with code|running with session ID) -?\d{1,10}\n){1,8}(?:Output:(?:\n|$))?"
    ),
    re.compile(r"<tool_use_error>"),
    re.compile(r"(?:Output too large\. [^\n]{0,1000}\n)?<untrusted_context>\nOutput: "),
)
_TAILS: Final = (
    re.compile(r"</tool_use_error>\s{0,9}\Z"),
    re.compile(
        r"(?:\n(?:Exit Code|Signal|Error|Background PIDs|Process Group PGID): [^\n]{0,200}){0,5}"
        r"\n</untrusted_context>\s{0,9}\Z"
    ),
)
_LONGEST_TAIL: Final = 1_200
_SILENT: Final = frozenset({"(no output)", "(empty)"})


def without_frame(text: str) -> str:
    """Return what a call says by itself; "" where the agent only says that it said nothing."""
    for head in _HEADS:
        found = head.match(text)
        if found is not None:
            text = text[found.end() :]
            break
    reach = max(0, len(text) - _LONGEST_TAIL)
    for tail in _TAILS:
        found = tail.search(text, reach)
        if found is not None:
            text = text[: found.start()]
    return "" if text.strip() in _SILENT else text
