"""Every pattern of the package takes linear time: each is tried on what it looks for, cut and repeated."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from random import Random
from typing import Any

import pytest

from grader_daemon.redaction import SECRETS_AND_ADDRESSES
from tests.every_pattern import FOLDER, Found, every_pattern
from tests.examples import repeats
from tests.pumping import TAILS, Pump, pumps
from tests.timing import cpu_seconds

_REDACTION = "redaction/"
"""Its patterns are only tried behind signs, at places that the redactor counts: so their texts go through all of it."""

_SIZE = 2_500
_SAMPLES = repeats(2, thorough=3)
_A_STEP_FOR_EACH_PAIR = re.compile("<[^>]*>")
_STEPS_AT_LEAST = 0.25
"""What takes less than this part of one quick step for each pair of characters is looked at no closer."""

_TRIED = TAILS[: repeats(1, thorough=len(TAILS))]

ROOMS = sorted(path.name for path in FOLDER.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
"""Folders and files of the package."""

pytestmark = pytest.mark.no_cover


def test_patterns_of_every_stage_are_found() -> None:
    assert {
        "sources/decoding.py",
        "analysis/fingerprints/cause_line.py",
        "redaction/forms.py",
        "domain/phrases.py",
    } <= set(_places())


def test_every_pattern_stands_in_a_room() -> None:
    assert {_room(place) for place in _places()} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_every_pattern_takes_linear_time(room: str) -> None:
    chosen = {place: patterns for place, patterns in _places().items() if _room(place) == room}

    assert [told for place, patterns in chosen.items() for told in _slow(patterns, Random(place))] == []


@pytest.mark.parametrize("careless", [r"\s+$", r"<[^>]*>", r"/\*.*?\*/", r"\d+(?:\.\d+)+%", r"key\s*\n\s*value"])
def test_a_careless_pattern_is_caught(careless: str) -> None:
    assert next(_slow([Found("here", re.compile(careless))], Random("here")), None)


def _slow(patterns: Sequence[Found], chance: Random) -> Iterator[str]:
    return (
        f"{found.place}: {found.pattern.pattern!r:.80} on {pump}"
        for found in patterns
        for pump in pumps(found.pattern, samples=_SAMPLES, chance=chance, tails=_TRIED)
        if not _is_linear(found, pump)
    )


def test_a_pattern_that_is_not_linear_is_caught() -> None:
    careless = Found("here", re.compile(r'"(?:[^"\\]|\\.)*+"'))

    assert not _is_linear(careless, Pump("", r"\"", ""), tries=1)


def test_the_number_in_a_headline_takes_linear_time() -> None:
    """Not every draw of texts meets it."""
    (headline,) = (found for found in _places()["analysis/claims/clauses.py"] if "invit" in found.pattern.pattern)

    assert _is_linear(headline, Pump("0.replysk-", "0", "\0"))


def _room(place: str) -> str:
    return place.partition("/")[0]


@cache
def _places() -> dict[str, list[Found]]:
    """Return the patterns of each file."""
    return {place: list(found) for place, found in groupby(every_pattern(), lambda one: one.place.partition(":")[0])}


def _is_linear(found: Found, pump: Pump, *, tries: int = 8) -> bool:
    """Four times as much may take four times as long; a noisy machine gets seven more chances to be quiet."""
    text, longer = pump.text(_SIZE), pump.text(4 * _SIZE)
    before = _seconds(found, text)
    if before < _quick_seconds():
        return True
    before = min(before, _seconds(found, text))
    return any(_seconds(found, longer) < 9 * before for _ in range(tries))


@cache
def _quick_seconds() -> float:
    """Measure this machine: 2 ms on a fast one, 5 ms on a slow one."""
    text = "<" * _SIZE
    return _STEPS_AT_LEAST * min(
        cpu_seconds(lambda: deque(_A_STEP_FOR_EACH_PAIR.finditer(text), maxlen=0)) for _ in range(5)
    )


def _seconds(found: Found, text: str) -> float:
    pattern = found.pattern
    if found.place.startswith(_REDACTION):
        return cpu_seconds(lambda: SECRETS_AND_ADDRESSES.redact(text))
    content: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    if found.tried_by:
        return cpu_seconds(lambda: [getattr(pattern, method)(content) for method in found.tried_by])
    return cpu_seconds(lambda: deque(pattern.finditer(content), maxlen=0))
