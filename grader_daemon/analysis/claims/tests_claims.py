"""Claims that tests pass, and that a bug is fixed, held against the test runs and edits."""

from __future__ import annotations

from grader_daemon.analysis.claims.evidence import ClaimEvidence
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.test_runs import TestsResult
from grader_daemon.analysis.claims.tested_work import TestedWork
from grader_daemon.analysis.claims.verification import (
    NEVER_CALLED,
    UNSUPPORTED,
    Verification,
    contradicted,
    places,
    verified,
)
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import ClaimReason


class TestsClaims:
    """Holds claims about tests and fixes against the calls of one session."""

    __test__ = False  # pytest takes classes of this name for tests

    def __init__(self, evidence: ClaimEvidence) -> None:
        self._evidence = evidence
        self._tests = TestedWork(evidence)

    def passed(self, claim: StatedClaim) -> Verification:
        """Verify it by the last run. Who changed nothing and ran nothing may tell of tests that others ran."""
        if self._tests.last_run is None:
            return NEVER_CALLED if self._evidence.has_tried and not self._evidence.could_run else UNSUPPORTED
        index, result = self._tests.last_run
        if result is not TestsResult.PASSED:
            return self._some_passed() if claim.is_limited else self._red(index)
        return verified(index) if self._tests.covers(index) else UNSUPPORTED

    def _some_passed(self) -> Verification:
        """Verify that some tests pass where the last run was red: another one may have been about these."""
        tests = list(self._tests.runs_backwards())
        green = [index for index, result in tests if result is TestsResult.PASSED and self._tests.covers(index)]
        if green:
            return verified(green[0])
        is_all_red = all(result is TestsResult.NONE_PASSED for _, result in tests)
        return contradicted(ClaimReason.TESTS_FAILED, tests[0][0]) if is_all_red else UNSUPPORTED

    def _red(self, index: int) -> Verification:
        """Verify by a red run: who changed something after it may have run them again in another way."""
        return UNSUPPORTED if self._tests.last_edit > index else contradicted(ClaimReason.TESTS_FAILED, index)

    def fixed(self, claim: StatedClaim) -> Verification:
        """Verify a fix by the tests after the last edit. Some that fail beside others that pass need not be about it.

        Who changed nothing, and does not name itself, may tell of a fix by others.
        """
        if not (claim.by_agent or self._evidence.has_tried):
            return UNSUPPORTED
        if self._tests.last_run is None:
            return UNSUPPORTED if self._evidence.could_write or not self._is_at_code else self._refused_edits()
        index, result = self._tests.last_run
        if result is TestsResult.NONE_PASSED:
            is_mended = self._tests.has_passed_since_the_edit
            return UNSUPPORTED if is_mended else contradicted(ClaimReason.TESTS_FAILED, index)
        if result is TestsResult.PASSED and self._tests.last_edit >= 0 and self._tests.covers(index):
            return verified(self._tests.last_edit, index)
        return UNSUPPORTED

    @property
    def _is_at_code(self) -> bool:
        return any(each.command or each.paths for each in self._evidence.runs)

    def _refused_edits(self) -> Verification:
        edits = [each for each in self._evidence.runs if each.purpose is Purpose.WRITE]
        return contradicted(ClaimReason.FAILED, *places(edits))
