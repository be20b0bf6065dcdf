"""OpenHands as a source: its conversations, and the ``output.jsonl`` of evaluations, in which each line is a run.

A line that is added changes the file of all, so units are told apart by their lines: what lies where in a file of a
certain stamp is remembered in the process. A verdict may stand in the line, or in a report beside the file.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.sources.decoding import check_values, decode
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at, opened, read_part, stamp_of
from grader_daemon.sources.openhands.conversation_folders import (
    STATE,
    look_at_conversation,
    read_conversation_files,
    size_of_conversation,
    state_of,
)
from grader_daemon.sources.openhands.conversation_state import read_conversation
from grader_daemon.sources.openhands.evaluated_run import NAME, ReadLine, read_line
from grader_daemon.sources.protocol import Read, UnknownKinds, Watch, as_shown
from grader_daemon.sources.session_files import BESIDE_BYTES
from grader_daemon.sources.swebench_reports import reports_beside, reward_of, stamps_of

_FILE = "output.jsonl"
_TASK = re.compile(rb'\s{0,9}\{\s{0,9}"instance_id":\s{0,9}"([^"\\]{1,200})"')
_BEGINNING = 512
_CHUNK = 1 << 20
_RECOGNIZED = (b'"history"', b'"test_result"', b'"instruction"')
_CONVERSATION = b'"agent"'
_MARK = b"\xef\xbb\xbf"


class _Place(NamedTuple):
    """Place of a line in its file; `task` is its name, and `digest` that of its content."""

    task: str
    offset: int
    length: int
    digest: bytes


class OpenHandsRuns:
    """Conversations, and runs in evaluations, below the roots; see `Source`."""

    name = NAME
    title = "OpenHands"
    unknown = frozenset({"agent_version", "finish_reason", "parent", "platform", "taken_back", "tools_digest"})

    def __init__(self, roots: Sequence[str] = (), *, zone: tzinfo | None, limits: Limits) -> None:
        """Set up. Below one of `roots` no link is followed; for `zone` see `Told`."""
        self.roots = tuple(roots)
        self._zone = zone
        self._limits = limits
        self._told: dict[str, frozenset[bytes]] = {}
        """Digests of the lines that were told of a file; each set is replaced whole, so threads need no lock."""

    def __reduce__(self) -> tuple[object, ...]:
        """Another process knows of no line that was told."""
        return partial(OpenHandsRuns, self.roots, zone=self._zone, limits=self._limits), ()

    @property
    def watches(self) -> Sequence[Watch]:
        return [Watch(root) for root in self.roots]

    def claims(self, path: str) -> bool:
        return path.endswith(f"/{_FILE}") or (path.endswith(".json") and state_of(path) is not None)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        if state_of(path) is not None:
            return _CONVERSATION in beginning
        named = _TASK.match(beginning.removeprefix(_MARK)) is not None
        return named and (self.claims(path) or any(key in beginning for key in _RECOGNIZED))

    def touched(self, path: str) -> Sequence[Unit]:
        state = state_of(path)
        if state is not None:
            return (Unit(self.name, state),)
        try:
            places = self._places(path, look_at(path))
        except (ReadError, ParseError):
            return ()
        before = self._told.get(path, frozenset())
        self._told[path] = frozenset(place.digest for place in places.values())
        return [Unit(self.name, path, key) for key, place in places.items() if place.digest not in before]

    def walk(self, root: str) -> Walk:
        return Walk(
            root,
            claims=lambda path: path.endswith((f"/{_FILE}", f"/{STATE}")),
            units_of=self._units_of,
            enters=_is_entered,
        )

    def look(self, unit: Unit) -> Found:
        if _is_conversation(unit):
            return look_at_conversation(unit)
        status = look_at(unit.locator)
        return self._found(unit, status, self._place_of(unit, status))

    def size_of(self, unit: Unit) -> int:
        if _is_conversation(unit):
            return size_of_conversation(unit)
        try:
            return self._place_of(unit, look_at(unit.locator)).length
        except (ReadError, ParseError):
            return 0  # whoever reads it says what is wrong

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        status = look_at(unit.locator)
        if stat.S_ISLNK(status.st_mode):
            return Read(None, Skipped(SkipReason.SYMBOLIC_LINK))
        if _is_conversation(unit):
            return self._read_conversation(found, unless)
        place = self._place_of(unit, status)
        stamp = found.stamp[:-BESIDE_BYTES]
        content = read_part(unit.locator, stamp, start=place.offset, size=place.length, roots=self.roots)
        content = content.removeprefix(_MARK)
        reward = reward_of(_reports(unit.locator, place.task), place.task, self.roots)
        if _beside(unit.locator, place.task) != found.stamp[-BESIDE_BYTES:]:
            raise ChangingFileError("a file next to it was written to while it was read")
        digest = xxhash.xxh3_128_hexdigest(b"\0".join((content, repr(reward).encode())))
        if digest == unless:
            return Read(digest, None)
        session, unknown = self._parse(content, lambda line: read_line(line, unit, zone=self._zone))
        if isinstance(session, Session) and session.reward is None:
            session = msgspec.structs.replace(session, reward=reward)
        return Read(digest, as_shown(session), (), unknown)

    def _read_conversation(self, found: Found, unless: str | None) -> Read:
        state, events = read_conversation_files(found, roots=self.roots, limits=self._limits)
        digest = xxhash.xxh3_128_hexdigest(b"\0".join((state, *events)))
        if digest == unless:
            return Read(digest, None)
        check_values(events, self._limits)
        session, unknown = self._parse(
            state, lambda content: read_conversation(content, events, found.unit, zone=self._zone)
        )
        return Read(digest, as_shown(session), (), unknown)

    def _parse(
        self, content: bytes, read_by: Callable[[bytes], ReadLine]
    ) -> tuple[Session | Skipped, UnknownKinds | None]:
        unknown: list[UnknownKinds] = []

        def read(whole: bytes) -> Session | Skipped:
            told = read_by(whole)
            if told.kinds or told.broken:
                unknown.append(UnknownKinds(None, told.kinds, told.broken))
            return told.session

        session = decode(content, read, limits=self._limits)
        return session, unknown[0] if unknown else None

    def _place_of(self, unit: Unit, status: os.stat_result) -> _Place:
        """Return the place of a unit; that of the first line where it names none, as for a file alone."""
        places = self._places(unit.locator, status)
        place = places.get(unit.key) if unit.key else next(iter(places.values()), None)
        if place is None:
            raise VanishedFileError("the run is gone from the file")
        return place

    def _places(self, path: str, status: os.stat_result) -> dict[str, _Place]:
        if not stat.S_ISREG(status.st_mode):
            raise ParseError("not a regular file")
        return _index(path, stamp_of(status), self.roots, self._limits.bytes)

    def _found(self, unit: Unit, status: os.stat_result, place: _Place) -> Found:
        found = found_file(unit, status)
        return Found(unit, found.stamp + _beside(unit.locator, place.task), found.written_ns)

    def _units_of(self, path: str, status: os.stat_result) -> Iterator[Found]:
        if path.endswith(STATE):
            yield look_at_conversation(Unit(self.name, path))
        elif stat.S_ISREG(status.st_mode):
            for key, place in self._places(path, status).items():
                yield self._found(Unit(self.name, path, key), status, place)


def _is_conversation(unit: Unit) -> bool:
    return unit.locator.endswith(STATE)


def _is_entered(folder: str) -> bool:
    """Return whether runs or conversations may lie in or below a folder."""
    return not folder.endswith("/events")


@lru_cache(maxsize=64)
def _index(path: str, stamp: Stamp, roots: tuple[str, ...], most_bytes: int) -> dict[str, _Place]:
    """Return the lines of a file of this stamp by the names of their tasks; a name that comes again has a number.

    Raises:
        VanishedFileError: it is gone.
        ChangingFileError: it is not of this stamp any more.
        ReadError: it cannot be read.
    """
    places: dict[str, _Place] = {}
    counts: Counter[str] = Counter()
    with opened(path, roots) as descriptor, os.fdopen(descriptor, "rb", buffering=_CHUNK, closefd=False) as file:
        for task, offset, line in _lines(iter(lambda: file.readline(most_bytes + 1), b""), most_bytes):
            counts[task] += 1
            key = task if counts[task] == 1 else f"{task}#{counts[task]}"
            places[key] = _Place(task, offset, len(line), xxhash.xxh3_128_digest(line))
        after = os.fstat(descriptor)
    if stamp_of(after) != stamp:
        raise ChangingFileError("the file was written to while it was read")
    return places


def _lines(pieces: Iterator[bytes], most_bytes: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield the lines that name a task, with that name and where they begin; not those that are too long to be read."""
    offset, is_rest = 0, False
    for piece in pieces:
        named = None if is_rest else _TASK.match(piece[:_BEGINNING].removeprefix(_MARK))
        is_rest = not piece.endswith(b"\n") and len(piece) > most_bytes
        if named is not None and not is_rest:
            yield named[1].decode("utf-8", "replace"), offset, piece
        offset += len(piece)


def _reports(path: str, task: str) -> list[str]:
    folder = os.path.dirname(path)
    return reports_beside(folder, task, run=folder)


def _beside(path: str, task: str) -> bytes:
    """Return what tells the reports beside a file from others."""
    return xxhash.xxh3_64_digest(b"\0".join(stamps_of(_reports(path, task))))
