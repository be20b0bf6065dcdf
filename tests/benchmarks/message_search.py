"""Search over messages: what the index takes for one byte of sessions, and how long an answer takes.

Run it as ``python -m tests.benchmarks.message_search [--sessions N]`` in a checkout. Labelled sessions of the archive
are indexed as the daemon does it, then made ones, of words with the frequencies of those, up to N (100,000); words that
are rare, common, and in nearly every message are looked for, alone and together.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from grader_daemon.domain.session import Session
from grader_daemon.messages.store import MessageIndex, index_file
from grader_daemon.messages.texts import texts_of
from grader_daemon.redaction import SECRETS_AND_ADDRESSES
from grader_daemon.sources.hermes.snapshot import parse
from tests.benchmarks.corpora import REAL, lines_of
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, work_folder

_NOW = datetime(2026, 11, 26, tzinfo=UTC)
_MESSAGES, _WORDS = 12, 40
_HITS = 20
_TRIES = 7


def main() -> None:
    """Index, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100_000)
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder, closing(MessageIndex(folder / "grades.db")) as index:
        counts = _index_real(index, folder)
        _index_made(index, counts, options.sessions)
        _ask(index, counts)
        began = process_time()
        index.forget(["made-0"])
        print(f"one session forgotten, and the rest written anew: {process_time() - began:.1f} s of CPU")
        print(
            f"index of {index.sessions():,} sessions: {index_file(folder / 'grades.db').stat().st_size / 1e6:,.0f} MB"
        )


def _index_real(index: MessageIndex, folder: Path) -> Counter[str]:
    read, seconds, sessions, counts = 0, 0.0, 0, Counter[str]()
    for name, sources in REAL.items():
        for number, line in enumerate(islice((line for each in sources for line in lines_of(each)), 300)):
            session = parse(line, "/s.json")
            assert isinstance(session, Session)
            began = process_time()
            texts = texts_of(session, SECRETS_AND_ADDRESSES)
            index.add(f"{name}-{number}", "", _NOW - timedelta(minutes=sessions), texts)
            seconds += process_time() - began
            read, sessions = read + len(line), sessions + 1
            counts.update(word for text in texts for word in index.words(text)[:200])
    index.forget([""])
    size = index_file(folder / "grades.db").stat().st_size
    print(
        f"{sessions:,} labelled sessions: {size / read:.2f} bytes of index for one of a session,"
        f" {seconds / sessions * 1e3:.1f} ms of CPU each"
    )
    return counts


def _index_made(index: MessageIndex, counts: Counter[str], sessions: int) -> None:
    chance = random.Random(1)
    words = chance.choices(list(counts), list(counts.values()), k=1_000_000)
    for number in range(index.sessions(), sessions):
        at = chance.randrange(len(words) - _MESSAGES * _WORDS)
        texts = [" ".join(words[at + each * _WORDS : at + (each + 1) * _WORDS]) for each in range(_MESSAGES)]
        index.add(f"made-{number}" if number else "made-0", "", _NOW - timedelta(minutes=number), texts)


def _ask(index: MessageIndex, counts: Counter[str]) -> None:
    ranked = [word for word, _ in counts.most_common() if len(word) > 2]
    asked = {
        "in nearly all": ranked[0],
        "common": ranked[300],
        "rare": ranked[-5],
        "two that are common": " ".join(ranked[300:302]),
        "one behind the other": f'"{ranked[300]} {ranked[301]}"',
        "a beginning": ranked[300][:3],
    }
    rows = []
    for name, words in asked.items():
        spent = []
        for _ in range(_TRIES):
            began, clock = process_time(), perf_counter()
            found = list(islice(index.find(words), _HITS))
            spent.append(((process_time() - began) * 1e3, (perf_counter() - clock) * 1e3))
        processor, clocked = (statistics.median(each) for each in zip(*spent, strict=True))
        rows.append((name, str(len(found)), f"{processor:.1f} ms", f"{clocked:.1f} ms"))
    print_table(("words", "found", "CPU", "clock"), rows)


if __name__ == "__main__":
    main()
