"""Databases that begin as what the migrations make, copied: to make it each time takes 40 ms of a processor.

That SQLite copies it as it is can be relied on; that the migrations make it, show the tests of the schema.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache

import apsw

from grader_daemon.storage.sqlite.schema import migrate


def copied_or_migrated(connection: apsw.Connection, name: str) -> None:
    """Fill an empty database; migrate any other."""
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").get is not None:
        migrate(connection, name)
        return
    with closing(apsw.Connection(":memory:")) as made:
        made.deserialize("main", _migrated())
        with connection.backup("main", made, "main") as copying:
            copying.step(-1)


@cache
def _migrated() -> bytes:
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(connection, "a database that is copied")
        return connection.serialize("main")
