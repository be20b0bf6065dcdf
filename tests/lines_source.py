"""A source of sessions that no agent writes: many in a file, and a file beside it that touches all of them.

``<name>.lines`` holds a line of JSON for each session: its id, its requests, and whether it was answered. Its
``<name>.notes`` names the project of all. It proves that nothing but `hermes` itself takes a session for a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import msgspec
import xxhash

from grader_daemon.domain.session import ASSISTANT, USER, Message, Session, SessionKind, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import VanishedFileError
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at
from grader_daemon.sources.protocol import Read, UnknownKinds, Watch

NAME = "lines"
_STARTED_AT = datetime(2026, 11, 21, 21, 0, tzinfo=UTC)


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One session."""

    id: str
    asked: tuple[str, ...] = ()
    answered: bool = True
    minutes: int = 1


class Lines:
    """Sessions of ``*.lines``; the key of a unit is the id of its session."""

    name = NAME
    title = "Lines"
    unknown = frozenset({"message_times", "parent", "agent_version", "usage", "model", "platform", "tools_digest"})

    def __init__(self, roots: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.roots = tuple(os.fspath(root) for root in roots)

    @property
    def watches(self) -> Sequence[Watch]:
        """See `Source`."""
        return [Watch(root) for root in self.roots]

    def recognizes(self, path: str, beginning: bytes) -> bool:
        """See `Source`."""
        return self.claims(path)

    def claims(self, path: str) -> bool:
        """See `Source`."""
        return path.endswith((".lines", ".notes"))

    def touched(self, path: str) -> Sequence[Unit]:
        """See `Source`: the notes say something of every session beside them."""
        file = path.removesuffix(".notes") + ".lines" if path.endswith(".notes") else path
        try:
            return [Unit(NAME, file, line.id) for line in _lines(file)]
        except VanishedFileError:
            return ()

    def walk(self, root: str) -> Walk:
        """See `Source`."""
        return Walk(root, claims=lambda path: path.endswith(".lines"), units_of=self._units_of)

    def look(self, unit: Unit) -> Found:
        """See `Source`."""
        return self._found(unit, _line_of(unit), look_at(unit.locator))

    def size_of(self, unit: Unit) -> int:
        """See `Source`."""
        return len(msgspec.json.encode(_line_of(unit)))

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        """See `Source`."""
        line = _line_of(found.unit)
        project = _notes_of(found.unit.locator)
        digest = xxhash.xxh3_128_hexdigest(msgspec.json.encode((line, project)))
        if digest == unless:
            return Read(digest, None)
        if not line.asked:
            return Read(digest, Skipped(SkipReason.NOT_A_SESSION, line.id))
        answers = (Message(role=ASSISTANT, content="The colour of the house is green."),) if line.answered else ()
        return Read(
            digest,
            Session(
                session_id=line.id,
                file=found.unit.locator,
                format=NAME,
                unit_key=found.unit.key,
                messages=(*(Message(role=USER, content=text) for text in line.asked), *answers),
                project=project,
                kind=SessionKind.MAIN,
                agent=NAME,
                started_at=_STARTED_AT,
                updated_at=_STARTED_AT + timedelta(minutes=line.minutes),
            ),
        )

    def _units_of(self, path: str, status: os.stat_result) -> Iterator[Found]:
        for line in _lines(path):
            yield self._found(Unit(NAME, path, line.id), line, status)

    def _found(self, unit: Unit, line: Line, status: os.stat_result) -> Found:
        """The stamp is of the session, not of its file: the others in it are as they were."""
        content = msgspec.json.encode((line, _notes_of(unit.locator)))
        return Found(unit, xxhash.xxh3_64_digest(content), found_file(unit, status).written_ns)


class LinesInside(Lines):
    """The same of ``*.lines`` in which only the first session is found, and the others by who reads it."""

    def touched(self, path: str) -> Sequence[Unit]:
        """See `Source`."""
        return super().touched(path)[:1]

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        """See `Source`; what is not known are lines of the kinds that the first session asks for."""
        read = super().read(found, unless=unless)
        first, *others = super().touched(found.unit.locator)
        if found.unit != first or read.session is None:
            return read
        return msgspec.structs.replace(read, inside=tuple(others), unknown=UnknownKinds("1.2", ("news",)))

    def _units_of(self, path: str, status: os.stat_result) -> Iterator[Found]:
        yield from islice(super()._units_of(path, status), 1)


def write_lines(path: Path, *lines: Line, project: str | None = None) -> None:
    """Write a file of sessions anew, and its notes if there is anything to note."""
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    if project is not None:
        path.with_suffix(".notes").write_text(project)


def _lines(path: str) -> list[Line]:
    """Whole lines only: the rest of one that is being written comes later."""
    look_at(path)
    return [msgspec.json.decode(line, type=Line) for line in Path(path).read_bytes().split(b"\n")[:-1]]


def _line_of(unit: Unit) -> Line:
    for line in _lines(unit.locator):
        if line.id == unit.key:
            return line
    raise VanishedFileError("the session is gone")


def _notes_of(path: str) -> str | None:
    notes = Path(path).with_suffix(".notes")
    return notes.read_text() if notes.exists() else None
