"""What of archives is done."""

from __future__ import annotations

from collections.abc import Sequence

from grader_daemon.storage.sqlite.database import LISTED, Database, listed


class ArchiveProgress:
    """Which objects of archives were graded, by 64-bit digests of their names and versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def those_done(self, digests: Sequence[int]) -> set[int]:
        """Return those of them that were."""
        rows = self._database.rows(f"SELECT digest FROM archive_objects WHERE digest IN {LISTED}", (listed(digests),))
        return {int(row[0]) for row in rows}

    def note(self, digests: Sequence[int]) -> None:
        """Note that they are done; it is a transaction of its own."""
        with self._database.transaction():
            self._database.connection.execute(
                f"INSERT OR IGNORE INTO archive_objects (digest) SELECT value FROM {LISTED}", (listed(digests),)
            )
