"""Workers, of a Dask cluster or this process alone: what they have in hand, and what came of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

from grader_daemon.archive.shard import ShardError, ShardResult, examine_shard, read_part
from grader_daemon.archive.slices import Slice
from grader_daemon.pipeline.examine import Examiner

BEAT_SECONDS: Final = 2.0
"""Whoever waits hears so often that nothing came: the first line is wanted within seconds."""
STUCK_SECONDS: Final = 30 * 60
"""A task is read in 15 minutes at most (see `slices`), and its sessions are graded in seconds."""


class Ended(NamedTuple):
    """End of a task: its results, or None and why there are none. Without task: nothing has ended."""

    task: Sequence[Slice] = ()
    results: Iterator[ShardResult] | None = None
    failure: str = ""


class ThisProcess:
    """Examines tasks one by one, without a cluster. Whatever crashes it ends the run: the next one goes on there."""

    count: Final = 1

    def __init__(self, examiner: Examiner, url: str, now: datetime) -> None:
        self._given = (examiner, url)
        self._now = now
        self.handed: deque[Sequence[Slice]] = deque()

    def hand_out(self, task: Sequence[Slice]) -> None:
        """Have a task examined when those before it are."""
        self.handed.append(task)

    def wait(self) -> Iterator[Ended]:
        """Examine the first task, and yield it."""
        task = self.handed.popleft()
        try:
            results = examine_shard(*self._given, task, self._now)
        except ShardError as error:
            yield Ended(task, failure=_reason(error))
        else:
            yield Ended(task, map(read_part, results))

    def drop_all(self) -> None:
        """Examine no more of what is in hand."""
        self.handed.clear()


class Workers:
    """Examine tasks on a cluster; `count` of them at once."""

    def __init__(self, client: Any, examiner: Examiner, url: str, now: datetime) -> None:
        """`client` is a `distributed.Client`."""
        self._client = client
        self._given = (examiner, url)
        self._now = now
        self._ended: SimpleQueue[Any] = SimpleQueue()
        """Filled by threads of Dask."""
        self._heard_at = time.monotonic()
        self.count = max(1, sum(client.nthreads().values()))
        self.handed: dict[str, tuple[Any, Sequence[Slice]]] = {}
        """Tasks by their keys, and their futures, which Dask would drop else."""

    def hand_out(self, task: Sequence[Slice]) -> None:
        """Have a task examined."""
        future = self._client.submit(examine_shard, *self._given, task, self._now, pure=False)
        self.handed[future.key] = future, task
        future.add_done_callback(self._ended.put)

    def wait(self) -> Iterator[Ended]:
        """Yield the task that ends next, or after some seconds that none has; all of them if the workers are stuck."""
        try:
            future = self._ended.get(timeout=BEAT_SECONDS)
        except Empty:
            yield Ended()
            if self._are_stuck():
                yield from self._given_up()
            return
        self._heard_at = time.monotonic()
        if future.key not in self.handed:  # it was given up
            return
        task = self.handed[future.key][1]
        try:
            results = map(read_part, future.result())  # waited for again if its worker has ended meanwhile
        except Exception as error:  # noqa: BLE001  whatever a worker failed on
            del self.handed[future.key]
            yield Ended(task, failure=_reason(error))
        else:
            yield Ended(task, results)
            del self.handed[future.key]
        future.release()

    def drop_all(self) -> None:
        """Have nobody work on what is in hand any more."""
        for future, _ in self.handed.values():
            future.release()
        self.handed.clear()

    def _are_stuck(self) -> bool:
        """Return whether nothing came of workers of our own for so long; those of others may be at work for others."""
        return self._client.cluster is not None and time.monotonic() - self._heard_at > STUCK_SECONDS

    def _given_up(self) -> Iterator[Ended]:
        """End the processes that have tasks in hand, and yield these."""
        busy = [worker for worker, keys in self._client.processing().items() if set(keys) & set(self.handed)]
        tasks = [task for _, task in self.handed.values()]
        self.drop_all()
        with suppress(Exception):  # one that cannot be ended by its nanny is one less to work
            self._client.restart_workers(busy, raise_for_error=False)
        self._heard_at = time.monotonic()
        for task in tasks:
            yield Ended(task, failure=f"no result within {STUCK_SECONDS // 60} minutes")


def _reason(error: Exception) -> str:
    if "KilledWorker" in type(error).__name__:
        return "the processes that examined it crashed"
    return str(error) if isinstance(error, ShardError) else f"{type(error).__name__}: {error}"
