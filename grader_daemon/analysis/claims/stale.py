"""Checks that passed, and what was changed after them."""

from __future__ import annotations

from grader_daemon.analysis.claims.tested_work import TestedWork
from grader_daemon.analysis.claims.verification import Verification, unsupported
from grader_daemon.domain.claims import ClaimReason, Support


def stale_check(tests: TestedWork, index: int) -> Verification | None:
    """Return that a check is stale if code was changed after it; whether a new file matters to it is not known."""
    changes = tests.changes_after(index)
    sure = next((change for change in changes if change.is_sure), None)
    if sure is not None:
        return Verification(Support.STALE, (index, sure.run.index), ClaimReason.STALE)
    return unsupported(ClaimReason.STALE, index, changes[0].run.index) if changes else None
