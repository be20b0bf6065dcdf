"""What the facts of a session are worth: its ending, its result and each proof, on sessions whose outcome is known.

Run it as ``python -m tests.benchmarks.facts [FOLDER …]`` in the repository; a FOLDER is as in
`tests.benchmarks.validity`.

Of each fact: the sessions that have it, how many of them were done, and how many more, or fewer, of a hundred than of
all sessions of the same source: the mean over sources with at least five such sessions, and in how many the fact was
the better sign. It gives 1 where fewer than `BAR` of the sessions that are proven not done were not, or fewer than
`WORST` in a source with at least twenty.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import CompletionPolicy, Outcome
from grader_daemon.grading import Grader
from grader_daemon.pipeline.labelled import LabelRow, read_labels
from grader_daemon.rules import load_rules
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure
from tests.benchmarks.truth.cases import Part, parts_of, sessions_of
from tests.benchmarks.truth.processes import in_processes

BAR: Final = 0.9
WORST: Final = 0.75
_FEWEST: Final = 5
_MANY: Final = 20
_DATA = Path(__file__).parents[3] / "shared/data"
_NOW: Final = datetime(2026, 11, 1, tzinfo=UTC)

Labels = Mapping[Path, Mapping[str, LabelRow]]


class Seen(NamedTuple):
    """A labelled session: its source, whether it was done, its verdict and the facts of its record."""

    source: str
    done: bool
    outcome: Outcome
    facts: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each fact, and the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="sessions and labels.csv")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    folders = options.folders or [_DATA / name for name in ("truth", "truth2", "truth3")]
    labels = {folder: read_labels(folder / "labels.csv") for folder in folders}
    parts = [part for folder in folders for part in parts_of(folder)]
    seen = [each for found in in_processes(_seen, labels, parts, jobs=options.jobs) for each in found]
    headings = ("fact", "sessions", "done", "against its source", "better in")
    machine.print_table(headings, [_row(fact, seen) for fact in sorted({fact for each in seen for fact in each.facts})])
    figures = _figures(seen)
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _seen(labels: Labels, part: Part) -> list[Seen]:
    rules = load_rules()
    analyzer, grader = Analyzer(rules), Grader(rules, CompletionPolicy(), zone=UTC)
    found = []
    for session in sessions_of(part):
        label = labels[part.folder].get(session.session_id)
        if label is not None:
            grade = grader.grade(session, analyzer.analyze(session, idle=True), now=_NOW, written_at=_NOW)
            found.append(Seen(label.source, label.completed, grade.outcome, tuple(_facts(grade))))
    return found


def _facts(grade: Grade) -> Iterator[str]:
    """Yield the facts of a record: ending, result, which check it was, and the rules that decide alone."""
    yield f"ending {grade.ending}"
    yield f"result {grade.standing}"
    for reason in grade.reasons:
        if reason.rule.startswith("standing.checked."):
            yield f"result checked, {reason.rule.rpartition('.')[2]}"
        elif reason.score == "task_completed" and reason.effect is None:
            yield f"rule {reason.rule}"


def _row(fact: str, seen: Sequence[Seen]) -> tuple[str, ...]:
    all_of, with_it = defaultdict(list), defaultdict(list)
    for each in seen:
        all_of[each.source].append(each.done)
        if fact in each.facts:
            with_it[each.source].append(each.done)
    gaps = [_share(done) - _share(all_of[source]) for source, done in with_it.items() if len(done) >= _FEWEST]
    done = [each for of in with_it.values() for each in of]
    mean = f"{100 * sum(gaps) / len(gaps):+.0f}" if gaps else "-"
    better = f"{sum(gap > 0 for gap in gaps)} of {len(gaps)}"
    return fact, f"{len(done):,}", f"{_share(done):.2f}", mean, better


def _figures(seen: Sequence[Seen]) -> list[Figure]:
    wrong = defaultdict(list)
    for each in seen:
        if each.outcome is Outcome.NOT_DONE:
            wrong[each.source].append(not each.done)
    proven = [each for of in wrong.values() for each in of]
    worst = min((_share(of) for of in wrong.values() if len(of) >= _MANY), default=None)
    return [
        Figure("proven not done, of all sessions", f"{len(proven)} of {len(seen):,}"),
        Figure("not done, of those", f"{_share(proven):.3f}", f">= {BAR}", met=_share(proven) >= BAR),
        Figure(
            f"the same in the worst source with {_MANY} of them",
            "no source has so many" if worst is None else f"{worst:.3f}",
            f">= {WORST}",
            met=worst is None or worst >= WORST,
        ),
    ]


def _share(said: Sequence[bool]) -> float:
    return sum(said) / len(said) if said else 0.0


if __name__ == "__main__":
    sys.exit(main())
