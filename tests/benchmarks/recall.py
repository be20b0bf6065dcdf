"""Which earlier sessions `recall` tells of, for requests in other words than those of recorded sessions.

Run it as ``python -m tests.benchmarks.recall`` in the repository, with the recorded sessions beside it; it takes half a
minute of CPU. A session is the right one where it has the task that a request of ``tests/data/recall_requests.tsv``
names. The thresholds of `grader_daemon.recall.store` were chosen by the first half of the requests, the second half was
written afterwards. Half of the tasks of one source, gab_tau2, are asked for in the same words.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import msgspec

from grader_daemon.pipeline.labelled import read_labels
from grader_daemon.recall.find_recollections import Recollections
from tests.benchmarks.machine import Figure, add_folder_option, at_most, print_figures, print_table, work_folder
from tests.benchmarks.process import make_sandbox
from tests.benchmarks.targets import RECALL_IRRELEVANT, RECALL_RIGHT

_DATA = Path(__file__).parents[3] / "shared" / "data"
_REQUESTS = Path(__file__).parents[1] / "data" / "recall_requests.tsv"
_LIMIT, _FIRST = 5, 3
_WRITTEN = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
"""Long enough ago that nothing counts as open."""
_SAME_TASKS = {"mint_fb": "mint"}
"""Sources that give the tasks of another one."""


class _Named(msgspec.Struct):
    session_id: str


class _Request(NamedTuple):
    """A request in other words, of one half, and which task it is of; None where no session had it."""

    half: str
    task: str | None
    text: str


class _Told(NamedTuple):
    """A request, and of the sessions that are told of whether each is of its task, in their order."""

    request: _Request
    right: tuple[bool, ...]


def main() -> int:
    """Print what is found for each request, and the shares; gives 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder_option(parser)
    options = parser.parse_args()
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder)
        tasks = _write(sandbox.root)
        sandbox.command("grade", "--jobs", "1")
        told = [_ask(Recollections(sandbox.database), request, tasks) for request in _requests()]
    rows = [(each.request.half, _signs(each.right), each.request.text) for each in told]
    print_table(("half", "told", "request"), rows)
    print()
    figures = [
        figure
        for half in dict.fromkeys(each.request.half for each in told)
        for figure in _figures(half, [each for each in told if each.request.half == half])
    ]
    print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _requests() -> Iterator[_Request]:
    with _REQUESTS.open(encoding="utf-8", newline="") as lines:
        for half, task, text in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield _Request(half, task or None, text)


def _write(root: Path) -> dict[str, str]:
    """Write the recorded sessions as old files, and return the task of each."""
    tasks: dict[str, str] = {}
    for folder in sorted(_DATA.glob("truth*")):
        labels = read_labels(folder / "labels.csv")
        tasks |= {name: f"{_SAME_TASKS.get(label.source, label.source)}/{label.task}" for name, label in labels.items()}
        for archive in sorted((folder / "sessions").glob("*.jsonl.gz")):
            sessions = root / archive.name.partition(".")[0] / "sessions"
            sessions.mkdir(parents=True)
            with gzip.open(archive) as lines:
                for line in lines:
                    _write_session(sessions, line)
    return tasks


def _write_session(folder: Path, line: bytes) -> None:
    path = folder / f"session_{msgspec.json.decode(line, type=_Named).session_id}.json"
    path.write_bytes(line)
    os.utime(path, (_WRITTEN, _WRITTEN))


def _ask(known: Recollections, request: _Request, tasks: Mapping[str, str]) -> _Told:
    found = known.like(request.text, limit=_LIMIT)
    return _Told(request, tuple(tasks.get(each.session.session_id) == request.task for each in found))


def _signs(right: Sequence[bool]) -> str:
    return "".join("+" if each else "-" for each in right)


def _figures(half: str, told: Sequence[_Told]) -> Iterator[Figure]:
    of_tasks = [each for each in told if each.request.task is not None]
    first = sum(any(each.right[:_FIRST]) for each in of_tasks) / len(of_tasks)
    right = [each for one in of_tasks for each in one.right]
    wrong = 100 * right.count(False) / len(right)
    wrong_of_one = 100 * mean(1 - mean(each.right) for each in of_tasks if each.right)
    answered = sum(bool(each.right) for each in told if each.request.task is None)
    name = f"{half}: a right one among the first three"
    yield Figure(name, f"{first:.0%}", f">= {RECALL_RIGHT:.0%}", met=first >= RECALL_RIGHT)
    name = f"  of another task, of {len(right)} told"
    yield at_most(name, wrong, target=100 * RECALL_IRRELEVANT, unit="%", digits=0)
    yield at_most("  of another task in an answer, mean", wrong_of_one, target=None, unit="%", digits=0)
    yield Figure(f"  answered, of {len(told) - len(of_tasks)} that nobody had asked for", str(answered))


if __name__ == "__main__":
    sys.exit(main())
