"""Grades slices of sessions by one commit, for `throughput`: a request on each line of its input, an answer for each.

It runs in a process of its own, whose `PYTHONPATH` names the commit first, so it asks no more of it than what programs
of others may: `SelfGrader`. A slice is one transaction. Patterns are compiled between slices, as far as what they stand
in was imported, which is the case after the first: that is the cost of a process, not of a session.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from time import process_time

import msgspec

from grader_daemon import SelfGrader
from grader_daemon.domain.unit import NOWHERE, Found, Unit
from grader_daemon.settings import load_settings
from tests.benchmarks.stages import StageClocks


class Slice(msgspec.Struct, frozen=True):
    """Files that are graded in one go, with clocks around the stages or without."""

    paths: tuple[str, ...]
    clocked: bool


class Graded(msgspec.Struct, frozen=True):
    """What a slice took: seconds of CPU, of each stage if it was clocked, and what came of the files."""

    cpu_seconds: float
    stages: dict[str, float]
    outcomes: dict[str, int]


def _graded(grader: SelfGrader, files: Sequence[Found], clocks: StageClocks | None) -> Graded:
    gc.collect()
    _compile_patterns()
    with nullcontext() if clocks is None else clocks.running():
        began = process_time()
        batches = list(grader.grading.backfill(files))
        spent = process_time() - began
    outcomes = Counter(str(each.outcome) for batch in batches for each in batch)
    return Graded(spent, {} if clocks is None else clocks.seconds(spent), dict(outcomes))


def _compile_patterns() -> None:
    """Compile those of a commit that would else do so while it grades; one that has none did it at its start."""
    with suppress(ModuleNotFoundError, AttributeError):
        import_module("grader_daemon.domain.late_pattern").compile_late_patterns()


def main(root: str, database: str) -> None:
    """Grade what each line of the input names below `root`, and answer with a line."""
    answers, clocks = sys.stdout.buffer, StageClocks()
    settings = load_settings(watch_roots=(Path(root),), db_path=Path(database))
    with SelfGrader(settings=settings) as grader:
        for line in sys.stdin.buffer:
            asked = msgspec.json.decode(line, type=Slice)
            files = [Found(Unit("hermes", path), NOWHERE, 0) for path in asked.paths]
            answers.write(msgspec.json.encode(_graded(grader, files, clocks if asked.clocked else None)) + b"\n")
            answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
