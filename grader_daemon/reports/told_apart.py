"""Texts in a list that begin alike, cut so that they can be told apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

_ALIKE: Final = 24
"""Characters that are the same at the beginning; a reader takes in fewer at a glance."""

_FEWEST: Final = 2
_FITS: Final = 60
"""Characters that a line shows whole."""


def title_among(text: str, others: Sequence[str]) -> str:
    """Return a text without the beginning that it shares with others, if enough of them have it."""
    return told_apart([*others, text])[-1]


def told_apart(texts: Sequence[str]) -> list[str]:
    """Return texts in their order; of a beginning that several long ones share, "…" is left."""
    alike = defaultdict[str, set[str]](set)
    for text in texts:
        alike[text[:_ALIKE]].add(text)
    shared = {
        begin: _shared_words(same) for begin, same in alike.items() if len(same) >= _FEWEST and len(begin) == _ALIKE
    }
    return [_without(text, shared.get(text[:_ALIKE], 0)) for text in texts]


def _shared_words(texts: set[str]) -> int:
    """Return how many characters of whole words all texts begin with."""
    first, last = min(texts), max(texts)  # what these share, all between them share
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first.rfind(" ", 0, same) + 1


def _without(text: str, shared: int) -> str:
    return f"… {text[shared:]}" if shared >= _ALIKE and len(text) > max(shared, _FITS) else text
