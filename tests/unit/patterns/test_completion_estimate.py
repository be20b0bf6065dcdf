from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FEWEST_DRAWN
from grader_daemon.domain.rollup import Sums
from grader_daemon.patterns.completion_estimate import WINDOW_DAYS, Pair, bias_corrected, estimate_completion
from tests.feedback_examples import reviewed

WEEK = Span(date(2026, 11, 16), date(2026, 11, 22))
RIGHT, WRONG = (True, True), (False, True)


class Grader(NamedTuple):
    """How often sessions are completed, and how often a grader says so of those that are, and that are not."""

    truth: float
    of_completed: float
    of_others: float

    def sessions(self, count: int, chance: Random) -> list[Pair]:
        return [self._session(chance) for _ in range(count)]

    def _session(self, chance: Random) -> Pair:
        completed = chance.random() < self.truth
        return completed, chance.random() < (self.of_completed if completed else self.of_others)


class Outcome(NamedTuple):
    """What came of many simulated weeks."""

    coverage: float
    error: float
    naive_error: float
    width: float


def simulated(grader: Grader, *, sessions: int, drawn: int, of_week: int, weeks: int = 2000) -> Outcome:
    """Weeks of so many sessions, with labels drawn at random in eight weeks, `of_week` of them in the week itself."""
    chance = Random(7)
    covered, errors, naive, widths = 0, 0.0, 0.0, 0.0
    for _ in range(weeks):
        week = grader.sessions(sessions, chance)
        judged, rest = week[:of_week], week[of_week:]
        pairs = [*judged, *grader.sessions(drawn - of_week, chance)]
        truth = sum(completed for completed, _ in week) / sessions
        found = bias_corrected(
            pairs,
            rest=len(rest),
            said=sum(verdict for _, verdict in rest),
            judged=len(judged),
            completed=sum(completed for completed, _ in judged),
        )
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
        errors += found.value - truth
        naive += sum(verdict for _, verdict in week) / sessions - truth
        widths += found.high - found.low
    return Outcome(covered / weeks, errors / weeks, naive / weeks, widths / weeks)


BIASED = Grader(0.5, 0.95, 0.35)
"""Says "completed" of 65 % where 50 % are: like a rule that believes what is said."""
BLIND = Grader(0.34, 0.85, 0.73)
SHARP = Grader(0.5, 0.95, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grader", "sessions", "drawn", "of_week"),
    [
        pytest.param(BIASED, 200, 10, 2, id="ten-labels"),
        pytest.param(BIASED, 200, 23, 3, id="a-few-weeks-of-reviews"),
        pytest.param(BLIND, 200, 40, 5, id="eight-weeks-of-reviews-of-a-bad-grader"),
        pytest.param(SHARP, 200, 23, 3, id="a-good-grader"),
        pytest.param(Grader(0.9, 0.95, 0.3), 100, 15, 2, id="most-are-completed"),
        pytest.param(Grader(0.1, 0.9, 0.3), 100, 15, 2, id="few-are-completed"),
        pytest.param(BIASED, 30, 30, 20, id="most-of-the-week-is-judged"),
        pytest.param(BIASED, 600, 100, 12, id="many-sessions"),
    ],
)
def test_the_interval_covers_the_true_rate(grader: Grader, sessions: int, drawn: int, of_week: int) -> None:
    assert simulated(grader, sessions=sessions, drawn=drawn, of_week=of_week).coverage >= 0.93


def test_the_error_of_the_grader_is_taken_out() -> None:
    found = simulated(Grader(0.45, 0.95, 0.4), sessions=200, drawn=40, of_week=5)

    assert found.naive_error == pytest.approx(0.2, abs=0.02)
    assert abs(found.error) < 0.01


def test_a_good_grader_makes_labels_worth_more() -> None:
    good, blind = (
        simulated(Grader(0.5, right, 1 - right), sessions=1000, drawn=40, of_week=0, weeks=300) for right in (0.95, 0.5)
    )

    assert good.width < 0.7 * blind.width


def test_a_grader_that_knows_nothing_costs_nothing() -> None:
    labels = [(number % 2 == 0, number % 4 < 2) for number in range(40)]  # verdicts that say nothing of the truth

    found = bias_corrected(labels, rest=100_000, said=90_000, judged=0, completed=0)

    assert found.value == 0.5
    assert found.low == pytest.approx(0.35, abs=0.01)


@pytest.mark.parametrize(
    ("pairs", "rest", "judged"),
    [
        pytest.param([RIGHT] * 9, 50, 9, id="nine-labels"),
        pytest.param([RIGHT] * 20, 0, 0, id="no-session"),
    ],
)
def test_too_little_says_nothing(pairs: list[Pair], rest: int, judged: int) -> None:
    found = bias_corrected(pairs, rest=rest, said=rest, judged=judged, completed=judged)

    assert found == Estimate(sample=len(pairs))


def test_a_week_that_was_judged_whole_is_certain() -> None:
    found = bias_corrected([RIGHT] * 6 + [WRONG] * 6, rest=0, said=0, judged=12, completed=6)

    assert found == Estimate(value=0.5, low=0.5, high=0.5, sample=12)


@given(
    pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=10, max_size=60),
    rest=st.integers(1, 500),
    share=st.floats(0, 1),
    judged=st.integers(0, 60),
)
def test_an_estimate_stays_within_what_is_possible(pairs: list[Pair], rest: int, share: float, judged: int) -> None:
    found = bias_corrected(pairs, rest=rest, said=round(share * rest), judged=judged, completed=judged // 2)

    assert found.low is not None
    assert found.value is not None
    assert found.high is not None
    assert judged // 2 / (rest + judged) <= found.low <= found.value <= found.high
    assert found.high <= (judged // 2 + rest) / (rest + judged)


# -- from labels -----------------------------------------------------------------------------------------------------


def test_sessions_that_a_person_judged_count_as_judged() -> None:
    labels = [reviewed(completed=False)] * 20

    found = estimate_completion(Sums(sessions=20, completed=0), labels, WEEK)

    assert found == Estimate(value=0.0, low=0.0, high=0.0, sample=20)


@pytest.mark.parametrize(
    ("changes", "sample"),
    [
        pytest.param({}, 20, id="all"),
        pytest.param({"has_scores": False}, 0, id="of-interrupted-sessions"),
        pytest.param({"drawn_at_random": False}, 0, id="not-drawn-at-random"),
        pytest.param({"went_on": True}, 0, id="judged-before-the-session-went-on"),
        pytest.param({"is_finished": False}, 0, id="still-open"),
        pytest.param({"completed": None, "quality": 3}, 0, id="quality-only"),
        pytest.param({"ended_on": "2026-11-23"}, 0, id="after-the-week"),
        pytest.param({"ended_on": (WEEK.last - timedelta(days=WINDOW_DAYS - 1)).isoformat()}, 20, id="eight-weeks-ago"),
        pytest.param({"ended_on": (WEEK.last - timedelta(days=WINDOW_DAYS)).isoformat()}, 0, id="longer-ago"),
    ],
)
def test_labels_of_eight_weeks_drawn_at_random_check_the_rate(changes: dict[str, object], sample: int) -> None:
    found = estimate_completion(Sums(sessions=40, completed=30), [reviewed(**changes)] * 20, WEEK)

    assert found.sample == sample
    assert (found.value is None) == (sample < FEWEST_DRAWN)


def test_nineteen_labels_give_no_rate() -> None:
    found = estimate_completion(Sums(sessions=40, completed=30), [reviewed()] * (FEWEST_DRAWN - 1), WEEK)

    assert found == Estimate(sample=FEWEST_DRAWN - 1)


@given(
    cut_short=st.integers(1, 200), stopped=st.integers(0, 200), truth=st.lists(st.booleans(), min_size=20, max_size=40)
)
def test_sessions_that_were_cut_short_never_raise_the_rate(cut_short: int, stopped: int, truth: list[bool]) -> None:
    labels = [reviewed(completed=told) for told in truth]
    before = Sums(sessions=60, completed=30)
    interrupted = Sums(sessions=cut_short + stopped, interrupted=cut_short + stopped, interrupted_judged=cut_short)

    rates = [estimate_completion(sums, labels, WEEK).value for sums in (before, before.plus(interrupted))]

    assert rates[0] is not None
    assert rates[1] is not None
    assert rates[1] <= rates[0]


def test_a_longer_span_is_checked_by_all_of_its_labels() -> None:
    long = Span(date(2026, 1, 1), WEEK.last)

    found = estimate_completion(Sums(sessions=40, completed=30), [reviewed(ended_on="2026-01-02")] * 20, long)

    assert found.sample == 20


def test_sums_that_are_older_than_the_labels_do_no_harm() -> None:
    found = estimate_completion(Sums(sessions=3, completed=1), [reviewed()] * 20, WEEK)

    assert found == Estimate(value=1.0, low=1.0, high=1.0, sample=20)
