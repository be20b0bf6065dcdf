"""Text from outside, made fit for a terminal or a column."""

from __future__ import annotations


def clean(text: str) -> str:
    """Give text that a terminal can be given: control characters and line breaks become a mark."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def storable(text: str) -> str:
    """Give text that UTF-8 can hold: an argument that was none stands with question marks."""
    return text.encode("utf-8", "replace").decode()
