from __future__ import annotations

import threading

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from grader_daemon.daemon.queue import WorkQueue
from grader_daemon.domain.unit import Unit
from tests.units import unit, units
from tests.waiting import PATIENCE_SECONDS

CAPACITY = 4


def test_a_waiting_worker_is_woken_by_work() -> None:
    queue = WorkQueue(CAPACITY)
    taken: list[Unit] = []
    worker = threading.Thread(target=lambda: taken.extend(queue.take(10, wait=True)))
    worker.start()

    queue.put([unit("a")])

    worker.join(PATIENCE_SECONDS)
    assert taken == [unit("a")]


def test_a_wake_ends_one_wait_without_work() -> None:
    queue = WorkQueue(CAPACITY)
    queue.wake()

    assert queue.take(1, wait=True) == []


def test_a_closed_queue_gives_nothing_more() -> None:
    queue = WorkQueue(CAPACITY)
    queue.put([unit("a")])
    queue.close()

    assert (queue.take(1, wait=True), queue.closed) == ([], True)


def test_it_is_idle_when_what_was_taken_is_done_with() -> None:
    queue = WorkQueue(CAPACITY)
    queue.put([unit("a")])
    waiting = queue.idle
    queue.take(1, wait=False)
    in_hand = queue.idle
    queue.finish()

    assert (waiting, in_hand, queue.idle) == (False, False, True)


def test_it_is_known_how_long_the_oldest_waits() -> None:
    now = [0.0]
    queue = WorkQueue(CAPACITY, clock=lambda: now[0])
    told = [queue.waited_seconds()]
    queue.put([unit("a")])
    now[0] = 3
    queue.put(units("ab"))
    now[0] = 10
    told.append(queue.waited_seconds())
    queue.take(2, wait=False)
    queue.put([unit("c")])
    now[0] = 11
    told.append(queue.waited_seconds())
    queue.finish()
    told.append(queue.waited_seconds())

    assert told == [0, 10, 11 - 3, 11 - 10]


class QueueAgainstAList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.queue = WorkQueue(CAPACITY)
        self.model: list[Unit] = []

    @rule(paths=st.lists(st.sampled_from(units("abcdef")), max_size=6))
    def put(self, paths: list[Unit]) -> None:
        fits = True
        for path in paths:
            if path in self.model:
                continue
            if len(self.model) == CAPACITY:
                fits = False
                break
            self.model.append(path)
        assert self.queue.put(paths) is fits

    @rule(limit=st.integers(1, 5))
    def take(self, limit: int) -> None:
        assert self.queue.take(limit, wait=False) == self.model[:limit]
        del self.model[:limit]

    @invariant()
    def counts(self) -> None:
        assert len(self.queue) == len(self.model)


TestQueue = QueueAgainstAList.TestCase
