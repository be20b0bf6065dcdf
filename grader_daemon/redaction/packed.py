"""Settings that were packed as base64, as ``base64 .env`` prints them: covered if a secret is in there."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from typing import Final, NamedTuple

from grader_daemon.redaction.finders import LONG_WORD, Span

_PACKED = re.compile(
    r"(?<![\w+/-])(?=[a-z\d+/]{0,40}[A-Z])(?=[A-Z\d+/]{0,40}[a-z])[A-Za-z0-9+/]{32,20000}+(?:=[ ]?){0,2}(?![\w+/-])"
)
"""One that begins in the middle is none: so no character is looked at twice."""
_HEAD: Final = 24


class Packed(NamedTuple):
    """A long word that is text when it is unpacked, in which `has_secret` finds something."""

    has_secret: Callable[[str], bool]
    sign: bytes = LONG_WORD

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        found = _PACKED.match(text, position)
        if found is None or not _unpacked(found.group()[:_HEAD]):
            return None
        content = found.group().rstrip("= ")
        return found.span() if self.has_secret(_unpacked(content[: len(content) - len(content) % 4])) else None


def _unpacked(word: str) -> str:
    """Return the text in a word of base64, "" if there is none."""
    content = b64decode(word)
    is_text = content.isascii() and content.decode("ascii").replace("\n", "").replace("\t", "").isprintable()
    return content.decode("ascii") if is_text else ""
