"""The branch of a tree of entries that is the conversation: the one that the entry written last stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from grader_daemon.sources.pi.tree_entries import LEAF, RESET, SIDE, Link, Note

ROOT = -1
"""The place before all entries."""

_MARKS = frozenset((LEAF, RESET))


class Branch(NamedTuple):
    """Places of entries in a file.

    path: of those on the branch, in their order.
    left: of those on no other than branches that were left, by the place on the path where these begin.
    """

    path: tuple[int, ...]
    left: Mapping[int, Sequence[int]]


def newest_branch(links: Sequence[Link], parents_of_others: Callable[[], Mapping[str, str | None]]) -> Branch:
    """Return the branch of the entry that was written last; OpenClaw may say that it goes on from another one.

    An entry whose parent is nowhere (its line is damaged, or it had none: format 1) follows the one before it.

    Args:
        links: all entries, in the order of their lines.
        parents_of_others: gives the parents of entries that are not among them; asked only where one is missing.
    """
    tree = _Tree(links, parents_of_others)
    path: list[int] = []
    seen = bytearray(len(links))
    at = tree.leaf
    while at != ROOT and not seen[at]:
        seen[at] = 1
        path.append(at)
        at = tree.parents[at]
    path.reverse()
    return Branch(tuple(path), {} if len(path) == len(links) else _left(tree.parents, seen))


class _Tree:
    """The places of the parents of all entries, and of the `leaf` that the conversation stands at."""

    def __init__(self, links: Sequence[Link], parents_of_others: Callable[[], Mapping[str, str | None]]) -> None:
        self._links = links
        self._places: dict[str | None, int] = {link.id: at for at, link in enumerate(links) if link.id is not None}
        self._parents_of_others = parents_of_others
        self._others: Mapping[str, str | None] | None = None
        self._reset = ROOT
        self.parents: list[int] = []
        self.leaf = ROOT
        before = None
        for place, link in enumerate(links):
            if link.parent_id == before and self.leaf == place - 1 and link.type not in _MARKS:
                self.parents.append(self.leaf)  # as nearly all are
            else:
                self._add(place, link)
            if link.append_mode != SIDE or link.type == LEAF:
                self.leaf = place
            before = link.id

    def _add(self, place: int, link: Link) -> None:
        parent = self._parent(link.target_id if isinstance(link, Note) and link.type == LEAF else link.parent_id)
        moves = link.append_mode != SIDE or link.type == LEAF
        self.parents.append(self.leaf if moves and (parent < self._reset or self._is_aside(parent)) else parent)
        if link.type == RESET:
            self._reset = place

    def _parent(self, parent: str | UnsetType | None) -> int:
        if parent is UNSET:
            return self.leaf
        if parent is not None and parent not in self._places:
            if self._others is None:
                self._others = _leading_up(self._parents_of_others(), self._places)
            parent = self._others.get(parent, parent)
        return ROOT if parent is None else self._places.get(parent, self.leaf)

    def _is_aside(self, place: int) -> bool:
        return place != ROOT and self._links[place].append_mode == SIDE


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
