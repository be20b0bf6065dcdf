"""Texts as JavaScript and Python write them between quotes."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|(\r\n|[\s\S]))"
)
_SIGNS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_HIGHEST = 0x10FFFF
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def unescaped(text: str) -> str:
    """Return what a text between quotes says."""
    if "\\" not in text:
        return text
    return _SURROGATES.sub(_one_character, _ESCAPE.sub(_character, text))


def _character(found: re.Match[str]) -> str:
    if found[5] is not None:
        return _SIGNS.get(found[5], found[5])
    code = int(found[found.lastindex or 0], 16)
    return chr(code) if code <= _HIGHEST else found[0]


def _one_character(found: re.Match[str]) -> str:
    """A character of two halves is one; a half alone is none, and could not be stored."""
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
