"""How far "the same request" is the same task, on recorded sessions.

Run it as ``python -m tests.benchmarks.similar`` in the repository, with the recorded sessions beside it; it takes a
quarter of a minute. The tasks of these sessions are known.

1. Of all pairs of different requests that are taken for nearly the same, how many are of one task; and how many pairs
   of tasks have the same request to the word. That two tasks are asked for alike need not be wrong: what differs may be
   hidden in the machine (gab_tau2), or one request is the other with a hint (super).
2. Of pairs of requests by the share of words that both have, how many are found.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.phrases import words_of
from grader_daemon.domain.session import USER
from grader_daemon.domain.wording import NEAR, bands_of, likeness
from grader_daemon.pipeline.labelled import read_labels
from grader_daemon.rules import load_rules
from tests.benchmarks.corpora import ARCHIVES
from tests.benchmarks.truth.cases import Part, sessions_of

_STEPS = 20
"""Of the share of words: 5 % each."""
_DIGIT = re.compile(r"\d")
_LEAST_SHARE = 0.6


class _Asked(NamedTuple):
    """A session: of which source and task, and what was asked for."""

    source: str
    task: str
    words: frozenset[str]
    request: int | None
    wording: bytes


def main() -> int:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    asked = list(_read())
    of_source: dict[str, list[_Asked]] = defaultdict(list)
    for each in asked:
        of_source[each.source].append(each)
    found: Counter[tuple[int, bool]] = Counter()
    row = "{:<14}{:>9}{:>8}{:>10}{:>23}"
    print(row.format("source", "requests", "near", "one task", "same, of other tasks"))
    for source, sessions in of_source.items():
        print(row.format(source, *_count_pairs(sessions, found)))
    print("\nwords of both   pairs  found")
    for step in sorted({step for step, _ in found}):
        pairs = found[step, True] + found[step, False]
        print(f"{step / _STEPS:>10.0%} on {pairs:>8} {found[step, True] / pairs:>6.0%}")
    return 0


def _read() -> Iterator[_Asked]:
    analyzer = Analyzer(load_rules())
    for folder in ARCHIVES:
        labels = read_labels(folder.parent / "labels.csv")
        for archive in sorted(folder.glob("*.jsonl.gz")):
            for session in sessions_of(Part(folder, (archive,))):
                label, seen = labels.get(session.session_id), analyzer.analyze(session)
                text = next((message.text for message in session.messages if message.role == USER), "")
                if label is not None and seen.wording is not None:
                    words, source = frozenset(words_of(text.lower())), archive.name.partition(".")[0]
                    yield _Asked(source, label.task, words, seen.request, seen.wording)


def _count_pairs(sessions: Sequence[_Asked], found: Counter[tuple[int, bool]]) -> tuple[int, int, int, int]:
    """Count requests, pairs that are nearly the same, those of one task, and pairs of tasks with one request."""
    tasks: dict[int | None, set[str]] = defaultdict(set)
    for each in sessions:
        tasks[each.request].add(each.task)
    near = of_one_task = 0
    different = {(each.task, each.wording): each for each in sessions}
    for one, other in combinations(different.values(), 2):
        judged = _is_near(one, other)
        if judged and one.wording != other.wording:
            near += 1
            of_one_task += one.task == other.task
        share = len(one.words & other.words) / len(one.words | other.words)
        if share >= _LEAST_SHARE and not any(map(_DIGIT.search, one.words ^ other.words)):
            found[int(share * _STEPS), judged] += 1
    return len(different), near, of_one_task, sum(comb(len(names), 2) for names in tasks.values())


def _is_near(one: _Asked, other: _Asked) -> bool:
    shares_band = any(mine == its for mine, its in zip(bands_of(one.wording), bands_of(other.wording), strict=True))
    return shares_band and likeness(one.wording, other.wording) >= NEAR


if __name__ == "__main__":
    sys.exit(main())
