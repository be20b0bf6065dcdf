"""Edits of files as people read them: what a call replaces, and by what, as the diff of the two.

Agents give the old text and the new one, each whole. Redacted before they are compared: the sign in front of a line
could hide what gives a secret away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader_daemon.analysis.tool_calls.edits import SEVERAL, names_of_texts, parts_of
from grader_daemon.domain.text import alike
from grader_daemon.redaction import Redactor


def edits_apart(given: Mapping[str, object], redactor: Redactor) -> tuple[dict[str, object], list[str]]:
    """Return the arguments of a call without those that are texts of edits, and these edits as diffs."""
    parts = parts_of(given)
    diffs = [_diff(part, names, redactor) for part in parts if (names := names_of_texts(part)) is not None]
    if len(diffs) < len(parts):
        return dict(given), []
    shown = (SEVERAL, *(names_of_texts(given) or ()))
    return {name: value for name, value in given.items() if name not in shown}, diffs


def _diff(given: Mapping[str, object], names: tuple[str, str], redactor: Redactor) -> str:
    before, after = (redactor.redact(str(given[name])).splitlines() for name in names)
    return "\n".join(_diff_lines(names, before, after))


def _diff_lines(names: tuple[str, str], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield a diff in the unified format: the lines that both begin and end with, and between them what is replaced."""
    head = alike(before, after)
    tail = alike(before[head:][::-1], after[head:][::-1])
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{_range(before)} +{_range(after)} @@"
    yield from (f" {line}" for line in before[:head])
    yield from (f"-{line}" for line in before[head : len(before) - tail])
    yield from (f"+{line}" for line in after[head : len(after) - tail])
    yield from (f" {line}" for line in before[len(before) - tail :])


def _range(lines: Sequence[str]) -> str:
    return f"{1 if lines else 0},{len(lines)}"
