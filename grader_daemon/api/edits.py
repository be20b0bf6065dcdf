"""Edits of files as people read them: what a call replaces, and by what, as the diff of the two.

Agents give the old text and the new one, each whole. Redacted before they are compared: the sign in front of a line
could hide what gives a secret away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from grader_daemon.redaction import Redactor

_PAIRS: Final = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldString", "newString"),
)
_SEVERAL: Final = "edits"
"""The argument that holds edits, each with a pair of its own."""


def edits_apart(given: Mapping[str, object], redactor: Redactor) -> tuple[dict[str, object], list[str]]:
    """Return the arguments of a call without those that are texts of edits, and these edits as diffs."""
    pair = _pair(given)
    if pair is not None:
        return _without(given, *pair), [_diff(given, pair, redactor)]
    held = given.get(_SEVERAL)
    several = held if isinstance(held, list) else []
    pairs = [(each, _pair(each)) for each in several if isinstance(each, dict)]
    diffs = [_diff(each, names, redactor) for each, names in pairs if names is not None]
    if not diffs or len(diffs) < len(several):
        return dict(given), []
    return _without(given, _SEVERAL), diffs


def _without(given: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in given.items() if name not in names}


def _pair(given: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the names of the old text and the new one; None where a call is no edit."""
    return next((pair for pair in _PAIRS if all(isinstance(given.get(name), str) for name in pair)), None)


def _diff(given: Mapping[str, object], names: tuple[str, str], redactor: Redactor) -> str:
    before, after = (redactor.redact(str(given[name])).splitlines() for name in names)
    return "\n".join(_diff_lines(names, before, after))


def _diff_lines(names: tuple[str, str], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield a diff in the unified format: the lines that both begin and end with, and between them what is replaced."""
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{_range(before)} +{_range(after)} @@"
    yield from (f" {line}" for line in before[:head])
    yield from (f"-{line}" for line in before[head : len(before) - tail])
    yield from (f"+{line}" for line in after[head : len(after) - tail])
    yield from (f" {line}" for line in before[len(before) - tail :])


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """Return with how many lines both begin."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (old, new) in pairs if old != new), min(len(before), len(after)))


def _range(lines: Sequence[str]) -> str:
    return f"{1 if lines else 0},{len(lines)}"
