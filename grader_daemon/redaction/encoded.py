r"""Text without what JSON, a URL, HTML, a shell or a terminal put into it: each escape as the character it stands for.

The result of a tool is JSON in JSON, so a new line stands in it as ``\n`` or ``\\n`` and sticks to the word behind it.
All layers are taken off at once. Only the quotes of strings keep their backslashes: these tell which of them belong
together. Colours are left out, and characters that nobody sees: marks without width, the zeros of UTF-16.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from grader_daemon.redaction.finders import Span

_UNSEEN = "\0\xad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\ufffd"
_HEX = r"[\da-fA-F]"
_MORE = rf"%[89abAB]{_HEX}"
_COLOUR_ENDS = "mKJHhl"
_COLOUR = rf"[\d;?]{{0,20}}[{_COLOUR_ENDS}]"
_ENCODED = re.compile(
    rf"\\\\{{0,15}}+(?:[nrt]|u(?:001[bB]\[{_COLOUR}|{_HEX}{{4}})|x(?:1[bB]\[{_COLOUR}|{_HEX}{{2}})|(?:033|e)\[{_COLOUR})"
    rf"|\x1b\[{_COLOUR}|%(?:1[bB]%5[bB]{_COLOUR}|(?:25){{0,4}}[0-7]{_HEX}|[c-dC-D]{_HEX}{_MORE}|[eE]{_HEX}{_MORE}{_MORE}"
    rf"|[fF]{_HEX}{_MORE}{_MORE}{_MORE})|&(?:quot|apos|amp|lt|gt|#\d{{2,3}});|'(?:\\{{0,8}}\"'\\{{0,8}}\"|\\{{1,8}}')'"
    rf"|\0\0{{0,999}}+|{'|'.join(_UNSEEN[1:])}"
)
"""Escapes. Every alternative begins with a character of its own: ten times as fast."""

_DIVIDER = re.compile(r"%(?:20|09|0[adAD]|2[267cC]|3[bBcCeE]|5[cC]|7[cC])")
_WHITE_SPACE = {"n": "\n", "r": "\r", "t": "\t"}


def decoded(text: str) -> str:
    """Return a text with characters in the place of escapes; one that has none is the same object."""
    return _ENCODED.sub(_character, text) if _is_encoded(text) else text


def _is_encoded(text: str) -> bool:
    """Return whether a beginning of an escape stands in a text; spelled out, since most texts are short."""
    is_escaped = "\\" in text or "%" in text or "&" in text or "\x1b" in text or "\0" in text or "'\"'\"'" in text
    return is_escaped or (not text.isascii() and any(mark in text for mark in _UNSEEN))


def is_in_doubt(text: str) -> bool:
    """Return whether `text` may stand for itself: ``a%20b`` is one value or two words."""
    return _DIVIDER.search(text) is not None


def in_source(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield where in `text` the spans of `decoded(text)` stand; of an escape that a span touches, all is in it."""
    starts, ends, sources = [0], [0], [(0, 0)]  # of each escape: where its character stands, and where it stood
    for found in _ENCODED.finditer(text):
        starts.append(found.start() - sources[-1][1] + ends[-1])
        ends.append(starts[-1] + len(_character(found)))
        sources.append(found.span())

    def source_of(place: int) -> Span:
        last = bisect_right(starts, place) - 1
        if place < ends[last]:
            return sources[last]
        start = place - ends[last] + sources[last][1]
        return start, start + 1

    for start, end in spans:
        yield source_of(start)[0], source_of(end - 1)[1]


def _character(found: re.Match[str]) -> str:
    escape = found.group()
    if escape[-1] in _COLOUR_ENDS or escape[0] in _UNSEEN:
        return ""
    character = _meant(escape)
    return "" if character in _UNSEEN else character


def _meant(escape: str) -> str:
    match escape[0]:
        case "\\":
            kind = escape.lstrip("\\")
            return _WHITE_SPACE.get(kind) or chr(int(kind[1:], 16))
        case "%":
            return chr(int(escape[-2:], 16)) if escape[-2] < "8" else unquote(escape)
        case "&":
            from html import unescape  # it knows 2,000 names, half a megabyte

            return unescape(escape)
        case _:
            return "'"
