"""Filters in one line, as in `failed check model:opus project:shop "alembic upgrade"`: read, and written back.

A line says what an address says, so there is one way to ask for sessions. Words stand for the values of filters that
have few; other filters are written `name:value`; what is in quotes was in the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from grader_daemon.api.session_filter import ADDRESSED, Filter
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.text import nearest
from grader_daemon.errors import InputError

_SPOKEN: Final = ("verdict", "claim", "standing", "state", "ending", "outcome", "kind", "error")
"""Filters whose values are words of a line; a value that two have is a word for the first."""
_ALSO: Final = {
    "labelled": ("person", "1"),
    "labeled": ("person", "1"),
}
_PART: Final = re.compile(r'(?:([A-Za-z][\w-]*):)?(?:"((?:[^"\\]|\\.)*)(?:"|$)|([^\s"]+))', re.DOTALL)
_PLAIN: Final = re.compile(r'[^\s"]+')
_MOST_WORDS: Final = 4
"""So many words at most are the name of one value, as "agent does not say"."""
_LONGEST_SHOWN: Final = 60
_LONGEST: Final = 2_000
_FEW: Final = 5

Names = Callable[[Dimension], Sequence[str]]


class _Part(NamedTuple):
    """A part of a line: `name` is None for a word by itself, or for one in quotes."""

    name: str | None
    value: str
    is_quoted: bool


def read_line(line: str, names: Names) -> dict[str, str]:
    """Return what a line asks for, as the parameters of an address say it.

    Raises:
        InputError: a word in it is not understood; the text says which, and what would be.
    """
    if len(line) > _LONGEST:
        raise InputError(f"the filter line is longer than {_LONGEST:,} characters; shorten it")
    asked: dict[str, str] = {}
    for name, value in _asked(list(_parts(line)), names):
        if name in asked and name != "text":
            raise InputError(f"{_BY_NAME[name].word} appears twice: give it once")
        asked[name] = f"{asked[name]} {value}" if name in asked else value
    return asked


def has_open_quote(line: str) -> bool:
    """Return whether a quote in a line is not closed, as while somebody writes it."""
    return any(found[2] is not None and found.end() == found.end(2) for found in _PART.finditer(line))


def write_line(asked: Mapping[str, str]) -> str:
    """Return the line that `read_line` reads so; of an address, what is no filter is left out.

    Words stand first, then names with values, then what was in the request.
    """
    written = [_written(each, asked[each.name]) for each in ADDRESSED if each.name in asked]
    return " ".join(sorted(written, key=lambda part: (part.startswith('"'), ":" in part)))


def words() -> list[str]:
    """Return the words that stand for themselves, and the beginnings of all else that a line may say."""
    return [*(word.replace("_", " ") for word in _WORDS), *(f"{each.word}:" for each in ADDRESSED if not each.is_flag)]


def _parts(line: str) -> Iterator[_Part]:
    for found in _PART.finditer(line):
        name, quoted, plain = found.groups()
        value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        if value.strip():
            yield _Part(name, value, quoted is not None)


def _asked(parts: Sequence[_Part], names: Names) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(parts):
        part, length = parts[place], 1
        if part.name is not None:
            yield _named(part.name, part.value, names)
        elif part.is_quoted:
            yield "text", part.value
        else:
            said, length = _word(parts[place : place + _MOST_WORDS])
            yield said
        place += length


def _word(parts: Sequence[_Part]) -> tuple[tuple[str, str], int]:
    """Return what the first words ask for, as many of them as have a meaning together, and how many these are."""
    plain = [each.value.lower().replace("-", "_") for each in parts if each.name is None and not each.is_quoted]
    for length in range(len(plain), 0, -1):
        if (said := _WORDS.get("_".join(plain[:length]))) is not None:
            return said, length
    raise InputError(_not_understood(parts[0].value))


def _not_understood(word: str) -> str:
    if word.removesuffix(":").lower().replace("-", "_") in _BY_NAME:
        return f"{word[:_LONGEST_SHOWN]} needs a value, without a space between, such as model:NAME"
    shown, near = word[:_LONGEST_SHOWN], nearest(word.lower().replace("-", "_"), _WORDS)
    meant = f"did you mean {near.replace('_', ' ')}? Else " if near else ""
    return f'{shown} is not a filter; {meant}write "{shown}" for words of the request, or a filter such as model:NAME'


def _named(name: str, value: str, names: Names) -> tuple[str, str]:
    asked = _BY_NAME.get(name.lower().replace("-", "_"))
    if asked is None:
        known = [each.word for each in ADDRESSED]
        near = nearest(name.lower(), known)
        meant = f"did you mean {near}:?" if near else f"known: {', '.join(known)}"
        raise InputError(f"{name[:_LONGEST_SHOWN]}: not a filter; {meant}")
    if asked.choices:
        return asked.name, _chosen(asked, value)
    if isinstance(asked.takes, Dimension) and asked.takes is not Dimension.MODEL:  # a part of several is for them all
        return asked.name, _whole(asked.name, value, names(asked.takes))
    return asked.name, value


def _chosen(asked: Filter, value: str) -> str:
    word = value.lower().replace("-", "_")
    word = asked.also.get(word, word)
    if word not in asked.choices:
        near = nearest(word, (*asked.choices, *asked.also))
        meant = f"did you mean {asked.word}:{near}?" if near else f"known: {', '.join(asked.choices)}"
        raise InputError(f"{asked.word}:{value[:_LONGEST_SHOWN]}: no such value; {meant.replace('_', '-')}")
    return word


def _whole(name: str, value: str, known: Sequence[str]) -> str:
    """Return the one name that a part of it stands for, as the last folder of a project; else the part as it is."""
    if value in known or value.startswith("/"):
        return value
    lower = value.lower()
    same = [each for each in known if each.lower().rpartition("/")[2] == lower]
    near = same if len(same) == 1 else [each for each in known if lower in each.lower()]
    if len(near) > 1:
        few = ", ".join(near[:_FEW]) + (f" and {len(near) - _FEW} more" if len(near) > _FEW else "")
        raise InputError(f"{name}:{value[:_LONGEST_SHOWN]} is ambiguous: {few}; write more of the word")
    return near[0] if near else value


def _written(asked: Filter, value: str) -> str:
    if asked.name == "text":
        return _quoted(value)
    if asked.is_flag:
        return next(word for word, (name, _) in _WORDS.items() if name == asked.name)
    if asked.choices:
        word = value if _WORDS.get(value) == (asked.name, value) else f"{asked.word}:{value}"
        return word.replace("_", "-")
    return f"{asked.name}:{value if _PLAIN.fullmatch(value) else _quoted(value)}"


def _quoted(value: str) -> str:
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", value))


_BY_NAME: Final = {name: each for each in ADDRESSED for name in (each.word, each.name)}
"""A line may name a filter as an address does, too."""
_FLAGS: Final = frozenset(each.name for each in ADDRESSED if each.is_flag)
_WORDS: Final = {
    **{value: (name, value) for name in reversed(_SPOKEN) for value in _BY_NAME[name].choices},
    **{word: (name, value) for name in _SPOKEN for word, value in _BY_NAME[name].also.items() if word != value},
    **{name: (name, "1") for name in _FLAGS - {"person"}},
    **_ALSO,
}
"""Words that stand for themselves, each with the filter that it asks for, and its value."""
