"""One shard: unpacked, examined, and told as if its sessions lay in the archive. Runs in a worker of the cluster."""

from __future__ import annotations

import os
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from grader_daemon.archive.objects import Archive
from grader_daemon.archive.slices import OpenReadings, Slice
from grader_daemon.archive.unpacking import Unreadable, unpack
from grader_daemon.domain.unit import Found, Unit, shown_path
from grader_daemon.pipeline.examine import Examined, Examiner, GradedUnit, SkippedUnit, TroubledUnit, inside_of
from grader_daemon.pipeline.trouble import examine_any
from grader_daemon.system import zstd

_IN_MEMORY: Final = "/dev/shm"  # noqa: S108  only folders with names of their own are made there
_PLENTY_BYTES: Final = 2 * 1024**3
_MOST_TOGETHER: Final = 1_000
"""Sessions of a part: whoever saves them holds some 10 KB of each in memory, however many an object has."""
_LEVEL: Final = 1
"""Packs results to a tenth for 7 µs a session, and all of it goes through one process."""


_ENOUGH_SECONDS: Final = 30
"""After that a shard begins with no other object of it: about a thousand sessions take 3 s on a free core."""
_READINGS: Final = OpenReadings()


class ShardResult(msgspec.Struct, frozen=True):
    """Fate of the sessions in a shard, or in a part of one.

    examined: each of them.
    unreadable: objects that could not be read.
    others: files in which no source finds a session.
    bugs: tracebacks where we failed.
    goes_on: slices of the shard behind which there are others.
    left: slices of the shard that were not looked at, since the others took long.
    """

    examined: list[Examined]
    unreadable: list[Unreadable] = []
    others: int = 0
    bugs: list[str] = []
    goes_on: list[Slice] = []
    left: list[Slice] = []


class ShardError(Exception):
    """A shard could not be examined, and why: a line without traceback, since Dask loses errors with a deep one."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ShardResult).decode


def examine_shard(examiner: Examiner, url: str, shard: Sequence[Slice], now: datetime) -> list[bytes]:
    """Examine what is in some slices, and return it in parts, at least one; see `read_part`.

    Raises:
        ShardError: something else than a session stood in the way.
    """
    try:
        return list(_examined(examiner, Archive(url), shard, now))
    except Exception as error:  # noqa: BLE001  told by whoever handed it out
        failure = f"{type(error).__name__}: {error}"
    raise ShardError(failure)


def _examined(examiner: Examiner, archive: Archive, shard: Sequence[Slice], now: datetime) -> Iterator[bytes]:
    waiting = deque(shard)
    with TemporaryDirectory(prefix="grader-daemon-", dir=_scratch(), ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch) / "shard"
        folder.mkdir()
        for unpacked in unpack(
            archive, _in_time(waiting), folder, most_bytes=examiner.limits.bytes, readings=_READINGS
        ):
            bugs: list[str] = []
            found = [_at_home(each, str(folder), archive.url) for each in _examine_all(examiner, folder, now, bugs)]
            unreadable = [Unreadable(shown_path(each.name), shown_path(each.reason)) for each in unpacked.unreadable]
            others = max(0, unpacked.files - len({each.unit.locator for each in found}))
            yield from _packed(ShardResult(found, unreadable, others, bugs, unpacked.goes_on))
    if waiting:
        yield from _packed(ShardResult([], left=list(waiting)))


def _in_time(waiting: deque[Slice]) -> Iterator[Slice]:
    """Yield what waits, one at least, until the time of a shard is over."""
    ends_at = time.monotonic() + _ENOUGH_SECONDS
    while waiting:
        yield waiting.popleft()
        if time.monotonic() > ends_at:
            return


def read_part(part: bytes) -> ShardResult:
    """Return what `examine_shard` packed."""
    return _decode(zstd.decompress(part))


def _packed(result: ShardResult) -> Iterator[bytes]:
    first = msgspec.structs.replace(result, examined=result.examined[:_MOST_TOGETHER])
    yield zstd.compress(_encode(first), _LEVEL)
    for start in range(_MOST_TOGETHER, len(result.examined), _MOST_TOGETHER):
        yield zstd.compress(_encode(ShardResult(result.examined[start : start + _MOST_TOGETHER])), _LEVEL)


def _scratch() -> str | None:
    """Return where to unpack; in memory if there is plenty: small files on a disk take ten times as long."""
    try:
        room = os.statvfs(_IN_MEMORY)
    except OSError:
        return None
    is_plenty = room.f_bavail * room.f_frsize >= _PLENTY_BYTES and os.access(_IN_MEMORY, os.W_OK)
    return _IN_MEMORY if is_plenty and "TMPDIR" not in os.environ else None


def _examine_all(examiner: Examiner, folder: Path, now: datetime, bugs: list[str]) -> list[Examined]:
    def note(_: Unit, error: Exception) -> None:
        bugs.append("".join(traceback.format_exception(error)))

    waiting = sorted(found.unit for found in examiner.sources.walk_below(str(folder)))
    done: list[Examined] = []
    for unit in waiting:
        done.append(examine_any(examiner, unit, now=now, known=None, on_bug=note))
        waiting += inside_of(done[-1])
    return done


def _at_home(examined: Examined, folder: str, url: str) -> Examined:
    """Return what a unit is found to be, with the place that it has in the archive."""

    def home(unit: Unit) -> Unit:
        return msgspec.structs.replace(unit, locator=url + unit.locator.removeprefix(folder))

    if isinstance(examined, GradedUnit | SkippedUnit | TroubledUnit):
        examined = msgspec.structs.replace(examined, found=_found(examined.found, home(examined.unit)))
    if isinstance(examined, GradedUnit | SkippedUnit):
        examined = msgspec.structs.replace(examined, inside=tuple(map(home, examined.inside)))
    if isinstance(examined, TroubledUnit):
        examined = msgspec.structs.replace(  # nobody writes to an archive: trying again would be of no use
            examined, error=examined.error.replace(folder, url), hope=False, always=False
        )
    if isinstance(examined, GradedUnit):
        place = home(examined.identity.unit)
        examined = msgspec.structs.replace(
            examined,
            identity=msgspec.structs.replace(examined.identity, unit=place),
            grade=msgspec.structs.replace(examined.grade, session_file=place.locator),
        )
    return examined


def _found(found: Found, unit: Unit) -> Found:
    return msgspec.structs.replace(found, unit=unit)
