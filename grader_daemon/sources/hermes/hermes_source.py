"""Hermes Agent as one source: the rows of its ``state.db``, and the JSON snapshots of sessions that have no row.

A session that has both, a row and in ``sessions/`` beside the database a snapshot of its name, is the unit of its row;
its snapshot is read with it, and no unit of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from functools import lru_cache, partial

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.database_memory import Entry
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.sources.hermes import snapshot
from grader_daemon.sources.hermes.state_memory import StateDatabase
from grader_daemon.sources.hermes.state_rows import joined, to_session
from grader_daemon.sources.protocol import Read, UnknownKinds, as_shown
from grader_daemon.sources.session_databases import SessionDatabases, found_entry
from grader_daemon.sources.session_files import Parsed, SessionFiles
from grader_daemon.sources.sqlite_files import database_beside

_DATABASE = "state.db"
_RETIRED = "/state.db."
"""Part of the paths of copies that Hermes makes of a database: ``state.db.retired-wal-…/``."""

_OF_PI = b'{"type":"session",'
"""Beginning of the files of pi, which OpenClaw keeps in folders that are called as those of Hermes."""

_BYTES_A_MESSAGE = 2_000


class HermesSnapshots(SessionFiles):
    """``session_<id>.json`` below the roots, and the files beside it that are not sessions."""

    name = snapshot.NAME
    title = "Hermes"
    unknown = snapshot.UNKNOWN

    def __init__(self, roots: Sequence[str] = (), *, zone: tzinfo | None, limits: Limits) -> None:
        """Set up; for `zone` see `snapshot.parse`."""
        super().__init__(roots, limits=limits)
        self._zone = zone

    def claims(self, path: str) -> bool:
        return snapshot.claims(path)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        """See `Source.recognizes`: files of other agents lie in folders of that name, too."""
        return snapshot.claims(path) and not beginning.lstrip().startswith(_OF_PI)

    def skipped_by_name(self, path: str) -> SkipReason | None:
        return snapshot.companion(path)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        strange: dict[str, None] = {}
        session = snapshot.parse(content, unit.locator, zone=self._zone, limits=self.limits, passed_over=strange)
        return Parsed(session, unknown=UnknownKinds(None, tuple(strange)) if strange else None)


class Hermes(HermesSnapshots):
    """Sessions below the roots, whether they lie in databases or in files of their own."""

    unknown = frozenset({"agent_version"})
    writes = True

    def __init__(self, roots: Sequence[str] = (), *, zone: tzinfo | None, limits: Limits) -> None:
        """Set up; for `zone` see `snapshot.parse`."""
        super().__init__(roots, zone=zone, limits=limits)
        self._databases = SessionDatabases(
            self.name, lambda path: StateDatabase(path, roots=self.roots, limits=self.limits), found=_found
        )

    def __reduce__(self) -> tuple[object, ...]:
        """It goes to another process without what it remembers."""
        return partial(Hermes, self.roots, zone=self._zone, limits=self.limits), ()

    def claims(self, path: str) -> bool:
        return super().claims(path) or (_is_database(database_beside(path)) and _RETIRED not in path)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return super().recognizes(path, beginning) or path.endswith(f"/{_DATABASE}")

    def touched(self, path: str) -> Sequence[Unit]:
        database = database_beside(path)
        if _is_database(database):
            return self._databases.touched(database)
        absorbed = self._row_of(path)
        return (absorbed,) if absorbed is not None else super().touched(path)

    def walk(self, root: str) -> Walk:
        """See `Source.walk`. Files of a folder come in a row: whether a database is beside it is looked up once."""
        exists = lru_cache(maxsize=1)(os.path.lexists)
        return Walk(root, claims=self._is_listed, units_of=partial(self._listed, exists=exists))

    def look(self, unit: Unit) -> Found:
        if unit.key:
            return self._databases.look(unit)
        if _is_database(unit.locator):
            return self._databases.look_itself(unit)
        if self._row_of(unit.locator) is not None:
            raise VanishedFileError("its session is read from the database")
        return super().look(unit)

    def size_of(self, unit: Unit) -> int:
        if unit.key:
            return self._databases.messages_of(unit) * _BYTES_A_MESSAGE
        return 0 if _is_database(unit.locator) else super().size_of(unit)

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        unit = found.unit
        if unit.key:
            return self._read_row(found, unless)
        if _is_database(unit.locator):
            return self._databases.read_itself(unit)
        return super().read(found, unless=unless)

    def _is_listed(self, path: str) -> bool:
        return snapshot.claims(path) or (_is_database(path) and _RETIRED not in path)

    def _listed(self, path: str, status: os.stat_result, *, exists: Callable[[str], bool]) -> Iterable[Found]:
        if _is_database(path):
            return self._databases.listed(path, status)
        return () if self._row_of(path, exists) is not None else self._units_of(path, status)

    def _read_row(self, found: Found, unless: str | None) -> Read:
        unit = found.unit
        database = self._databases.at(unit.locator)
        stamp = database.entry(unit.key).stamp
        if self.look(unit).stamp != found.stamp:
            raise ChangingFileError("the session was written to while it was read")
        stored = database.read(unit.key, stamp)
        content, beside = self._read_snapshot(unit)
        rows = [message[1:] for message in stored.messages]
        around = msgspec.structs.replace(stored, messages=())
        digest = xxhash.xxh3_128_hexdigest(f"{around!r}{rows!r}{content}".encode("utf-8", "replace"))
        if digest == unless:
            return Read(digest, None)
        if stored.continued:
            return Read(digest, Skipped(SkipReason.SUPERSEDED, unit.key))
        session = to_session(stored, unit.locator)
        if isinstance(beside, Skipped) and not session.messages:
            return Read(digest, Skipped(beside.reason, unit.key))
        return Read(digest, as_shown(joined(session, beside if isinstance(beside, Session) else None)))

    def _read_snapshot(self, unit: Unit) -> tuple[str | None, Session | Skipped | None]:
        """Return the digest and the session of the snapshot of a row; None where there is none that can be read."""
        file = Unit(self.name, _snapshot_of(unit))
        try:
            read = super().read(super().look(file))
        except VanishedFileError:
            return None, None
        except (UnfinishedFileError, ParseError, ReadError) as error:
            return str(error), None
        return read.digest, read.session

    def _row_of(self, path: str, exists: Callable[[str], bool] = os.path.lexists) -> Unit | None:
        """Return the unit whose snapshot a file is, if its home has a row of that session."""
        home, _, name = path.rpartition("/sessions/")
        database = f"{home}/{_DATABASE}"
        if not home or "/" in name or not exists(database):
            return None
        stem = snapshot.stem_of(path)
        if stem is None:
            return None
        try:
            session_id = self._databases.at(database).session_of(stem)
        except ReadError:
            return None
        return None if session_id is None else Unit(self.name, database, session_id)


def _is_database(path: str) -> bool:
    return path.endswith(_DATABASE) and path.rpartition("/")[2] == _DATABASE


def _snapshot_of(unit: Unit) -> str:
    """Return where the snapshot of a row would lie."""
    return os.path.join(os.path.dirname(unit.locator), "sessions", f"session_{snapshot.file_stem(unit.key)}.json")


def _found(unit: Unit, entry: Entry) -> Found:
    """Return a session as it stands in row and snapshot."""
    try:
        status = os.lstat(_snapshot_of(unit))
    except OSError:
        return found_entry(unit, entry)
    return Found(unit, entry.stamp + stamp_of(status), max(entry.written_ns, status.st_mtime_ns))
