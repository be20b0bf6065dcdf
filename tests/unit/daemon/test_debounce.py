from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from grader_daemon.daemon.debounce import Debouncer

QUIET = 2.0
MAX_WAIT = 30.0
CAPACITY = 3
STEPS = st.sampled_from([0.0, 0.5, QUIET - 1, QUIET, QUIET + 1, MAX_WAIT - QUIET, MAX_WAIT])
PATHS = st.sampled_from("abcde")


def test_a_path_is_due_when_it_is_quiet() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
    debouncer.touch("a", 0.0)
    debouncer.touch("a", 1.0)

    assert (debouncer.next_due(), debouncer.pop_due(2.9), debouncer.pop_due(3.0)) == (3.0, {}, {"a": 1.0})


def test_a_path_that_never_rests_is_due_all_the_same() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
    for second in range(30):
        debouncer.touch("a", float(second))

    assert (debouncer.pop_due(29.9), debouncer.pop_due(30.0)) == ({}, {"a": 29.0})


def test_a_wait_shorter_than_the_quiet_time_is_the_quiet_time() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=1.0, capacity=CAPACITY)
    debouncer.touch("a", 0.0)

    assert debouncer.next_due() == QUIET


def test_what_does_not_fit_is_refused() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=1)

    assert [debouncer.touch("a", 0.0), debouncer.touch("b", 0.0), debouncer.touch("a", 1.0)] == [True, False, True]


def test_what_does_not_fit_is_not_held_either() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=1)

    assert [debouncer.hold("a", 0.0, until=9.0), debouncer.hold("b", 0.0, until=9.0)] == [True, False]
    assert (debouncer.pop_due(8.9), debouncer.pop_due(9.0)) == ({}, {"a": 0.0})


def test_an_earlier_change_that_is_told_later_is_due_in_its_time() -> None:
    """What lies in a database is found a moment after it was written."""
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
    debouncer.touch("a", 1.0)
    debouncer.touch("b", 0.5)

    assert (debouncer.next_due(), debouncer.pop_due(2.5), debouncer.pop_due(3.0)) == (2.5, {"b": 0.5}, {"a": 1.0})


def test_what_is_held_waits_however_quiet_it_is() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
    debouncer.hold("a", 0.0, until=50.0)

    assert (debouncer.next_due(), debouncer.pop_due(49.9), debouncer.pop_due(50.0)) == (50.0, {}, {"a": 0.0})


def test_what_is_held_is_due_as_ever_when_it_changes_again() -> None:
    debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
    debouncer.hold("a", 0.0, until=50.0)
    debouncer.touch("a", 5.0)

    assert (debouncer.next_due(), debouncer.pop_due(7.0), debouncer.next_due()) == (7.0, {"a": 5.0}, None)


class DebouncerAgainstItsDefinition(RuleBasedStateMachine):
    """Steps stop at the landmarks of the policy, where an error shows."""

    def __init__(self) -> None:
        super().__init__()
        self.debouncer = Debouncer[str](quiet=QUIET, max_wait=MAX_WAIT, capacity=CAPACITY)
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}
        self.until: dict[str, float] = {}
        self.now = 0.0

    @rule(path=PATHS)
    def touch(self, path: str) -> None:
        fits = path in self.last or len(self.last) < CAPACITY
        assert self.debouncer.touch(path, self.now) is fits
        if fits:
            self.first.setdefault(path, self.now)
            self.last[path] = self.now
            self.until.pop(path, None)

    @rule(path=PATHS, step=STEPS)
    def hold(self, path: str, step: float) -> None:
        fits = path in self.last or len(self.last) < CAPACITY
        until = self.now + step
        assert self.debouncer.hold(path, self.now, until=until) is fits
        if fits:
            self.first.setdefault(path, self.now)
            self.last[path] = self.now
            self.until[path] = until

    @rule(step=STEPS)
    def wait(self, step: float) -> None:
        self.now += step

    @rule()
    def pop(self) -> None:
        due = {path for path in self.last if self._due_at(path) <= self.now}
        popped = self.debouncer.pop_due(self.now)
        assert sorted(popped) == sorted(due)
        for path in popped:
            del self.first[path], self.last[path]
            self.until.pop(path, None)

    @invariant()
    def next_due_is_the_earliest(self) -> None:
        assert self.debouncer.next_due() == min(map(self._due_at, self.last), default=None)
        assert len(self.debouncer) == len(self.last)

    def _due_at(self, path: str) -> float:
        due = min(self.last[path] + QUIET, self.first[path] + MAX_WAIT)
        return max(due, self.until.get(path, 0.0))


TestDebouncer = DebouncerAgainstItsDefinition.TestCase
