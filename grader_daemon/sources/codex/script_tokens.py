"""JavaScript in pieces: names, numbers, texts and signs from left to right, each character looked at once."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)
    |(?P<string>"(?:[^"\\\n]++|\\[\s\S])*+"|'(?:[^'\\\n]++|\\[\s\S])*+')
    |(?P<number>-?\d[\w.]*+)
    |(?P<name>[A-Za-z_$][\w$]*+)
    |(?P<template>`)
    |(?P<broken>["']|/\*)
    |(?P<slash>/)
    |(?P<sign>[\s\S])""",
    re.VERBOSE,
)
_PATTERN = re.compile(r"/(?:[^/\\\n\[]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++/\w*+")
_BEFORE_PATTERN = frozenset({*"(,=:[!&|?{;>", "return"})
"""A slash behind one of these begins a regular expression; behind all else it divides."""

_IN_TEMPLATE = re.compile(r"\\[\s\S]|`|\$\{")
_IN_HOLE = re.compile(r"\\[\s\S]|\"(?:[^\"\\\n]++|\\[\s\S])*+\"|'(?:[^'\\\n]++|\\[\s\S])*+'|[{}`\"']")
_MOST_TOKENS = 50_000
_DEEPEST = 40
_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|(\r\n|[\s\S]))"
)
_SIGNS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_HIGHEST_CHARACTER = 0x10FFFF
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


class Token(NamedTuple):
    """A piece as it is written; `kind` is string, template, number, name, pattern or sign."""

    kind: str
    text: str


END = Token("end", "")
"""Token behind the last one."""


def tokens_of(code: str) -> list[Token] | None:
    """Return what the code is made of, without comments; None where a text or comment has no end, or it is too long."""
    tokens: list[Token] = []
    place = 0
    while place < len(code):
        found = _TOKEN.match(code, place)
        kind = (found.lastgroup or "") if found is not None else "broken"
        end = place if found is None else found.end()
        if kind == "slash":
            kind, end = _pattern_or_sign(code, place, tokens)
        elif kind == "template":
            end = _end_of_template(code, end)
        if kind == "broken" or end < 0 or len(tokens) == _MOST_TOKENS:
            return None
        if kind != "space":
            tokens.append(Token(kind, code[place:end]))
        place = end
    return tokens


def closings_of(tokens: list[Token]) -> dict[int, int]:
    """Return for the place of each bracket that opens the place of the one that closes it."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.text in _OPENING:
            opened.append(place)
        elif opened and token.text == _OPENING[tokens[opened[-1]].text]:
            closings[opened.pop()] = place
    return closings


def unescaped(text: str) -> str:
    """Return what a text between quotes says, as JavaScript and Python write it."""
    if "\\" not in text:
        return text
    return _SURROGATES.sub(_one_character, _ESCAPE.sub(_character, text))


def _pattern_or_sign(code: str, place: int, before: list[Token]) -> tuple[str, int]:
    if before and before[-1].text not in _BEFORE_PATTERN:
        return "sign", place + 1
    found = _PATTERN.match(code, place)
    return "pattern", -1 if found is None else found.end()


def _end_of_template(code: str, place: int) -> int:
    """Return the place behind a template, -1 where it has no end; code may stand in it, with templates in turn."""
    within = ["`"]
    while within:
        found = (_IN_TEMPLATE if within[-1] == "`" else _IN_HOLE).search(code, place)
        if found is None or found[0] in ('"', "'") or len(within) > _DEEPEST:
            return -1
        place, sign = found.end(), found[0]
        if sign == within[-1]:
            within.pop()
        elif sign in ("`", "{", "${"):
            within.append("`" if sign == "`" else "}")
    return place


def _character(found: re.Match[str]) -> str:
    if found[5] is not None:
        return _SIGNS.get(found[5], found[5])
    code = int(found[found.lastindex or 0], 16)
    return chr(code) if code <= _HIGHEST_CHARACTER else found[0]


def _one_character(found: re.Match[str]) -> str:
    """A character of two halves is one; a half alone is none, and could not be stored."""
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
