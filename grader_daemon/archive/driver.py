"""Hands the slices of an archive to workers, and keeps what comes of them: the only one that writes.

A task is noted as done in the transaction after that of its grades, and only then dropped by the cluster: whatever
ends meanwhile, the next run examines it again, and grades of the same sessions take each other's place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from grader_daemon.archive.handing import Handing
from grader_daemon.archive.objects import Archive, shards_of
from grader_daemon.archive.shard import ShardResult
from grader_daemon.archive.slices import Slice
from grader_daemon.archive.store import ArchiveProgress
from grader_daemon.archive.unpacking import Unreadable
from grader_daemon.archive.workers import Ended, ThisProcess, Workers
from grader_daemon.domain.unit import shown_path
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner

_AHEAD: Final = 2
"""So many tasks for each worker are handed out: one that is done finds another one waiting."""

Save = Callable[[Sequence[Examined]], list[IngestResult]]
"""Saves what was examined, in one transaction."""


class ShardDone(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a task, or of a part of one that holds many sessions; all empty where workers are busy still.

    name: the object that it is about, the first of several; "" where workers are busy.
    recorded: its sessions.
    bytes: how much of the archive is done with it, told with its last part; 0 with the others.
    unreadable: objects that could not be read, and, all at the end, folders that could not be listed.
    others: files in which no source found a session.
    bugs: tracebacks where we failed.
    """

    name: str = ""
    recorded: list[IngestResult] = []
    bytes: int = 0
    unreadable: list[Unreadable] = []
    others: int = 0
    bugs: list[str] = []


def grade_archive(
    archive: Archive,
    client: Any | None,
    examiner: Examiner,
    *,
    save: Save,
    done: ArchiveProgress,
    batch: int,
    now: datetime,
) -> Iterator[ShardDone]:
    """Have a cluster examine what is not done yet, and save it; yields part by part.

    `client` is a `distributed.Client`; None: this process examines it. Every few seconds in which nothing comes of the
    workers of a cluster an empty part is yielded.

    Raises:
        InputError: the archive cannot be listed.
        StoreError: what was found cannot be saved.
    """
    unlisted: list[Unreadable] = []

    def note(folder: str, reason: str) -> None:
        unlisted.append(Unreadable(shown_path(folder), reason))

    given = examiner, archive.url, now
    workers = ThisProcess(*given) if client is None else Workers(client, *given)
    driver = _Driver(Handing(shards_of(archive.objects(unlisted=note)), done), save, batch)
    try:
        yield from driver.run(workers)
    finally:
        workers.drop_all()
    if unlisted:
        yield ShardDone(unreadable=unlisted)


class _Driver:
    """Goes on until nothing is in hand; what fails together with others is tried again alone, when all else is done."""

    def __init__(self, handing: Handing, save: Save, batch: int) -> None:
        self._handing = handing
        self._save = save
        self._batch = batch
        self._suspects: deque[Slice] = deque()
        self._alone: Sequence[Slice] | None = None
        self._told: set[Unreadable] = set()

    def run(self, workers: Workers | ThisProcess) -> Iterator[ShardDone]:
        self._fill(workers)
        while workers.handed or self._suspects:
            if not workers.handed:  # whatever a worker has in hand is blamed for its end
                self._alone = [self._suspects.popleft()]
                workers.hand_out(self._alone)
            for ended in workers.wait():
                yield from self._kept(ended)
            self._fill(workers)

    def _fill(self, workers: Workers | ThisProcess) -> None:
        while len(workers.handed) < workers.count * _AHEAD and (task := self._handing.next()) is not None:
            workers.hand_out(task)

    def _kept(self, ended: Ended) -> Iterator[ShardDone]:
        if not ended.task:
            yield ShardDone()
        elif ended.results is not None:
            yield from self._saved(ended.task, ended.results)
        elif ended.task is self._alone:
            unreadable = self._new([Unreadable(_name(ended.task), ended.failure)])
            yield ShardDone(name=_name(ended.task), bytes=self._handing.skip(ended.task[0]), unreadable=unreadable)
        else:
            self._suspects.extend(ended.task)

    def _saved(self, task: Sequence[Slice], results: Iterator[ShardResult]) -> Iterator[ShardDone]:
        """Save a task part by part; it is noted as done with the last one, before that is told."""
        failed: set[str] = set()
        goes_on: list[Slice] = []
        left: list[Slice] = []
        before: ShardDone | None = None
        for result in results:
            if before is not None:
                yield before
            recorded: list[IngestResult] = []
            for start in range(0, len(result.examined), self._batch):
                recorded += self._save(result.examined[start : start + self._batch])
            failed.update(each.name for each in result.unreadable)
            goes_on += result.goes_on
            left += result.left
            before = ShardDone(
                name=_name(task),
                recorded=recorded,
                unreadable=self._new(result.unreadable),
                others=result.others,
                bugs=result.bugs,
            )
        size = self._handing.finish(task, goes_on=goes_on, left=left, failed=failed)
        if before is not None:
            yield msgspec.structs.replace(before, bytes=size)

    def _new(self, unreadable: Sequence[Unreadable]) -> list[Unreadable]:
        """Return what was not told yet: who reads a later slice meets the same damage."""
        new = [each for each in unreadable if each not in self._told]
        self._told.update(new)
        return new


def _name(task: Sequence[Slice]) -> str:
    return shown_path(task[0].stored.name)
