"""Context that the parts of a grader share: settings, clock, and the database, opened when it is first asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from grader_daemon import bootstrap
from grader_daemon.domain.calendar import day_of
from grader_daemon.domain.fleet_hosts import FleetView
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.rules import GENERAL
from grader_daemon.domain.text import clean
from grader_daemon.errors import GraderError, InputError, NoDatabaseError, StoreOutdatedError, VanishedFileError
from grader_daemon.storage.sqlite.database import check_can_be_read, is_made
from grader_daemon.wings import given_by_all, part

if TYPE_CHECKING:
    from grader_daemon.api.parts import SharedCopies, SharedCopy
    from grader_daemon.domain.grade import Grade
    from grader_daemon.domain.rules import Rules
    from grader_daemon.domain.session import Session
    from grader_daemon.domain.unit import Unit
    from grader_daemon.pipeline.rereading import RecentSessions
    from grader_daemon.redaction import Redactor
    from grader_daemon.settings import Settings
    from grader_daemon.sources.protocol import Source, Sources
    from grader_daemon.storage.maintenance.upgrade import Upgrade
    from grader_daemon.storage.records import StoredGrade
    from grader_daemon.storage.sqlite.store import SqliteStore

_CHANGED = "the file changed since it was graded; message numbers may be wrong"


class GraderContext:
    """Settings, clock and database of one grader; safe among threads.

    What only reads opens the database read-only and migrates nothing; what writes opens it once more, and from then on
    all is read there.
    """

    def __init__(
        self, settings: Settings, *, clock: bootstrap.Clock = bootstrap.utc_now, store: SqliteStore | None = None
    ) -> None:
        """`store` is one that is open, in place of the database at the path of the settings."""
        self.settings = settings
        self.now = clock
        self.lock = threading.RLock()
        self._reading: SqliteStore | None = None
        self._writing = store
        self._closed = False
        self._temporary = ExitStack()
        self._upgraded_copy: SqliteStore | None = None
        self.upgrade: Upgrade | None = None
        """The upgrade of the database, if it was of an earlier version when it was opened to be written to."""

    def close(self) -> None:
        """Close the database; no method works afterwards."""
        with self.lock:
            self._closed = True
            if self.__dict__.get("fleet") is not None:
                self.__dict__["fleet"].close()
            for store in (self._reading, self._writing):
                if store is not None:
                    store.close()
            self._reading = self._writing = None
            self._temporary.close()

    def check_task_type(self, name: str) -> None:
        """Check that rules or sessions know a task type.

        Raises:
            InputError: there is none of this name; the text says which there are.
        """
        given = {GENERAL, *self.rules.task_types.keywords}
        if name not in given:
            known = sorted(given.union(self.store.rollups.names(Dimension.TASK_TYPE)))
            if name not in known:
                raise InputError(f"unknown task type '{clean(name)}'; known: {', '.join(map(clean, known))}")

    @property
    def has_database(self) -> bool:
        """True if there is a database to read; one that another program is only making at this moment is none yet."""
        return self._writing is not None or is_made(self.settings.db_path)

    @property
    def is_in_place(self) -> bool:
        """True if what was opened, if anything was, still stands where it did."""
        with self.lock:
            return all(store is None or store.in_place for store in (self._reading, self._writing))

    @property
    def store(self) -> SqliteStore:
        """The database to read.

        Raises:
            NoDatabaseError: there is none.
        """
        with self.lock:
            self._check_open()
            if self._writing is not None:
                return self._writing
            if self._reading is None:
                self.check_there()
                self._reading = bootstrap.read_store(self.settings)
            return self._reading

    @property
    def preview(self) -> SqliteStore:
        """The database to read as this version would upgrade it; one of an earlier version stays as it is.

        Raises:
            NoDatabaseError: there is none.
            StoreError: it cannot be read, or not be copied.
        """
        with self.lock:
            if self._upgraded_copy is None:
                try:
                    return self.store
                except StoreOutdatedError:
                    self._upgraded_copy = self._temporary.enter_context(bootstrap.read_upgraded(self.settings))
            return self._upgraded_copy

    @property
    def writable(self) -> SqliteStore:
        """The database to write to, of this version.

        Raises:
            NoDatabaseError: there is none.
        """
        with self.lock:
            if self._writing is None:
                self.check_there()
            return self.make_store()

    def make_store(self) -> SqliteStore:
        """Return the database to write to, which is made if there is none."""
        with self.lock:
            self._check_open()
            if self._writing is None:
                self._writing = bootstrap.open_store(self.settings, on_upgrade=self._note_upgrade)
            return self._writing

    @cached_property
    def fleet(self) -> SharedCopy | None:
        """Updater of the database if that is the copy of a fleet; None if it is this machine's own."""
        if self.settings.fleet_read_url is None:
            return None
        known: SharedCopies = part("copies")
        return known.open(self.settings, self.make_store()) if known.is_of(self.settings) else None

    def fleet_view(self) -> FleetView | None:
        """Return whose grades these are; None of this machine's own.

        Raises:
            NoDatabaseError: there is none.
        """
        state = self.store.fleet.state()
        return None if state is None else FleetView(hosts=tuple(self.store.fleet.hosts()), read_at=state.read_at)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Everything inside happens, or nothing of it: what people say of alerts and errors, in a fleet for all.

        Raises:
            NoDatabaseError: there is none.
            DeliveryError: the fleet's database is away.
        """
        with nullcontext() if self.fleet is None else self.fleet.deciding(), self.writable.transaction():
            yield

    @property
    def today(self) -> date:
        """The day where the person lives."""
        return day_of(self.now(), self.settings.zone)

    @cached_property
    def rules(self) -> Rules:
        """The rules that are set, read once."""
        from grader_daemon.rules import load_rules  # which most questions do not need

        return load_rules(self.settings.rules_file)

    @cached_property
    def sources(self) -> Sources:
        """Sources: where sessions lie, and how they are read."""
        return bootstrap.make_sources(self.settings)

    @cached_property
    def recent_sessions(self) -> RecentSessions:
        """Reader of the sessions behind grades."""
        from grader_daemon.pipeline.rereading import RecentSessions  # who only asks for grades need not wait for it

        return RecentSessions(self.sources)

    def source_of(self, unit: Unit) -> Source:
        """Return the source of a unit, without loading all the others.

        Raises:
            VanishedFileError: this version knows none of its name.
        """
        if unit.source not in bootstrap.source_names(self.settings):
            raise VanishedFileError(f"there is no source {unit.source}")
        return bootstrap.make_source(unit.source, self.settings)

    @cached_property
    def redactor(self) -> Redactor:
        """Redactor, which takes secrets out of texts by those rules."""
        from grader_daemon.redaction import redactor_of  # which loads all that secrets are known by

        return redactor_of(self.rules.redaction)

    def session_of(self, stored: StoredGrade) -> tuple[Session | None, str | None]:
        """Read a session as it is now, not redacted; without it, or where it is not what was graded, also say why."""
        if stored.grade.host is not None:
            return None, f"the messages cannot be shown: they stay on {stored.grade.host}"
        try:
            read = self.recent_sessions.read(stored.grade)
        except GraderError as error:
            return None, f"the messages cannot be shown: {error}"
        return read.session, None if read.digest == stored.digest else _CHANGED

    def check_there(self) -> None:
        """Refuse to go on without a database.

        Raises:
            NoDatabaseError: there is none.
        """
        if not self.has_database:
            raise NoDatabaseError(f"no database at {self.settings.db_path}: nothing was graded yet")

    def _note_upgrade(self, upgrade: Upgrade) -> None:
        self.upgrade = upgrade

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this SelfGrader is closed; create a new one")


class GraderPart:
    """A part of a grader, which answers by the context that all parts share."""

    def __init__(self, context: GraderContext) -> None:
        self._context = context


def check_database(settings: Settings) -> None:
    """Check that this user may read the database, if there is one.

    Raises:
        StoreError: it is no file, or may not be read.
    """
    check_can_be_read(settings.db_path)


def paths_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return several paths; a single text is one of them, never its characters."""
    return tuple(os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths))


def told_beside(context: GraderContext, grade: Grade) -> list[tuple[str, str]]:
    """Return what optional features tell of a session, each line with what it is about."""
    return [line for lines_of in given_by_all("lines") for line in lines_of(context.store, grade)]
