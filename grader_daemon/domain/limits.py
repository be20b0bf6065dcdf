"""Limits on the size of a session: far beyond any real one, so that no file can fill the memory or the database."""

from __future__ import annotations

from typing import Annotated

import msgspec

LONGEST_NAME = 256
"""Most characters kept of a tool's or model's name; models have called tools by a thousand characters of program text.
"""

MOST_TOOLS = 200
"""Distinct tools of one session; the calls of any more are counted as those of the tool "other"."""

MOST_SIGNS = 200
"""Distinct causes of failures of one session; any more have no fingerprint."""

Word = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
LongName = Annotated[str, msgspec.Meta(max_length=4 * LONGEST_NAME)]
Folder = Annotated[str, msgspec.Meta(max_length=4_096)]
"""Texts in the files of agents that are short in any that an agent wrote."""

SessionId = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
"""The name of a session; one without end names none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on one session file: its bytes, its messages, the JSON values in it, and its CPU time.

    For large files, the limit on CPU time applies to each 100 MB.
    """

    bytes: int = 268_435_456
    messages: int = 100_000
    values: int = 1_000_000
    cpu_seconds_per_100_mb: float = 20.0
