"""The literal things that a text names: addresses, ids, dates, times, amounts, in a form that can be compared.

"March 4th" is 2026-03-04 and 4.3.2026, 2 pm is 14:00, and $1,200.00 is 1200 and 1.200,00 €. What can be read in two
ways ("04/03/2026", "1.200") has both, and is the same as whatever shares one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from grader_daemon.domain.late_pattern import late_pattern

MOST_LITERALS = 200


class LiteralKind(StrEnum):
    """Kind of a literal."""

    ADDRESS = "address"
    ID = "id"
    DATE = "date"
    TIME = "time"
    NUMBER = "number"


Reading = tuple[str, float | str]
"""Meaning that a literal may have: its kind, and the value."""

_Groups = dict[str, str]


class Literal(NamedTuple):
    """A literal as it stands in a text, and its readings."""

    kind: LiteralKind
    text: str
    readings: frozenset[Reading]

    @property
    def value(self) -> float:
        """The greatest number that it may be; 0 for words."""
        return max(value if isinstance(value, float) else 0.0 for _, value in self.readings)


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_FOUND = late_pattern(
    r"(?<!\w)(?:(?=[\w.+#-]{0,64}[\d@])(?:"
    r"(?P<address>(?<![.+-])[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++)"
    r"|(?P<iso>(?:19|20)\d\d-(?P<m1>\d\d)-(?P<d1>\d\d)(?:[t ](?P<h1>\d\d):(?P<n1>\d\d))?)"
    r"|(?P<dots>(?P<x>\d{1,2})(?P<sep>[./])(?P<y>\d{1,2})(?P=sep)(?:(?:19|20)\d\d\b|\d\d\b)?)(?!\d)"
    rf"|(?P<dm>(?P<d3>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<m3>{_MONTH})\b)"
    r"|(?P<nth>(?P<d5>\d{1,2})(?:st|nd|rd|th)\b)"
    r"|(?P<clock>(?P<h2>\d{1,2})[:h](?P<n2>\d\d)(?::\d\d)?(?: ?(?P<p1>[ap])\.?m\b)?)"
    r"|(?P<half>(?P<h3>\d{1,2}) ?(?P<p2>[ap])\.?m\b)"
    r"|(?P<size>(?P<n3>\d{1,6}(?:[.,]\d{1,2})?) ?(?P<unit>[kmgt])(?:ib?|b)\b)"
    r"|(?P<id>(?<![./\\-])#?(?=[\w-]{0,30}[a-z_-])"
    r"(?!\d{1,4}(?:st|nd|rd|th|er|km|cm|mm|px|ms|kg|min|pm|am|[xshkmdg])\b)[a-z0-9](?:[\w-]{1,38}[a-z0-9])\b(?![./]\w))"
    r"|(?P<spaced>\d{1,3}(?: \d{3}){1,3}(?= ?(?:€|eur\b|chf\b|usd\b|kr\b)))"
    r"|(?P<number>(?<![.,-])#?\d{1,12}(?:[.,'\u202f\u00a0]\d{1,3}){0,4}+(?! ?%)(?!\w)"
    r"|(?P<percent>(?<![.,-])\d{1,3}(?:[.,]\d{1,3})? ?%)))"
    rf"|(?P<md>(?P<m2>{_MONTH})\.? (?:the )?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)))"
    r"|(?P<zh>(?P<m4>\d{1,2}) ?月 ?(?P<d4>\d{1,2}) ?日)"
)
_HAS_ANY = late_pattern(r"[\d@]")
_MONTH_NUMBERS: Final = range(1, 13)
_THOUSAND: Final = 3
DAY: Final = "day"


@lru_cache(maxsize=256)
def literals_of(text: str) -> tuple[Literal, ...]:
    """Return the literals of a text, at most 200."""
    return tuple(islice(_each(text), MOST_LITERALS))


def _each(text: str) -> Iterator[Literal]:
    low = text.lower()
    if not _HAS_ANY.search(low):
        return
    for found in _FOUND.finditer(low):
        yield from _read(found)


def _read(found: re.Match[str]) -> Iterator[Literal]:
    read = _READERS.get(found.lastgroup or "", _number)
    yield from read(found.groupdict(), found.group())


def _address(_: _Groups, text: str) -> Iterator[Literal]:
    yield _literal(LiteralKind.ADDRESS, text, text.rstrip("."))


def _id(_: _Groups, text: str) -> Iterator[Literal]:
    yield _literal(LiteralKind.ID, text, "".join(filter(str.isalnum, text)))


def _iso(named: _Groups, text: str) -> Iterator[Literal]:
    yield from _date(text, (named["m1"], named["d1"]))
    if named["h1"]:
        yield _time(text, named["h1"], named["n1"], None)


def _dots(named: _Groups, text: str) -> Iterator[Literal]:
    yield from _date(text, (named["x"], named["y"]), (named["y"], named["x"]))


def _named_day(named: _Groups, text: str) -> Iterator[Literal]:
    yield from _date(text, (str(_MONTHS[named["m2"] or named["m3"]]), named["d2"] or named["d3"]))


def _numbered_day(named: _Groups, text: str) -> Iterator[Literal]:
    yield from _date(text, (named["m4"], named["d4"]))


def _only_day(named: _Groups, text: str) -> Iterator[Literal]:
    yield Literal(LiteralKind.DATE, text, frozenset({(DAY, float(named["d5"]))}))


def _date(text: str, *pairs: tuple[str, str]) -> Iterator[Literal]:
    dates = {(int(month), int(day)) for month, day in pairs if int(month) in _MONTH_NUMBERS}
    readings: set[Reading] = {(LiteralKind.DATE, month * 100.0 + day) for month, day in dates}
    if len(pairs) == 1:
        readings.add((DAY, float(pairs[0][1])))
    if dates:
        yield Literal(LiteralKind.DATE, text, frozenset(readings))


def _clock(named: _Groups, text: str) -> Iterator[Literal]:
    yield _time(text, named["h2"], named["n2"], named["p1"])


def _half(named: _Groups, text: str) -> Iterator[Literal]:
    yield _time(text, named["h3"], "0", named["p2"])


def _time(text: str, hour: str, minute: str, half: str | None) -> Literal:
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    return _literal(LiteralKind.TIME, text, float(hours * 60 + int(minute)))


def _size(named: _Groups, text: str) -> Iterator[Literal]:
    count, power = float(named["n3"].replace(",", ".")), "kmgt".index(named["unit"]) + 1
    yield _literal(LiteralKind.NUMBER, text, count * 1024**power, count * 1000**power)


def _number(_: _Groups, text: str) -> Iterator[Literal]:
    values = set(_values(re.sub(r"['\u202f\u00a0 %#]", "", text)))
    if text.endswith("%"):
        values |= {value / 100 for value in values}
    if values:
        yield _literal(LiteralKind.NUMBER, text, *values)


def _values(plain: str) -> Iterator[float]:
    """Yield the values that digits with points and commas may have."""
    for mark, other in ((",", "."), (".", ",")):
        before, _, behind = plain.partition(other)
        groups = before.split(mark)
        if other not in behind and mark not in behind and all(len(group) == _THOUSAND for group in groups[1:]):
            yield float(f"{''.join(groups)}.{behind or 0}")


def _literal(kind: LiteralKind, text: str, *values: float | str) -> Literal:
    return Literal(kind, text, frozenset((kind, value) for value in values))


_READERS: Final = {
    "address": _address,
    "id": _id,
    "iso": _iso,
    "dots": _dots,
    "dm": _named_day,
    "md": _named_day,
    "zh": _numbered_day,
    "nth": _only_day,
    "clock": _clock,
    "half": _half,
    "size": _size,
}
