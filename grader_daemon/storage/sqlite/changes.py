"""The feed of changes: what followers read on from where they were."""

from __future__ import annotations

from collections.abc import Iterable

from grader_daemon.storage.records import Change, ChangeKind
from grader_daemon.storage.sqlite.database import Database


class Changes:
    """A row for each thing that changed; one that changes again moves to the end."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, kind: ChangeKind, subjects: Iterable[str]) -> None:
        self._database.connection.executemany(
            "INSERT OR REPLACE INTO grade_changes (kind, subject) VALUES (?, ?)", [(kind, each) for each in subjects]
        )

    def after(self, seq: int, limit: int) -> list[Change]:
        rows = self._database.rows(
            "SELECT seq, kind, subject FROM grade_changes WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
        )
        return [Change(seq=row[0], kind=ChangeKind(row[1]), subject=row[2]) for row in rows]
