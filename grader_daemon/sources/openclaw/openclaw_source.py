"""OpenClaw as one source: the sessions in the database of each agent, and those in the files of older versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.sources.database_memory import DatabaseMemory
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.openclaw.openclaw_db import OpenClawQueries, digest_of, read_stored
from grader_daemon.sources.openclaw.session_windows import NAME, UNKNOWN, Window, in_window, in_words_of_persons
from grader_daemon.sources.pi.pi_files import is_first_line, parsed_lines
from grader_daemon.sources.pi.spoken_branch import Place
from grader_daemon.sources.protocol import Read, as_shown
from grader_daemon.sources.session_databases import SessionDatabases
from grader_daemon.sources.session_files import Parsed, SessionFiles
from grader_daemon.sources.sqlite_files import database_beside

_DATABASE: Final = "openclaw-agent.sqlite"
_FILE: Final = re.compile(r"/agents/[^/]{1,200}/sessions/([\w-]{1,200})\.jsonl\Z")
_TOPIC: Final = "-topic-"
"""Between the id of a session and the thread of a chat that it was about."""

_BYTES_A_LINE: Final = 1_500


class OpenClaw(SessionFiles):
    """Sessions below the roots; see `Source`."""

    name = NAME
    title = "OpenClaw"
    unknown = UNKNOWN
    writes = True
    append_only = True

    def __init__(self, roots: Sequence[str] = (), *, limits: Limits) -> None:
        """See `SessionFiles`."""
        super().__init__(roots, limits=limits)
        self._databases = SessionDatabases(
            self.name, lambda path: DatabaseMemory(path, OpenClawQueries(), roots=self.roots)
        )

    def __reduce__(self) -> tuple[object, ...]:
        """It goes to another process without what it remembers."""
        return partial(OpenClaw, self.roots, limits=self.limits), ()

    def claims(self, path: str) -> bool:
        return _database_of(path) is not None or _FILE.search(path) is not None

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return _is_database(path) or (_FILE.search(path) is not None and is_first_line(beginning))

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        stem = unit.locator.rpartition("/")[2].removesuffix(".jsonl")
        return self._parsed(content, Place(NAME, NAME, unit.locator, stem.partition(_TOPIC)[0]), Window())

    def touched(self, path: str) -> Sequence[Unit]:
        database = _database_of(path)
        return super().touched(path) if database is None else self._databases.touched(database)

    def walk(self, root: str) -> Walk:
        return Walk(
            root,
            claims=lambda path: _is_database(path) or _FILE.search(path) is not None,
            units_of=lambda path, status: (
                self._databases.listed(path, status) if _is_database(path) else self._units_of(path, status)
            ),
        )

    def look(self, unit: Unit) -> Found:
        if unit.key:
            return self._databases.look(unit)
        return self._databases.look_itself(unit) if _is_database(unit.locator) else super().look(unit)

    def size_of(self, unit: Unit) -> int:
        is_row = _is_database(unit.locator)
        return self._databases.messages_of(unit) * _BYTES_A_LINE if is_row else super().size_of(unit)

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        if not _is_database(unit.locator):
            return super().read(found, unless=unless)
        if not unit.key:
            return self._databases.read_itself(unit)
        stored = read_stored(self._databases.at(unit.locator), unit.key, found.stamp, limits=self.limits)
        digest = digest_of(stored)
        if digest == unless:
            return Read(digest, None)
        if stored.window.replaced:
            return Read(digest, Skipped(SkipReason.SUPERSEDED, unit.key))
        place = Place(NAME, NAME, unit.locator, unit.key, key=unit.key)
        session, inside, unknown = self._parsed(stored.lines, place, stored.window)
        if isinstance(session, Session):  # by its row it is known, whatever its first line says
            session = msgspec.structs.replace(session, session_id=unit.key, named_after_id=True)
        return Read(digest, as_shown(session), inside, unknown)

    def _parsed(self, lines: bytes, place: Place, window: Window) -> Parsed:
        parsed = parsed_lines(lines, place, self)
        if not isinstance(parsed.session, Session):
            return parsed
        return parsed._replace(session=in_window(in_words_of_persons(parsed.session), window))


def _is_database(path: str) -> bool:
    return path.rpartition("/")[2] == _DATABASE


def _database_of(path: str) -> str | None:
    """Return the database that a file is, or stands beside."""
    database = database_beside(path)
    return database if _is_database(database) else None
