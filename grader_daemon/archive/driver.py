"""Hands the shards of an archive to a cluster, and keeps what comes of them: the only one that writes.

A shard is noted as done in the transaction after that of its grades, and only then dropped by the cluster: whatever
ends meanwhile, the next run examines it again, and grades of the same sessions take each other's place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

import msgspec

from grader_daemon.archive.objects import Archive, StoredObject, import_package, shards_of
from grader_daemon.archive.shard import ShardResult, examine_shard, read_part
from grader_daemon.archive.unpacking import Unreadable
from grader_daemon.domain.unit import shown_path
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner
from grader_daemon.storage.protocol.insight import ArchiveProgress

_AHEAD: Final = 2
"""So many shards for each worker are handed out: one that is done finds another one waiting."""

Save = Callable[[Sequence[Examined]], list[IngestResult]]
"""Saves what was examined, in one transaction."""


class ShardDone(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a shard, or of a part of one that holds many sessions.

    recorded: its sessions.
    bytes: how large the shard is in the archive, told with its last part; 0 with the others.
    unreadable: objects that could not be read.
    others: files in which no source found a session.
    bugs: tracebacks where we failed.
    """

    recorded: list[IngestResult]
    bytes: int
    unreadable: list[Unreadable]
    others: int
    bugs: list[str]


def grade_archive(
    archive: Archive,
    client: Any,
    examiner: Examiner,
    *,
    save: Save,
    done: ArchiveProgress,
    batch: int,
    now: datetime,
) -> Iterator[ShardDone]:
    """Have a cluster (a `distributed.Client`) examine what is not done yet, and save it; yields part by part.

    Raises:
        InputError: the archive cannot be listed.
        StoreError: what was found cannot be saved.
    """
    distributed = import_package("distributed")
    shards = (left for shard in shards_of(archive.objects()) if (left := _left(shard, done)))
    handed: dict[Any, list[StoredObject]] = {}
    finished = distributed.as_completed(loop=client.loop)

    def hand_out(shard: list[StoredObject]) -> None:
        future = client.submit(examine_shard, examiner, archive.url, shard, now, pure=False)
        handed[future.key] = shard
        finished.add(future)

    for shard in islice(shards, max(1, sum(client.nthreads().values())) * _AHEAD):
        hand_out(shard)
    suspects: deque[StoredObject] = deque()
    is_alone = False
    while handed or suspects:
        if not handed:  # whatever a worker has in hand is blamed for its end
            is_alone = True
            hand_out([suspects.popleft()])
        future = next(finished)
        shard = handed.pop(future.key)
        results: Iterable[ShardResult] | None
        try:
            results = map(read_part, future.result())  # waited for again if its worker has ended meanwhile
        except Exception as error:  # noqa: BLE001  whatever a worker failed on
            results = [_failed(shard[0], error)] if is_alone else None
        if results is None:
            suspects.extend(shard)
        else:
            yield from _kept(results, shard, save=save, done=done, batch=batch)
        future.release()
        for following in islice(shards, 1):
            hand_out(following)


def _left(shard: list[StoredObject], done: ArchiveProgress) -> list[StoredObject]:
    known = done.those_done([each.digest for each in shard])
    return [each for each in shard if each.digest not in known]


def _kept(
    results: Iterable[ShardResult], shard: Sequence[StoredObject], *, save: Save, done: ArchiveProgress, batch: int
) -> Iterator[ShardDone]:
    """Save a shard part by part; it is noted as done with the last one, before that is told."""
    failed: set[str] = set()
    before: ShardDone | None = None
    for result in results:
        if before is not None:
            yield before
        recorded: list[IngestResult] = []
        for start in range(0, len(result.examined), batch):
            recorded += save(result.examined[start : start + batch])
        failed.update(each.name for each in result.unreadable)
        before = ShardDone(
            recorded=recorded, bytes=0, unreadable=result.unreadable, others=result.others, bugs=result.bugs
        )
    done.note([each.digest for each in shard if shown_path(each.name) not in failed])
    if before is not None:
        yield msgspec.structs.replace(before, bytes=sum(each.bytes for each in shard))


def _failed(stored: StoredObject, error: Exception) -> ShardResult:
    """Return what is known of an object that a worker could not examine, or that ended several of them."""
    ended = "KilledWorker" in type(error).__name__
    reason = "it ended the processes that were to examine it" if ended else f"{type(error).__name__}: {error}"
    return ShardResult([], [Unreadable(shown_path(stored.name), reason)], 0, [])
