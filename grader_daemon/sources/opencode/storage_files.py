"""The files of OpenCode before 1.2: one for each session, message and part, below ``storage``.

A session is read from its own file, those of its messages, and those of their parts. How it stands, the first two tell:
a folder for the parts of each message is too many to watch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from glob import escape, iglob
from typing import TypeVar

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import NO_SESSION_KNOWN
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ParseError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.decoding import UNREADABLE, mending
from grader_daemon.sources.file_reading import found_file, look_at, read_as_is, stamp_of
from grader_daemon.sources.opencode.session_parts import MESSAGE, PART, Head, Info, Part, PassedOver, Stored

T = TypeVar("T")
_SESSIONS, _MESSAGES, _PARTS = "session", "message", "part"
_SUFFIX = ".json"

_info = msgspec.json.Decoder(Info).decode
_head = msgspec.json.Decoder(Head).decode
_part = msgspec.json.Decoder(Part).decode


def is_session(path: str) -> bool:
    """Return whether this is the name of a session's own file: ``storage/session/<project>/ses_<id>.json``."""
    parts = path.rsplit("/", 4)
    return len(parts) == 5 and parts[1:3] == ["storage", _SESSIONS] and _is_named(parts[4], "ses_")  # noqa: PLR2004


def session_of_message(path: str) -> str | None:
    """Return the file of the session that a message is of: ``storage/message/<session>/msg_<id>.json``; else None."""
    parts = path.rsplit("/", 4)
    if len(parts) != 5 or parts[1:3] != ["storage", _MESSAGES] or not _is_named(parts[4], "msg_"):  # noqa: PLR2004
        return None
    storage = os.path.join(parts[0], "storage", _SESSIONS)
    return next(iglob(os.path.join(escape(storage), "*", escape(parts[3] + _SUFFIX))), None)


def look_at_session(unit: Unit) -> Found:
    """Return a session as its own file and those of its messages stand.

    Raises:
        VanishedFileError, ReadError: see `Source.look`.
    """
    found = found_file(unit, look_at(unit.locator))
    stamps, written_ns = [found.stamp], found.written_ns
    for path in _files_in(_folder_of(unit.locator, _MESSAGES, _id_of(unit.locator)), "msg_"):
        status = look_at(path)
        stamps.append(stamp_of(status))
        written_ns = max(written_ns, status.st_mtime_ns)
    return Found(unit, xxhash.xxh3_128_digest(b"".join(stamps)), written_ns)


def read_session(found: Found, *, roots: Sequence[str], limits: Limits, passed: PassedOver) -> tuple[Stored, str]:
    """Return the session, with its messages, and a digest of all that it was made from.

    Messages and parts of a shape that is not known are passed over, and told `passed`.

    Raises:
        VanishedFileError, ChangingFileError, ReadError, UnfinishedFileError, ParseError: see `Source.read`.
    """
    reading = _Reading(roots, limits)
    path = found.unit.locator
    info = reading.decode(path, partial(mending, _info))
    head_of = partial(passed.unless_strange, _head, kind=MESSAGE)
    part_of = partial(passed.unless_strange, _part, kind=PART)
    messages = []
    for message in _files_in(_folder_of(path, _MESSAGES, _id_of(path)), "msg_"):
        head = reading.decode(message, head_of)
        if head is None:
            continue
        files = _files_in(_folder_of(path, _PARTS, _id_of(message)), "prt_")
        read = ((file, reading.decode(file, part_of)) for file in files)
        parts = [msgspec.structs.replace(part, id=_id_of(file)) for file, part in read if part is not None]
        messages.append((msgspec.structs.replace(head, id=_id_of(message)), tuple(parts)))
    if look_at_session(found.unit).stamp != found.stamp:
        raise ChangingFileError("the session was written to while it was read")
    return Stored(info, tuple(messages)), reading.digest.hexdigest()


class _Reading:
    """Files read so far, within the limits of one session."""

    def __init__(self, roots: Sequence[str], limits: Limits) -> None:
        self._roots = roots
        self._limits = limits
        self._bytes = self._files = 0
        self.digest = xxhash.xxh3_128()

    def decode(self, path: str, decode: Callable[[bytes], T]) -> T:
        content = read_as_is(path, limits=self._limits, roots=self._roots)
        self._files += 1
        self._bytes += len(content)
        if self._bytes > self._limits.bytes:
            raise ParseError(f"its files are more than max_file_bytes = {self._limits.bytes:,}")
        if self._files > self._limits.messages:
            raise ParseError(f"it has more files than max_messages = {self._limits.messages:,}")
        self.digest.update(content)
        try:
            return decode(content)
        except msgspec.ValidationError as error:
            raise ParseError(f"{NO_SESSION_KNOWN}: {' '.join(str(error).split())}") from error
        except UNREADABLE as error:
            raise UnfinishedFileError(f"broken JSON in {os.path.basename(path)}") from error


def _files_in(folder: str, prefix: str) -> list[str]:
    """Return the files of a folder in the order of their names, which is that of time; none where there is none."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if _is_named(entry.name, prefix))
    except (FileNotFoundError, NotADirectoryError):
        return []


def units_of(path: str, source: str) -> Iterator[Found]:
    """Yield the session whose own file this is."""
    try:
        yield look_at_session(Unit(source, path))
    except VanishedFileError:
        return


def _is_named(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name.endswith(_SUFFIX)


def _id_of(path: str) -> str:
    return os.path.basename(path).removesuffix(_SUFFIX)


def _folder_of(session: str, kind: str, name: str) -> str:
    storage = os.path.dirname(os.path.dirname(os.path.dirname(session)))
    return os.path.join(storage, kind, name)
