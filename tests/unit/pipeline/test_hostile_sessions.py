"""What a session file may cost: time and memory grow with its size, whatever is in it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from itertools import groupby
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from grader_daemon.domain.session import Session, Skipped
from grader_daemon.errors import ParseError
from grader_daemon.pipeline.helpers import LARGE_BYTES
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.any_file import broken_files, session_files
from tests.conftest import SessionWriter
from tests.examples import repeats
from tests.fuzz.examine import examine
from tests.fuzz.mutation import mutate_json
from tests.fuzz.seeds import seeds
from tests.hostile import CUT_AT, STRUCTURES, Kind, cuts, texts
from tests.strategies import file_contents
from tests.tables import for_each
from tests.timing import cpu_seconds, is_done_within
from tests.units import unit

pytestmark = pytest.mark.no_cover  # tracing would cost more than the tests

SECONDS = 1.0
MOST_SECONDS = 20.0
"""For the largest file that is not handed to a helper process; `examine` here analyses and redacts everything twice.

The worst kind takes 8 where nobody else computes, and 13 where each core has other work.
"""

BYTES_OF_MEMORY = 60
"""For each byte of a file; measured: 46 for empty turns, 29 for empty messages, 27 for objects in arguments."""

BESIDES = 1_000_000
"""Memory that does not depend on the file."""

GROUPS: dict[str, dict[str, Kind]] = {
    "structures": STRUCTURES,
    **{place: dict(kinds) for place, kinds in groupby(sorted(texts()), lambda each: each[0].partition("-")[0])},
}
"""Kinds of files by where their text stands."""


@pytest.fixture(scope="module", autouse=True)
def _ready() -> None:
    """What is made once is not part of any file's cost."""
    examine(b'{"session_id": "x", "messages": []}')


# -- any bytes ---------------------------------------------------------------------------------------------------------


@given(content=file_contents)
def test_any_bytes_are_a_session_or_say_why_not(content: bytes) -> None:
    _examine_within_bounds(content)


@given(content=session_files())
def test_any_session_has_a_grade(content: bytes) -> None:
    _examine_within_bounds(content)


@given(content=broken_files())
def test_a_broken_session_is_a_session_or_says_why_not(content: bytes) -> None:
    _examine_within_bounds(content)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=session_files())
def test_what_is_kept_of_any_session_can_be_read_again(
    content: bytes, ingest: Ingest, store: SqliteStore, write_session: SessionWriter
) -> None:
    [recorded], _ = ingest.ingest([unit(write_session(content=content))], within_seconds=SECONDS)

    if recorded.grade is not None:
        assert store.grades.find(recorded.grade.session_id).grade == recorded.grade


@for_each("content", lambda: [pytest.param(seed, id=f"seed-{number}") for number, seed in enumerate(seeds())])
def test_what_fuzzing_begins_with_is_a_session(content: bytes) -> None:
    assert isinstance(examine(content), Session)


@pytest.mark.parametrize("round_number", range(4))
def test_a_session_with_a_few_changes_is_a_session_or_says_why_not(round_number: int) -> None:
    chance = Random(round_number)
    for seed in seeds():
        content = seed
        for _ in range(6):
            content = mutate_json(
                content, 20_000, seed=chance.getrandbits(32), mutate=lambda old, _: old[: len(old) // 2]
            )
        assert isinstance(examine(content), Session | Skipped | ParseError)


def _examine_within_bounds(content: bytes) -> None:
    assert is_done_within(SECONDS, lambda: _examine_in_little_memory(content))


def _examine_in_little_memory(content: bytes) -> None:
    tracemalloc.start()
    try:
        read = examine(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(read, Session | Skipped | ParseError)
    assert peak <= BYTES_OF_MEMORY * len(content) + BESIDES


# -- growth ------------------------------------------------------------------------------------------------------------


def test_many_long_and_deep_things_take_linear_time() -> None:
    assert _worse_than_linear(STRUCTURES, 30_000) == {}


@pytest.mark.parametrize("group", [each for each in GROUPS if each != "structures"][:: repeats(2, thorough=1)])
def test_texts_against_patterns_take_linear_time(group: str) -> None:
    assert _worse_than_linear(GROUPS[group], 4_000) == {}


@pytest.mark.parametrize("place", [*CUT_AT][:: repeats(3, thorough=1)])
def test_files_cut_short_take_linear_time(place: str) -> None:
    assert _worse_than_linear(dict(cuts(place)), 8_000) == {}


@pytest.mark.parametrize("group", [*GROUPS][:: repeats(2, thorough=1)])
def test_a_file_that_the_daemon_reads_itself_takes_seconds_at_most(group: str) -> None:
    """In proportion: time grows with the size, as the tests above show."""
    files = {name: make(20_000) for name, make in GROUPS[group].items()}

    assert [name for name, content in files.items() if not _is_read_in_proportion(content)] == []


@for_each("make", [pytest.param(make, id=name) for name, make in STRUCTURES.items()])
def test_memory_is_bounded_by_the_size_of_the_file(make: Kind) -> None:
    _examine_in_little_memory(make(40_000))


def _is_read_in_proportion(content: bytes) -> bool:
    return is_done_within(MOST_SECONDS * len(content) / LARGE_BYTES + 0.02, lambda: examine(content))


def _worse_than_linear(kinds: Mapping[str, Kind], size: int) -> dict[str, list[tuple[float, float]]]:
    """Return what kinds took at this size and at four times as much, where that is more than in proportion."""
    found = {name: _times(make(size), make(4 * size)) for name, make in kinds.items()}
    return {name: times for name, times in found.items() if not _is_linear(*times[-1])}


def _times(short: bytes, long: bytes) -> list[tuple[float, float]]:
    """Return what both took: of three times at most, until it is in proportion; a noisy machine may get quiet."""
    taken: list[tuple[float, float]] = []
    while len(taken) < 3 and not (taken and _is_linear(*taken[-1])):
        taken.append((cpu_seconds(lambda: examine(short)), cpu_seconds(lambda: examine(long))))
    return taken


def _is_linear(before: float, after: float) -> bool:
    """Four times as much may take four times as long, and what cannot be told from noise."""
    return after < 9 * before + 0.03
