"""OpenCode as one source: the sessions in ``opencode.db``, and those in the files of older versions.

Programs that were made from OpenCode keep the same tables under a name of their own, so any database below a root, or
that a person names, is looked into; one without these tables has no sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.sources.database_memory import DatabaseMemory
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import read_beginning
from grader_daemon.sources.opencode.opencode_db import OpenCodeQueries, read_stored
from grader_daemon.sources.opencode.session_parts import PassedOver, Stored
from grader_daemon.sources.opencode.storage_files import (
    is_session,
    look_at_session,
    read_session,
    session_of_message,
    units_of,
)
from grader_daemon.sources.opencode.thread import NAME, to_session
from grader_daemon.sources.protocol import Read, Watch, as_shown
from grader_daemon.sources.session_databases import SessionDatabases
from grader_daemon.sources.sqlite_files import MAGIC, database_beside

_OWN = "opencode.db"
_STORAGE = "storage"
_BYTES_A_MESSAGE = 4_000


class OpenCode:
    """Sessions below the roots; see `Source`."""

    name = NAME
    title = "OpenCode"
    unknown = frozenset({"platform", "system_prompt_digest", "tools_digest"})

    def __init__(self, roots: Sequence[str] = (), *, limits: Limits) -> None:
        """Set up. Below one of `roots` no link is followed to a file."""
        self.roots = tuple(roots)
        self._limits = limits
        self._databases = SessionDatabases(
            self.name,
            lambda path: DatabaseMemory(path, OpenCodeQueries(), roots=self.roots),
            deserves_a_note=_may_hold_sessions,
        )

    def __reduce__(self) -> tuple[object, ...]:
        """It goes to another process without what it remembers."""
        return partial(OpenCode, self.roots, limits=self._limits), ()

    @property
    def watches(self) -> Sequence[Watch]:
        """See `Source.watches`: not the folder of parts, in which each message has one of its own."""
        return [
            watch
            for root in self.roots
            for watch in (
                Watch(root, recursive=False, writes=True),
                Watch(os.path.join(root, _STORAGE, "session")),
                Watch(os.path.join(root, _STORAGE, "message")),
            )
        ]

    def claims(self, path: str) -> bool:
        return _database_of(path) is not None or (path.endswith(".json") and (is_session(path) or _is_message(path)))

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return _name_of(path) == _OWN or is_session(path) or (_is_database(path) and beginning.startswith(MAGIC))

    def touched(self, path: str) -> Sequence[Unit]:
        database = _database_of(path)
        if database is None:
            session = path if is_session(path) else session_of_message(path)
            return () if session is None else (Unit(self.name, session),)
        return self._databases.touched(database)

    def walk(self, root: str) -> Walk:
        """See `Source.walk`: folders of messages and parts, and what OpenCode keeps beside them, are not entered."""
        return Walk(
            root,
            claims=lambda path: is_session(path) or _is_database(path),
            units_of=self._units_of,
            enters=_is_entered,
        )

    def look(self, unit: Unit) -> Found:
        if unit.key:
            return self._databases.look(unit)
        if _is_database(unit.locator):
            return self._databases.look_itself(unit)
        return look_at_session(unit)

    def size_of(self, unit: Unit) -> int:
        if unit.key:
            return self._databases.messages_of(unit) * _BYTES_A_MESSAGE
        try:
            return 0 if _is_database(unit.locator) else os.lstat(unit.locator).st_size
        except OSError:
            return 0  # whoever reads it says what is wrong

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        if not unit.key and _is_database(unit.locator):
            return self._databases.read_itself(unit)
        passed = PassedOver()
        stored, digest = self._stored(found, passed)
        if digest == unless:
            return Read(digest, None)
        session = to_session(stored, path=unit.locator, key=unit.key)
        unknown = passed.told(session.agent_version)
        if not session.messages:
            return Read(digest, Skipped(SkipReason.NOT_A_SESSION, session.session_id), unknown=unknown)
        return Read(digest, as_shown(session), unknown=unknown)

    def _stored(self, found: Found, passed: PassedOver) -> tuple[Stored, str]:
        unit, limits = found.unit, self._limits
        if not unit.key:
            return read_session(found, roots=self.roots, limits=limits, passed=passed)
        stored = read_stored(self._databases.at(unit.locator), unit.key, found.stamp, limits=limits, passed=passed)
        return stored, xxhash.xxh3_128_hexdigest(msgspec.json.encode(stored))

    def _units_of(self, path: str, status: os.stat_result) -> Iterable[Found]:
        return self._databases.listed(path, status) if _is_database(path) else units_of(path, self.name)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _is_database(path: str) -> bool:
    return path.endswith(".db")


def _database_of(path: str) -> str | None:
    """Return the database that a file is, or stands beside."""
    database = database_beside(path)
    return database if _is_database(database) else None


def _may_hold_sessions(database: str) -> bool:
    """Return whether a file that cannot be read deserves a note: many files of other programs have such a name."""
    return _name_of(database) == _OWN or read_beginning(database, len(MAGIC)) == MAGIC


def _is_message(path: str) -> bool:
    return "/storage/message/" in path


def _is_entered(folder: str) -> bool:
    """Return whether sessions may lie in or below a folder."""
    return _name_of(folder) not in {"message", "part", "session_diff", "snapshot", "tool-output", "log", "bin", "repos"}
