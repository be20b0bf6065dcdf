"""What grading a session costs, against another commit: microseconds of CPU, everything included, and by stage.

Run it as ``python -m tests.benchmarks.throughput`` in a checkout; ``--against`` names the commit, else it is the one
in `targets`. Each session is read, decoded, analysed, graded and saved into a new database, in transactions as large as
the daemon's, once in each of three processes: one has the other commit, one the files as they are here, and one the
other commit again, which shows what the machine does to the figures. They take turns, slice by slice of about 50 ms,
and whose turn is first changes. The ratio is the median of those of the slices, to the mean of the two; the noise is
how far the other commit is from itself. Every third slice has clocks around its stages and counts for them alone.

``--short`` takes a part of each corpus and fails if one costs 10 % more than before, beyond its noise, and does so
again when that one is measured anew. It is a part of ``python -m tests``. Where the commit is not at hand it says so.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.benchmarks.corpora import MADE, REAL, Corpus, made_corpus, real_corpora
from tests.benchmarks.graded_slices import Graded, Slice
from tests.benchmarks.machine import (
    add_folder_option,
    print_machine,
    print_table,
    progress,
    progress_done,
    verdict,
    work_folder,
)
from tests.benchmarks.stages import REST, STAGES
from tests.benchmarks.targets import COMPARED_WITH, MORE_CPU_THAN_BEFORE, SESSION_MICROSECONDS

ROOT = Path(__file__).parents[2]
LABELLED = "labelled"
"""All sessions of real agents together."""

_SHORT_SLICES = 10
_SHORT_MADE = ("20 KB", "200 KB", "2 MB")
_CLOCKED_EVERY = 3
_MAD_TO_SIGMA, _SIGMA_OF_MEDIAN = 1.4826, 1.2533
"""From the median deviation to the standard one of a normal, and from that to the one of a median of many."""


class Turn(NamedTuple):
    """What one slice took: of the other commit, of this one, and of the other one again."""

    before: Graded
    now: Graded
    again: Graded


@dataclass(frozen=True, slots=True)
class Measured:
    """The slices of a corpus that count, those with clocks apart."""

    corpus: Corpus
    plain: Sequence[Turn]
    clocked: Sequence[Turn]

    @property
    def ratio(self) -> float:
        """This commit to the other one."""
        return statistics.median(
            [2 * turn.now.cpu_seconds / (turn.before.cpu_seconds + turn.again.cpu_seconds) for turn in self.plain]
        )

    @property
    def noise(self) -> float:
        """How far the ratio may be off, by that of the other commit to itself: its distance from 1 and two errors."""
        selves = [turn.again.cpu_seconds / turn.before.cpu_seconds for turn in self.plain]
        middle = statistics.median(selves)
        sigma = _MAD_TO_SIGMA * statistics.median(abs(each - middle) for each in selves)
        return abs(middle - 1) + 2 * _SIGMA_OF_MEDIAN * sigma / math.sqrt(len(selves))

    @property
    def is_slower(self) -> bool:
        return self.ratio > MORE_CPU_THAN_BEFORE + self.noise

    @property
    def before(self) -> float:
        """Microseconds of a session at the other commit."""
        return _microseconds([each for turn in self.plain for each in (turn.before, turn.again)])

    @property
    def now(self) -> float:
        """Microseconds of a session."""
        return _microseconds([turn.now for turn in self.plain])

    def moved(self, label: str) -> str:
        """Say what a session costs in a stage, before and now; a dash where the commit has none of that name."""
        before = [each for turn in self.clocked for each in (turn.before, turn.again)]
        now = [turn.now for turn in self.clocked]
        return " → ".join(_of_stage(label, graded) for graded in (before, now))


def _microseconds(graded: Sequence[Graded]) -> float:
    return sum(each.cpu_seconds for each in graded) / _files(graded) * 1e6


def _of_stage(label: str, graded: Sequence[Graded]) -> str:
    if not graded or label not in graded[0].stages:
        return "–"
    return f"{sum(each.stages[label] for each in graded) / _files(graded) * 1e6:,.0f}"


def _files(graded: Sequence[Graded]) -> int:
    return sum(sum(each.outcomes.values()) for each in graded)


class Side:
    """A process that grades by one commit."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def grade(self, part: Slice) -> Graded:
        """Grade a slice there.

        Raises:
            SystemExit: it failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(part) + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("a process that grades has failed, so nothing is measured")
        return msgspec.json.decode(answer, type=Graded)


@contextmanager
def side(checkout: Path, root: Path) -> Iterator[Side]:
    """Start a process that grades sessions below `root` by the program in `checkout`, with a home of its own."""
    with tempfile.TemporaryDirectory(dir=root.parent) as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": f"{checkout}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-P", "-m", "tests.benchmarks.graded_slices", str(root), f"{home}/grades.db"]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=checkout
        )
        with process:
            yield Side(process)


def check_out(commit: str, folder: Path) -> Path | None:
    """Unpack the program as it was at a commit; None where that is not at hand."""
    command = ["git", "-C", str(ROOT), "archive", commit, "grader_daemon"]
    try:
        packed = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    with tarfile.open(fileobj=BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder


def measure(corpora: Sequence[Corpus], before: Path, root: Path) -> list[Measured]:
    """Have the three grade all corpora in turns."""
    with ExitStack() as stack:
        sides = [stack.enter_context(side(checkout, root)) for checkout in (before, ROOT, before)]
        return [_measured(corpus, sides) for corpus in corpora]


def _measured(corpus: Corpus, sides: Sequence[Side]) -> Measured:
    turns = []
    for number, paths in enumerate(corpus.slices):
        progress(f"{corpus.name}: {number + 1} of {len(corpus.slices)}")
        part = Slice(paths, clocked=number % _CLOCKED_EVERY == _CLOCKED_EVERY - 1)
        first = number % len(sides)
        order = [*range(first, len(sides)), *range(first)]
        graded = {place: sides[place].grade(part) for place in order}
        turns.append(Turn(*(graded[place] for place in range(len(sides)))))
    progress_done()
    plain = [turn for turn in turns[1:] if not turn.now.stages]
    return Measured(corpus, plain or turns, [turn for turn in turns if turn.now.stages])


def print_measured(measured: Sequence[Measured]) -> None:
    """Print what sessions cost, where, and what became of files if that differs."""
    rows = [_row(each.corpus.name, each.corpus.sessions, each.before, each.now, each) for each in measured]
    real = [each for each in measured if each.corpus.name in REAL]
    if len(real) == len(REAL):
        sessions = sum(each.corpus.sessions for each in real)
        before = sum(each.before * each.corpus.sessions for each in real) / sessions
        now = sum(each.now * each.corpus.sessions for each in real) / sessions
        rows.insert(len(real), _row(LABELLED, sessions, before, now, None))
    print_table(("corpus", "sessions", "KB each", "before, µs", "now, µs", "ratio", "noise", "target", ""), rows)
    head = ("stage: before → now, µs", *(each.corpus.name for each in measured))
    print_table(head, [(label, *(each.moved(label) for each in measured)) for label in (*STAGES, REST)])
    for each in measured:
        outcomes = [_outcomes(each.plain, which) for which in ("before", "now")]
        if outcomes[0] != outcomes[1]:
            print(f"{each.corpus.name}: {outcomes[0]} before, {outcomes[1]} now")


def _outcomes(turns: Sequence[Turn], which: str) -> dict[str, int]:
    counts = Counter[str]()
    for turn in turns:
        counts.update(getattr(turn, which).outcomes)
    return dict(counts)


def _row(name: str, sessions: int, before: float, now: float, measured: Measured | None) -> tuple[str, ...]:
    target = SESSION_MICROSECONDS.get(name)
    return (
        name,
        f"{sessions:,}",
        "" if measured is None else f"{measured.corpus.bytes / sessions / 1000:,.1f}",
        f"{before:,.0f}",
        f"{now:,.0f}",
        f"{now / before if measured is None else measured.ratio:.3f}",
        "" if measured is None else f"{measured.noise:.3f}",
        "" if target is None else f"<= {target:,.0f} µs",
        verdict(None if target is None else now <= target),
    )


def find_slower(corpora: Sequence[Corpus], before: Path, root: Path) -> list[Measured]:
    """Print what a part of the sessions costs, and return the corpora that became slower, twice."""
    measured = measure(corpora, before, root)
    print_measured(measured)
    suspects = [each.corpus for each in measured if each.is_slower]
    if not suspects:
        return []
    print(f"measured again: {', '.join(each.name for each in suspects)}")
    measured = measure(suspects, before, root)
    print_measured(measured)
    return [each for each in measured if each.is_slower]


def main() -> int:
    """Parse the arguments, measure, print; with ``--short`` exit code 1 if something became slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=COMPARED_WITH, metavar="COMMIT", help="default: %(default).12s")
    parser.add_argument("--short", action="store_true", help="a part of each corpus, and fail if one became slower")
    parser.add_argument("--only", nargs="+", choices=(*REAL, *MADE), help="these corpora alone")
    add_folder_option(parser)
    options = parser.parse_args()
    with work_folder(options.folder) as folder:
        before = check_out(options.against, folder / "before")
        if before is None:
            print(f"grading is not compared with before: commit {options.against:.12s} is not in this checkout")
            return 0 if options.short else 2
        print_machine()
        root = folder / "sessions"
        slices = _SHORT_SLICES if options.short else None
        made = _SHORT_MADE if options.short else MADE
        corpora = [*real_corpora(root, slices=slices), *(made_corpus(root, name, slices=slices) for name in made)]
        corpora = [each for each in corpora if not options.only or each.name in options.only]
        print(f"before is {options.against:.12s}")
        if not options.short:
            print_measured(measure(corpora, before, root))
            return 0
        slower = find_slower(corpora, before, root)
    for each in slower:
        print(f"{each.corpus.name}: {each.ratio - 1:+.1%} CPU, noise {each.noise:.1%}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
