"""Features of the answer's claims, held against the record.

A kind of its own is what a reviewer would weigh on its own: tests that were seen to pass and a fix that they bear out
tell of the task, a file that was written or a program that was run only of a step towards it.

The prior was trained before claims were stale, partial or compared in what they name:
they count here as they did then.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support

FEATURES: Final = (
    Feature("claims", "Number of claims in the answer.", 0, 12),
    Feature("tests_verified", "The answer says that tests pass, and a test run proves it.", 1),
    Feature("tests_unsupported", "The answer says that tests pass, but no test run proves it.", -0.5),
    Feature("fix_verified", "The answer says that a bug is fixed, and the calls prove it.", 1),
    Feature("other_claims_verified", "Share of other claims that the calls prove.", 0.5),
    Feature("other_claims_unsupported", "Share of other claims without proof in the calls.", -0.5),
    Feature("claim_contradicted", "The calls contradict a claim.", -1),
)

_OF_THEIR_OWN: Final = frozenset({ClaimKind.TESTS_PASSED, ClaimKind.BUG_FIXED})
_LATER: Final = frozenset({Support.STALE, Support.PARTIAL})
_KINDS_LATER: Final = frozenset(
    {ClaimKind.ACTION_DONE, ClaimKind.CHECK_PASSED, ClaimKind.TESTS_ADDED, ClaimKind.NOTHING_ELSE}
)
_ENOUGH: Final = frozenset(
    {ClaimReason.NOT_NAMED, ClaimReason.WEAKER_RUN, ClaimReason.OTHER_VALUE, ClaimReason.TESTS_REMOVED}
    | {ClaimReason.TESTS_SKIPPED, ClaimReason.EXPECTED_REWRITTEN}
)
"""Reasons that left a claim verified when the prior was trained."""

_NONE: Final = (0.0,) * len(FEATURES)


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    claims = [(claim.kind, _as_trained(claim)) for claim in window.claims if claim.kind not in _KINDS_LATER]
    if not claims:
        return _NONE
    found = set(claims)
    others = [support for kind, support in claims if kind not in _OF_THEIR_OWN]
    tests_verified = (ClaimKind.TESTS_PASSED, Support.VERIFIED) in found
    return (
        log(len(claims)),
        float(tests_verified),
        float(not tests_verified and (ClaimKind.TESTS_PASSED, Support.UNSUPPORTED) in found),
        float((ClaimKind.BUG_FIXED, Support.VERIFIED) in found),
        share(others.count(Support.VERIFIED), len(others)),
        share(others.count(Support.UNSUPPORTED), len(others)),
        float(any(support is Support.CONTRADICTED for _, support in found)),
    )


def _as_trained(claim: Claim) -> Support:
    if claim.support in _LATER:
        return Support.UNSUPPORTED
    is_enough = claim.support is Support.UNSUPPORTED and claim.reason in _ENOUGH
    return Support.VERIFIED if is_enough else claim.support
