"""Databases that begin as what the migrations make, copied: to make it each time takes 40 ms of a processor.

That SQLite copies it as it is can be relied on; that the migrations make it, show the tests of the schema. Nor does
anybody wait for the disk, 50 ms for each database: only a power cut would show what was not there yet.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache

import apsw

from grader_daemon.storage.sqlite import database
from grader_daemon.storage.sqlite.schema import migrate

PRAGMAS = database._PRAGMAS
UNSYNCED_PRAGMAS = ("synchronous = OFF", *(each for each in PRAGMAS if not each.startswith("synchronous")))
"""How a connection is set up that waits for no disk, not even for the first change of its journal mode."""


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
