"""New databases as copies of one: to apply all migrations takes half of the time that a test with a store needs.

Those of the tests' own process alone, and not where a test applies migrations itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import apsw
import pytest

from grader_daemon.storage.sqlite import database
from grader_daemon.storage.sqlite.schema import migrate


@contextmanager
def copied() -> Iterator[None]:
    """Have a database that is empty when it is opened filled from the first one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "migrate", _migrate)
        yield


def _migrate(connection: apsw.Connection, name: str) -> None:
    if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        with connection.backup("main", _first(), "main") as backup:
            backup.step(-1)
    migrate(connection, name)


@cache
def _first() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    migrate(connection, "")
    return connection
