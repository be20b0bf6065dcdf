"""Commits and trees of a repository, decoded; and what stands at a path."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from grader_daemon.errors import ReadError
from grader_daemon.outcomes.git_objects import Objects

MOST_COMMITS: Final = 5_000
"""Newest commits that are walked through; a busy repository of 40 people makes as many in a month."""
_LONGEST_MESSAGE: Final = 65_536
_ID_BYTES: Final = 20
_MOST_PARENTS: Final = 32
_MOST_REVERTS: Final = 20
_LATEST: Final = 4_102_444_800
"""The year 2100: times beyond are no times."""
_TIME: Final = re.compile(rb"> (\d{1,12}) [+-]\d{4}$")
_ID: Final = re.compile(rb"[0-9a-f]{40}")
_REVERTS: Final = re.compile(rb"[Tt]his reverts commit ([0-9a-f]{7,40})\b")
_FILES: Final = frozenset({b"100644", b"100755", b"100664"})
_FOLDER: Final = b"40000"
_MOST_KEPT: Final = 100_000
"""Entries that are kept of trees, for commits that share them: 25 MB."""


class Commit(NamedTuple):
    """A commit: times are in seconds since 1970; `reverts` are the ids, perhaps cut, that its message takes back."""

    name: str
    tree: str
    parents: tuple[str, ...]
    authored: int
    committed: int
    reverts: tuple[str, ...]

    @property
    def is_merge(self) -> bool:
        """True if it joins several histories."""
        return len(self.parents) > 1


class Walk(NamedTuple):
    """Commits that were reached from all refs, by name; `is_whole` where none newer than the asked time is missing."""

    commits: dict[str, Commit]
    is_whole: bool


class History:
    """The commits, trees and files of a repository."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._commits: dict[str, Commit | None] = {}
        self._trees: dict[str, dict[bytes, tuple[bytes, str]]] = {}
        self._kept = 0

    def commit(self, name: str) -> Commit | None:
        """Return a commit; None where there is none of this name.

        Raises:
            ReadError: it is damaged, or the look is at its end.
        """
        if name not in self._commits:
            found = self._objects.read(name)
            is_commit = found is not None and found.kind == "commit"
            self._commits[name] = _decoded(name, found.content) if is_commit and found is not None else None
        return self._commits[name]

    def named(self, prefix: str) -> str | None:
        """Return the one commit whose name begins like this; None without, or with several.

        Raises:
            ReadError: see `commit`.
        """
        found = self._objects.whole_names(prefix)
        return found[0] if len(found) == 1 and self.commit(found[0]) is not None else None

    def walk(self, tips: Iterable[str], since: int) -> Walk:
        """Return the commits that are reached from some, the newest first, up to a time, and their parents.

        Raises:
            ReadError: see `commit`.
        """
        waiting: list[tuple[int, str]] = []
        seen: set[str] = set()
        self._wait_for(tips, waiting, seen)
        walked: dict[str, Commit] = {}
        while waiting and len(walked) < MOST_COMMITS:
            found = self.commit(heapq.heappop(waiting)[1])
            if found is not None:
                walked[found.name] = found
                if found.committed >= since:
                    self._wait_for(found.parents, waiting, seen)
        return Walk(walked, not waiting)

    def _wait_for(self, names: Iterable[str], waiting: list[tuple[int, str]], seen: set[str]) -> None:
        for name in names:
            if name not in seen:
                seen.add(name)
                found = self._peeled(name)
                if found is not None:
                    heapq.heappush(waiting, (-found.committed, found.name))

    def _peeled(self, name: str) -> Commit | None:
        """Return the commit that a name is of, or that the tag is of which it is."""
        found = self._objects.read(name) if name not in self._commits else None
        if found is not None and found.kind == "tag":
            target = found.content[7:47]
            return self.commit(target.decode()) if _ID.fullmatch(target) else None
        if found is not None and found.kind == "commit":
            self._commits[name] = _decoded(name, found.content)
        return self._commits.get(name)

    def blob_at(self, tree: str, path: str) -> str | None:
        """Return the name of the file at a path of a tree; None where there is none.

        Raises:
            ReadError: see `commit`.
        """
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        for folder in folders:
            mode, below = self._entries(tree).get(folder, (b"", ""))
            if mode != _FOLDER:
                return None
            tree = below
        mode, blob = self._entries(tree).get(name, (b"", ""))
        return blob if mode in _FILES else None

    def text(self, blob: str | None) -> bytes:
        """Return the content of a file; nothing of one that is not there, or too large.

        Raises:
            ReadError: see `commit`.
        """
        found = None if blob is None else self._objects.read(blob)
        return found.content if found is not None and found.kind == "blob" else b""

    def changed_paths(self, before: str | None, after: str, *, most: int) -> set[str] | None:
        """Return the paths at which two trees differ; None where those are more than `most`.

        Raises:
            ReadError: see `commit`.
        """
        changed: set[str] = set()
        waiting: list[tuple[str, str | None, str | None]] = [("", before, after)]
        while waiting:
            folder, old, new = waiting.pop()
            earlier, later = ({} if each is None else self._entries(each) for each in (old, new))
            for name in earlier.keys() | later.keys():
                sides = earlier.get(name), later.get(name)
                if sides[0] == sides[1]:
                    continue
                path = folder + name.decode("utf-8", "surrogateescape")
                one, other = (side[1] if side is not None and side[0] == _FOLDER else None for side in sides)
                if one or other:
                    waiting.append((f"{path}/", one, other))
                if any(side is not None and side[0] != _FOLDER for side in sides):
                    changed.add(path)
                if len(changed) + len(waiting) > most:
                    return None
        return changed

    def _entries(self, tree: str) -> dict[bytes, tuple[bytes, str]]:
        known = self._trees.get(tree)
        if known is None:
            if self._kept > _MOST_KEPT:
                self._trees.clear()
                self._kept = 0
            found = self._objects.read(tree)
            known = _decoded_tree(found.content) if found is not None and found.kind == "tree" else {}
            self._trees[tree] = known
            self._kept += len(known)
        return known


def _decoded(name: str, content: bytes) -> Commit:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    tree, parents = fields.get(b"tree", [b""])[0], fields.get(b"parent", [])[:_MOST_PARENTS]
    if not all(map(_ID.fullmatch, (tree, *parents))):
        raise ReadError(f"its object {name[:12]} is not a commit")
    return Commit(
        name=name,
        tree=tree.decode(),
        parents=tuple(parent.decode() for parent in parents),
        authored=_seconds(fields.get(b"author", [b""])[0]),
        committed=_seconds(fields.get(b"committer", [b""])[0]),
        reverts=_taken_back(message[:_LONGEST_MESSAGE]),
    )


def _seconds(line: bytes) -> int:
    """Return when something was written; 0 for what is no time."""
    found = _TIME.search(line)
    seconds = int(found.group(1)) if found is not None else 0
    return seconds if seconds < _LATEST else 0


def _taken_back(message: bytes) -> tuple[str, ...]:
    """Return the ids that a message says it takes back, in the words of `git revert`."""
    found = [match.group(1).decode() for match in _REVERTS.finditer(message)]
    return tuple(dict.fromkeys(found))[:_MOST_REVERTS]


def _decoded_tree(content: bytes) -> dict[bytes, tuple[bytes, str]]:
    entries: dict[bytes, tuple[bytes, str]] = {}
    at = 0
    while at < len(content):
        end = content.find(b"\0", at)
        mode, blank, name = content[at:end].partition(b" ")
        raw = content[end + 1 : end + 21]
        if end < 0 or not blank or len(raw) != _ID_BYTES:
            raise ReadError("a tree in it is damaged")
        entries[name] = mode, raw.hex()
        at = end + 21
    return entries
