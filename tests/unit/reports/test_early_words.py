"""How errors in the first ten calls read."""

from __future__ import annotations

import pytest

from grader_daemon.domain.early import EarlyErrors, EarlyReason, EarlyWorth
from grader_daemon.domain.estimate import Estimate, proportion
from grader_daemon.reports.early_words import early_words, worth_words


@pytest.mark.parametrize(
    ("errors", "least", "most", "words", "such"),
    [
        pytest.param(0, 0, 0, "0 errors in the first ten calls; 41 % (", "none", id="none"),
        pytest.param(1, 1, 2, "1 error in the first ten calls; 41 % (", "1 or 2", id="some"),
        pytest.param(4, 3, 10, "4 errors in the first ten calls; 41 % (", "3 and more", id="many"),
    ],
)
def test_errors_are_said_with_what_became_of_such_sessions(
    errors: int, least: int, most: int, words: str, such: str
) -> None:
    said = early_words(EarlyErrors(errors=errors, least=least, most=most, completion=proportion(25, 61)))

    assert said.startswith(words)
    assert said.endswith(f") of 61 judged sessions with {such} were done")


def test_of_few_such_sessions_it_is_said_that_they_are_too_few() -> None:
    early = EarlyErrors(errors=2, least=1, most=2, completion=Estimate(sample=3))

    assert early_words(early) == ("2 errors in the first ten calls; too few labels to tell how tasks with 1 or 2 end")


@pytest.mark.parametrize(
    ("area", "reason", "words"),
    [
        pytest.param(
            Estimate(sample=3),
            EarlyReason.TOO_FEW,
            "off (needs 100 labelled tasks of 10+ calls; 3 so far)",
            id="too-few",
        ),
        pytest.param(
            Estimate(value=0.55, low=0.48, high=0.62, sample=120),
            EarlyReason.NOT_TELLING,
            "off: the area under the curve is 0.55 (0.48–0.62) on 120 judged tasks; the lower end of its range"
            " must be above 0.6",
            id="not-telling",
        ),
        pytest.param(
            Estimate(sample=120),
            EarlyReason.NOT_TELLING,
            "off: the area under the curve is not known on 120 judged tasks; the lower end of its range must be"
            " above 0.6",
            id="one-outcome",
        ),
        pytest.param(
            Estimate(value=0.83, low=0.75, high=0.9, sample=120),
            None,
            "on: shows the share of done tasks among those with as many errors in the first ten calls; the area"
            " under the curve"
            " is 0.83 (0.75–0.90) on 120 judged tasks",
            id="telling",
        ),
    ],
)
def test_whether_anything_is_told_while_one_runs(area: Estimate, reason: EarlyReason | None, words: str) -> None:
    assert worth_words(EarlyWorth(area=area, reason=reason)) == words
