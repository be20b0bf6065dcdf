from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.estimate import Estimate, Figure, figure, proportion
from grader_daemon.domain.insight import Group, TrendPoint, WeeklyReport
from grader_daemon.domain.rollup import ESTIMATORS, WATCHED, Metric, Sums
from grader_daemon.patterns.groups import spending
from grader_daemon.reports.numbers import (
    COMPLETION,
    DASH,
    EFFICIENCY,
    FACTS,
    FAILURES,
    MEASURES,
    MINUS,
    RECOVERY,
    REPORTED,
    SCORE,
    TRENDED,
    Direction,
    Measure,
    brief_words,
    change_words,
    clear_changes,
    count_words,
    direction_of,
    estimate_words,
    figure_words,
    interval_words,
    part_words,
    points_words,
    scheduled_words,
    side_words,
    tick_words,
    value_words,
)
from tests.reports_examples import NOTHING, rate, score


def change_of(now: float, before: float, *, low: float, high: float) -> Figure:
    """A figure whose change has this interval."""
    return Figure(
        now=Estimate(value=now, low=now - 0.1, high=now + 0.1, sample=50),
        before=Estimate(value=before, low=before - 0.1, high=before + 0.1, sample=40),
        change=Estimate(value=now - before, low=low, high=high, sample=40),
    )


SAME = change_of(0.71, 0.75, low=-0.13, high=0.05)
DOWN = change_of(0.5, 0.75, low=-0.4, high=-0.1)
UP = change_of(0.75, 0.5, low=0.1, high=0.4)


@pytest.mark.parametrize(
    ("value", "measure", "words"),
    [
        pytest.param(0.714, COMPLETION, "71 %", id="percent"),
        pytest.param(0.0, COMPLETION, "0 %", id="none"),
        pytest.param(1.0, COMPLETION, "100 %", id="all"),
        pytest.param(0.001, COMPLETION, "<1 %", id="not-nothing"),
        pytest.param(0.999, COMPLETION, ">99 %", id="not-all"),
        pytest.param(0.034, FAILURES, "3.4 %", id="small-rate-gets-a-digit"),
        pytest.param(0.34, FAILURES, "34 %", id="large-rate-does-not"),
        pytest.param(0.0001, FAILURES, "<0.1 %", id="tiny-rate-is-not-nothing"),
        pytest.param(0.0, FAILURES, "0 %", id="no-failures"),
        pytest.param(3.456, EFFICIENCY, "3.5", id="score"),
        pytest.param(4.99, EFFICIENCY, "5.0", id="score-may-be-rounded-up"),
    ],
)
def test_value_reads_in_its_own_unit(value: float, measure: Measure, words: str) -> None:
    assert value_words(value, measure) == words


@pytest.mark.parametrize(
    ("estimate", "measure", "words"),
    [
        pytest.param(rate(71, 100), COMPLETION, "71 % (61–79 %)", id="rate"),
        pytest.param(score(3.4, 100), EFFICIENCY, "3.4 (3.2–3.6)", id="score"),
        pytest.param(Estimate(value=0.5, sample=9), COMPLETION, "50 %", id="no-interval"),
        pytest.param(rate(1, 3), COMPLETION, "too few sessions (3)", id="too-few"),
        pytest.param(rate(1, 1), RECOVERY, "too few sessions (1 with failures)", id="too-few-with-failures"),
        pytest.param(rate(0, 0), COMPLETION, "no sessions", id="none"),
        pytest.param(rate(0, 0), RECOVERY, "no sessions with failures", id="none-with-failures"),
        pytest.param(rate(0, 0), FAILURES, "no tool calls", id="no-calls"),
    ],
)
def test_estimate_reads_with_its_interval_or_says_why_not(estimate: Estimate, measure: Measure, words: str) -> None:
    assert estimate_words(estimate, measure) == words


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        pytest.param(rate(71, 100), "71 %", id="known"),
        pytest.param(rate(1, 3), "too few", id="too-few"),
        pytest.param(rate(0, 0), "-", id="none"),
    ],
)
def test_brief_estimate_has_no_interval(estimate: Estimate, words: str) -> None:
    assert brief_words(estimate, COMPLETION) == words


@pytest.mark.parametrize(
    ("told", "measure", "direction"),
    [
        pytest.param(DOWN, COMPLETION, Direction.WORSE, id="lower-rate-is-worse"),
        pytest.param(UP, COMPLETION, Direction.BETTER, id="higher-rate-is-better"),
        pytest.param(DOWN, FAILURES, Direction.BETTER, id="fewer-failures-are-better"),
        pytest.param(UP, FAILURES, Direction.WORSE, id="more-failures-are-worse"),
        pytest.param(SAME, COMPLETION, Direction.UNCLEAR, id="interval-holds-0"),
        pytest.param(change_of(0.5, 0.4, low=0.0, high=0.2), COMPLETION, Direction.UNCLEAR, id="interval-begins-at-0"),
        pytest.param(NOTHING, COMPLETION, Direction.UNKNOWN, id="nothing-to-compare"),
    ],
)
def test_change_is_judged_by_its_interval(told: Figure, measure: Measure, direction: Direction) -> None:
    assert direction_of(told, measure) is direction


def test_a_change_in_points_has_its_range() -> None:
    told = change_of(0.5, 0.4, low=-0.05, high=0.2)

    assert points_words(told, COMPLETION) == f"+10 points ({MINUS}5 to +20)"


def test_only_changes_beyond_chance_are_clear() -> None:
    assert [each for each in Direction if each.is_clear] == [Direction.BETTER, Direction.WORSE]


@pytest.mark.parametrize(
    ("told", "measure", "words"),
    [
        pytest.param(
            SAME,
            COMPLETION,
            "71 % (61–81 %), 4 points less than in the week before; no clear change (between −13 and +5 points)",
            id="unclear",
        ),
        pytest.param(
            DOWN,
            COMPLETION,
            "50 % (40–60 %), 25 points less than in the week before; clearly worse (between −40 and −10 points)",
            id="down",
        ),
        pytest.param(
            UP,
            FAILURES,
            "75 % (65–85 %), 25 points more than in the week before; clearly worse (between +10 and +40 points)",
            id="up",
        ),
        pytest.param(
            change_of(3.4, 3.2, low=-0.1, high=0.5),
            EFFICIENCY,
            "3.4 of 5 (3.3–3.5), 0.2 more than in the week before; no clear change (between −0.1 and +0.5)",
            id="score-has-no-points",
        ),
        pytest.param(
            change_of(0.51, 0.5, low=-0.1, high=0.1),
            COMPLETION,
            "51 % (41–61 %), 1 point more than in the week before; no clear change (between −10 and +10 points)",
            id="one-point",
        ),
        pytest.param(
            change_of(0.5, 0.5, low=-0.1, high=0.1),
            COMPLETION,
            "50 % (40–60 %), as in the week before; no clear change (between −10 and +10 points)",
            id="the-same",
        ),
        pytest.param(
            change_of(0.504, 0.5, low=0.001, high=0.008),
            COMPLETION,
            "50 % (40–60 %), slightly more than in the week before; clearly better (between >0 and +1 points)",
            id="clear-but-small-rise",
        ),
        pytest.param(
            change_of(0.496, 0.5, low=-0.008, high=-0.001),
            COMPLETION,
            "50 % (40–60 %), slightly less than in the week before; clearly worse (between −1 and <0 points)",
            id="clear-but-small-fall",
        ),
        pytest.param(
            figure(rate(50, 100), rate(1, 3)),
            COMPLETION,
            "50 % (40–60 %); the week before: too few sessions (3)",
            id="too-few-before",
        ),
        pytest.param(figure(rate(1, 3), rate(50, 100)), COMPLETION, "too few sessions (3)", id="too-few-now"),
        pytest.param(
            Figure(now=SAME.now, before=SAME.before, change=Estimate(value=-0.04)),
            COMPLETION,
            "71 % (61–81 %), 4 points less than in the week before; no clear change",
            id="change-without-an-interval",
        ),
    ],
)
def test_figure_reads_beside_the_week_before(told: Figure, measure: Measure, words: str) -> None:
    assert figure_words(told, measure) == words


def test_figure_reads_beside_another_span() -> None:
    assert "than in the 7 days before" in figure_words(SAME, COMPLETION, before="the 7 days before")


@pytest.mark.parametrize(
    ("told", "measure", "words"),
    [
        pytest.param(SAME, COMPLETION, "−4 (−13 to +5)", id="rate"),
        pytest.param(change_of(0.02, 0.017, low=-0.01, high=0.01), FAILURES, "+0.3 (−1.0 to +1.0)", id="small-rate"),
        pytest.param(change_of(0.5, 0.5, low=-0.001, high=0.2), COMPLETION, "0 (0 to +20)", id="no-sign-before-0"),
        pytest.param(NOTHING, COMPLETION, "-", id="unknown"),
    ],
)
def test_change_in_a_table_has_sign_and_interval(told: Figure, measure: Measure, words: str) -> None:
    assert change_words(told, measure) == words


@given(part=st.integers(0, 60), whole=st.integers(1, 60))
def test_too_few_sessions_never_show_a_number_of_percent(part: int, whole: int) -> None:
    words = estimate_words(proportion(min(part, whole), whole, fewest=61), COMPLETION)

    assert "%" not in words


@pytest.mark.parametrize(
    ("number", "earlier", "words"),
    [
        pytest.param(1, 0, "1 session, none the week before", id="none-before"),
        pytest.param(1_200, 1_200, "1,200 sessions, as many as the week before", id="as-many"),
        pytest.param(7, 5, "7 sessions, 2 more than the week before", id="more"),
        pytest.param(5, 7, "5 sessions, 2 fewer than the week before", id="fewer"),
    ],
)
def test_count_reads_beside_the_one_before(number: int, earlier: int, words: str) -> None:
    assert count_words(number, "session", earlier=earlier) == words


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        pytest.param(
            [(COMPLETION, DOWN), (FAILURES, UP), (EFFICIENCY, UP)],
            (
                "Clearly worse than the week before: completion rate, failed tool calls.",
                "Clearly better than the week before: tool efficiency.",
            ),
            id="worse-first",
        ),
        pytest.param([(COMPLETION, SAME)], ("Nothing changed clearly since the week before.",), id="nothing-clear"),
        pytest.param([(COMPLETION, NOTHING)], (), id="nothing-to-compare"),
    ],
)
def test_clear_changes_are_named(figures: list[tuple[Measure, Figure]], said: tuple[str, ...]) -> None:
    assert clear_changes(figures) == said


def test_part_of_a_change_has_its_unit() -> None:
    assert part_words(-0.24, None, COMPLETION) == "−24 points"
    assert part_words(0.31, None, EFFICIENCY) == "+0.3"
    assert part_words(-0.24, 0.06, COMPLETION) == "−24 ± 6 points"


def test_ticks_of_a_scale_are_short() -> None:
    assert tick_words(0.025, FAILURES) == "2.5 %"
    assert tick_words(5, EFFICIENCY) == "5"


# -- the tables that a new metric is added to ----------------------------------------------------------------------


def test_every_metric_that_is_watched_can_be_estimated_and_put_into_words() -> None:
    assert set(WATCHED) == set(Metric) - {Metric.COMPLETION_RATE}  # which labels tell
    assert set(MEASURES) == set(Metric)
    assert {metric: ESTIMATORS[MEASURES[metric].group] for metric in WATCHED} == WATCHED


def test_every_measure_has_its_fields_in_groups_reports_and_trends() -> None:
    assert {measure.group for measure in (*REPORTED, *FACTS, SCORE)} == set(ESTIMATORS) <= set(Group.__struct_fields__)
    assert {measure.report for measure in REPORTED} <= set(WeeklyReport.__struct_fields__)
    assert {measure.report for measure in TRENDED} <= set(TrendPoint.__struct_fields__)


@pytest.mark.parametrize("metric", Metric)
def test_every_metric_is_scored_or_a_rate_in_all_places(metric: Metric) -> None:
    assert MEASURES[metric].highest == (5 if metric.is_score else 1)


def test_interval_alone_is_said_where_there_is_one() -> None:
    assert interval_words(proportion(70, 100, fewest=1), COMPLETION) == f"60{DASH}78 %"
    assert interval_words(Estimate(sample=2), COMPLETION) is None
    assert interval_words(Estimate(value=0.5, sample=2), COMPLETION) is None


def test_runs_of_schedules_stand_beside_what_counts() -> None:
    assert [scheduled_words(0), scheduled_words(1330)] == ["", ", + 1,330 scheduled"]


def test_sessions_that_are_neither_tasks_nor_scheduled_are_named() -> None:
    spent = spending(Sums(side=13))

    assert side_words(spent, scheduled=3) == "10 of sub-agents or reviews"
    assert (side_words(spent, scheduled=13), side_words(None, scheduled=0)) == ("", "")
