"""Whether errors in the first ten calls of a session tell how it will end, on sessions whose outcome is known.

Run it as ``python -m tests.benchmarks.early [FOLDER …]`` in the repository; a FOLDER is as in
`tests.benchmarks.validity`.

Of each source: how many sessions with ten calls and more were completed after none, one or two, and more errors in the
first ten; and the area under the curve of the number of these errors (fewer: completed), with its 95 % interval over
tasks. A probability while a session runs would be told where its lower end is above `BAR`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.session import TOOL
from grader_daemon.pipeline.labelled import LabelRow, read_labels
from grader_daemon.rules import load_rules
from tests.benchmarks import machine
from tests.benchmarks.truth.cases import Part, parts_of, sessions_of
from tests.benchmarks.truth.processes import in_processes
from tests.benchmarks.truth.worth import Judged, auc_of_place

BAR: Final = 0.6
_CALLS: Final = 10
_FEWEST: Final = 10
"""Of each outcome: with fewer sessions nothing is told of a source."""
_SPANS: Final = ((0, 0), (1, 2), (3, _CALLS))
_DATA = Path(__file__).parents[3] / "shared/data"

Labels = Mapping[Path, Mapping[str, LabelRow]]


def main() -> None:
    """Print a row for each source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="sessions and labels.csv")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    options = parser.parse_args()
    folders = options.folders or [_DATA / "truth", _DATA / "truth2"]
    labels = {folder: read_labels(folder / "labels.csv") for folder in folders}
    parts = [part for folder in folders for part in parts_of(folder)]
    sources: dict[str, list[Judged]] = {}
    for found in in_processes(_early, labels, parts, jobs=options.jobs):
        for source, said in found:
            sources.setdefault(source, []).append(said)
    headings = ("source", "sessions", *(_span_words(span) for span in _SPANS), "area", f"above {BAR:g}")
    machine.print_table(headings, [_row(source, said) for source, said in sorted(sources.items())])


def _early(labels: Labels, part: Part) -> list[tuple[str, Judged]]:
    analyzer = Analyzer(load_rules())
    found = []
    for session in sessions_of(part):
        label = labels[part.folder].get(session.session_id)
        results = list(islice((i for i, said in enumerate(session.messages) if said.role == TOOL), _CALLS))
        if label is not None and len(results) == _CALLS:
            failures = analyzer.analyze(session, idle=True).failures
            errors = sum(failure.is_error and failure.index <= results[-1] for failure in failures)
            found.append((label.source, _judged(label, errors)))
    return found


def _judged(label: LabelRow, errors: int) -> Judged:
    return Judged(
        task=label.task,
        completed=label.completed,
        likely=1 - errors / _CALLS,
        verdict=not errors,
        unsure=False,
        by_rules=not errors,
        constant=0.5,
    )


def _row(source: str, said: Sequence[Judged]) -> tuple[str, ...]:
    completed = sum(each.completed for each in said)
    if min(completed, len(said) - completed) < _FEWEST:
        return (source, f"{len(said)}", *("too few" for _ in _SPANS), "too few", "")
    area = auc_of_place(said)
    is_above = area.low is not None and area.low > BAR
    words = f"{area.value:.2f} ({area.low:.2f} to {area.high:.2f})"
    return (source, f"{len(said)}", *(_share(said, span) for span in _SPANS), words, "yes" if is_above else "no")


def _share(said: Sequence[Judged], span: tuple[int, int]) -> str:
    outcomes = [each.completed for each in said if span[0] <= round((1 - each.likely) * _CALLS) <= span[1]]
    share = proportion(sum(outcomes), len(outcomes))
    if share.value is None or share.low is None or share.high is None:
        return "none"
    return f"{share.value:.0%} of {len(outcomes)} ({share.low:.0%} to {share.high:.0%})"


def _span_words(span: tuple[int, int]) -> str:
    first, last = span
    return "no error" if not last else f"{first} to {last} errors"


if __name__ == "__main__":
    main()
