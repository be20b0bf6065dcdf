"""Checks that passed, and what was changed after them."""

from __future__ import annotations

from grader_daemon.analysis.claims.tested_work import TestedWork
from grader_daemon.analysis.claims.verification import Verification, unsupported
from grader_daemon.domain.claims import ClaimReason, Support


def stale_check(tests: TestedWork, index: int) -> Verification | None:
    """Return that a check is stale if code was changed after it; whether a new file matters to it is not known."""
    first: int | None = None
    for change in tests.changes_after(index):
        if change.is_sure:
            return Verification(Support.STALE, (index, change.run.index), ClaimReason.STALE)
        first = change.run.index if first is None else first
    return None if first is None else unsupported(ClaimReason.STALE, index, first)
