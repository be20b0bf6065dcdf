"""The feed of changes: what followers read on from where they were."""

from __future__ import annotations

from collections.abc import Iterable

from grader_daemon.storage.records import Change, ChangeKind, MonthMark
from grader_daemon.storage.sqlite.database import Database

_MONTHS = (
    "SELECT substr(l.ended_at, 1, 7) AS month, count(DISTINCT l.session_id), coalesce(max(c.seq), 0)"
    " FROM session_list AS l LEFT JOIN grade_changes AS c"
    f" ON c.kind IN ('{ChangeKind.GRADE}', '{ChangeKind.LABEL}') AND c.subject = l.session_id"
    " GROUP BY month ORDER BY month"
)


class Changes:
    """A row for each thing that changed; one that changes again moves to the end."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, kind: ChangeKind, subjects: Iterable[str]) -> None:
        self._database.connection.executemany(
            "INSERT OR REPLACE INTO grade_changes (kind, subject) VALUES (?, ?)", [(kind, each) for each in subjects]
        )

    def newest(self) -> int:
        [(seq,)] = self._database.rows("SELECT coalesce(max(seq), 0) FROM grade_changes")
        return int(seq)

    def after(self, seq: int, limit: int) -> list[Change]:
        rows = self._database.rows(
            "SELECT seq, kind, subject FROM grade_changes WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
        )
        return [Change(seq=row[0], kind=ChangeKind(row[1]), subject=row[2]) for row in rows]

    def months(self) -> dict[str, MonthMark]:
        return {month: MonthMark(sessions, seq) for month, sessions, seq in self._database.rows(_MONTHS)}

    def position(self, follower: str) -> int:
        rows = self._database.rows("SELECT seq FROM feed_positions WHERE follower = ?", (follower,))
        return int(rows[0][0]) if rows else 0

    def advance(self, follower: str, seq: int) -> None:
        self._database.connection.execute(
            "INSERT INTO feed_positions (follower, seq) VALUES (?, ?)"
            " ON CONFLICT (follower) DO UPDATE SET seq = max(seq, excluded.seq)",
            (follower, seq),
        )
