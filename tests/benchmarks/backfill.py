"""How long ``grader-daemon grade`` takes by the clock, in one process and with a helper for each core.

Run it as ``python -m tests.benchmarks.backfill``. The whole command with all it does (start, search, rows, end), in
turns on the same files, which are in the page cache; the start, measured with an empty folder, is taken off. What a
session costs of a processor is what `throughput` measures.

``--first-start`` measures what a first start takes of processors instead: all that ``run --once`` does, learning and
reports too, beside ``grade`` in one process and with helpers, start included.

``--another-grader`` measures what ``grade --again`` takes of processors after other limits of rules, and then another
prior, beside ``grade`` and ``grade --again --all``, start included.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

import msgspec

from grader_daemon.rules.load_prior import load_prior, prior_text
from tests.benchmarks.corpora import MADE, REAL, Corpus, has_archives, made_corpus, real_corpus
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, progress, progress_done, work_folder
from tests.benchmarks.process import Sandbox, make_sandbox

_OTHER_LIMITS = """
[efficiency]
levels = [{ score = 5, error_rate = 0.05, tool_calls = 12 }, { score = 4, error_rate = 0.15, tool_calls = 20 }]
[quality]
base = 2.5
[completion]
high_error_rate = 0.2
"""


def start_seconds(folder: Path, *, jobs: int, rounds: int) -> float:
    """Wall-clock of the command when there is nothing to do."""
    command = partial(make_sandbox(folder / "empty").command, "grade", "--jobs", str(jobs))
    return statistics.median(_seconds(command) for _ in range(rounds))


def grading_seconds(corpus: Corpus, folder: Path, *, root: Path, jobs: int) -> float:
    """Wall-clock of grading a corpus into a new database.

    Raises:
        SystemExit: not all is graded.
    """
    sandbox = make_sandbox(folder, root=root)
    seconds = _seconds(partial(sandbox.command, "grade", "--jobs", str(jobs)))
    _check_all_graded(sandbox, corpus)
    return seconds


def first_start(corpus: Corpus, folder: Path, *, root: Path, jobs: int, rounds: int) -> dict[str, float]:
    """Return processor time of each way to grade a corpus into a new database, in seconds: the median of rounds.

    Raises:
        SystemExit: not all is graded.
    """
    ways = {"alone": ("grade", "--jobs", "1"), "together": ("grade", "--jobs", str(jobs)), "once": ("run", "--once")}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        progress(f"{corpus.name}: round {number + 1} of {rounds}")
        for name, way in ways.items():
            sandbox = make_sandbox(folder / f"{name}-{number}", root=root)
            spent[name].append(sandbox.command(*way).cpu_seconds)
            _check_all_graded(sandbox, corpus)
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def another_grader(corpus: Corpus, folder: Path, *, root: Path) -> dict[str, float]:
    """Return processor time of grading a corpus into a new database, and then of each change of the grader, in seconds.

    Raises:
        SystemExit: not all is graded.
    """
    sandbox = make_sandbox(folder, root=root)
    spent = {"grade": sandbox.command("grade", "--jobs", "1").cpu_seconds}
    _check_all_graded(sandbox, corpus)
    (rules := folder / "rules.toml").write_text(_OTHER_LIMITS)
    (prior := folder / "prior.json").write_text(_another_prior())
    settings = {}
    for change, name, path in (("limits", "GRADER_RULES_FILE", rules), ("prior", "GRADER_CALIBRATION_PRIOR", prior)):
        settings[name] = str(path)
        sandbox = replace(sandbox, settings=dict(settings))
        spent[change] = sandbox.command("grade", "--again", "--jobs", "1").cpu_seconds
    spent["all"] = sandbox.command("grade", "--again", "--all", "--jobs", "1").cpu_seconds
    return spent


def _another_prior() -> str:
    shipped = load_prior()
    return prior_text(msgspec.structs.replace(shipped, prior=msgspec.structs.replace(shipped.prior, version="another")))


def print_another_grader(names: Sequence[str], folder: Path, *, rounds: int) -> None:
    """Print what a session costs to grade, and to grade again after each change of the grader."""
    rows = []
    for name in names:
        corpus = (made_corpus if name in MADE else real_corpus)(folder / name, name, slices=None)
        spent: list[dict[str, float]] = []
        for number in range(rounds):
            progress(f"{name}: round {number + 1} of {rounds}")
            spent.append(another_grader(corpus, folder / f"{name}-{number}", root=folder / name))
        costs = [statistics.median(each[way] for each in spent) / corpus.sessions * 1000 for way in spent[0]]
        rows.append((name, f"{corpus.sessions:,}", *(f"{cost:.2f} ({cost / costs[0]:.2f})" for cost in costs)))
    progress_done()
    print_table(
        ("session", "files", "grade, ms", "other limits, ms", "another prior, ms", "grade --again --all, ms"), rows
    )


def _check_all_graded(sandbox: Sandbox, corpus: Corpus) -> None:
    graded = sandbox.count_grades()
    if graded != corpus.sessions:
        raise SystemExit(f"{graded} of {corpus.sessions} sessions were graded, so nothing is measured")


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def print_first_starts(names: Sequence[str], folder: Path, *, jobs: int, rounds: int) -> None:
    """Print what a session costs at a first start, and how many times as much as to grade it alone."""
    rows = []
    for name in names:
        corpus = (made_corpus if name in MADE else real_corpus)(folder / name, name, slices=None)
        spent = first_start(corpus, folder / f"of {name}", root=folder / name, jobs=jobs, rounds=rounds)
        costs = [
            f"{seconds / corpus.sessions * 1000:,.2f} ({seconds / spent['alone']:.2f})" for seconds in spent.values()
        ]
        rows.append((name, f"{corpus.sessions:,}", *costs))
    progress_done()
    print_table(("session", "files", "backfill, ms", f"--jobs {jobs}, ms", "run --once, ms"), rows)


def print_rates(names: Sequence[str], folder: Path, *, jobs: int, rounds: int) -> None:
    """Print how many sessions are graded a second."""
    start = {count: start_seconds(folder, jobs=count, rounds=rounds) for count in (1, jobs)}
    rows = []
    for name in names:
        corpus = (made_corpus if name in MADE else real_corpus)(folder / name, name, slices=None)
        spent: dict[int, list[float]] = {count: [] for count in start}
        for number in range(rounds):
            progress(f"{name}: round {number + 1} of {rounds}")
            for count, seconds in spent.items():
                place = folder / f"{name}-{count}-{number}"
                seconds.append(grading_seconds(corpus, place, root=folder / name, jobs=count) - start[count])
        alone, together = (statistics.median(seconds) for seconds in spent.values())
        rate = [f"{corpus.sessions / each:,.0f}" for each in (alone, together)]
        rows.append((name, f"{corpus.sessions:,}", *rate, f"{alone / together:.2f}"))
    progress_done()
    print_table(("session", "files", "a second, one process", f"--jobs {jobs}", "times as fast"), rows)


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1), help="helpers (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns (default: %(default)s)")
    parser.add_argument("--first-start", action="store_true", help="processor time of `run --once` beside that")
    parser.add_argument(
        "--another-grader", action="store_true", help="that of `grade --again` after changes of the grader"
    )
    parser.add_argument("--only", nargs="+", choices=(*REAL, *MADE), default=(*MADE,), help="default: made ones")
    add_folder_option(parser)
    options = parser.parse_args()
    if not (has_archives() or MADE.keys() >= set(options.only)):
        raise SystemExit("the archive of labelled sessions is not beside this checkout")
    print_machine()
    with work_folder(options.folder) as folder:
        if options.another_grader:
            print_another_grader(options.only, folder, rounds=options.rounds)
            return
        measured = print_first_starts if options.first_start else print_rates
        measured(options.only, folder, jobs=options.jobs, rounds=options.rounds)


if __name__ == "__main__":
    main()
