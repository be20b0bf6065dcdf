"""Outcome of holding one claim against the record."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.domain.claims import Support

Verification = tuple[Support, tuple[int, ...]]
"""What the record says of a claim, and the messages that show it."""

MOST_EVIDENCE: Final = 3
UNSUPPORTED: Final[Verification] = (Support.UNSUPPORTED, ())
CONTRADICTED: Final[Verification] = (Support.CONTRADICTED, ())


def places(runs: list[ToolRun]) -> tuple[int, ...]:
    """Return where the results of the last of these calls stand."""
    return tuple(each.index for each in runs[-MOST_EVIDENCE:])
