"""Texts as sets of words, cheaply: both ends of a text, in lower case, cut at everything that is no letter or digit.

Bytes, because translating and splitting them is one call each, and a session has only microseconds for all its
features. No text is looked at beyond its ends, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from zlib import crc32

_KEPT = b"0123456789_abcdefghijklmnopqrstuvwxyz"
_BEYOND_ASCII = bytes(range(128, 256))
_TO_LOWER = ord("a") - ord("A")
_PLAIN: Final = bytes(
    code if code in _KEPT + _BEYOND_ASCII else (code + _TO_LOWER if ord("A") <= code <= ord("Z") else ord(" "))
    for code in range(256)
)
_PLAIN_APART: Final = b"\0" + _PLAIN[1:]
"""The same, but NUL stays: it stands between texts that are translated together."""

_FIRST_LETTER = b":"
"""Greater than every digit, less than every letter."""

BUCKETS: Final = 256
_ONLY_MARKS: Final = bytes(code == 1 for code in range(256))
_MOST_KNOWN: Final = 4_096
_LONGEST_KNOWN: Final = 24
"""Bytes: longer words are rarely common, and what is remembered is bounded."""

_OUTPUT = '{"output": "'
_OUTPUT_END = '", "'


def ends(text: str, reach: int) -> str:
    """Return a text without its middle: at most `reach` characters from each end."""
    return text if len(text) <= 2 * reach else f"{text[:reach]} {text[-reach:]}"


def output(text: str, reach: int) -> str:
    """Return the ends of a tool result; of one that is JSON around the output of a command, those of the output."""
    shown = ends(text, reach)
    if not shown.startswith(_OUTPUT):
        return shown
    shown = shown[len(_OUTPUT) :]
    return shown.rpartition(_OUTPUT_END)[0] or shown


def plain(text: str) -> bytes:
    """Return the words of a text in lower case with spaces between them; apostrophes are left out ("cant")."""
    return text.encode("utf-8", "replace").translate(_PLAIN, b"'")


def each_plain(texts: Sequence[str]) -> list[bytes]:
    """Return the words of each of some texts as `plain` does, in one pass over all of them."""
    found = "\0".join(texts).encode("utf-8", "replace").translate(_PLAIN_APART, b"'").split(b"\0")
    return found if len(found) == len(texts) else list(map(plain, texts))


def numbers(found: set[bytes]) -> set[bytes]:
    """Return those of the words that begin with a digit."""
    return {word for word in found if word < _FIRST_LETTER}


def share(part: int, whole: int) -> float:
    """Return a part of a whole, 0 of nothing, to a thousandth."""
    return part * 1000 // whole / 1000 if whole else 0.0


class Buckets(dict[bytes, int]):
    """Into which of `BUCKETS` buckets words fall: alike on every machine, and the common ones are looked up.

    A bucket is a byte, so that no step of `marks` is taken in Python.
    """

    def __missing__(self, word: bytes) -> int:
        bucket = crc32(word) % BUCKETS
        if len(self) < _MOST_KNOWN and len(word) < _LONGEST_KNOWN:
            self[word] = bucket
        return bucket

    def marks(self, found: Iterable[bytes]) -> bytes:
        """Return 1 for each bucket that a word falls into, 0 for the others."""
        seen = bytearray([*map(self.__getitem__, found)])
        marks = bytes.maketrans(seen, b"\1" * len(seen)).translate(_ONLY_MARKS)
        return marks if 1 in seen else marks[:1] + b"\0" + marks[2:]  # what is not seen stays itself, and 1 is a mark
