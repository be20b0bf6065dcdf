"""ATIF as lines: a whole run on each, many in one file. Of several lines of one run the last one counts.

A file is looked through once for each of its states, and remembered by where its lines lie; a run is then read alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ParseError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.atif.trajectory import head_of, read_run
from grader_daemon.sources.decoding import check_values, decode, decoded_or
from grader_daemon.sources.file_reading import read_file, read_part
from grader_daemon.sources.jsonl import whole_lines
from grader_daemon.sources.protocol import Read, UnknownKinds, as_shown

LINES: Final = ".jsonl"
_ENDINGS: Final = (".atif.jsonl", LINES)
_MOST_REMEMBERED = 4
_NO_LINE = "its first line is not complete yet"


class _Line(NamedTuple):
    """Place of a run in its file, its name where it does not say that itself, and its sub-agents."""

    start: int
    size: int
    named: str
    inside: tuple[str, ...]


class _Contents(NamedTuple):
    """Lines of a file by the names of their runs, versions and steps that are not read, and how many are no run."""

    lines: dict[str, _Line]
    strange: tuple[str, ...]
    broken: int

    @property
    def unknown(self) -> UnknownKinds | None:
        """Versions, steps and lines that were passed over; None where nothing was."""
        return UnknownKinds(None, self.strange, self.broken) if self.strange or self.broken else None

    def units(self, file: Unit) -> Iterator[Unit]:
        """Yield all units in the file; the first run has no key."""
        for number, (name, line) in enumerate(self.lines.items()):
            yield Unit(file.source, file.locator, name if number else "")
            yield from (Unit(file.source, file.locator, f"{name}/{each}") for each in line.inside)

    def line_of(self, key: str) -> tuple[str, str]:
        """Return the name of the run of a unit, and which of the sub-agents in it the unit is.

        Raises:
            VanishedFileError: it is gone.
        """
        if not key:
            return next(iter(self.lines)), ""
        places = (at for at in range(len(key), 0, -1) if at == len(key) or key[at] == "/")
        for at in places:
            line = self.lines.get(key[:at])
            if line is not None and (at == len(key) or key[at + 1 :] in line.inside):
                return key[:at], key[at + 1 :]
        raise VanishedFileError("the run is gone")


class TrajectoryLines:
    """Reader of files of runs."""

    def __init__(self, roots: Sequence[str], limits: Limits) -> None:
        """Set up. Below one of `roots` no link is followed to a file."""
        self._roots = roots
        self._limits = limits
        self._remembered: dict[tuple[str, Stamp], _Contents] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """It goes to another process without what it remembers."""
        return TrajectoryLines, (self._roots, self._limits)

    def read(self, found: Found, status: os.stat_result, *, unless: str | None) -> Read:
        """See `Source.read`; who reads the first run is told of all others, and of what was passed over."""
        unit, contents = found.unit, self._contents(found, status)
        if not contents.lines:
            return Read(xxhash.xxh3_128_hexdigest(b""), Skipped(SkipReason.NOT_A_SESSION), unknown=contents.unknown)
        name, within = contents.line_of(unit.key)
        line = contents.lines[name]
        document = read_part(unit.locator, found.stamp, start=line.start, size=line.size, roots=self._roots)
        inside = () if unit.key else tuple(contents.units(unit))[1:]
        digest = xxhash.xxh3_128_hexdigest(b"\0".join((document, *(each.key.encode() for each in inside))))
        if digest == unless:
            return Read(digest, None)

        def read(content: bytes) -> Session | Skipped:
            session = read_run([content], path=unit.locator, named=line.named, passed_over={})[within]
            if not session.messages:
                return Skipped(SkipReason.NOT_A_SESSION, session.session_id)
            return msgspec.structs.replace(session, unit_key=unit.key)

        session = as_shown(decode(document, read, limits=self._limits))
        return Read(digest, session, inside, None if unit.key else contents.unknown)

    def _contents(self, found: Found, status: os.stat_result) -> _Contents:
        """Return what a file of this status holds, looked through if it is not remembered.

        Raises:
            ReadError, UnfinishedFileError, ParseError: see `Source.read`.
        """
        state = found.unit.locator, found.stamp
        known = self._remembered.get(state)
        if known is not None:
            return known
        content = read_file(found, status, limits=self._limits, roots=self._roots)
        mark = status.st_size - len(content)  # of the byte order, before the first line
        contents = _look_through(content, _stem(found.unit.locator), self._limits, begin=mark)
        while len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)), None)
        self._remembered[state] = contents
        return contents


def _look_through(content: bytes, stem: str, limits: Limits, *, begin: int) -> _Contents:
    """Find the runs in the whole lines of a file that begin at some place.

    Raises:
        UnfinishedFileError: it has no whole line yet.
        ParseError: none of its lines is a run, or one holds too much.
    """
    lines: dict[str, _Line] = {}
    strange: dict[str, None] = {}
    broken = start = 0
    for number, line in enumerate(whole_lines(content), 1):
        start = content.index(line, start)
        check_values([line], limits)
        head = decoded_or(partial(head_of, named=f"{stem}-{number}", passed_over=strange), line, None)
        if head is None:
            broken += 1
        elif head.version is not None:
            strange[head.version] = None
        else:
            lines[head.name] = _Line(begin + start, len(line), f"{stem}-{number}", head.inside)
        start += len(line)
    if content.strip() and not lines and not strange:
        raise _why_nothing(content, broken)
    return _Contents(lines, tuple(strange), broken)


def _why_nothing(content: bytes, broken: int) -> ParseError:
    if b"\0" in content:
        return UnfinishedFileError("holds NUL bytes, so it is damaged or not written yet")
    return ParseError("none of its lines is a run in ATIF") if broken else UnfinishedFileError(_NO_LINE)


def _stem(path: str) -> str:
    name = os.path.basename(path)
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)
