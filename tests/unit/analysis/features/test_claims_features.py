from __future__ import annotations

import pytest

from grader_daemon.analysis.features import FEATURES, features_of
from grader_daemon.analysis.features.session_window import RecentMessages, window_of
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support


def claims(*said: tuple[ClaimKind, Support]) -> tuple[Claim, ...]:
    return tuple(Claim(kind, support, None, 1) for kind, support in said)


VERIFIED, UNSUPPORTED, CONTRADICTED, _, PARTIAL = ((ClaimKind.SENT, support) for support in Support)
GREEN, UNSEEN, RED, STALE, _ = ((ClaimKind.TESTS_PASSED, support) for support in Support)
FIXED, MAYBE_FIXED, _, _, _ = ((ClaimKind.BUG_FIXED, support) for support in Support)
ACTION = (ClaimKind.ACTION_DONE, Support.VERIFIED)


def values(*said: tuple[ClaimKind, Support]) -> dict[str, float]:
    window = window_of(RecentMessages(), LastWord.ANSWER, request=None, claims=claims(*said))
    return dict(zip(FEATURES, features_of(window), strict=True))


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        pytest.param("claims", [], 0, id="nothing-is-claimed"),
        pytest.param("claims", [VERIFIED, UNSUPPORTED], 1.099, id="two-claims"),
        pytest.param("tests_verified", [GREEN], 1, id="tests-seen-to-pass"),
        pytest.param("tests_verified", [VERIFIED, FIXED, UNSEEN], 0, id="something-else-was-seen"),
        pytest.param("tests_unsupported", [UNSEEN], 1, id="tests-nobody-saw"),
        pytest.param("tests_unsupported", [UNSEEN, GREEN], 0, id="tests-of-which-some-were-seen"),
        pytest.param("fix_verified", [FIXED], 1, id="fix-borne-out"),
        pytest.param("fix_verified", [MAYBE_FIXED, GREEN], 0, id="fix-of-which-nothing-is-seen"),
        pytest.param("other_claims_verified", [VERIFIED, UNSUPPORTED, GREEN], 0.5, id="one-of-two-others-verified"),
        pytest.param("other_claims_unsupported", [VERIFIED, UNSUPPORTED, UNSUPPORTED], 0.666, id="two-of-three-others"),
        pytest.param("other_claims_unsupported", [UNSEEN, MAYBE_FIXED], 0, id="tests-and-fixes-are-no-others"),
        pytest.param("claim_contradicted", [VERIFIED, RED], 1, id="one-is-contradicted"),
        pytest.param("claim_contradicted", [VERIFIED, UNSUPPORTED], 0, id="none-is-contradicted"),
        pytest.param("tests_unsupported", [STALE], 1, id="a-stale-one-as-before-there-were-any"),
        pytest.param("other_claims_unsupported", [PARTIAL], 1, id="a-partial-one-as-before-there-were-any"),
        pytest.param("claims", [VERIFIED, ACTION], 0.693, id="actions-the-model-never-saw"),
        pytest.param("claim_contradicted", [(ClaimKind.ACTION_DONE, Support.CONTRADICTED)], 0, id="nor-such-a-verdict"),
    ],
)
def test_claims_count_by_what_the_record_says(
    name: str, said: list[tuple[ClaimKind, Support]], expected: float
) -> None:
    assert values(*said)[name] == expected


def test_what_no_call_names_counts_as_before_names_were_compared() -> None:
    claim = Claim(ClaimKind.SENT, Support.UNSUPPORTED, "a@b.example", 1, reason=ClaimReason.NOT_NAMED)
    window = window_of(RecentMessages(), LastWord.ANSWER, request=None, claims=(claim,))
    assert dict(zip(FEATURES, features_of(window), strict=True))["other_claims_verified"] == 1
