"""The branch of a tree of entries that is the conversation: the one that the entry written last stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from grader_daemon.sources.pi.tree_entries import Link

ROOT = -1
"""The place before all entries."""


class Branch(NamedTuple):
    """Places of entries in a file.

    path: of those on the branch, in their order.
    left: of those on no other than branches that were left, by the place on the path where these begin.
    """

    path: tuple[int, ...]
    left: Mapping[int, Sequence[int]]


def newest_branch(links: Sequence[Link], parents_of_others: Callable[[], Mapping[str, str | None]]) -> Branch:
    """Return the branch of the entry that was written last.

    An entry whose parent is nowhere (its line is damaged, or it had none: format 1) follows the one before it.

    Args:
        links: all entries, in the order of their lines.
        parents_of_others: gives the parents of entries that are not among them; asked only where one is missing.
    """
    parents = _parents(links, parents_of_others)
    path: list[int] = []
    seen = bytearray(len(links))
    at = len(links) - 1
    while at != ROOT and not seen[at]:
        seen[at] = 1
        path.append(at)
        at = parents[at]
    path.reverse()
    return Branch(tuple(path), {} if len(path) == len(links) else _left(parents, seen))


def _parents(links: Sequence[Link], parents_of_others: Callable[[], Mapping[str, str | None]]) -> list[int]:
    places: dict[str | None, int] = {link.id: place for place, link in enumerate(links) if link.id is not None}
    others: Mapping[str, str | None] | None = None
    parents = []
    for place, link in enumerate(links):
        parent = link.parent_id
        if parent is UNSET:
            parents.append(place - 1)
            continue
        if parent is not None and parent not in places:
            others = _leading_up(parents_of_others(), places) if others is None else others
            parent = others.get(parent, parent)
        parents.append(ROOT if parent is None else places.get(parent, place - 1))
    return parents


def _leading_up(others: Mapping[str, str | None], places: Mapping[str | None, int]) -> dict[str, str | None]:
    """Return the nearest ancestor that is a link for each of the others, whose lines come after their parents'."""
    above: dict[str, str | None] = {}
    for name, parent in others.items():
        above[name] = parent if parent is None or parent in places else above.get(parent, parent)
    return above


def _left(parents: Sequence[int], on_path: bytearray) -> dict[int, list[int]]:
    """Return the entries of branches that were left, by the place on the path that they begin at."""
    begins: list[int] = []
    left: dict[int, list[int]] = {}
    for place, parent in enumerate(parents):
        if on_path[place]:
            begins.append(place)
            continue
        start = ROOT if parent == ROOT or parent >= place else begins[parent]
        begins.append(start)
        left.setdefault(start, []).append(place)
    return left
