from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.rules import Rules
from grader_daemon.grading.scores import grade_quality
from tests.strategies import analysis, failures, texts

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
