from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.causes import Member, decompose, is_mix_of_agents, members, share_changes, weightiest
from grader_daemon.alerts.streams import shown_change
from grader_daemon.domain.alert import DropCause, Stream
from grader_daemon.domain.rollup import Dimension, Metric
from tests.alert_examples import OVERALL, SHIPPED, member, observation, use

QUALITY = Stream(Metric.QUALITY, Dimension.OVERALL, "")
eighths = st.integers(0, 8).map(lambda number: number / 8)
parts = st.lists(st.builds(member, eighths, task_type=st.sampled_from(["coding", "research", "general"])), max_size=30)
full_parts = parts.filter(bool)


def mean(part: Sequence[Member]) -> float:
    return sum(one.value for one in part) / len(part)


def of_type(task_type: str, value: float, count: int) -> list[Member]:
    return [member(value, task_type=task_type) for _ in range(count)]


def done(task_type: str, completed: int, *, of: int) -> list[Member]:
    return of_type(task_type, 1.0, completed) + of_type(task_type, 0.0, of - completed)


def names(before: Sequence[Member], since: Sequence[Member]) -> list[tuple[Dimension, str]]:
    return [(change.dimension, change.name) for change in share_changes(before, since, rules=SHIPPED)]


# -- members -------------------------------------------------------------------------------------------------------


def test_members_are_the_sessions_of_the_stream_in_the_order_given() -> None:
    with_m, without, late = observation(0, model="m"), observation(1), observation(2, model="m", quality=3)
    found = members([with_m, without, late], Stream(Metric.QUALITY, Dimension.MODEL, "m"))
    assert found == [Member(with_m, 1.0), Member(late, 0.5)]


# -- the sessions that weigh most ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0.0, 0.5, 0.25], [0, 2, 1], id="the-lowest-first"),
        pytest.param([0.5, 0.5, 0.5], [2, 1, 0], id="the-newest-first-among-equals"),
        pytest.param([0.75, 1.0, 0.5], [2], id="only-those-below"),
        pytest.param([0.9, 1.0], [], id="none-below"),
        pytest.param([], [], id="no-sessions"),
        pytest.param([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [6, 5, 4, 3, 2], id="five-at-most"),
    ],
)
def test_the_weightiest_sessions_are_named(values: list[float], expected: list[int]) -> None:
    since = [member(value, number, session_id=str(number)) for number, value in enumerate(values)]
    assert weightiest(since, below=0.75) == tuple(map(str, expected))


# -- shares --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimension", "old", "new"),
    [
        pytest.param(Dimension.MODEL, {"model": "m"}, {"model": "n"}, id="model"),
        pytest.param(Dimension.PLATFORM, {"platform": "m"}, {"platform": "n"}, id="platform"),
        pytest.param(Dimension.TASK_TYPE, {"task_type": "m"}, {"task_type": "n"}, id="task-type"),
        pytest.param(Dimension.TOOL, {"tools": (use("m"),)}, {"tools": (use("n"),)}, id="tool"),
    ],
)
def test_what_came_and_what_went_is_named(dimension: Dimension, old: dict[str, Any], new: dict[str, Any]) -> None:
    before, since = [member(1.0, **old)] * 50, [member(0.0, **new)] * 50
    found = share_changes(before, since, rules=SHIPPED)
    assert [(change.dimension, change.name, change.before, change.since) for change in found] == [
        (dimension, "m", 1.0, 0.0),
        (dimension, "n", 0.0, 1.0),
    ]


@pytest.mark.parametrize(
    ("before", "since", "is_named"),
    [
        pytest.param((50, 100), (50, 100), False, id="as-before"),
        pytest.param((50, 100), (80, 100), True, id="surely-more"),
        pytest.param((50, 100), (20, 100), True, id="surely-less"),
        pytest.param((5, 10), (8, 10), False, id="more-but-of-few"),
        pytest.param((5000, 10_000), (5500, 10_000), False, id="surely-more-but-little"),
        pytest.param((0, 10), (2, 10), True, id="new"),
        pytest.param((0, 100), (1, 100), False, id="new-but-rare"),
        pytest.param((100, 100), (100, 100), False, id="always"),
    ],
)
def test_a_share_is_named_when_it_surely_changed(
    before: tuple[int, int], since: tuple[int, int], is_named: bool
) -> None:
    rules = msgspec.structs.replace(SHIPPED, share_change=0.1)
    sides = [
        [member(1.0, tools=(use("t"),))] * with_tool + [member(1.0)] * (whole - with_tool)
        for with_tool, whole in (before, since)
    ]
    assert bool(share_changes(sides[0], sides[1], rules=rules)) is is_named


def test_the_biggest_change_comes_first_and_eight_are_enough() -> None:
    before = [member(1.0)] * 100
    since = [
        member(0.0, tools=tuple(use(f"t{tool:02}") for tool in range(12) if number >= 5 * tool))
        for number in range(100)
    ]
    assert names(before, since) == [(Dimension.TOOL, f"t{tool:02}") for tool in range(8)]


def test_changes_of_one_size_come_in_order_of_their_names() -> None:
    before = [member(1.0)] * 20
    since = [member(0.0, model="b", platform="a", tools=(use("z"), use("y")))] * 20
    assert names(before, since) == sorted(names(before, since))
    assert len(names(before, since)) == 4


def test_a_tool_counts_once_per_session() -> None:
    [change] = share_changes([member(1.0)], [member(0.0, tools=(use("t"), use("t")))], rules=SHIPPED)
    assert change.since == 1.0


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param([], [member(0.0)], id="nothing-before"),
        pytest.param([member(1.0)], [], id="nothing-since"),
        pytest.param([], [], id="nothing-at-all"),
    ],
)
def test_nothing_can_be_compared_with_nothing(before: list[Member], since: list[Member]) -> None:
    assert share_changes(before, since, rules=SHIPPED) == ()
    assert decompose(before, since, stream=OVERALL, dispersion=1.0) is None


@given(before=parts, since=parts)
def test_every_change_that_is_named_is_as_big_as_the_rules_ask(before: list[Member], since: list[Member]) -> None:
    found = share_changes(before, since, rules=SHIPPED)
    assert all(abs(change.since - change.before) >= SHIPPED.share_change for change in found)
    assert all(0 <= share <= 1 for change in found for share in (change.before, change.since))


# -- decomposition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "since", "cause"),
    [
        pytest.param(
            of_type("easy", 1.0, 8) + of_type("hard", 0.0, 2),
            of_type("easy", 1.0, 2) + of_type("hard", 0.0, 8),
            DropCause.MIX,
            id="more-of-the-hard-work",
        ),
        pytest.param(
            of_type("easy", 1.0, 5) + of_type("hard", 0.5, 5),
            of_type("easy", 0.5, 5) + of_type("hard", 0.0, 5),
            DropCause.WORK,
            id="the-same-work-done-worse",
        ),
        pytest.param(
            of_type("easy", 1.0, 80) + of_type("hard", 0.5, 20),
            of_type("easy", 0.75, 30) + of_type("hard", 0.25, 70),
            DropCause.BOTH,
            id="harder-work-done-worse",
        ),
        pytest.param(
            of_type("easy", 1.0, 8),
            of_type("easy", 1.0, 4) + of_type("new", 0.0, 4),
            DropCause.MIX,
            id="work-of-a-kind-that-is-new",
        ),
        pytest.param(
            of_type("easy", 1.0, 4) + of_type("hard", 0.0, 4),
            of_type("hard", 0.0, 4),
            DropCause.MIX,
            id="work-of-a-kind-that-came-no-more",
        ),
        pytest.param(
            of_type("easy", 1.0, 5) + of_type("hard", 0.5, 5),
            of_type("easy", 0.5, 9) + of_type("hard", 0.0, 1),
            DropCause.WORK,
            id="easier-work-is-no-excuse",
        ),
        pytest.param(
            of_type("easy", 0.75, 9) + of_type("hard", 0.0, 1),
            of_type("easy", 1.0, 2) + of_type("hard", 0.25, 8),
            DropCause.MIX,
            id="better-work-is-no-excuse",
        ),
        pytest.param(  # 0.95 and 0.55 before and since, but for what a hundred sessions have by chance
            done("easy", 76, of=80) + done("hard", 11, of=20),
            done("easy", 32, of=35) + done("hard", 33, of=65),
            DropCause.MIX,
            id="what-is-chance-within-the-groups-is-not-named",
        ),
        pytest.param(
            done("easy", 76, of=80) + done("hard", 11, of=20),
            done("easy", 24, of=35) + done("hard", 16, of=65),
            DropCause.BOTH,
            id="a-mix-that-carries-a-third-is-named",
        ),
        pytest.param(
            done("easy", 9, of=10) + done("hard", 3, of=5),
            done("easy", 7, of=10) + done("hard", 3, of=7),
            DropCause.UNCLEAR,
            id="too-few-to-tell",
        ),
    ],
)
def test_the_cause_names_what_pulled_down(before: list[Member], since: list[Member], cause: DropCause) -> None:
    found = decompose(before, since, stream=OVERALL, dispersion=1.0)
    assert found is not None
    assert found.cause is cause


def test_mix_and_work_are_told_apart_on_the_scale_of_the_metric() -> None:
    before = of_type("easy", 1.0, 5) + of_type("hard", 0.5, 5)
    since = of_type("easy", 0.5, 5) + of_type("hard", 0.0, 5)
    score = decompose(before, since, stream=QUALITY, dispersion=1.0)
    failures = decompose(before, since, stream=Stream(Metric.FAILURE_RATE, Dimension.OVERALL, ""), dispersion=1.0)
    assert score is not None
    assert failures is not None
    assert (score.mix, score.work) == (0.0, -2.0)
    assert (failures.mix, failures.work) == (0.0, 0.5)


def test_the_margins_are_half_of_95_percent_intervals() -> None:
    # Ten values of 1 (or 0) and Jeffreys' halves have a variance of 21/22 * 1/22; both means have that by ten.
    found = decompose(of_type("easy", 1.0, 10), of_type("easy", 0.0, 10), stream=QUALITY, dispersion=1.0)
    assert found is not None
    assert found.work_margin == pytest.approx(4 * 1.96 * sqrt(2 * 21 / 22 / 22 / 10), rel=1e-3)
    assert found.mix_margin == 0


def test_the_margin_of_the_mix_is_that_of_the_shares() -> None:
    # All easy sessions are 1, all hard ones 0; the share of the easy ones is 8 and 2 of 10: 2 * 0.8 * 0.2 / 10. The
    # means add 0.6**2 / 4 of their variances: by 8, by 2, by 2 and by 8 values (and halves).
    before, since = of_type("easy", 1.0, 8) + of_type("hard", 0.0, 2), of_type("easy", 1.0, 2) + of_type("hard", 0.0, 8)
    found = decompose(before, since, stream=OVERALL, dispersion=1.0)
    means = 2 * (17 / 18 / 18 / 8 + 5 / 6 / 6 / 2)
    assert found is not None
    assert found.mix_margin == pytest.approx(1.96 * sqrt(2 * 0.16 / 10 + 0.09 * means), rel=1e-3)


def test_days_that_differ_widen_the_margins() -> None:
    before, since = done("easy", 9, of=10), done("easy", 5, of=10)
    even = decompose(before, since, stream=OVERALL, dispersion=1.0)
    clustered = decompose(before, since, stream=OVERALL, dispersion=4.0)
    assert even is not None
    assert clustered is not None
    assert even.work_margin is not None
    assert clustered.work_margin == pytest.approx(2 * even.work_margin)


@pytest.mark.parametrize(
    ("since"),
    [
        pytest.param(of_type("easy", 0.5, 4), id="nothing-changed"),
        pytest.param(of_type("easy", 1.0, 4), id="it-got-better"),
    ],
)
def test_there_is_no_cause_without_a_loss(since: list[Member]) -> None:
    assert decompose(of_type("easy", 0.5, 4), since, stream=OVERALL, dispersion=1.0) is None


@given(metric=st.sampled_from(Metric), before=full_parts, since=full_parts)
def test_mix_and_work_add_up_to_the_change(metric: Metric, before: list[Member], since: list[Member]) -> None:
    change = mean(since) - mean(before)
    found = decompose(before, since, stream=Stream(metric, Dimension.OVERALL, ""), dispersion=1.0)
    if found is None:
        assert change > -1e-9
    else:
        assert found.mix + found.work == pytest.approx(shown_change(metric, change), abs=1e-9)


@given(before=full_parts, values=st.data())
def test_the_same_work_done_worse_is_never_blamed_on_the_mix(before: list[Member], values: st.DataObject) -> None:
    worse = [Member(one.observation, one.value * values.draw(st.sampled_from([0.0, 0.25, 0.5]))) for one in before]
    found = decompose(before, worse, stream=OVERALL, dispersion=1.0)
    if found is None:
        assert mean(before) == 0
    else:
        assert found.mix == 0
        assert found.cause in {DropCause.WORK, DropCause.UNCLEAR}


# -- agents --------------------------------------------------------------------------------------------------------


def _of(agent: str, *, good: int, bad: int, host: str | None = None) -> list[Member]:
    return [member(1.0, agent=agent, host=host)] * good + [member(0.0, agent=agent, host=host)] * bad


@pytest.mark.parametrize(
    ("before", "since", "expected"),
    [
        pytest.param(
            _of("hermes", good=90, bad=10), _of("hermes", good=9, bad=1) + _of("codex", good=50, bad=50), True, id="new"
        ),
        pytest.param(
            _of("hermes", good=90, bad=10) + _of("codex", good=5, bad=5),
            _of("hermes", good=9, bad=1) + _of("codex", good=50, bad=50),
            True,
            id="more-of-one",
        ),
        pytest.param(
            _of("hermes", good=90, bad=10) + _of("codex", good=5, bad=5),
            _of("hermes", good=30, bad=70) + _of("codex", good=50, bad=50),
            False,
            id="more-of-one-and-the-other-got-worse",
        ),
        pytest.param(_of("hermes", good=90, bad=10), _of("hermes", good=10, bad=90), False, id="one-agent"),
        pytest.param(
            _of("hermes", good=90, bad=10, host="laptop") + _of("hermes", good=5, bad=5, host="desk"),
            _of("hermes", good=9, bad=1, host="laptop") + _of("hermes", good=50, bad=50, host="desk"),
            True,
            id="more-on-one-machine",
        ),
        pytest.param([], _of("hermes", good=1, bad=9) + _of("codex", good=1, bad=1), False, id="nothing-before"),
    ],
)
def test_a_mean_falls_by_the_mix_of_agents_or_by_what_they_do(
    before: list[Member], since: list[Member], expected: bool
) -> None:
    assert is_mix_of_agents(before, since, dispersion=1.0) is expected


def test_a_machine_that_does_more_of_the_work_is_named() -> None:
    before = _of("hermes", good=90, bad=0, host="laptop") + _of("hermes", good=10, bad=0, host="desk")
    since = _of("hermes", good=10, bad=0, host="laptop") + _of("hermes", good=90, bad=0, host="desk")
    changes = share_changes(before, since, rules=SHIPPED)
    assert {(change.dimension, change.name, change.since) for change in changes} == {
        (Dimension.HOST, "desk", 0.9),
        (Dimension.HOST, "laptop", 0.1),
    }
