"""Sources whose sessions are files: each file of a certain name holds one, by itself or with others beside it."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ChangingFileError
from grader_daemon.sources.decoding import check_messages
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at, read_file
from grader_daemon.sources.jsonl import Lines
from grader_daemon.sources.protocol import Read, Source, UnknownKinds, Watch, as_shown

BESIDE_BYTES: Final = 8
"""Bytes at the end of a stamp that tell what lies beside a file."""


class Parsed(NamedTuple):
    """Session parsed from a file; see `Read`."""

    session: Session | Skipped
    inside: tuple[Unit, ...] = ()
    unknown: UnknownKinds | None = None


class Beside(NamedTuple):
    """Content of the files beside a session's own, and the reward that they tell."""

    content: tuple[bytes, ...] = ()
    reward: float | None = None


class SessionFiles(ABC):
    """A source that reads one session from each file; derive from it, and see `Source`.

    Attributes:
        writes: whether its files stay open while a session runs, so that every write must be reported.
        append_only: whether its files only grow. If one grew since it was found, it is read up to its former end.
    """

    name: str
    title: str
    unknown: frozenset[str]
    writes = False
    append_only = False

    def __init__(self, roots: Sequence[str] = (), *, limits: Limits) -> None:
        """Set up. Below one of `roots` no link is followed to a file."""
        self.roots = tuple(roots)
        self.limits = limits

    @abstractmethod
    def claims(self, path: str) -> bool:
        """See `Source.claims`."""

    @abstractmethod
    def recognizes(self, path: str, beginning: bytes) -> bool:
        """See `Source.recognizes`."""

    @abstractmethod
    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """Decode the content of one file, for the unit in it.

        Raises:
            UnfinishedFileError: it may be in the middle of being written.
            ParseError: it is no session and will not become one by reading it again.
        """

    def skipped_by_name(self, path: str) -> SkipReason | None:
        """Return why a claimed file is no session if its name alone tells that; it need not be read then."""
        return None

    @property
    def watches(self) -> Sequence[Watch]:
        return [Watch(root, writes=self.writes) for root in self.roots]

    def touched(self, path: str) -> Sequence[Unit]:
        return (Unit(self.name, path),)

    def walk(self, root: str) -> Walk:
        return Walk(root, claims=self.claims, units_of=self._units_of)

    def look(self, unit: Unit) -> Found:
        return found_file(unit, look_at(unit.locator))

    def size_of(self, unit: Unit) -> int:
        try:
            return os.lstat(unit.locator).st_size
        except OSError:
            return 0  # whoever reads it says what is wrong

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        status = look_at(unit.locator)
        if stat.S_ISLNK(status.st_mode):
            return Read(None, Skipped(SkipReason.SYMBOLIC_LINK))
        reason = self.skipped_by_name(unit.locator)
        if reason is not None:
            return Read(None, Skipped(reason))
        content = read_file(found, status, limits=self.limits, roots=self.roots, grows=self.append_only)
        digest = xxhash.xxh3_128_hexdigest(content)
        if digest == unless:
            return Read(digest, None)
        if unit.locator.endswith(".jsonl") and not content.strip():
            return Read(digest, Skipped(SkipReason.NOT_A_SESSION))  # not yet: its first line is still to come
        session, inside, unknown = self.parse(content, unit)
        return Read(digest, as_shown(session), inside, unknown)

    def read_end(self, unit: Unit, *, most_bytes: int) -> Session | Skipped:
        """Read the first line and about the last `most_bytes` of a file that only grows: who asks cannot wait.

        A session that is not read whole counts as compacted: nothing may be told from what it does not hold.

        Raises:
            GraderError: see `Source.read`.
        """
        found = self.look(unit)
        content = read_file(found, look_at(unit.locator), limits=self.limits, roots=self.roots, grows=True)
        is_whole = len(content) <= most_bytes
        if not is_whole:
            first, _, _ = content.partition(b"\n")
            content = first + content[content.find(b"\n", len(content) - most_bytes) :]
        session = as_shown(self.parse(content, unit).session)
        is_cut = isinstance(session, Session) and not is_whole
        return msgspec.structs.replace(session, compacted=True) if is_cut else session

    def _units_of(self, path: str, status: os.stat_result) -> tuple[Found]:
        return (found_file(Unit(self.name, path), status),)


class AccompaniedFiles(SessionFiles):
    """A source whose sessions have other files beside their own.

    These are part of the stamp of a session and of its digest, so that it is read again where one of them changes.

    Attributes:
        rewarded: whether a verifier leaves a reward there.
    """

    rewarded = False

    @abstractmethod
    def beside(self, path: str) -> Stamp:
        """Return what tells the files beside one from others, in `BESIDE_BYTES`."""

    @abstractmethod
    def read_beside(self, unit: Unit, content: bytes) -> Beside:
        """Read what lies beside a session whose own file has this content."""

    def parse_all(self, content: bytes, beside: tuple[bytes, ...], unit: Unit) -> Parsed:
        """Decode a session with the content of what lies beside it; see `parse`."""
        return self.parse(content, unit)

    def look(self, unit: Unit) -> Found:
        return self.found(unit, look_at(unit.locator))

    def found(self, unit: Unit, status: os.stat_result) -> Found:
        """Return a file with this status as a found unit."""
        found = found_file(unit, status)
        return Found(unit, found.stamp + self.beside(unit.locator), found.written_ns)

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        status = look_at(unit.locator)
        if stat.S_ISLNK(status.st_mode):
            return Read(None, Skipped(SkipReason.SYMBOLIC_LINK))
        bare = Found(unit, found.stamp[:-BESIDE_BYTES], found.written_ns)
        content = read_file(bare, status, limits=self.limits, roots=self.roots)
        beside = self.read_beside(unit, content)
        if self.beside(unit.locator) != found.stamp[-BESIDE_BYTES:]:
            raise ChangingFileError("a file next to it was written to while it was read")
        reward = (repr(beside.reward).encode(),) if self.rewarded else ()
        digest = xxhash.xxh3_128_hexdigest(b"\0".join((content, *beside.content, *reward)))
        if digest == unless:
            return Read(digest, None)
        session, inside, unknown = self.parse_all(content, beside.content, unit)
        if self.rewarded and isinstance(session, Session):
            session = msgspec.structs.replace(session, reward=beside.reward)
        return Read(digest, as_shown(session), inside, unknown)

    def _units_of(self, path: str, status: os.stat_result) -> tuple[Found]:
        return (self.found(Unit(self.name, path), status),)


def parsed_session(
    session: Session, lines: Lines[Any], limits: Limits, *, version: str | None = None, inside: tuple[Unit, ...] = ()
) -> Parsed:
    """Return a session made of the lines of a file, written by this version of the agent; see `SessionFiles.parse`."""
    unknown = UnknownKinds(version, lines.unknown, lines.broken) if lines.unknown or lines.broken else None
    if not session.messages:
        reason = SkipReason.UNREADABLE_VERSION if lines.unknown else SkipReason.NOT_A_SESSION
        return Parsed(Skipped(reason, session.session_id), inside, unknown)
    check_messages(session, limits)
    return Parsed(session, inside, unknown)


def is_of_files(source: Source) -> bool:
    """Return whether each session of a source lies in one file, by its own word if it is another's."""
    return isinstance(source, SessionFiles) or getattr(source, "is_of_files", False)
