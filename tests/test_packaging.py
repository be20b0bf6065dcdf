"""What is installed with the program, and how it is made for a release."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_CLIENTS = {"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3"}
"""What others write programs with that ask the network."""

_MOST_BYTES = 60_000_000


def _installed(needed: Iterable[str], extras: Iterable[str] = ("",)) -> Iterator[str]:
    """Yield what is installed for these requirements, some more than once."""
    for requirement in map(Requirement, needed):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(requirement.name)
            yield from _installed(distribution(requirement.name).requires or (), {"", *requirement.extras})


_DEPENDENCIES = frozenset(_installed(_PROJECT["dependencies"]))


def _bytes(files: Iterable[Path]) -> int:
    """Return what files take; bytecode takes as much as its sources in the mean."""
    kept = (path for path in files if path.suffix != ".pyc" and path.is_file())
    return sum(path.stat().st_size * (2 if path.suffix == ".py" else 1) for path in kept)


def test_the_program_comes_without_a_client_of_http() -> None:
    assert len(_DEPENDENCIES) > 15
    assert _CLIENTS.isdisjoint(_DEPENDENCIES)


def test_the_program_takes_less_than_60_mb() -> None:
    taken = {
        name: _bytes(Path(str(path.locate())) for path in distribution(name).files or ()) for name in _DEPENDENCIES
    }
    taken["grader-daemon"] = _bytes((_ROOT / "grader_daemon").rglob("*"))

    assert (sum(taken.values()) < _MOST_BYTES, taken) == (True, taken)
