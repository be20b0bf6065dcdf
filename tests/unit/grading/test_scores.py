from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.rules import Rules
from grader_daemon.grading.scores import grade_efficiency, grade_quality, grade_recovery
from tests.strategies import analysis, failures, texts


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


LINK = "See https://example.org/"
CODE = "```\nx = 1\n```"


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        pytest.param("", 3, id="no-answer"),
        pytest.param("x" * 500, 3, id="500-characters"),
        pytest.param("x" * 501, 4, id="501-characters"),
        pytest.param("x" * 1000, 4, id="1000-characters"),
        pytest.param("x" * 1001, 5, id="1001-characters"),
        pytest.param(CODE, 4, id="code"),
        pytest.param("`x`", 3, id="inline-code-is-no-block"),
        pytest.param(LINK, 4, id="3.5-rounds-up"),
        pytest.param("See [the docs](docs/a.md)", 4, id="markdown-link"),
        pytest.param("x" * 501 + CODE, 5, id="long-with-code"),
        pytest.param("x" * 501 + LINK, 5, id="4.5-rounds-up"),
        pytest.param("x" * 1001 + CODE + LINK, 5, id="6.5-is-clamped"),
        pytest.param("漢" * 501, 4, id="characters-not-bytes"),
    ],
)
def test_a_good_looking_answer_scores_higher(answer: str, score: int, rules: Rules) -> None:
    assert grade_quality(analysis(final_answer=answer), rules.quality)[0] == score


@pytest.mark.parametrize(
    ("answer", "errors", "repeated", "loop", "score"),
    [
        pytest.param("", 3, True, False, 2, id="repeated-errors"),
        pytest.param("", 5, False, False, 3, id="five-errors"),
        pytest.param("", 6, False, False, 2, id="six-errors"),
        pytest.param("", 0, False, True, 1, id="loop-risk"),
        pytest.param("", 9, True, True, 1, id="minus-1-is-clamped"),
        pytest.param(LINK, 3, True, False, 3, id="2.5-rounds-up"),
        pytest.param(LINK, 0, False, True, 2, id="1.5-rounds-up"),
        pytest.param(LINK, 9, True, False, 2, id="again-1.5"),
        pytest.param(LINK, 9, True, True, 1, id="minus-0.5-is-clamped-before-rounding"),
        pytest.param("x" * 1001 + CODE + LINK, 9, True, True, 3, id="2.5-of-all-effects"),
    ],
)
def test_errors_lower_the_score(
    *, answer: str, errors: int, repeated: bool, loop: bool, score: int, rules: Rules
) -> None:
    found = analysis(
        final_answer=answer,
        failures=failures(errors),
        had_repeated_errors=repeated,
        had_infinite_loop_risk=loop,
        loop_index=10 if loop else None,
    )
    assert grade_quality(found, rules.quality)[0] == score


def test_reasons_name_every_rule_its_effect_and_its_messages(rules: Rules) -> None:
    found = analysis(
        final_answer="x" * 1001 + CODE + LINK,
        final_index=20,
        failures=failures(6),
        had_repeated_errors=True,
        had_infinite_loop_risk=True,
        loop_index=10,
    )
    failing = (2, 4, 6, 8, 10, 12)
    assert [(reason.rule, reason.effect, reason.messages) for reason in grade_quality(found, rules.quality)[1]] == [
        ("quality.base", 3, ()),
        ("quality.long_answer", 1, (20,)),
        ("quality.longer_answer", 1, (20,)),
        ("quality.code_block", 1, (20,)),
        ("quality.link", 0.5, (20,)),
        ("quality.repeated_errors", -1, failing),
        ("quality.many_errors", -1, failing),
        ("quality.loop_risk", -2, (10,)),
    ]


@given(answer=texts, size=st.integers(0, 1500), errors=st.integers(0, 10))
def test_score_is_the_clamped_sum_of_its_reasons(answer: str, size: int, errors: int, rules: Rules) -> None:
    found = analysis(final_answer=answer + "x" * size, failures=failures(errors), had_repeated_errors=errors > 2)
    score, reasons = grade_quality(found, rules.quality)
    total = sum(reason.effect or 0 for reason in reasons)
    assert score == int(min(5, max(1, total)) + 0.5)


@given(answer=texts, errors=st.integers(0, 10))
def test_one_more_failure_never_raises_the_score(answer: str, errors: int, rules: Rules) -> None:
    found = analysis(final_answer=answer, failures=failures(errors))
    worse = msgspec.structs.replace(found, failures=failures(errors + 1))
    assert grade_quality(worse, rules.quality)[0] <= grade_quality(found, rules.quality)[0]


@pytest.mark.parametrize(
    ("found", "recovered", "rule", "messages"),
    [
        pytest.param(analysis(), True, "recovery.no_failures", (), id="no-failures"),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=True, recovery_index=6),
            True,
            "recovery.recovered",
            (4, 6),
            id="recovered",
        ),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=False), False, "recovery.not_recovered", (4,), id="not"
        ),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=False, recovery_index=6),
            False,
            "recovery.not_recovered",
            (4,),
            id="success-but-no-answer",
        ),
    ],
)
def test_recovery_shows_the_last_failure_and_the_success_after_it(
    found: Analysis, recovered: bool, rule: str, messages: tuple[int, ...]
) -> None:
    verdict, reason = grade_recovery(found)
    assert (verdict, reason.score, reason.rule, reason.messages) == (recovered, "errors_recovered", rule, messages)
