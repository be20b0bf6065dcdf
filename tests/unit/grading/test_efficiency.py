from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.rules import Rules
from grader_daemon.grading.scores import grade_efficiency
from tests.strategies import analysis, failures


@pytest.mark.parametrize(
    ("errors", "api_calls", "tool_calls", "score"),
    [
        pytest.param(0, 1, 0, 5, id="no-calls"),
        pytest.param(0, 20, 10, 5, id="ten-calls"),
        pytest.param(0, 20, 11, 4, id="eleven-calls"),
        pytest.param(1, 10, 1, 4, id="rate-0.1"),
        pytest.param(3, 30, 15, 4, id="rate-0.1-with-fifteen-calls"),
        pytest.param(1, 10, 16, 3, id="rate-0.1-with-sixteen-calls"),
        pytest.param(0, 20, 15, 4, id="fifteen-calls"),
        pytest.param(0, 20, 16, 3, id="sixteen-calls"),
        pytest.param(1, 9, 1, 3, id="rate-above-0.1"),
        pytest.param(2, 8, 25, 3, id="rate-0.25-with-twenty-five-calls"),
        pytest.param(2, 8, 26, 2, id="rate-0.25-with-twenty-six-calls"),
        pytest.param(0, 20, 26, 2, id="twenty-six-calls"),
        pytest.param(0, 500, 1_000_000, 2, id="any-number-of-calls"),
        pytest.param(26, 100, 1, 2, id="rate-above-0.25"),
        pytest.param(2, 5, 4, 2, id="rate-0.4"),
        pytest.param(41, 100, 4, 1, id="rate-above-0.4"),
        pytest.param(5, 1, 5, 1, id="rate-above-1"),
    ],
)
def test_borders_of_the_levels(errors: int, api_calls: int, tool_calls: int, score: int, rules: Rules) -> None:
    found = analysis(failures=failures(errors), total_api_calls=api_calls, tool_calls=tool_calls)
    assert grade_efficiency(found, rules.efficiency)[0] == score


@pytest.mark.parametrize(
    ("errors", "rule", "effect"),
    [
        pytest.param(1, "efficiency.level", 4, id="level"),
        pytest.param(9, "efficiency.otherwise", 1, id="otherwise"),
    ],
)
def test_reason_shows_the_failures(errors: int, rule: str, effect: int, rules: Rules) -> None:
    found = analysis(failures=failures(errors, first=4), total_api_calls=10, tool_calls=9)
    reason = grade_efficiency(found, rules.efficiency)[1]
    assert (reason.score, reason.rule, reason.effect) == ("tool_calls_efficient", rule, effect)
    assert reason.messages == tuple(range(4, 4 + 2 * errors, 2))


@given(errors=st.integers(0, 60), api_calls=st.integers(1, 80), tool_calls=st.integers(0, 80))
def test_one_more_failure_or_call_never_raises_the_score(
    errors: int, api_calls: int, tool_calls: int, rules: Rules
) -> None:
    def score(more_errors: int, more_calls: int) -> int:
        found = analysis(
            failures=failures(errors + more_errors), total_api_calls=api_calls, tool_calls=tool_calls + more_calls
        )
        return grade_efficiency(found, rules.efficiency)[0]

    assert score(0, 0) >= max(score(1, 0), score(0, 1))
    assert 1 <= score(0, 0) <= 5
