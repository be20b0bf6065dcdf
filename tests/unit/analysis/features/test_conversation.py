from __future__ import annotations

import pytest

from grader_daemon.analysis.features import FEATURES, features_of
from grader_daemon.analysis.features.session_window import RecentMessages, window_of
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.domain.claims import Claim, ClaimKind, Support

VERIFIED, UNSUPPORTED, CONTRADICTED = (Claim(ClaimKind.SENT, support, None, 1) for support in Support)


def _values(claims: tuple[Claim, ...]) -> dict[str, float]:
    window = window_of(RecentMessages(), LastWord.ANSWER, request=None, claims=claims)
    return dict(zip(FEATURES, features_of(window), strict=True))


@pytest.mark.parametrize(
    ("name", "claims", "expected"),
    [
        pytest.param("claims", (), 0, id="nothing-is-claimed"),
        pytest.param("claims", (VERIFIED, UNSUPPORTED), 1.099, id="two-claims"),
        pytest.param("claims_verified", (VERIFIED, UNSUPPORTED), 0.5, id="one-of-two-verified"),
        pytest.param("claims_unsupported", (VERIFIED, UNSUPPORTED, UNSUPPORTED), 0.666, id="two-of-three-unsupported"),
        pytest.param("claim_contradicted", (VERIFIED, CONTRADICTED), 1, id="one-is-contradicted"),
        pytest.param("claim_contradicted", (VERIFIED, UNSUPPORTED), 0, id="none-is-contradicted"),
    ],
)
def test_claims_count_by_what_the_record_says(name: str, claims: tuple[Claim, ...], expected: float) -> None:
    assert _values(claims)[name] == expected
