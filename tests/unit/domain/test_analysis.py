from __future__ import annotations

import pytest

from tests.strategies import analysis, failures


@pytest.mark.parametrize(
    ("errors", "api_calls", "rate"),
    [
        pytest.param(0, 0, 0.0, id="neither"),
        pytest.param(0, 9, 0.0, id="no-failures"),
        pytest.param(1, 4, 0.25, id="some"),
        pytest.param(3, 2, 1.5, id="several-calls-in-one-message"),
        pytest.param(2, 0, 2.0, id="results-without-an-assistant-message"),
    ],
)
def test_error_rate_is_failures_per_assistant_message(errors: int, api_calls: int, rate: float) -> None:
    assert analysis(failures=failures(errors), total_api_calls=api_calls).error_rate == rate
