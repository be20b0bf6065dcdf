"""Sessions to measure with: labelled ones of real agents where their archive is here, and made ones of four sizes.

The archive lies beside the checkout, as for `tests/integration/test_hermes_samples.py`: a line of a file is a session.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from tests.benchmarks.machine import progress, progress_done
from tests.benchmarks.sessions import write_sessions

ARCHIVES = tuple(Path(__file__).parents[3] / "shared" / "data" / name / "sessions" for name in ("truth", "truth2"))
REAL: Mapping[str, Sequence[str]] = {
    "terminal": ("gab_term", "bashkit"),
    "coding": ("gab_swe", "super"),
    "service": ("gab_tau2", "medagent"),
    "lookups": ("fireact", "knowagent", "reflexion_qa", "who_when"),
    "small": ("intercode", "mint", "mint_fb"),
}
"""Work of real agents, and the sources of the archive that hold it: all of them, each once."""

MADE = {"4 KB": (4_000, 2_000), "20 KB": (20_000, 2_000), "200 KB": (200_000, 400), "2 MB": (2_000_000, 60)}
"""Made sessions: bytes of each, and how many."""

_SEEDS_APART = 10_000
"""The seed makes the id, and an id that comes again is a session that is graded again."""

_SLICE_SESSIONS = 40
_SLICE_BYTES = 4_000_000
"""About as many as the daemon gathers in the 50 ms of a transaction (setting `batch_milliseconds`)."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sessions of one kind, in slices that are graded in one go. The first slice is there to warm up."""

    name: str
    slices: tuple[tuple[str, ...], ...]
    sessions: int
    bytes: int


class _Named(msgspec.Struct):
    session_id: str


def real_corpora(folder: Path, *, slices: int | None) -> list[Corpus]:
    """Write the labelled sessions, in `slices` of each kind (None: all of them); nothing if there is no archive."""
    if not has_archives():
        return []
    return [real_corpus(folder, name, slices=slices) for name in REAL]


def has_archives() -> bool:
    """Return whether the labelled sessions are at hand."""
    return all(archive.is_dir() for archive in ARCHIVES)


def real_corpus(folder: Path, name: str, *, slices: int | None) -> Corpus:
    """Write the labelled sessions of one kind of `REAL`."""
    progress(f"{name}: unpacking")
    lines = [line for source in REAL[name] for line in lines_of(source)]
    random.Random(name).shuffle(lines)
    sliced = list(islice(_sliced(lines), slices))
    paths = tuple(tuple(_write(folder, line) for line in part) for part in sliced)
    sizes = [len(line) for part in sliced for line in part]
    progress_done()
    return Corpus(name, paths, len(sizes), sum(sizes))


def made_corpus(folder: Path, name: str, *, slices: int | None) -> Corpus:
    """Write made sessions of one size of `MADE`."""
    size, count = MADE[name]
    each = max(1, min(_SLICE_SESSIONS, _SLICE_BYTES // size))
    count = count if slices is None else min(count, each * slices)
    folders = [folder / f"made{size}-{number}" / "sessions" for number in range(0, count, each)]
    for made in folders:
        made.mkdir(parents=True)
    progress(f"{name}: writing {count:,} sessions")
    places = [folders[number // each] for number in range(count)]
    paths = write_sessions(places, size=size, first_seed=_SEEDS_APART * list(MADE).index(name))
    progress_done()
    parts = tuple(paths[start : start + each] for start in range(0, count, each))
    return Corpus(name, parts, count, sum(Path(path).stat().st_size for path in paths))


def lines_of(source: str) -> Iterator[bytes]:
    for archive in ARCHIVES:
        path = archive / f"{source}.jsonl.gz"
        if path.exists():
            with gzip.open(path) as lines:
                yield from lines


def _sliced(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if len(part) == _SLICE_SESSIONS or size >= _SLICE_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _write(folder: Path, line: bytes) -> str:
    session_id = msgspec.json.decode(line, type=_Named).session_id
    path = folder / "sessions" / f"session_{session_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line)
    return str(path)
