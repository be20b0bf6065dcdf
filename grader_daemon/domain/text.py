"""Text from outside, made fit for a terminal."""

from __future__ import annotations


def clean(text: str) -> str:
    """Give text that a terminal can be given: control characters and line breaks become a mark."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
