"""The table of what is done of archives."""

from __future__ import annotations

from collections.abc import Sequence

from grader_daemon.storage.sqlite.database import LISTED, Table, listed


class ArchiveProgress(Table):
    """The objects of archives that were graded, by 64-bit digests of their names and versions."""

    def those_done(self, digests: Sequence[int]) -> set[int]:
        """Return those of some digests that are noted as graded."""
        rows = self._database.rows(f"SELECT digest FROM archive_objects WHERE digest IN {LISTED}", (listed(digests),))
        return {int(row[0]) for row in rows}

    def note(self, digests: Sequence[int]) -> None:
        """Note objects as graded; several times does no harm."""
        with self._database.transaction():
            self._database.connection.execute(
                f"INSERT OR IGNORE INTO archive_objects (digest) SELECT value FROM {LISTED}", (listed(digests),)
            )
