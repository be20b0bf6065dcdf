"""Outcome of holding one claim against the record."""

from __future__ import annotations

from typing import Final, NamedTuple

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.domain.claims import ClaimReason, Support

MOST_EVIDENCE: Final = 3


class Verification(NamedTuple):
    """Support of a claim by the record, the messages that show it, and why."""

    support: Support
    evidence: tuple[int, ...] = ()
    reason: ClaimReason | None = None


UNSUPPORTED: Final = Verification(Support.UNSUPPORTED)
NEVER_CALLED: Final = Verification(Support.CONTRADICTED, reason=ClaimReason.NO_CALL)


def verified(*evidence: int) -> Verification:
    """Return that the record shows a claim."""
    return Verification(Support.VERIFIED, evidence)


def contradicted(reason: ClaimReason, *evidence: int) -> Verification:
    """Return that the record rules a claim out."""
    return Verification(Support.CONTRADICTED, evidence, reason)


def unsupported(reason: ClaimReason, *evidence: int) -> Verification:
    """Return that the record shows something that is not enough."""
    return Verification(Support.UNSUPPORTED, evidence, reason)


def places(runs: list[ToolRun]) -> tuple[int, ...]:
    """Return where the results of the last of these calls stand."""
    return tuple(each.index for each in runs[-MOST_EVIDENCE:])
