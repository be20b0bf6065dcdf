"""How many secrets redaction finds, how many ordinary words it takes for secrets, and how fast it reads.

Run it as ``python -m tests.benchmarks.redaction`` in the repository. `tests/redaction_set.py` holds two sets of
secrets: the labelled one, and a held-out one whose kinds and carriers were written after the code. A third list,
`tests/unseen_secrets.py`, was written without a look at the code. What the code found of these two when they were first
tried is told too; since then they have been used to improve the code.

Ordinary words and speed come from the standard library's sources, file by file, and, where they are there, from the
sample sessions beside the repository, session by session. Speed is the best of three passes in CPU time; the line above
it says what the machine needs for a pass over the text that does hardly anything.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from grader_daemon.redaction import SECRETS
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure
from tests.benchmarks.targets import (
    REDACTION_MEGABYTES,
    REDACTION_RECALL,
    REDACTION_RECALL_UNSEEN,
    REDACTION_WORDS_PERCENT,
)
from tests.redaction_set import Sample, held_out, is_gone, labelled, ordinary_texts, words_hit
from tests.unseen_secrets import CARRIERS, FIRST_SIGHT, KINDS

_SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "hermes"
_PASSES = 3
_LINE = "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server"
_FIRST_SIGHT = 0.859
"""Share of the held-out set that was found when it was tried for the first time."""


def main() -> int:
    """Count, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="values for each kind and carrier (default: %(default)s)")
    arguments = parser.parse_args()
    machine.print_machine()
    known = _found(labelled(rounds=arguments.rounds))
    unknown = _found(held_out(rounds=arguments.rounds))
    _print_kinds(known, unknown)
    figures = [
        _at_least("recall, labelled set", _share(known), target=REDACTION_RECALL, digits=4),
        Figure("recall, held-out set", f"{_share(unknown):.4f}"),
        Figure("recall, held-out set at first sight", f"{_FIRST_SIGHT:.3f}"),
        _at_least("recall, list written unseen", _share(_found_of_unseen()), target=REDACTION_RECALL_UNSEEN, digits=4),
        Figure("recall, list written unseen, at first sight", f"{FIRST_SIGHT:.4f}"),
    ]
    for name, texts in (("standard library", list(ordinary_texts())), ("sample sessions", list(_sessions()))):
        if texts:
            figures += _on_text(name, texts)
    figures.append(Figure("one line of an error message", f"{_microseconds(_LINE):.1f} us"))
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _found(samples: Iterator[Sample]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        found[sample.kind].append(is_gone(sample, SECRETS.redact(sample.text)))
    return found


def _found_of_unseen() -> dict[str, list[bool]]:
    return {
        kind.name: [not kind.left_in(SECRETS.redact(carry(kind.text))) for carry in CARRIERS.values()] for kind in KINDS
    }


def _share(found: dict[str, list[bool]]) -> float:
    return sum(map(sum, found.values())) / sum(map(len, found.values()))


def _print_kinds(known: dict[str, list[bool]], unknown: dict[str, list[bool]]) -> None:
    kinds = [*known, *(kind for kind in unknown if kind not in known)]
    rows = [(kind, _recall(known.get(kind)), _recall(unknown.get(kind))) for kind in kinds]
    machine.print_table(("kind", "labelled", "held out"), rows)


def _recall(found: list[bool] | None) -> str:
    return f"{sum(found) / len(found):.3f} of {len(found)}" if found else ""


def _on_text(name: str, texts: Sequence[str]) -> list[Figure]:
    characters = sum(map(len, texts))
    words = sum(len(text.split()) for text in texts)
    hit = 100 * sum(words_hit(text, SECRETS.redact(text)) for text in texts) / words
    copying = characters / _seconds(lambda text: text.encode("latin-1", "replace").lower(), texts) / 1e6
    speed = characters / _seconds(SECRETS.redact, texts) / 1e6
    return [
        machine.at_most(f"{name}: words hit, of {words:,}", hit, target=REDACTION_WORDS_PERCENT, unit="%", digits=4),
        Figure(f"{name}: only to encode and lower it", f"{copying:,.0f} MB/s"),
        _at_least(f"{name}: speed, {characters / 1e6:.1f} MB", speed, target=REDACTION_MEGABYTES, unit=" MB/s"),
    ]


def _at_least(name: str, value: float, *, target: float, unit: str = "", digits: int = 1) -> Figure:
    return Figure(name, f"{value:.{digits}f}{unit}", f">= {target:g}{unit}", met=value >= target)


def _seconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """The best of some passes: other programs take time as well."""
    taken = []
    for _ in range(_PASSES):
        started = process_time()
        for text in texts:
            work(text)
        taken.append(process_time() - started)
    return min(taken)


def _microseconds(line: str, *, times: int = 5000) -> float:
    return _seconds(SECRETS.redact, [line] * times) / times * 1e6


def _sessions() -> Iterator[str]:
    for path in sorted(_SESSIONS.rglob("session_*.json")):
        yield "\n".join(_texts_in(json.loads(path.read_bytes())))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


if __name__ == "__main__":
    sys.exit(main())
