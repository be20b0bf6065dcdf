"""How far "the same request" is the same task, and whether parting calls are more than chance; on recorded sessions.

Run it as ``python -m tests.benchmarks.similar`` in the repository, with the recorded sessions beside it; it takes a
quarter of a minute. The tasks of these sessions are known.

1. Of all pairs of different requests that are taken for nearly the same, how many are of one task; and how many pairs
   of tasks have the same request to the word. That two tasks are asked for alike need not be wrong: what differs may be
   hidden in the machine (gab_tau2), or one request is the other with a hint (super).
2. Of pairs of requests by the share of words that both have, how many are found.
3. Of requests with five pairs of a failed and a completed session or more, for how many a parting call is told; by the
   known outcomes, and by the same outcomes dealt out at random (50 times), which is what chance tells.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.tool_calls.first_calls import first_calls
from grader_daemon.domain.analysis import Called
from grader_daemon.domain.phrases import words_of
from grader_daemon.domain.session import USER
from grader_daemon.domain.similar import FEWEST_PAIRS
from grader_daemon.domain.wording import NEAR, bands_of, likeness
from grader_daemon.patterns.recurrence import parting_call
from grader_daemon.pipeline.labelled import read_labels
from grader_daemon.redaction import SECRETS
from grader_daemon.rules import load_rules
from tests.benchmarks.corpora import ARCHIVES
from tests.benchmarks.truth.cases import Part, sessions_of

_DEALS = 50
_STEPS = 20
"""Of the share of words: 5 % each."""
_DIGIT = re.compile(r"\d")
_LEAST_SHARE = 0.6


class _Asked(NamedTuple):
    """A session: of which source and task, what was asked for, and what came of it."""

    source: str
    task: str
    completed: bool
    words: frozenset[str]
    request: int | None
    wording: bytes
    calls: tuple[Called, ...]


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
    groups = _groups(asked)
    print(f"\n{len(groups)} requests with {FEWEST_PAIRS} pairs or more; a parting call is told of")
    print(f"  by the outcomes: {sum(map(_tells, groups))}")
    dealt = [_tells(_dealt(group, random.Random(seed))) for seed in range(_DEALS) for group in groups]
    print(f"  by chance: {sum(dealt) / len(dealt):.1%}")
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
                    calls = first_calls(session, SECRETS)
                    words, source = frozenset(words_of(text.lower())), archive.name.partition(".")[0]
                    yield _Asked(source, label.task, label.completed, words, seen.request, seen.wording, calls)


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


def _groups(asked: Sequence[_Asked]) -> list[list[_Asked]]:
    """Return the sessions of each request that has enough of both outcomes."""
    groups: dict[tuple[str, int | None], list[_Asked]] = defaultdict(list)
    for each in asked:
        if each.calls:
            groups[each.source, each.request].append(each)
    return [group for group in groups.values() if len(_paired(group)) >= FEWEST_PAIRS]


def _paired(group: Sequence[_Asked]) -> list[tuple[Sequence[Called], Sequence[Called]]]:
    failed, completed = ([each.calls for each in group if each.completed is outcome] for outcome in (False, True))
    return list(zip(failed, completed, strict=False))


def _tells(group: Sequence[_Asked]) -> bool:
    return parting_call(_paired(group)) is not None


def _dealt(group: Sequence[_Asked], chance: random.Random) -> list[_Asked]:
    outcomes = [each.completed for each in group]
    chance.shuffle(outcomes)
    return [each._replace(completed=outcome) for each, outcome in zip(group, outcomes, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
