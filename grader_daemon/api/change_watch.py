"""Notices that something was written: cheap enough to be asked ten times a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader_daemon import bootstrap
from grader_daemon.errors import StoreError
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

NOTHING = ""
"""The mark while there is no database that can be read."""


def mark_of(store: SqliteStore) -> str:
    """Return the number of the newest change, and of which database."""
    return f"{store.identity}-{store.changes.newest()}"


class ChangeWatch:
    """A look at the change feed of a database, on a connection of its own. For one thread at a time.

    SQLite's ``data_version`` (pragma data_version, sqlite.org/pragma.html) tells in about a microsecond that another
    connection has written; only then the feed is asked.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store: SqliteStore | None = None
        self._version: int | None = None
        self._mark = NOTHING

    def look(self) -> str:
        """Return a mark that is another one when something changed; `NOTHING` without a database that can be read.

        A database that was replaced, as by `backup restore`, gives another mark, too.
        """
        try:
            return self._look()
        except StoreError:  # it is being replaced, or damaged: who reads it is told so
            self.close()
            return NOTHING

    def close(self) -> None:
        """Close the connection; the next look opens another."""
        if self._store is not None:
            self._store.close()
        self._store, self._version, self._mark = None, None, NOTHING

    def _look(self) -> str:
        if self._store is not None and not self._store.in_place:
            self.close()
        if self._store is None:
            if not self._settings.db_path.exists():
                return NOTHING
            self._store = bootstrap.read_store(self._settings)
        version = self._store.data_version
        if version != self._version:
            self._mark = mark_of(self._store)
            self._version = version
        return self._mark
