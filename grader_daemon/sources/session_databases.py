"""Databases of one source, each with what is remembered of it: which sessions changed in one, and which lie in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ReadError, VanishedFileError
from grader_daemon.sources.database_memory import DatabaseMemory, Entry
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.sources.protocol import Read, UnknownKinds
from grader_daemon.sources.sqlite_files import database_stamp

D = TypeVar("D", bound=DatabaseMemory[Any])


def found_entry(unit: Unit, entry: Entry) -> Found:
    """Return a session as its database has it."""
    return Found(unit, entry.stamp, entry.written_ns)


class SessionDatabases(Generic[D]):
    """Databases by path; threads may add one each, and one of these stays."""

    def __init__(
        self,
        source: str,
        make: Callable[[str], D],
        *,
        deserves_a_note: Callable[[str], bool] = lambda _: True,
        found: Callable[[Unit, Entry], Found] = found_entry,
    ) -> None:
        """Set up.

        Args:
            source: the name of the source.
            make: what makes the memory of the database at a path.
            deserves_a_note: whether a database that cannot be read is one of sessions.
            found: how a session stands, by its entry.
        """
        self._source = source
        self._make = make
        self._deserves_a_note = deserves_a_note
        self._found = found
        self._known: dict[str, D] = {}

    def at(self, path: str) -> D:
        """Return the database at a path, whatever lies there."""
        known = self._known.get(path)
        return self._known.setdefault(path, self._make(path)) if known is None else known

    def look(self, unit: Unit) -> Found:
        """Return a session as it stands.

        Raises:
            VanishedFileError, ChangingFileError, ReadError: see `DatabaseMemory.entry`.
        """
        return self._found(unit, self.at(unit.locator).entry(unit.key))

    def look_itself(self, unit: Unit) -> Found:
        """Return a database as it stands whose sessions cannot be read.

        Raises:
            VanishedFileError: it is gone, or its sessions can be read, one by one.
            ReadError: it cannot be looked at.
        """
        try:
            return Found(unit, self._strange(unit.locator), 0)
        except VanishedFileError:
            raise
        except ReadError:
            return Found(unit, database_stamp(unit.locator), 0)

    def read_itself(self, unit: Unit) -> Read:
        """Return that a version wrote the database that is not known.

        Raises:
            VanishedFileError: see `look_itself`.
            ChangingFileError, ReadError: see `look_into`.
        """
        self._strange(unit.locator)
        return Read(None, Skipped(SkipReason.UNREADABLE_VERSION), unknown=UnknownKinds(None, ()))

    def messages_of(self, unit: Unit) -> int:
        """Return how many messages a session has; 0 where that cannot be told."""
        try:
            return self.at(unit.locator).entry(unit.key).messages
        except ReadError:
            return 0  # whoever reads it says what is wrong

    def touched(self, path: str) -> Sequence[Unit]:
        """Return the sessions that changed since this was last asked; the database where it cannot be read."""
        try:
            return [Unit(self._source, path, each) for each in self.at(path).changed()]
        except (VanishedFileError, ChangingFileError):
            return ()
        except ReadError:
            return (Unit(self._source, path),) if self._deserves_a_note(path) else ()

    def listed(self, path: str, status: os.stat_result) -> Iterable[Found]:
        """Return all sessions of a database of this status; the database where it, or its form, cannot be read."""
        try:
            entries = self.at(path).entries()
        except (VanishedFileError, ChangingFileError):
            return ()
        except ReadError:
            is_noted = self._deserves_a_note(path)
            return (Found(Unit(self._source, path), stamp_of(status), 0),) if is_noted else ()
        strange = self.at(path).strange
        if strange is not None:
            return (Found(Unit(self._source, path), strange, 0),)
        return (self._found(Unit(self._source, path, name), entry) for name, entry in entries.items())

    def _strange(self, path: str) -> bytes:
        database = self.at(path)
        database.entries()
        if database.strange is None:
            raise VanishedFileError("its sessions are read one by one")
        return database.strange
