"""Search for secrets: where their sign stands, closer. The signs are in `forms`, `names`, `option_values`.

A look must cost a bounded number of steps, or end behind what it has read: then any text takes linear time.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

MARK = "[redacted]"

Span = tuple[int, int]
"""First character of a secret, and the one after its last."""


_LONG_WORD = 20
_REACH = 160
"""Characters before a sign that are looked at."""

LONG_WORD = b"a" * _LONG_WORD + b" "
"""The sign of a word of at least 20 letters, digits, "_", "-" and "~".

It shows the end of one, because a search skips as far as the last character of what it looks for lies behind the same
one before: nearly all of the text.
"""


_SWITCHES = r"(?:[A-Z]?[a-z]++|[A-Z]++|\d++)"
CONTINUED = re.compile(
    rf"(?:(?=[\w+/-]{{0,80}}\d)(?=(?:{_SWITCHES}[_+/-]?){{4}})[\w+/-]{{6,200}}+|[A-Z]{{12,200}}+)={{0,2}}"
    r"(?![\w(=]|[ \t]{0,3}[=:])"
)
"""Rest of a secret wrapped at a line break: no word, and not the name of a setting."""
_BREAK = re.compile(r"\r?\n[ \t]{0,8}")
_SHORTEST_WRAPPED = 16
_MOST_LINES = 8
_PACKED = re.compile(
    r"(?<![\w+/-])(?=[a-z\d+/]{0,40}[A-Z])(?=[A-Z\d+/]{0,40}[a-z])[A-Za-z0-9+/]{32,20000}+(?:=[ ]?){0,2}(?![\w+/-])"
)
"""One that begins in the middle is none: so no character is looked at twice."""
_PACKED_HEAD: Final = 24


def continued(text: str, span: Span) -> Iterator[Span]:
    """Yield the lines on which a secret goes on that ends with its line: terminals wrap."""
    start, end = span
    if end - start < _SHORTEST_WRAPPED:
        return
    for _ in range(_MOST_LINES):
        line = _BREAK.match(text, end)
        rest = CONTINUED.match(text, line.end()) if line else None
        if rest is None:
            return
        yield rest.span()
        end = rest.end()


NO_NAME = re.compile(r"(?![a-z_~-]++(?!\w)|(?!A[BCKS][IC]A)[A-Z_~-]++(?!\w))")
"""Most long words are names of things in code, which nobody has to look at."""


class Finder(Protocol):
    """Finds the secrets of one sign: lower-case ASCII as bytes, `LONG_WORD`, or other letters as they stand."""

    @property
    def sign(self) -> bytes | str:
        """Beginning of every place to look at."""

    def look(self, text: str, position: int) -> Span | None:
        """Return the secret that the sign at `position` leads to, if there is one."""


class Form(NamedTuple):
    """A sign and the pattern of what begins with it; the secret is its last group, or all of it."""

    sign: bytes
    pattern: re.Pattern[str]

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        found = self.pattern.match(text, position)
        return found.span(found.lastindex or 0) if found else None


class Before(NamedTuple):
    """A sign, the pattern of what begins with it, and that of what ends there; the secret is the last group of that."""

    sign: bytes
    behind: re.Pattern[str]
    before: re.Pattern[str]
    reach: int = _REACH

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        if not self.behind.match(text, position):
            return None
        found = self.before.search(text, max(0, position - self.reach), position)
        return found.span(found.lastindex or 0) if found else None


def covered(text: str, spans: Iterable[Span]) -> str:
    """Return `text` with one mark for each of `spans`, and for those that overlap or touch."""
    pieces: list[str] = []
    shown = covered = 0
    for start, end in sorted(spans):
        if start > covered or not pieces:
            pieces += (text[shown:start], MARK)
        covered = shown = max(covered, end)
    return "".join((*pieces, text[shown:]))


class Packed(NamedTuple):
    """A long word of base64 that is text when unpacked, in which `has_secret` finds something: ``base64 .env``."""

    has_secret: Callable[[str], bool]
    sign: bytes = LONG_WORD

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        found = _PACKED.match(text, position)
        if found is None or not _unpacked(found.group()[:_PACKED_HEAD]):
            return None
        content = found.group().rstrip("= ")
        return found.span() if self.has_secret(_unpacked(content[: len(content) - len(content) % 4])) else None


def _unpacked(word: str) -> str:
    """Return the text in a word of base64, "" if there is none."""
    content = b64decode(word)
    is_text = content.isascii() and content.decode("ascii").replace("\n", "").replace("\t", "").isprintable()
    return content.decode("ascii") if is_text else ""
