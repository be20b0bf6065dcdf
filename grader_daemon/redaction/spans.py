"""Where secrets stand in a text, and the text with a mark in the place of each."""

from __future__ import annotations

from collections.abc import Iterable

MARK = "[redacted]"

Span = tuple[int, int]
"""First character of a secret, and the one after its last."""


def covered(text: str, spans: Iterable[Span]) -> str:
    """Return `text` with one mark for each of `spans`, and for those that overlap or touch."""
    pieces: list[str] = []
    shown = covered = 0
    for start, end in sorted(spans):
        if start > covered or not pieces:
            pieces += (text[shown:start], MARK)
        covered = shown = max(covered, end)
    return "".join((*pieces, text[shown:]))
