"""Context of the checks: settings, database and machine, each opened once and only when a check asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from grader_daemon import bootstrap
from grader_daemon.api.looks import Seen, look
from grader_daemon.bootstrap import watched_roots
from grader_daemon.domain.unit import Found
from grader_daemon.errors import GraderError, InputError
from grader_daemon.integrations.machine import Mount, mounts
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.protocol import Source
from grader_daemon.storage.lock import holder_pid, is_running
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.records import DaemonStatus
from grader_daemon.storage.sqlite.schema import newest_version
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_Opened = TypeVar("_Opened", Inspection, SqliteStore)
_CHUNK = 500
_SAMPLED_BYTES = 100_000_000
"""Some 30,000 sessions, all of which are checked in a second."""

_DATABASES = ("/state.db", "/opencode.db", "/kilo.db", "/mimocode.db", "/openclaw-agent.sqlite")


class Survey:
    """A walk below a folder: how many `folders` it has, those that are `unreadable`, and `databases` of agents."""

    def __init__(self, root: Path) -> None:
        walk = Walk(str(root), claims=_is_database, units_of=self._note)
        self.databases: list[str] = []
        for _ in walk:
            pass
        self.folders, self.unreadable = walk.folders, tuple(walk.unreadable)

    def _note(self, path: str, _: os.stat_result) -> tuple[Found, ...]:
        self.databases.append(path)
        return ()


def _is_database(path: str) -> bool:
    return path.endswith(_DATABASES) and "/state.db." not in path  # beside it Hermes puts copies aside


class DoctorContext:
    """One look at one set-up. A context manager; nothing is changed."""

    def __init__(self, read_settings: Callable[[], Settings], *, now: datetime, full: bool = True) -> None:
        """Unless `full`, what takes long in a large database is looked at in a sample."""
        self.now = now
        self._full = full
        self._read_settings = read_settings
        self._opened: list[Inspection | SqliteStore] = []
        self._passed: dict[str, list[Found]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; safe to call twice."""
        for opened in self._opened:
            opened.close()

    @cached_property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            ConfigurationError: one is wrong.
        """
        return self._read_settings()

    @property
    def database(self) -> Path:
        """Path of the database, which may not be there yet."""
        return self.settings.db_path

    @property
    def has_database(self) -> bool:
        """True if the database is a file that is not empty."""
        return self.database.is_file() and self.database.stat().st_size > 0

    @property
    def inspection(self) -> Inspection:
        """The database as a file.

        Raises:
            InputError: there is none yet.
            StoreError: it cannot be opened or read.
        """
        return _given(self._inspection)

    @cached_property
    def sampled_day(self) -> date | None:
        """Day of which a large database is checked, another one each time; None where all of it is.

        Raises:
            GraderError: as `inspection`.
        """
        is_sampled = not self._full and self.database.stat().st_size > _SAMPLED_BYTES
        return self.inspection.any_day() if is_sampled else None

    @cached_property
    def is_earlier(self) -> bool:
        """True if an earlier version of this program left the database.

        Raises:
            GraderError: as `inspection`.
        """
        schema = self.inspection.schema()
        return schema is not None and schema < newest_version()

    @property
    def store(self) -> SqliteStore:
        """The database as grades and ledger, for reading.

        Raises:
            InputError: there is none yet.
            StoreError: it cannot be opened, or its schema is not ours.
        """
        return _given(self._store)

    @cached_property
    def _inspection(self) -> Inspection | GraderError:
        return self._open(lambda: Inspection(self.database))

    @cached_property
    def _store(self) -> SqliteStore | GraderError:
        return self._open(lambda: bootstrap.read_store(self.settings))

    def _open(self, opening: Callable[[], _Opened]) -> _Opened | GraderError:
        """Try it once: a database that is locked shall be waited for once, not by each check."""
        try:
            if not self.has_database:
                raise InputError("there is no database yet")
            opened = opening()
        except GraderError as error:
            return error
        self._opened.append(opened)
        return opened

    @cached_property
    def status(self) -> DaemonStatus | None:
        """Status that the daemon noted last; None when it never did, or that cannot be read."""
        return self.store.daemon.status() if self.has_database else None

    @cached_property
    def is_running(self) -> bool:
        """True if a daemon runs on this database."""
        return is_running(self.database)

    @cached_property
    def daemon_pid(self) -> int | None:
        """The process of the running daemon."""
        return holder_pid(self.database) if self.is_running else None

    @cached_property
    def mounts(self) -> list[Mount]:
        """Mounted file systems."""
        return mounts()

    @cached_property
    def home(self) -> Path | None:
        """The person's home folder; None when nobody knows it."""
        with suppress(RuntimeError):
            return Path.home()
        return None

    @cached_property
    def roots(self) -> list[Path]:
        """The folders of all agents that are graded."""
        return [Path(root) for root in watched_roots(self.settings)]

    @cached_property
    def folders(self) -> list[Path]:
        """Watched folders that can be entered."""
        return [
            root
            for root in self.roots
            if os.path.isdir(root) and os.access(root, os.R_OK | os.X_OK, effective_ids=True)
        ]

    @cached_property
    def surveys(self) -> dict[Path, Survey]:
        """Survey of what lies below each folder that can be entered."""
        return {root: Survey(root) for root in self.folders}

    @cached_property
    def seen(self) -> list[tuple[Source, Seen]]:
        """The agents that are graded, and the sessions of each."""
        return [(source, self._looked(source)) for source in bootstrap.make_sources(self.settings)]

    def unseen(self, source: Source) -> list[Found]:
        """Return the sessions of an agent that the ledger never met, of those that were `seen`."""
        passed = self._passed[source.name]
        chunks = [passed[begin : begin + _CHUNK] for begin in range(0, len(passed), _CHUNK)]
        return [
            found
            for chunk in chunks
            for found, stamp in zip(chunk, self.store.unit_stamps([each.unit for each in chunk]), strict=True)
            if stamp is None
        ]

    def _looked(self, source: Source) -> Seen:
        self._passed[source.name] = passed = list[Found]()
        return look(source, source.roots, passing=passed.append)


def _given(opened: _Opened | GraderError) -> _Opened:
    if isinstance(opened, GraderError):
        raise opened
    return opened
