from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.estimate import Estimate
from grader_daemon.patterns.corrected_rate import (
    Drawn,
    Labels,
    Level,
    Sessions,
    corrected_rate,
    unevenness_of,
)

DONE, FAILED = Drawn(True, 0.6), Drawn(False, 0.4)
TRIALS = 200


class Grader(NamedTuple):
    """How far its probabilities tell sessions apart, in standard deviations, and what it adds to all log-odds."""

    tells: float = 0.4
    adds: float = 0.0

    def session(self, truth: float, chance: Random) -> Drawn:
        completed = chance.random() < truth
        score = self.adds + 0.5 * chance.gauss(self.tells * completed, 1)
        return Drawn(completed, 1 / (1 + math.exp(-score)))


SEES_LITTLE = Grader()


class Outcome(NamedTuple):
    """What came of many simulated weeks."""

    coverage: float
    error: float
    width: float


def simulated(
    rates: Sequence[float],
    *,
    drawn: int,
    grader: Grader = SEES_LITTLE,
    sessions: int = 100,
    older_grader: Grader | None = None,
) -> Outcome:
    """Weeks of such true rates, the last one estimated, with so many labels in each."""
    chance = Random(7)
    covered, errors, widths = 0, 0.0, 0.0
    for _ in range(TRIALS):
        week = [grader.session(rates[-1], chance) for _ in range(sessions)]
        before = older_grader or grader
        older = [[before.session(rate, chance) for _ in range(drawn)] for rate in rates[-2::-1]]
        judged, rest = week[:drawn], week[drawn:]
        truth = sum(each.completed for each in week) / sessions
        found = corrected_rate(
            Labels(judged, older),
            Sessions(len(rest), sum(s.predicted for s in rest), drawn, sum(s.completed for s in judged)),
        )
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low - 1e-9 <= truth <= found.high + 1e-9
        errors += found.value - truth
        widths += found.high - found.low
    return Outcome(covered / TRIALS, errors / TRIALS, widths / TRIALS)


@pytest.mark.parametrize(
    ("truth", "drawn", "weeks"),
    [
        pytest.param(0.5, 20, 1, id="twenty-labels"),
        pytest.param(0.5, 20, 8, id="twenty-labels-in-each-of-eight-weeks"),
        pytest.param(0.8, 50, 8, id="fifty-labels-in-each-of-eight-weeks"),
        pytest.param(0.95, 20, 1, id="most-are-completed"),
        pytest.param(0.05, 20, 8, id="few-are-completed"),
        pytest.param(1.0, 20, 1, id="all-are-completed"),
        pytest.param(0.0, 20, 8, id="none-is-completed"),
        pytest.param(0.7, 5, 8, id="a-few-labels-a-week"),
    ],
)
def test_the_interval_covers_the_true_rate(truth: float, drawn: int, weeks: int) -> None:
    assert simulated([truth] * weeks, drawn=drawn).coverage >= 0.9


def test_what_the_grader_adds_to_all_is_taken_out() -> None:
    found = simulated([0.45], drawn=40, grader=Grader(tells=1.5, adds=1.0))

    assert abs(found.error) < 0.02
    assert found.coverage >= 0.9


def test_a_grader_that_knows_more_makes_labels_worth_more() -> None:
    good, blind = (simulated([0.5], drawn=40, grader=Grader(tells)) for tells in (3.0, 0.0))

    assert good.width < 0.85 * blind.width


def test_a_grader_that_knows_nothing_costs_nothing() -> None:
    blind = [Drawn(number % 2 == 0, 0.3 + 0.4 * (number % 4 < 2)) for number in range(40)]

    found = corrected_rate(Labels(blind), Sessions(100_000, 90_000))

    assert found.value == 0.5
    assert found.low == pytest.approx(0.35, abs=0.01)


def test_labels_of_earlier_weeks_narrow_the_interval() -> None:
    alone, helped = simulated([0.5], drawn=20), simulated([0.5] * 8, drawn=20)

    assert helped.width < 0.85 * alone.width
    assert helped.width / 2 <= 0.16


@pytest.mark.parametrize("fall", [0.1, 0.2, 0.3])
def test_a_fall_in_the_last_week_is_not_hidden_by_the_weeks_before(fall: float) -> None:
    found = simulated([0.75] * 7 + [0.75 - fall], drawn=20)

    assert found.coverage >= 0.85
    assert found.error < 0.3 * fall


def test_a_rate_that_drifts_is_covered() -> None:
    chance = Random(3)
    rates = [0.6]
    while len(rates) < 8:
        rates.append(min(0.9, max(0.1, rates[-1] + chance.gauss(0, 0.05))))

    assert simulated(rates, drawn=20).coverage >= 0.9


def test_a_style_that_is_new_does_not_move_the_rate() -> None:
    found = simulated([0.5] * 8, drawn=20, grader=Grader(adds=1.5), older_grader=SEES_LITTLE)

    assert abs(found.error) < 0.03
    assert found.coverage >= 0.9


def test_labels_of_long_ago_are_worth_less() -> None:
    own, old = [DONE, FAILED] * 10, [DONE, FAILED] * 8

    recent, late, none = (
        corrected_rate(Labels(own, older), Sessions(300, 150.0)) for older in ([old], [[], [], [], [], [], [], old], [])
    )

    assert width(recent) < width(late) < width(none)


def test_few_labels_of_earlier_weeks_are_compared_together() -> None:
    own = [DONE, FAILED] * 10
    by_week = corrected_rate(Labels(own, [[DONE] * 4, [FAILED] * 4, [DONE, FAILED]]), Sessions(300, 150.0))
    together = corrected_rate(Labels(own, [[DONE, FAILED] * 5]), Sessions(300, 150.0))

    assert by_week.value == pytest.approx(together.value)
    assert width(by_week) == pytest.approx(width(together), rel=0.01)


def test_a_long_span_whose_labels_are_all_of_its_end_is_less_sure() -> None:
    own = [DONE, FAILED] * 10

    even, late = (
        corrected_rate(Labels(own, (), unevenness_of(days, 56)), Sessions(300, 150.0))
        for days in ([day * 56 // 20 for day in range(20)], [55] * 20)
    )

    assert width(even) < width(late)


@pytest.mark.parametrize(
    ("days", "length", "expected"),
    [
        pytest.param([0, 6], 7, 0.0, id="one-week"),
        pytest.param([0, 7], 14, 0.0, id="evenly"),
        pytest.param([7, 13], 14, 0.25, id="all-in-the-second-of-two"),
        pytest.param([], 28, 0.0, id="no-label"),
    ],
)
def test_unevenness(days: list[int], length: int, expected: float) -> None:
    assert unevenness_of(days, length) == expected


# -- a guess ---------------------------------------------------------------------------------------------------------


def test_a_guess_alone_is_a_wide_estimate() -> None:
    found = corrected_rate(Labels([]), Sessions(300, 240.0), guess=Level(0.7, 10.0))

    assert found.value == pytest.approx(0.7)
    assert found.sample == 0
    assert width(found) > 0.4


def test_labels_replace_a_guess() -> None:
    wrong = Level(0.9, 10.0)
    errors = [
        abs((corrected_rate(Labels([DONE, FAILED] * count), Sessions(300, 150.0), guess=wrong).value or 0.0) - 0.5)
        for count in (1, 5, 20)
    ]

    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1


def test_a_guess_far_from_the_labels_counts_for_less() -> None:
    labels = Labels([FAILED] * 5 + [DONE] * 5)

    near, far = (corrected_rate(labels, Sessions(300, 150.0), guess=Level(rate, 10.0)) for rate in (0.5, 1.0))

    assert width(near) < width(far)


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "sessions"),
    [
        pytest.param([DONE] * 20, Sessions(0, 0.0), id="no-session"),
        pytest.param([], Sessions(50, 30.0), id="no-label"),
    ],
)
def test_too_little_says_nothing(labels: list[Drawn], sessions: Sessions) -> None:
    assert corrected_rate(Labels(labels), sessions) == Estimate(sample=len(labels))


def test_a_week_that_was_judged_whole_is_certain() -> None:
    found = corrected_rate(Labels([DONE] * 6 + [FAILED] * 6), Sessions(0, 0.0, 12, 6))

    assert found == Estimate(value=0.5, low=0.5, high=0.5, sample=12)


def test_labels_of_earlier_weeks_alone_say_what_they_are_worth_now() -> None:
    found = corrected_rate(Labels([], [[DONE, FAILED] * 10]), Sessions(50, 25.0))

    assert found.value == pytest.approx(0.5)


drawns = st.builds(Drawn, st.booleans(), st.floats(0, 1))


@given(
    labels=st.builds(
        Labels,
        st.lists(drawns, max_size=30),
        st.lists(st.lists(drawns, max_size=15), max_size=8),
        st.floats(0, 1000),
    ),
    rest=st.integers(1, 500),
    share=st.floats(0, 1),
    judged=st.integers(0, 60),
    guess=st.none() | st.builds(Level, st.floats(0, 1), st.just(10.0)),
)
def test_an_estimate_stays_within_what_is_possible(
    *, labels: Labels, rest: int, share: float, judged: int, guess: Level | None
) -> None:
    found = corrected_rate(labels, Sessions(rest, share * rest, judged, judged // 2), guess=guess)

    assert (found.value is None) == (not labels.all and guess is None)
    if found.value is not None:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        assert found.low >= judged // 2 / (rest + judged) - 1e-12
        assert found.high <= (judged // 2 + rest) / (rest + judged) + 1e-12


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low
