"""Grades slices of sessions by one commit, for `archives`: a folder on each line of its input, an answer for each.

It runs in a process of its own, whose `PYTHONPATH` names the commit first. A slice is graded as `grade` does in one
process, or as an archive by a cluster of one worker: there, too, nobody waits for a processor because of the others.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

import msgspec

from grader_daemon import SelfGrader
from grader_daemon.archive.graded_archive import Archive, backfill_archive, cluster


class Spent(msgspec.Struct, frozen=True):
    """What a slice took: seconds of CPU of this process and of the worker, and by the clock."""

    sessions: int
    here: float
    worker: float
    seconds: float


Work = Callable[[str], int]
"""Grades what is below a folder, and says how many sessions."""


@contextmanager
def _in_one_process(grader: SelfGrader) -> Iterator[tuple[Work, Callable[[], float]]]:
    files = grader.grading.ungraded_files()

    def work(folder: str) -> int:
        there = [each for each in files if each.unit.locator.startswith(f"{folder}/")]
        return sum(len(batch) for batch in grader.grading.backfill(there))

    yield work, lambda: 0.0


@contextmanager
def _as_archives(grader: SelfGrader) -> Iterator[tuple[Work, Callable[[], float]]]:
    with cluster(workers=1) as client:

        def work(folder: str) -> int:
            return sum(len(part.recorded) for part in backfill_archive(grader.context, Archive(folder), client))

        yield work, lambda: sum(client.run(time.process_time).values())


def main(way: str, root: str, database: str) -> None:
    """Grade the folder that each line of the input names, and answer with a line."""
    ways = {"plain": _in_one_process, "archive": _as_archives}
    with SelfGrader(db_path=Path(database), watch_roots=[root]) as grader, ways[way](grader) as (work, worker):
        for line in sys.stdin:
            gc.collect()
            before, began, moment = worker(), process_time(), perf_counter()
            sessions = work(line.strip())
            seconds, here = perf_counter() - moment, process_time() - began
            spent = Spent(sessions, here, worker() - before, seconds)
            sys.stdout.buffer.write(msgspec.json.encode(spent) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
