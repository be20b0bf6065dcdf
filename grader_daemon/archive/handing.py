"""Slices of an archive that are handed out next, and those that are done: the memory of whoever hands out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from grader_daemon.archive.objects import SHARD_BYTES, StoredObject
from grader_daemon.archive.slices import Slice
from grader_daemon.archive.store import ArchiveProgress
from grader_daemon.domain.unit import shown_path

_AHEAD: Final = 3
"""So many slices are handed out behind one that goes on: others than its reader need not wait."""


class _Opened:
    """An object that is graded in several slices; `told` bytes of it were told to be done.

    following: the slice that is handed out next. end: the last one there is, None while that is not known.
    """

    def __init__(self) -> None:
        self.following = 0
        self.finished: set[int] = set()
        self.failed: set[int] = set()
        self.end: int | None = None
        self.told = 0

    @property
    def is_whole(self) -> bool:
        return self.end is not None and self.finished.issuperset(range(self.end + 1))


class Handing:
    """Hands out what of an archive is not done, each task a list of slices; what is done is noted."""

    def __init__(self, shards: Iterable[list[StoredObject]], done: ArchiveProgress) -> None:
        self._done = done
        self._fresh = self._tasks(shards)
        self._waiting: deque[list[Slice]] = deque()
        """Comes before what is fresh: an object that was begun is finished."""
        self._opened: dict[StoredObject, _Opened] = {}

    def next(self) -> list[Slice] | None:
        """Return the next task, None where there is none now."""
        while self._waiting:
            task = self._waiting.popleft()
            opened = self._opened.get(task[0].stored)
            if opened is None or opened.end is None or task[0].number <= opened.end:
                return task
        return next(self._fresh, None)

    def finish(
        self, task: Sequence[Slice], *, goes_on: Sequence[Slice], left: Sequence[Slice], failed: set[str]
    ) -> int:
        """Note what came of a task, and return how many bytes of the archive are done with it.

        `goes_on` are those behind which there are others, `left` those that were not looked at, `failed` the objects
        that could not be read, as they are shown.
        """
        noted: list[int] = []
        size = 0
        for piece in task:
            if piece in left:
                continue
            if shown_path(piece.stored.name) in failed:
                size += self._fail(piece)
            else:
                size += self._finish(piece, noted, goes_on=piece in goes_on)
        self._done.note(noted)
        if left:
            self._waiting.append(list(left))
        return size

    def skip(self, piece: Slice) -> int:
        """Pass over a slice that ended whoever read it, and return how many bytes are done.

        Those behind it may be read, unless the one before it failed, too.
        """
        opened = self._opened.setdefault(piece.stored, _Opened())
        opened.following = max(opened.following, piece.number + 1)
        size = self._fail(piece)
        if piece.stored.is_tar and piece.number - 1 not in opened.failed and opened.following == piece.number + 1:
            self._waiting.append([self._next_of(piece.stored, opened)])
        return size

    def _tasks(self, shards: Iterable[list[StoredObject]]) -> Iterator[list[Slice]]:
        for shard in shards:
            known = self._done.those_done([each.digest for each in shard] + [Slice(each).digest for each in shard])
            left = [each for each in shard if each.digest not in known]
            begun = [each for each in left if Slice(each).digest in known or expected_slices(each) > 1]
            if whole := [Slice(each) for each in left if each not in begun]:
                yield whole
            for each in begun:
                yield from self._slices_of(each)

    def _slices_of(self, stored: StoredObject) -> Iterator[list[Slice]]:
        """Yield as many slices as are expected, at least one, while the object has neither ended nor failed."""
        opened = self._opened.setdefault(stored, _Opened())
        is_first = True
        while is_first or (opened.following < expected_slices(stored) and opened.end is None and not opened.failed):
            is_first = False
            yield [self._next_of(stored, opened)]

    def _next_of(self, stored: StoredObject, opened: _Opened) -> Slice:
        while self._done.those_done([(piece := Slice(stored, opened.following)).digest]):
            opened.finished.add(opened.following)
            opened.following += 1
        opened.following += 1
        return piece

    def _fail(self, piece: Slice) -> int:
        opened = self._opened.setdefault(piece.stored, _Opened())
        opened.failed.add(piece.number)
        return _rest(opened, piece.stored)

    def _finish(self, piece: Slice, noted: list[int], *, goes_on: bool) -> int:
        stored, number = piece.stored, piece.number
        if number == 0 and not goes_on and stored not in self._opened:
            noted.append(stored.digest)
            return stored.bytes
        opened = self._opened.setdefault(stored, _Opened())
        opened.following = max(opened.following, number + 1)
        opened.finished.add(number)
        noted.append(piece.digest)
        if not goes_on:
            opened.end = number if opened.end is None else min(number, opened.end)
        else:
            while not opened.failed and opened.end is None and opened.following <= number + _AHEAD:
                self._waiting.append([self._next_of(stored, opened)])
        if opened.is_whole:
            noted.append(stored.digest)
            return _rest(opened, stored)
        share = min(stored.bytes // expected_slices(stored), stored.bytes - opened.told) if goes_on else 0
        opened.told += share
        return share


def _rest(opened: _Opened, stored: StoredObject) -> int:
    """Return how many bytes of an object were not told to be done, which are then."""
    rest = stored.bytes - opened.told
    opened.told = stored.bytes
    return rest


def expected_slices(stored: StoredObject) -> int:
    """Return how many slices an object has, about; others follow if it has more."""
    return max(1, stored.weight // SHARD_BYTES) if stored.is_tar else 1
