from __future__ import annotations

import pytest

from grader_daemon.analysis.features import FEATURES, features_of
from grader_daemon.analysis.features.session_window import RecentMessages, window_of
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.people import PersonSignal, SignalKind

VERIFIED, UNSUPPORTED, CONTRADICTED = (Claim(ClaimKind.SENT, support, None, 1) for support in Support)
WRONG = PersonSignal(SignalKind.CORRECTION, 2)
THANKS = PersonSignal(SignalKind.THANKS, 4)


def _values(claims: tuple[Claim, ...], signals: tuple[PersonSignal, ...]) -> dict[str, float]:
    window = window_of(RecentMessages(), None, request=None, claims=claims, signals=signals)
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
    assert _values(claims, ())[name] == expected


@pytest.mark.parametrize(
    ("signals", "objected", "accepted"),
    [
        pytest.param((), 0, 0, id="silence"),
        pytest.param((WRONG,), 1, 0, id="a-correction"),
        pytest.param((WRONG, THANKS), 0, 1, id="the-last-word-counts"),
    ],
)
def test_people_count_by_their_last_word(signals: tuple[PersonSignal, ...], objected: float, accepted: float) -> None:
    values = _values((), signals)
    assert (values["objected"], values["accepted"]) == (objected, accepted)
