"""How fast sessions are graded, against the floor: reading the file and decoding its JSON with orjson, nothing else.

Run it as ``python -m tests.benchmarks.backfill`` in the repository; ``--profile`` adds where the time
goes, ``--one-process`` leaves the command line out, ``--help`` tells the rest.

One process: `Ingest.ingest` in batches of 500 into a new database, by CPU time. Floor and grading take turns on the
same files, which are in the page cache; each turn gives one ratio, so that a slow moment of the machine hits both
sides.

Two processes: the wall-clock of ``grader-daemon backfill --jobs 2`` with all it does (start, search, rows, end) against
the wall-clock of the floor on one core, again in turns. `net x` is the median without the start, which is measured with
an empty folder: what a corpus of any length comes close to.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import os
import pstats
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson

from grader_daemon import bootstrap
from grader_daemon.pipeline.commit import IngestOutcome
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.settings import load_settings
from tests.benchmarks.machine import (
    add_folder_option,
    forget_settings,
    print_machine,
    print_table,
    progress,
    progress_done,
    verdict,
    work_folder,
)
from tests.benchmarks.process import make_sandbox
from tests.benchmarks.sessions import write_sessions
from tests.benchmarks.stages import StageClocks
from tests.benchmarks.targets import ONE_PROCESS_OF_FLOOR, TWO_PROCESSES_OF_FLOOR
from tests.units import units

BATCH = 500
SIZES = {20_000: 8_000, 200_000: 800, 2_000_000: 80}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Session files of one size in one folder."""

    size: int
    root: Path
    paths: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Turn:
    """Seconds that the floor and the grading of one corpus took, one after the other."""

    floor: float
    grading: float

    @property
    def ratio(self) -> float:
        return self.floor / self.grading


def make_corpus(folder: Path, *, size: int, count: int) -> Corpus:
    """Write `count` sessions, a hundred in a folder, and leave them in the page cache."""
    root = folder / str(size)
    homes = [root / f"home{number // 100}" / "sessions" for number in range(count)]
    for home in dict.fromkeys(homes):
        home.mkdir(parents=True)
    progress(f"{size:,} bytes: writing {count:,} sessions")
    paths = write_sessions(homes, size=size)
    progress_done()
    return Corpus(size, root, paths, sum(os.path.getsize(path) for path in paths))


def read_and_decode(paths: Sequence[str]) -> None:
    """The floor: what nobody who wants to know what is in the files can leave out."""
    loads = orjson.loads
    for path in paths:
        with open(path, "rb") as file:
            loads(file.read())


def ingest_all(corpus: Corpus, folder: Path) -> None:
    """Grade a corpus into a database that nobody has seen before, as a backfill in one process does."""
    with_database(corpus, folder, lambda ingest: _ingest(ingest, corpus.paths))


def with_database(corpus: Corpus, folder: Path, use: Callable[[Ingest], None]) -> None:
    """Open a new database, use it, close it (which moves its log into it) and remove it."""
    database = folder / f"{corpus.size}.db"
    settings = load_settings(watch_roots=(corpus.root,), db_path=database)
    store = bootstrap.open_store(settings)
    try:
        use(bootstrap.make_ingest(settings, store, policy=bootstrap.make_policy(settings, store)))
    finally:
        store.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{database}{suffix}").unlink(missing_ok=True)


def _ingest(ingest: Ingest, paths: Sequence[str]) -> None:
    done = 0
    while done < len(paths):
        recorded, covered = ingest.ingest(units(paths[done : done + BATCH]), within_seconds=3600)
        wrong = [one for one in recorded if one.outcome is not IngestOutcome.GRADED]
        if wrong:
            raise SystemExit(f"not graded, so nothing is measured: {wrong[0]}")
        done += covered


def measure(clock: Callable[[], float], work: Callable[[], object]) -> float:
    """Seconds of `clock` that `work` takes, from a clean slate for the garbage collector."""
    gc.collect()
    started = clock()
    work()
    return clock() - started


def one_process(corpus: Corpus, folder: Path, *, rounds: int) -> list[Turn]:
    """CPU seconds, in turns; which side begins alternates."""
    turns = []
    read_and_decode(corpus.paths)
    ingest_all(corpus, folder)
    for number in range(rounds):
        progress(f"{corpus.size:,} bytes: round {number + 1} of {rounds}")
        grade = partial(ingest_all, corpus, folder)
        read = partial(read_and_decode, corpus.paths)
        if number % 2:
            grading, floor = measure(time.process_time, grade), measure(time.process_time, read)
        else:
            floor, grading = measure(time.process_time, read), measure(time.process_time, grade)
        turns.append(Turn(floor, grading))
    progress_done()
    return turns


def start_seconds(folder: Path, *, rounds: int) -> float:
    """Wall-clock of the command when there is nothing to do."""
    sandbox = make_sandbox(folder / "empty")
    command = partial(sandbox.command, "backfill", "--jobs", "2")
    return statistics.median(measure(time.perf_counter, command) for _ in range(rounds))


def two_processes(corpus: Corpus, folder: Path, *, rounds: int) -> list[Turn]:
    """Wall-clock seconds of the floor on one core and of the whole command with two jobs, in turns."""
    turns = []
    for number in range(rounds):
        progress(f"{corpus.size:,} bytes, two processes: round {number + 1} of {rounds}")
        floor = measure(time.perf_counter, partial(read_and_decode, corpus.paths))
        sandbox = make_sandbox(folder / f"backfill{corpus.size}.{number}", root=corpus.root)
        grading = measure(time.perf_counter, partial(sandbox.command, "backfill", "--jobs", "2"))
        graded = sandbox.count_grades()
        if graded != len(corpus.paths):
            raise SystemExit(f"backfill graded {graded} of {len(corpus.paths)} sessions, so nothing is measured")
        turns.append(Turn(floor, grading))
    progress_done()
    return turns


def table_row(corpus: Corpus, turns: Sequence[Turn], *, target: float | None, start: float) -> tuple[str, ...]:
    """One line of a result: rates of the best turn, ratios of all. `start` is left out of `net x`, in seconds."""
    count = len(corpus.paths)
    floor = min(turn.floor for turn in turns)
    grading = min(turn.grading for turn in turns)
    ratio = statistics.median(turn.ratio for turn in turns)
    return (
        f"{corpus.bytes / count / 1000:,.0f} KB",
        f"{count:,}",
        f"{count / floor:,.0f}",
        f"{count / grading:,.0f}",
        f"{corpus.bytes / grading / 1e6:,.0f}",
        f"{grading / count * 1e6:,.0f}",
        f"{floor / grading:.2f}",
        f"{ratio:.2f}",
        f"{statistics.median(turn.floor / (turn.grading - start) for turn in turns):.2f}",
        "" if target is None else f">= {target:.2f}",
        verdict(None if target is None else ratio >= target),
    )


def print_turns(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Print the lines of one way to measure; `us each` is microseconds per session."""
    print(title)
    head = ("session", "files", "floor/s", "graded/s", "MB/s", "us each", "best x", "median x", "net x", "target", "")
    print_table(head, rows)


def profile(corpora: Sequence[Corpus], folder: Path, *, rounds: int) -> None:
    """Print microseconds per session and stage, of the fastest of some rounds."""
    columns = []
    for corpus in corpora:
        clocks = StageClocks()
        tries = []
        for _ in range(rounds):
            gc.collect()
            with_database(corpus, folder, partial(_clocked, corpus=corpus, clocks=clocks))
            tries.append(clocks.per_session(len(corpus.paths)))
        columns.append(min(tries, key=lambda spent: spent["total"]))
    print(
        "Where the time goes: microseconds of wall-clock per session (clocks included; the end of the database is not)"
    )
    head = ("stage", *(f"{corpus.size / 1000:,.0f} KB" for corpus in corpora))
    print_table(head, [(label, *(f"{column[label]:,.1f}" for column in columns)) for label in columns[0]])


def _clocked(ingest: Ingest, *, corpus: Corpus, clocks: StageClocks) -> None:
    with clocks.running():
        _ingest(ingest, corpus.paths)


def print_functions(corpus: Corpus, folder: Path, *, lines: int) -> None:
    """Print the functions that cost most; the profiler itself makes small ones look slower than they are."""
    profiler = cProfile.Profile()
    with_database(corpus, folder, lambda ingest: profiler.runcall(_ingest, ingest, corpus.paths))
    print(f"Functions, sessions of {corpus.size:,} bytes")
    pstats.Stats(profiler, stream=sys.stdout).strip_dirs().sort_stats("tottime").print_stats(lines)


def report_one_process(corpora: Sequence[Corpus], folder: Path, *, rounds: int) -> None:
    """Measure and print the first table."""
    rows = []
    for corpus in corpora:
        turns = one_process(corpus, folder, rounds=rounds)
        rows.append(table_row(corpus, turns, target=ONE_PROCESS_OF_FLOOR.get(corpus.size), start=0.0))
    print_turns("One process, per CPU second", rows)


def report_two_processes(corpora: Sequence[Corpus], folder: Path, *, rounds: int) -> None:
    """Measure and print the second table."""
    start = start_seconds(folder, rounds=rounds)
    rows = []
    for corpus in corpora:
        turns = two_processes(corpus, folder, rounds=rounds)
        rows.append(table_row(corpus, turns, target=TWO_PROCESSES_OF_FLOOR, start=start))
    print_turns(f"Two processes against the floor on one core, per second of wall-clock (start: {start:.2f} s)", rows)


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=list(SIZES), help="bytes per session (default: %(default)s)"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiplies the number of files (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns per size (default: %(default)s)")
    parser.add_argument("--one-process", action="store_true", help="leave the command line out")
    parser.add_argument("--profile", action="store_true", help="print microseconds per stage, too")
    parser.add_argument(
        "--functions", type=int, default=0, metavar="N", help="print the N functions that cost most, too"
    )
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        forget_settings(folder)
        corpora = [make_corpus(folder, size=size, count=_count(size, options.scale)) for size in options.sizes]
        report_one_process(corpora, folder, rounds=options.rounds)
        if not options.one_process:
            report_two_processes(corpora, folder, rounds=3)
        if options.profile:
            profile(corpora, folder, rounds=3)
        for corpus in corpora if options.functions else ():
            print_functions(corpus, folder, lines=options.functions)


def _count(size: int, scale: float) -> int:
    usual = SIZES.get(size) or max(10, min(2_000, 60_000_000 // size))
    return max(1, round(usual * scale))


if __name__ == "__main__":
    main()
