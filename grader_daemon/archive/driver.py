"""Hands the shards of an archive to a cluster, and keeps what comes of them: the only one that writes.

A shard is noted as done in the transaction after that of its grades, and only then dropped by the cluster: whatever
ends meanwhile, the next run examines it again, and grades of the same sessions take each other's place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

import msgspec

from grader_daemon.archive.objects import Archive, StoredObject, import_package, shards_of
from grader_daemon.archive.shard import ShardResult, examine_shard
from grader_daemon.archive.unpacking import Unreadable
from grader_daemon.domain.unit import shown_path
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner
from grader_daemon.storage.protocol.insight import ArchiveProgress

_AHEAD: Final = 2
"""So many shards for each worker are handed out: one that is done finds another one waiting."""
_decode = msgspec.msgpack.Decoder(ShardResult).decode

Save = Callable[[Sequence[Examined]], list[IngestResult]]
"""Saves what was examined, in one transaction."""


class ShardDone(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a shard.

    recorded: its sessions.
    bytes: how large it is in the archive.
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
    """Have a cluster (a `distributed.Client`) examine what is not done yet, and save it; yields shard by shard.

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
        result: ShardResult | None
        try:
            result = _decode(future.result())  # which is waited for again if its worker has ended meanwhile
        except Exception as error:  # noqa: BLE001  whatever a worker failed on
            result = _failed(shard[0], error) if is_alone else None
        if result is None:
            suspects.extend(shard)
        else:
            yield _kept(result, shard, save=save, done=done, batch=batch)
        future.release()
        for following in islice(shards, 1):
            hand_out(following)


def _left(shard: list[StoredObject], done: ArchiveProgress) -> list[StoredObject]:
    known = done.those_done([each.digest for each in shard])
    return [each for each in shard if each.digest not in known]


def _kept(
    result: ShardResult, shard: Sequence[StoredObject], *, save: Save, done: ArchiveProgress, batch: int
) -> ShardDone:
    recorded: list[IngestResult] = []
    for start in range(0, len(result.examined), batch):
        recorded += save(result.examined[start : start + batch])
    failed = {each.name for each in result.unreadable}
    done.note([each.digest for each in shard if shown_path(each.name) not in failed])
    return ShardDone(
        recorded=recorded,
        bytes=sum(each.bytes for each in shard),
        unreadable=result.unreadable,
        others=result.others,
        bugs=result.bugs,
    )


def _failed(stored: StoredObject, error: Exception) -> ShardResult:
    """Return what is known of an object that a worker could not examine, or that ended several of them."""
    ended = "KilledWorker" in type(error).__name__
    reason = "it ended the processes that were to examine it" if ended else f"{type(error).__name__}: {error}"
    return ShardResult([], [Unreadable(shown_path(stored.name), reason)], 0, [])
