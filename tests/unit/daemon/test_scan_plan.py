from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from grader_daemon.daemon.scan_plan import ScanPlan, missing_units
from grader_daemon.domain.unit import Found, Stamp, Unit
from tests.units import unit

SCAN = 60.0
SHARE = 0.001
LONGEST = 3600.0
STEPS = st.sampled_from([0.0, 1.0, 2.0, SCAN - 1, SCAN, SCAN + 1, 102.0, LONGEST])
COSTS = st.sampled_from([0.0, 0.06, 0.102, 10.0])
NAMES = st.sampled_from("abcd").map(unit)
DISK = st.dictionaries(NAMES, st.sampled_from([b"1", b"2"]))


def _plan() -> ScanPlan:
    return ScanPlan(scan_seconds=SCAN, cpu_share=SHARE)


@pytest.mark.parametrize(
    ("cpu_seconds", "pause"),
    [
        pytest.param(0.0, 60, id="a-cheap-scan-comes-every-minute"),
        pytest.param(0.06, 60, id="as-long-as-it-keeps-within-its-share"),
        pytest.param(0.5, 500, id="a-dear-one-pays-with-its-pause"),
        pytest.param(100.0, 3600, id="but-once-an-hour-there-is-one"),
    ],
)
def test_the_pause_grows_with_the_cost(cpu_seconds: float, pause: float) -> None:
    plan = _plan()
    plan.begin(0.0)
    plan.end(7.0, cpu_seconds=cpu_seconds, is_blind=False)

    assert plan.next_due() == pytest.approx(7 + pause)


def test_a_scan_longer_than_its_pause_is_followed_by_the_pause() -> None:
    plan = _plan()
    assert plan.begin(0.0)
    assert [plan.begin(at) for at in (SCAN, 2 * SCAN)] == [False, False]
    plan.end(150.0, cpu_seconds=0.0, is_blind=False)

    assert (plan.begin(209.0), plan.begin(210.0)) == (False, True)


def test_scans_that_are_asked_for_all_the_time_keep_no_processor_busy() -> None:
    """An agent that makes a folder for each message: a fiftieth of a processor for comparing, and no more."""
    plan = _plan()
    plan.begin(0.0)
    plan.end(1.0, cpu_seconds=0.5, is_blind=False)
    plan.ask(1.0)

    assert plan.next_due() == pytest.approx(25)


def test_after_a_scan_that_took_long_beside_a_backlog_the_one_that_was_asked_for_follows_at_once() -> None:
    """What its first folders got meanwhile, when events were lost, is found by it."""
    plan = _plan()
    plan.begin(0.0)
    plan.ask(1.0)
    plan.end(74.0, cpu_seconds=1.3, is_blind=False)

    assert plan.begin(74.0)


@pytest.mark.parametrize(
    ("scan_seconds", "cpu_seconds", "pause"),
    [
        pytest.param(SCAN, 0.0, 2, id="two-seconds"),
        pytest.param(SCAN, 1.0, 50, id="a-fiftieth-of-a-processor"),
        pytest.param(0.5, 0.0, 0.5, id="a-shorter-pause-stays"),
    ],
)
def test_scans_come_often_where_events_cannot_be_relied_on(
    scan_seconds: float, cpu_seconds: float, pause: float
) -> None:
    plan = ScanPlan(scan_seconds=scan_seconds, cpu_share=SHARE)
    plan.begin(0.0)
    plan.end(0.0, cpu_seconds=cpu_seconds, is_blind=True)

    assert plan.next_due() == pytest.approx(pause)


class PlanAgainstItsPromises(RuleBasedStateMachine):
    """What is asked for is never forgotten, and without being asked no scan comes before its pause is over."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = _plan()
        self.now = 0.0
        self.running = False
        self.began = 0.0
        self.earliest = 0.0  # when a scan may come that nobody asked for
        self.soonest = 0.0  # when one may come that somebody asked for
        self.wanted: list[float] = []  # the times by which scans were asked for since the last one began

    @rule(seconds=STEPS)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(delay=st.sampled_from([0.0, 1.0]))
    def ask(self, delay: float) -> None:
        self.plan.ask(self.now + delay)
        self.wanted.append(self.now + delay)

    @rule()
    def begin(self) -> None:
        is_due = not self.running and self.now >= self._due_at()
        assert self.plan.begin(self.now) is is_due
        if is_due:
            self.running, self.began, self.wanted = True, self.now, []

    @precondition(lambda self: self.running)
    @rule(cost=COSTS, is_blind=st.booleans())
    def end(self, cost: float, *, is_blind: bool) -> None:
        self.plan.end(self.now, cpu_seconds=cost, is_blind=is_blind)
        pause = max(2.0, 50 * cost) if is_blind else max(SCAN, 1000 * cost)
        self.running, self.earliest = False, self.now + min(pause, LONGEST)
        self.soonest = self.began + 50 * cost

    @invariant()
    def it_is_known_when_to_wake(self) -> None:
        assert self.plan.is_asked is bool(self.wanted)
        if self.running:
            assert self.plan.next_due() == inf
        else:
            assert (self.plan.next_due() <= self.now) is (self.now >= self._due_at())

    def _due_at(self) -> float:
        return min([self.earliest, *(max(at, self.soonest) for at in self.wanted)])


TestPlanAgainstItsPromises = PlanAgainstItsPromises.TestCase


@given(disk=DISK, ledger=DISK, again=st.sets(NAMES))
def test_missing_is_what_the_ledger_does_not_know_as_it_is_and_what_is_to_be_read_again(
    disk: dict[Unit, Stamp], ledger: dict[Unit, Stamp], again: set[Unit]
) -> None:
    found = [Found(one, stamp, 0) for one, stamp in disk.items()]

    missing = [each.unit for each in missing_units(found, lambda units: [*map(ledger.get, units)], again)]

    assert missing == [one for one in disk if one in again or disk[one] != ledger.get(one)]


@given(disk=DISK)
def test_after_the_work_is_done_nothing_is_missing(disk: dict[Unit, Stamp]) -> None:
    found = [Found(one, stamp, 0) for one, stamp in disk.items()]

    assert missing_units(found, lambda units: [*map(disk.get, units)], frozenset()) == []
