"""How long ``grader-daemon backfill`` takes by the clock, in one process and with a helper for each core.

Run it as ``python -m tests.benchmarks.backfill``. The whole command with all it does (start, search, rows, end), in
turns on the same files, which are in the page cache; the start, measured with an empty folder, is taken off. What a
session costs of a processor is what `throughput` measures.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from tests.benchmarks.corpora import MADE, Corpus, made_corpus
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, progress, progress_done, work_folder
from tests.benchmarks.process import make_sandbox


def start_seconds(folder: Path, *, jobs: int, rounds: int) -> float:
    """Wall-clock of the command when there is nothing to do."""
    command = partial(make_sandbox(folder / "empty").command, "backfill", "--jobs", str(jobs))
    return statistics.median(_seconds(command) for _ in range(rounds))


def grading_seconds(corpus: Corpus, folder: Path, *, root: Path, jobs: int) -> float:
    """Wall-clock of grading a corpus into a new database.

    Raises:
        SystemExit: not all is graded.
    """
    sandbox = make_sandbox(folder, root=root)
    seconds = _seconds(partial(sandbox.command, "backfill", "--jobs", str(jobs)))
    graded = sandbox.count_grades()
    if graded != corpus.sessions:
        raise SystemExit(f"backfill graded {graded} of {corpus.sessions} sessions, so nothing is measured")
    return seconds


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1), help="helpers (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    rows = []
    with work_folder(options.folder) as folder:
        start = {jobs: start_seconds(folder, jobs=jobs, rounds=options.rounds) for jobs in (1, options.jobs)}
        for name in MADE:
            corpus = made_corpus(folder / name, name, slices=None)
            spent: dict[int, list[float]] = {jobs: [] for jobs in start}
            for number in range(options.rounds):
                progress(f"{name}: round {number + 1} of {options.rounds}")
                for jobs, seconds in spent.items():
                    place = folder / f"{name}-{jobs}-{number}"
                    seconds.append(grading_seconds(corpus, place, root=folder / name, jobs=jobs) - start[jobs])
            alone, together = (statistics.median(seconds) for seconds in spent.values())
            rate = [f"{corpus.sessions / each:,.0f}" for each in (alone, together)]
            rows.append((name, f"{corpus.sessions:,}", *rate, f"{alone / together:.2f}"))
    progress_done()
    print_table(("session", "files", "a second, one process", f"--jobs {options.jobs}", "times as fast"), rows)


if __name__ == "__main__":
    main()
