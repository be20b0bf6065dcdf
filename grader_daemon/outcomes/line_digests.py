"""Lines of a text as digests: enough to find them again, and nothing to read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import xxhash

_SHORTEST: Final = 6
"""Characters of a line that says something: a bracket, an `else:` or a bare `try:` stand in any file."""
_MOST_LINES: Final = 20_000
_WORD: Final = re.compile(r"\w\w")
_BLANKS: Final = re.compile(rb"[ \t\r\f\v]+")


def digests(text: bytes) -> frozenset[int]:
    """Return the digests of the lines of a text that say something, whatever their blanks: a formatter moves those."""
    return frozenset(_digests(text.split(b"\n", _MOST_LINES)[:_MOST_LINES]))


def _digests(lines: Iterable[bytes]) -> Iterable[int]:
    for line in lines:
        bare = _BLANKS.sub(b" ", line.strip())
        if len(bare) >= _SHORTEST and _WORD.search(bare.decode("utf-8", "replace")):
            yield xxhash.xxh3_64_intdigest(bare) >> 1  # which SQLite and JSON keep with a sign
