"""Claims that a build, a type check or a linter passes, held against the last of its kind."""

from __future__ import annotations

from grader_daemon.analysis.claims.builds import BuildKind
from grader_daemon.analysis.claims.evidence import ClaimEvidence
from grader_daemon.analysis.claims.sight import could_check
from grader_daemon.analysis.claims.stale import stale_check
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.tested_work import TestedWork
from grader_daemon.analysis.claims.verification import (
    NEVER_CALLED,
    Verification,
    contradicted,
    unsupported,
    verified,
)
from grader_daemon.domain.claims import ClaimReason


class BuildClaims:
    """Holds claims about builds and the like against the calls of one session."""

    def __init__(self, evidence: ClaimEvidence, tests: TestedWork) -> None:
        self._evidence = evidence
        self._tests = tests

    def passed(self, claim: StatedClaim) -> Verification:
        """Verify that a build, a type check or a linter passes, by the last one."""
        kind = BuildKind(claim.subject or "")
        builds = [each for each in self._tests.builds if _is_about(each.reading.kinds, kind)]
        seen = [each for each in builds if each.reading.passed is not None]
        if not seen:
            return unsupported(ClaimReason.MASKED, builds[-1].run.index) if builds else self._unbuilt()
        last = seen[-1]
        if last.reading.passed:
            return stale_check(self._tests, last.run.index) or verified(last.run.index)
        change = self._tests.change_after(last.run.index)
        if change is not None:
            return unsupported(ClaimReason.FAILED, last.run.index, change)
        is_open = claim.is_limited or any(
            each.reading.passed and not stale_check(self._tests, each.run.index) for each in seen
        )
        return (unsupported if is_open else contradicted)(ClaimReason.FAILED, last.run.index)

    def _unbuilt(self) -> Verification:
        return (
            NEVER_CALLED
            if self._evidence.has_tried and not could_check(self._evidence)
            else unsupported(ClaimReason.NO_CALL)
        )


def _is_about(kinds: frozenset[BuildKind], kind: BuildKind) -> bool:
    """Return whether a run is of a kind. A type check is what some projects call their build."""
    return kind in kinds or (kind is BuildKind.BUILD and BuildKind.TYPES in kinds)
