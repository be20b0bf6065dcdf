"""The word that one failure of a cause names where others name other words: the "numpy" of "No module named <text>".

It stands in the message where the normal line has its first placeholder of text; the words around that find it again.
Plain searches on bounded lines, so any message takes linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from grader_daemon.domain.analysis import ErrorSign

_PLACE: Final = re.compile("<(?:text|path|host|address|option|url)>")
"""Numbers, times, sizes and ids differ without telling failures apart."""

_QUOTES: Final = {"'": "'", '"': '"', "`": "`", "‘": "’", "“": "”", "«": "»"}
_AROUND: Final = " \t.,:;()[]"
_LONGEST: Final = 48


@lru_cache(maxsize=256)
def named(sign: ErrorSign) -> str | None:
    """Return what the example of a sign names in place of the first text that is replaced in its signal, if it does.

    Of a path that is its last part.
    """
    place = _PLACE.search(sign.signal)
    if place is None:
        return None
    before = sign.signal[: place.start()].rpartition(">")[2].lstrip()
    behind = sign.signal[place.end() :].partition("<")[0].rstrip()
    if before.strip(_AROUND) and before in sign.example:
        return _shown(_behind(sign.example.partition(before)[2], behind))
    return _shown(_ahead(sign.example, before.strip(_AROUND) or behind.strip(_AROUND)))


def _behind(rest: str, behind: str) -> str:
    """Return what the rest of a line begins with: what is quoted, what goes up to the words `behind`, or one word."""
    if rest[:1] in _QUOTES:
        return rest[1:].partition(_QUOTES[rest[0]])[0]
    inside, end, _ = rest.partition(behind) if behind.strip(_AROUND) else (rest, "", "")
    return inside if end else _first_word(rest)


def _ahead(line: str, behind: str) -> str:
    """Return the word that stands before others and a colon: "curl: command not found"."""
    inside, found, _ = line.partition(behind) if behind else ("", "", "")
    return _first_word(inside.rstrip(_AROUND).rpartition(" ")[2]) if found else ""


def _first_word(text: str) -> str:
    return text.split(maxsplit=1)[0] if text.strip() else ""


def _shown(word: str) -> str | None:
    """Return a word without what stands around it, and of a path the last part; None if no letter is in it."""
    word = word.strip(_AROUND + "".join({*_QUOTES, *_QUOTES.values()}))
    word = word.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    if not word.isprintable() or not any(map(str.isalpha, word)):
        return None
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"
