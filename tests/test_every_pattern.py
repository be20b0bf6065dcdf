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

from grader_daemon.analysis.fingerprints.cause_line import LONGEST_LINE
from grader_daemon.redaction import SECRETS_AND_ADDRESSES
from tests.every_pattern import FOLDER, Found, every_pattern
from tests.examples import repeats
from tests.pumping import TAILS, Pump, pumps
from tests.timing import cpu_seconds

_REDACTION = "redaction/"
"""Its patterns are only tried behind signs, at places that the redactor counts: so their texts go through all of it."""

_SIZE = 2_500
_SIZES = [_SIZE] * 8 + [4 * _SIZE] * 2
"""Characters where growth is looked at, in turn: a noisy machine gets more chances, a bound in a pattern its effect."""

_LONGEST = {"analysis/fingerprints/normalize.py": 2 * LONGEST_LINE}
"""Characters that the patterns of a file meet at most, where that is less: a line that names a cause."""

_SAMPLES = repeats(1, thorough=3)
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
    assert next(_slow([Found("here", re.compile(careless))], Random("here"), [_SIZE]), None)


def _slow(patterns: Sequence[Found], chance: Random, sizes: Sequence[int] = _SIZES) -> Iterator[str]:
    return (
        f"{found.place}: {found.pattern.pattern!r:.80} on {pump}"
        for found in patterns
        for pump in pumps(found.pattern, samples=_SAMPLES, chance=chance, tails=_TRIED)
        if not _is_linear(found, pump, sizes)
    )


def test_a_pattern_that_is_not_linear_is_caught() -> None:
    careless = Found("here", re.compile(r'"(?:[^"\\]|\\.)*+"'))

    assert any(not _is_linear(careless, Pump("", r"\"", ""), [_SIZE]) for _ in range(3))


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


def _is_linear(found: Found, pump: Pump, sizes: Sequence[int] = _SIZES) -> bool:
    """Return whether four times as much takes about four times as long, at one of the sizes at least."""
    text = pump.text(_LONGEST.get(found.place.partition(":")[0], _SIZE))
    if any(_seconds(found, text) < _quick_seconds() for _ in range(2)):
        return True
    return any(_grows_linearly(found, pump, size) for size in sizes)


def _grows_linearly(found: Found, pump: Pump, size: int) -> bool:
    return _seconds(found, pump.text(4 * size)) < 9 * _seconds(found, pump.text(size))


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
