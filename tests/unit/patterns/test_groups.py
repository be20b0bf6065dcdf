from __future__ import annotations

import statistics
from datetime import date

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate, mean, proportion
from grader_daemon.domain.fleet_hosts import FleetHostState
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns import groups
from tests.benchmarks.hosts import WORLDS, World, measure
from tests.examples import repeats

OVERALL = (Dimension.OVERALL, "")
TERMINAL = (Dimension.TOOL, "terminal")


class Counted(msgspec.Struct, frozen=True):
    """What a session adds to the sums."""

    completed: bool = True
    ended_badly: bool = False
    efficiency: int = 5
    quality: int = 3
    recovered: bool = True
    calls: int = 10
    failures: int = 0

    @property
    def score(self) -> float:
        return (self.efficiency + self.quality + 1 + 4 * self.completed) / 3


def sums_of(*sessions: Counted) -> Sums:
    return Sums(
        sessions=len(sessions),
        completed=sum(s.completed for s in sessions),
        recorded=len(sessions),
        ended_badly=sum(s.ended_badly for s in sessions),
        with_errors=sum(s.failures > 0 for s in sessions),
        recovered=sum(s.failures > 0 and s.recovered for s in sessions),
        efficiency=sum(s.efficiency for s in sessions),
        efficiency_squares=sum(s.efficiency**2 for s in sessions),
        quality=sum(s.quality for s in sessions),
        quality_squares=sum(s.quality**2 for s in sessions),
        score_squares=sum(round(3 * s.score) ** 2 for s in sessions),
        calls=sum(s.calls for s in sessions),
        calls_squares=sum(s.calls**2 for s in sessions),
        failures=sum(s.failures for s in sessions),
        failures_squares=sum(s.failures**2 for s in sessions),
        calls_failures=sum(s.calls * s.failures for s in sessions),
    )


scores = st.integers(1, 5)
counted = st.builds(Counted, st.booleans(), st.booleans(), scores, scores, st.booleans(), st.integers(0, 40)).flatmap(
    lambda s: st.integers(0, s.calls).map(lambda failures: msgspec.structs.replace(s, failures=failures))
)


@given(sessions=st.lists(counted, min_size=3, max_size=20))
def test_numbers_are_those_of_the_sessions(sessions: list[Counted]) -> None:
    sums = sums_of(*sessions)
    failed = [s for s in sessions if s.failures]
    assert groups.estimates(sums)["ended_badly"].value == statistics.fmean(s.ended_badly for s in sessions)
    assert groups.estimates(sums)["efficiency"].value == pytest.approx(statistics.fmean(s.efficiency for s in sessions))
    assert groups.estimates(sums)["quality"].value == pytest.approx(statistics.fmean(s.quality for s in sessions))
    assert groups.estimates(sums)["score"].value == pytest.approx(statistics.fmean(s.score for s in sessions))
    assert sums.plain_score == pytest.approx(groups.estimates(sums)["score"].value)
    if len(failed) >= 3:
        assert groups.estimates(sums)["recovery"].value == statistics.fmean(s.recovered for s in failed)
    if sums.calls:
        assert groups.estimates(sums)["failure_rate"].value == pytest.approx(sums.failures / sums.calls)


@given(sessions=st.lists(counted, min_size=3, max_size=20))
def test_numbers_lie_in_their_intervals_and_those_on_their_scales(sessions: list[Counted]) -> None:
    sums = sums_of(*sessions)
    for found, lowest, highest in (
        (groups.estimates(sums)["ended_badly"], 0, 1),
        (groups.estimates(sums)["recovery"], 0, 1),
        (groups.estimates(sums)["failure_rate"], 0, 1),
        (groups.estimates(sums)["efficiency"], 1, 5),
        (groups.estimates(sums)["quality"], 1, 5),
        (groups.estimates(sums)["score"], 1, 5),
    ):
        if found.value is not None:
            assert found.low is not None
            assert found.high is not None
            assert lowest <= found.low <= found.value <= found.high <= highest


@pytest.mark.parametrize(
    ("sessions", "known"), [pytest.param(2, False, id="two-are-too-few"), pytest.param(3, True, id="three-are-enough")]
)
def test_few_sessions_have_no_numbers(sessions: int, known: bool) -> None:
    sums = sums_of(*[Counted(failures=1)] * sessions)
    found = [
        groups.estimates(sums)["ended_badly"],
        groups.estimates(sums)["recovery"],
        groups.estimates(sums)["efficiency"],
        groups.estimates(sums)["quality"],
        groups.estimates(sums)["score"],
        groups.estimates(sums)["failure_rate"],
    ]
    assert [each.value is not None for each in found] == [known] * 6
    assert [each.sample for each in found] == [sessions] * 6


def test_the_interval_of_the_score_is_that_of_the_sessions_scores() -> None:
    sessions = [Counted(), Counted(completed=False), Counted(efficiency=2), Counted(quality=5)]
    scored = [session.score for session in sessions]
    squares = sum(score * score for score in scored)
    expected = mean(sum(scored), squares, 4, lowest=1.0, highest=5.0)
    found = groups.estimates(sums_of(*sessions))["score"]
    assert (found.low, found.value, found.high) == pytest.approx((expected.low, expected.value, expected.high))
    assert found.low != 1.0


def test_recovery_counts_only_sessions_with_failures() -> None:
    sums = sums_of(*[Counted()] * 10, *[Counted(failures=1)] * 2, Counted(failures=1, recovered=False))
    assert groups.estimates(sums)["recovery"] == proportion(2, 3)


def test_a_plain_score_is_given_however_few_the_sessions() -> None:
    assert sums_of(Counted(efficiency=5, quality=3)).plain_score == pytest.approx(13 / 3)
    assert Sums().plain_score is None


def test_sessions_without_calls_make_a_failure_rate_no_surer() -> None:
    alone = sums_of(Counted(calls=50, failures=25), *[Counted(calls=0)] * 2)
    crowd = sums_of(Counted(calls=50, failures=25), *[Counted(calls=0)] * 200)
    assert (groups.estimates(alone)["failure_rate"].low, groups.estimates(alone)["failure_rate"].high) == pytest.approx(
        (groups.estimates(crowd)["failure_rate"].low, groups.estimates(crowd)["failure_rate"].high)
    )


# -- one group -----------------------------------------------------------------------------------------------------


def test_a_group_stands_beside_the_span_before() -> None:
    now = sums_of(*[Counted(calls=10, failures=2)] * 4, Counted(ended_badly=True))
    before = sums_of(*[Counted(calls=10, failures=1)] * 3)
    found = groups.group({OVERALL: now}, {OVERALL: before}, Dimension.OVERALL, "")
    assert (found.sessions, found.sessions_before, found.calls) == (5, 3, 50)
    assert (found.failures, found.failures_before) == (8, 3)
    assert (found.ended_badly.now, found.ended_badly.before) == (proportion(1, 5), proportion(0, 3))
    assert found.ended_badly.change.value == pytest.approx(0.2)
    assert (found.failure_rate.now.value, found.failure_rate.before.value) == (0.16, 0.1)


def test_a_group_that_had_no_sessions_has_no_numbers() -> None:
    found = groups.group({}, {}, Dimension.TOOL, "x")
    assert (found.name, found.sessions, found.sessions_before, found.failures) == ("x", 0, 0, 0)
    assert {each.now for each in (found.ended_badly, found.score, found.recovery, found.failure_rate)} == {Estimate()}


def test_a_new_group_has_no_change() -> None:
    found = groups.group({TERMINAL: sums_of(*[Counted()] * 5)}, {}, Dimension.TOOL, "terminal")
    assert found.ended_badly.now.value == 0.0
    assert found.ended_badly.change == Estimate()


def test_failures_of_a_category_are_counted_against_the_calls_of_all_sessions() -> None:
    with_failures = [Counted(calls=10, failures=2)] * 3
    failing, whole = sums_of(*with_failures), sums_of(*with_failures, *[Counted(calls=10)] * 7)
    key = (Dimension.CATEGORY, "timeout")
    now = {OVERALL: whole, key: failing}
    before = {OVERALL: sums_of(*[Counted(calls=4)] * 3)}
    found = groups.group(now, before, Dimension.CATEGORY, "timeout")
    assert found.failure_rate.now.value == pytest.approx(0.06)
    assert found.failure_rate.now.sample == 10
    assert (found.failure_rate.before.value, found.failure_rate.before.sample) == (0.0, 3)


def test_failures_of_a_tool_are_counted_against_its_own_calls() -> None:
    now = {OVERALL: sums_of(*[Counted(calls=100)] * 5), TERMINAL: sums_of(*[Counted(calls=4, failures=1)] * 3)}
    assert groups.group(now, {}, Dimension.TOOL, "terminal").failure_rate.now.value == 0.25


# -- all groups of a dimension -------------------------------------------------------------------------------------


def test_failing_groups_come_with_most_failures_first() -> None:
    now = {
        (Dimension.TOOL, "b"): sums_of(Counted(failures=1)),
        (Dimension.TOOL, "a"): sums_of(Counted(failures=1)),
        (Dimension.TOOL, "many"): sums_of(*[Counted()] * 9),
        (Dimension.TOOL, "bad"): sums_of(Counted(failures=4)),
        (Dimension.TOOL, "worse"): sums_of(Counted(failures=2), Counted(failures=2)),
    }
    assert [found.name for found in groups.groups(now, {}, Dimension.TOOL)] == ["worse", "bad", "a", "b", "many"]


def test_other_groups_come_with_most_sessions_first() -> None:
    now = {
        (Dimension.MODEL, "b"): sums_of(Counted(failures=9)),
        (Dimension.MODEL, "a"): sums_of(Counted()),
        (Dimension.MODEL, "used"): sums_of(Counted(), Counted()),
        (Dimension.TOOL, "terminal"): sums_of(*[Counted()] * 9),
    }
    assert [found.name for found in groups.groups(now, {}, Dimension.MODEL)] == ["used", "a", "b"]


def test_groups_without_finished_sessions_are_left_out() -> None:
    now = {(Dimension.OVERALL, ""): Sums(open_sessions=3)}
    assert groups.groups(now, {TERMINAL: sums_of(Counted())}, Dimension.OVERALL) == ()
    assert groups.groups(now, {TERMINAL: sums_of(Counted())}, Dimension.TOOL) == ()


def _host(name: str) -> tuple[Dimension, str]:
    return Dimension.HOST, name


def _rate(sessions: int, ended_badly: int) -> Sums:
    return Sums(sessions=sessions, recorded=sessions, ended_badly=ended_badly)


def test_the_change_of_a_fleet_is_that_within_its_hosts() -> None:
    # Each host does what it did before; the one that ends badly less often does four times as much now.
    before = {_host("easy"): _rate(50, 45), _host("hard"): _rate(50, 20), OVERALL: _rate(100, 65)}
    now = {_host("easy"): _rate(20, 18), _host("hard"): _rate(80, 32), OVERALL: _rate(100, 50)}
    change = groups.group(now, before, *OVERALL).ended_badly.change
    assert change.value == pytest.approx(0)
    assert change.low is not None
    assert change.low < 0
    assert change.sample == 70  # the smaller side of each


def test_hosts_with_few_sessions_are_compared_together() -> None:
    before = {_host("a"): _rate(4, 1), _host("b"): _rate(4, 3), _host("c"): _rate(40, 20), OVERALL: _rate(48, 24)}
    now = {_host("a"): _rate(4, 2), _host("b"): _rate(4, 2), _host("c"): _rate(40, 20), OVERALL: _rate(48, 24)}
    change = groups.group(now, before, *OVERALL).ended_badly.change
    assert change.value == pytest.approx(0)
    assert change.sample == 48


def test_a_host_that_has_no_sessions_on_one_side_says_nothing_of_a_change() -> None:
    before = {_host("old"): _rate(50, 45), OVERALL: _rate(50, 45)}
    now = {_host("new"): _rate(50, 5), OVERALL: _rate(50, 5)}
    assert groups.group(now, before, *OVERALL).ended_badly.change.value is None
    # Of one host alone there is nothing to hold apart.
    assert groups.group(now, {OVERALL: _rate(50, 45)}, *OVERALL).ended_badly.change.value == pytest.approx(-0.8)


@pytest.mark.thorough
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name.replace(" ", "-"))
def test_intervals_of_a_fleet_hold_what_they_promise(world: World) -> None:
    # With 95 % of 50 runs fewer than .82 are as rare as one in a thousand, and of 300 fewer than .91.
    runs, least = repeats(50, thorough=300), repeats(82, thorough=91) / 100
    found = measure(world, runs=runs, seed=2)
    assert found.covered >= least
    assert (found.clear <= 1 - least) or world.fall


def test_users_have_the_sums_of_their_hosts() -> None:
    found = {_host("laptop"): _rate(3, 1), _host("desk"): _rate(4, 2), _host("other"): _rate(5, 5)}
    hosts = [
        FleetHostState(host=name, user=user, epoch=1, seq=1, version=None, last_seen=None)
        for name, user in {"laptop": "anna", "desk": "anna", "other": None, "idle": "ben"}.items()
    ]
    assert groups.with_users(found, hosts) == {**found, (Dimension.USER, "anna"): _rate(7, 3)}


def test_completion_is_what_labels_tell_and_a_group_without_them_has_none() -> None:
    rate = Estimate(value=0.6, low=0.4, high=0.8, sample=24)
    now = {TERMINAL: sums_of(Counted()), (Dimension.TOOL, "browser"): sums_of(Counted())}
    found = {each.name: each for each in groups.groups(now, {}, Dimension.TOOL, completions={TERMINAL: rate})}
    assert (found["terminal"].completion, found["browser"].completion) == (rate, Estimate())


def test_sessions_of_which_nothing_is_recorded_are_in_no_share_of_facts() -> None:
    sums = Sums(sessions=10, recorded=4, ended_badly=2, contradicted=1, check_failed=1)
    found = groups.group({OVERALL: sums}, {}, *OVERALL)
    shares = (found.ended_badly, found.contradicted, found.check_failed, found.left_midway)
    assert [each.now.value for each in shares] == [0.5, 0.25, 0.25, 0.0]
    assert {each.now.sample for each in shares} == {4}


def test_the_share_of_sessions_that_people_objected_to_is_compared_with_the_span_before() -> None:
    found = groups.share_of(4, 40, 12, 40)

    assert (found.now, found.before) == (proportion(4, 40), proportion(12, 40))
    assert found.change.value == pytest.approx(-0.2)


def test_no_share_is_told_of_few_sessions_or_is_more_than_all() -> None:
    assert groups.share_of(1, 2, 0, 0).now.value is None
    assert groups.share_of(9, 5, 0, 5).now.value == 1  # asked again after sessions of days before, too


def test_a_day_has_its_counts_and_no_rate_of_few() -> None:
    told = groups.day_figures(date(2026, 11, 21), Sums(sessions=2, done=1))
    assert (told.day, told.sessions, told.done, told.unsure) == (date(2026, 11, 21), 2, 1, 1)
    assert told.ended_badly.value is None


def test_days_without_sums_are_described_too() -> None:
    first, last = date(2026, 11, 20), date(2026, 11, 22)
    described = groups.each_day(Span(first, last), {last: Sums(sessions=2)})

    assert [(each.day.day, each.sessions) for each in described] == [(20, 0), (21, 0), (22, 2)]
