"""Examines many units in several processes, and in one of its own each that may take long or end whoever reads it.

Each process has at most one chunk in hand, so what is in flight is what its helper has in hand. A chunk that is done
is returned whole: a session that ends a helper is in trouble, and the others of its chunk are handed out again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from multiprocessing.connection import wait
from time import monotonic

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.crash_marks import CrashMarks
from grader_daemon.pipeline.examine import Examined, Examiner, inside_of
from grader_daemon.pipeline.helper_process import ENDED_THE_HELPER, HelperProcess, Task
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON, OnBug, examine_any, trouble_with
from grader_daemon.system.running import usable_cores

Gathered = tuple[Examined, LedgerEntry | None]
"""Result of examining a unit, and its ledger row before."""

LARGE_BYTES = 2_000_000
"""Hardly any session is larger. Smaller files take seconds at most, so the daemon reads a few of them itself (measured:
2.3 s/MB for the worst kind known, 0.01 s/MB for ordinary ones)."""

CHUNK = 64
"""Units that a helper is handed: some 20 ms of work, and as long to save, while a live session waits."""

_TOO_LONG = (
    "grading it takes more CPU time than max_cpu_seconds_per_100_mb = {:g} allows; if the file is"
    " a real session, raise that setting"
)
_IDLE_SECONDS = 10.0
_CHECK_SECONDS = 0.25
"""So often helpers are asked how long they have computed: a unit may take seconds, and who waits looks every 5 ms."""

_MOST_USEFUL = 4
"""One thread writes, and more would outrun it; each takes some 20 MB."""

_MANY = 1_000
"""From so many units on, helpers save more time than they take to start: a second."""

_MOST_DEATHS = 3
"""Most times in a row that a helper may end before it reads a file."""


def useful_helpers() -> int:
    """Return how many helpers make a backlog as short as it can be on this machine."""
    return min(usable_cores(), _MOST_USEFUL)


def processes_for(units: int) -> int:
    """Return how many processes are to examine so many units; 1 is the one that asks."""
    return useful_helpers() if units >= _MANY else 1


def is_suspect(known: LedgerEntry | None) -> bool:
    """Return whether a unit with this ledger row has ended a process before."""
    ends = (ENDED_THE_DAEMON, ENDED_THE_HELPER)
    return known is not None and known.attempts > 0 and (known.reason or "").startswith(ends)


class Helpers:
    """Helper processes, at most `most`, started when there is work. One thread uses them: they end with it."""

    def __init__(
        self, *, most: int, marks: CrashMarks, look_up: Callable[[Sequence[Unit]], list[Task]], on_bug: OnBug
    ) -> None:
        """Set up; nothing is started. `look_up` asks the ledger for units that are to be handed out."""
        self.most = most
        self._marks = marks
        self._look_up = look_up
        self._on_bug = on_bug
        self._waiting: deque[Unit] = deque()
        self._heavy: deque[Task] = deque()
        self._helpers: dict[int, HelperProcess] = {}
        self._parts: dict[int, list[Gathered]] = {}
        """Results of a helper's chunk that is still in hand, for there are more sessions in its files."""
        self._done: deque[list[Gathered]] = deque()
        self._deaths = 0
        self._used_at = 0.0
        self._next_check = 0.0

    @property
    def waiting(self) -> int:
        """Return how many units wait to be handed out."""
        return len(self._waiting) + len(self._heavy)

    @property
    def running(self) -> int:
        """Return how many processes there are."""
        return len(self._helpers)

    @property
    def busy(self) -> bool:
        """True if something waits, or is in hand, or done and not collected."""
        return bool(self._done or self.waiting or any(helper.in_hand for helper in self._helpers.values()))

    def is_heavy(self, examiner: Examiner, task: Task) -> bool:
        """Return whether a unit is large, or ended a process before: a helper is to examine it alone."""
        return self.most > 0 and (is_suspect(task.known) or examiner.sources.size_of(task.unit) > LARGE_BYTES)

    def add(self, units: Iterable[Unit]) -> None:
        """Queue units to be handed out."""
        self._waiting.extend(units)

    def add_heavy(self, task: Task) -> None:
        """Queue a unit that is examined alone, if it is not queued yet."""
        if all(waiting.unit != task.unit for waiting in self._heavy):
            self._heavy.append(task)

    def hand_out(self, examiner: Examiner, now: datetime) -> None:
        """Hand each process that has nothing in hand something that waits; those that are missing are started."""
        for slot in range(1, self.most + 1):
            helper = self._helpers.get(slot)
            if helper is not None and helper.in_hand:
                continue
            tasks = self._next_chunk(examiner)
            if not tasks:
                return
            self._hand_over(slot, tasks, examiner, now)

    def _next_chunk(self, examiner: Examiner) -> list[Task]:
        """Return what one helper gets: a heavy unit if memory is sure to be enough for it, else some others."""
        if self._heavy and self._is_room_for(self._heavy[0], examiner):
            return [self._heavy.popleft()]
        some = -(-len(self._waiting) // self.most)
        while self._waiting:
            light: list[Task] = []
            for task in self._look_up([self._waiting.popleft() for _ in range(min(some, CHUNK, len(self._waiting)))]):
                if self.is_heavy(examiner, task):
                    self.add_heavy(task)
                else:
                    light.append(task)
            if light:
                return light
        return [self._heavy.popleft()] if self._heavy and self._is_room_for(self._heavy[0], examiner) else []

    def _is_room_for(self, task: Task, examiner: Examiner) -> bool:
        """Return whether large files in hand are together no larger than the largest one that memory is set for."""
        size_of = examiner.sources.size_of
        held = [size_of(each.unit) for helper in self._helpers.values() for each in helper.in_hand]
        large = [size for size in held if size > LARGE_BYTES]
        return not large or sum(large) + size_of(task.unit) <= examiner.limits.bytes

    def _hand_over(self, slot: int, tasks: Sequence[Task], examiner: Examiner, now: datetime) -> None:
        """Hand tasks to a process; one that has ended since, or examines by another policy, is replaced."""
        try:
            helper = self._helpers.get(slot)
            if helper is not None and helper.examiner is not examiner:
                self._end(slot)
                helper = None
            if helper is None:
                helper = self._helpers[slot] = HelperProcess(examiner, self._marks.of(slot))
            helper.hand_over(tasks, now)
        except OSError as error:
            if slot in self._helpers:
                self._lose(slot, now)
            else:
                self._do_without(tasks, examiner, now, str(error))
        self._used_at = monotonic()

    def _do_without(self, tasks: Sequence[Task], examiner: Examiner, now: datetime, error: str) -> None:
        """Examine in this process what a helper should have: none can be started, or each ends at once."""
        why = f"cannot start a process to grade it: {error}"
        found: list[Gathered] = []
        for task in tasks:
            if self.is_heavy(examiner, task):
                examined: Examined = trouble_with(task.unit, why, examiner.sources, hope=True)
            else:
                examined = examine_any(examiner, task.unit, now=now, known=task.settled, on_bug=self._on_bug)
            found.append((examined, task.known))
        self._done.append(found)

    def collect(self, within_seconds: float, now: datetime) -> list[Gathered]:
        """Return a chunk that is done, [] if none is within `within_seconds`."""
        busy = {slot: helper for slot, helper in self._helpers.items() if helper.in_hand}
        if busy and not self._done:
            ready = wait([helper.connection for helper in busy.values()], within_seconds)
            is_time = monotonic() >= self._next_check
            self._next_check = monotonic() + _CHECK_SECONDS if is_time else self._next_check
            for slot, helper in busy.items():
                if helper.connection in ready:
                    self._receive(slot, helper, now)
                elif is_time:
                    self._check(slot, helper, now)
        return self._done.popleft() if self._done else []

    def _receive(self, slot: int, helper: HelperProcess, now: datetime) -> None:
        """Receive what a helper found. Files may show more sessions, of which nothing else tells: they come next.

        They are returned together with it.
        """
        try:
            answers = helper.receive()
        except (EOFError, OSError):
            self._lose(slot, now)
            return
        self._deaths, self._used_at = 0, monotonic()
        for task, answer in answers:
            if answer.bug is not None:
                self._on_bug(task.unit, RuntimeError(answer.bug))
        found = self._parts.pop(slot, [])
        inside = [] if found else [unit for _, answer in answers for unit in inside_of(answer.examined)]
        found += [(answer.examined, task.known) for task, answer in answers]
        if inside:
            self._parts[slot] = found
            self._hand_over(slot, self._look_up(inside), helper.examiner, now)
        else:
            self._done.append(found)

    def _check(self, slot: int, helper: HelperProcess, now: datetime) -> None:
        """End a helper whose unit takes too long."""
        try:
            is_over = helper.is_over_limit()
        except OSError:
            return  # it ended: the next look receives that
        if is_over:
            allowed = helper.examiner.limits.cpu_seconds_per_100_mb
            self._put_aside(slot, helper, _TOO_LONG.format(allowed), now, hope=False)

    def _lose(self, slot: int, now: datetime) -> None:
        """Handle a helper that ended by itself."""
        helper = self._helpers[slot]
        self._put_aside(slot, helper, helper.why_ended(), now, hope=True)

    def _put_aside(self, slot: int, helper: HelperProcess, why: str, now: datetime, *, hope: bool) -> None:
        """End a helper: the unit that it read is in trouble, and the others that it had in hand wait again."""
        reads = helper.reads()
        self._deaths = self._deaths + 1 if reads is None else 0
        others = [task for task in helper.in_hand if task.unit != reads]
        found = self._parts.pop(slot, [])
        for task in helper.in_hand:
            if task.unit == reads:
                found.append((trouble_with(task.unit, why, helper.examiner.sources, hope=hope), task.known))
        if found:
            self._done.append(found)
        if self._deaths >= _MOST_DEATHS:
            self._do_without(others, helper.examiner, now, why)
        else:
            self._waiting.extendleft(task.unit for task in reversed(others))
        self._end(slot)

    def rest(self) -> None:
        """End the processes if they were not needed for a while."""
        if self._helpers and not self.busy and monotonic() - self._used_at > _IDLE_SECONDS:
            self.end()

    def end(self) -> None:
        """End the processes, whatever they do, and forget what waits."""
        for slot in list(self._helpers):
            self._end(slot)
        self._waiting.clear()
        self._heavy.clear()
        self._parts.clear()
        self._done.clear()

    def _end(self, slot: int) -> None:
        self._helpers.pop(slot).end()
