"""Which earlier sessions `recall` tells of, for requests in other words than those of recorded sessions.

Run it as ``python -m tests.benchmarks.recall`` in the repository, with the recorded sessions beside it; it takes half a
minute of CPU. A session is the right one where it has the task that a request of ``tests/data/recall_requests.tsv``
names. The thresholds of `grader_daemon.recall.store` were chosen by the requests "chosen", of which 48 are for tasks
drawn at random; the requests "unseen" chose nothing. Half of the tasks of one source, gab_tau2, are asked for in the
same words, and those of another, super, in several parts of nearly the same words.
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
from grader_daemon.recall.toolbox import RecallQuestion
from tests.benchmarks.machine import Figure, add_folder_option, at_most, print_figures, print_table, work_folder
from tests.benchmarks.process import make_sandbox
from tests.benchmarks.targets import RECALL_IRRELEVANT, RECALL_RIGHT

_DATA = Path(__file__).parents[3] / "shared" / "data"
_REQUESTS = Path(__file__).parents[1] / "data" / "recall_requests.tsv"
_FIRST = 3
_WRITTEN = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
"""Long enough ago that nothing counts as open."""
_SAME_TASKS = {"mint_fb": "mint", "minigem": "gab_swe", "tau2_subs": "gab_tau2"}
"""Sources that give the tasks of another one: those of SWE-bench by name, those of tau2-bench by number."""
_OTHER_NUMBERS = "toolorchestra-8b+gpt-5"
_NUMBERED = {"gab_tau2", _OTHER_NUMBERS}
"""A submission to tau2-bench that numbers its tasks otherwise than all others do: of a session with one numbering and a
request with the other nobody knows whether they are of one task."""


class _Recorded(msgspec.Struct):
    session_id: str
    model: str = ""


class _Request(NamedTuple):
    """A request in other words, in one of two groups, and which task it is of; None where no session had it."""

    group: str
    task: str | None
    text: str


class _Told(NamedTuple):
    """A request, and of the sessions that are told of whether each is of its task, in their order; None if unknown."""

    request: _Request
    right: tuple[bool | None, ...]

    @property
    def known(self) -> list[bool]:
        """Those of which it is known."""
        return [each for each in self.right if each is not None]


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
    rows = [(each.request.group, _signs(each.right), each.request.text) for each in told]
    print_table(("group", "told", "request"), rows)
    print()
    figures = [
        figure
        for group in dict.fromkeys(each.request.group for each in told)
        for figure in _figures(group, [each for each in told if each.request.group == group])
    ]
    print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _requests() -> Iterator[_Request]:
    with _REQUESTS.open(encoding="utf-8", newline="") as lines:
        for group, task, text in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield _Request(group, task or None, text)


def _write(root: Path) -> dict[str, str]:
    """Write the recorded sessions as old files, and return the task of each."""
    tasks: dict[str, str] = {}
    for folder in sorted(_DATA.glob("truth*")):
        labels = read_labels(folder / "labels.csv")
        for archive in sorted((folder / "sessions").glob("*.jsonl.gz")):
            sessions = root / archive.name.partition(".")[0] / "sessions"
            sessions.mkdir(parents=True)
            with gzip.open(archive) as lines:
                for line in lines:
                    session = msgspec.json.decode(line, type=_Recorded)
                    label = labels[session.session_id]
                    tasks[session.session_id] = f"{_giver_of_tasks(label.source, session.model)}/{label.task}"
                    path = sessions / f"session_{session.session_id}.json"
                    path.write_bytes(line)
                    os.utime(path, (_WRITTEN, _WRITTEN))
    return tasks


def _giver_of_tasks(source: str, model: str) -> str:
    return _OTHER_NUMBERS if model == _OTHER_NUMBERS else _SAME_TASKS.get(source, source)


def _ask(known: Recollections, request: _Request, tasks: Mapping[str, str]) -> _Told:
    found = known.like(request.text, limit=RecallQuestion(request.text).limit)
    return _Told(request, tuple(_is_right(tasks[each.session.session_id], request.task) for each in found))


def _is_right(task: str, asked: str | None) -> bool | None:
    if asked is not None and {_giver(task), _giver(asked)} == _NUMBERED:
        return None
    return task == asked


def _giver(task: str) -> str:
    return task.partition("/")[0]


def _signs(right: Sequence[bool | None]) -> str:
    return "".join("?" if each is None else "+" if each else "-" for each in right)


def _figures(group: str, told: Sequence[_Told]) -> Iterator[Figure]:
    of_tasks = [each for each in told if each.request.task is not None]
    first = sum(any(each.right[:_FIRST]) for each in of_tasks) / len(of_tasks)
    right = [each for one in of_tasks for each in one.known]
    wrong = 100 * right.count(False) / len(right)
    wrong_of_one = 100 * mean(1 - mean(each.known) for each in of_tasks if each.known)
    answered = sum(bool(each.right) for each in told if each.request.task is None)
    name = f"{group}: a right one among the first three"
    yield Figure(name, f"{first:.0%}", f">= {RECALL_RIGHT:.0%}", met=first >= RECALL_RIGHT)
    name = f"  of another task, of {len(right)} told"
    yield at_most(name, wrong, target=100 * RECALL_IRRELEVANT, unit="%", digits=0)
    yield at_most("  of another task in an answer, mean", wrong_of_one, target=None, unit="%", digits=0)
    yield Figure(f"  answered, of {len(told) - len(of_tasks)} that nobody had asked for", str(answered))


if __name__ == "__main__":
    sys.exit(main())
