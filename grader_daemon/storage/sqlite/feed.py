"""The feed of changes: what followers read on from where they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader_daemon.storage.records import Change, ChangeKind, MonthMark
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.listed_grade import LISTED_AS

_LAST_CHANGES = (
    "SELECT substr(l.ended_at, 1, 7) AS month, max(c.seq) FROM grade_changes AS c"
    " JOIN session_grades AS g ON g.session_id = c.subject"
    " LEFT JOIN session_details AS d ON d.session_id = c.subject"
    f" JOIN {LISTED_AS}"
    f" WHERE c.seq > ? AND c.kind IN ('{ChangeKind.GRADE}', '{ChangeKind.LABEL}') GROUP BY month"
)
_BEHIND = "~"
"""Stands behind all that a month begins with, and before the next one."""


class ChangeFeed(Table):
    """Feed of changes, in one order: a row for each thing, which moves to the end when it changes again."""

    def note(self, kind: ChangeKind, subjects: Iterable[str]) -> None:
        """Note that these changed; call it inside the transaction that changes them."""
        self._database.connection.executemany(
            "INSERT OR REPLACE INTO grade_changes (kind, subject) VALUES (?, ?)", [(kind, each) for each in subjects]
        )

    def newest(self) -> int:
        """Number the newest change; 0 before anything changed."""
        [(seq,)] = self._database.rows("SELECT coalesce(max(seq), 0) FROM grade_changes")
        return int(seq)

    def after(self, seq: int, limit: int) -> list[Change]:
        """Return what changed behind a place in the order, the first changes first."""
        rows = self._database.rows(
            "SELECT seq, kind, subject FROM grade_changes WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
        )
        return [Change(seq=row[0], kind=ChangeKind(row[1]), subject=row[2]) for row in rows]

    def months(self, after: int = 0) -> dict[str, MonthMark]:
        """Return a mark for each month (UTC, as in 2026-11) in which graded sessions ended, the first month first.

        Of the changes, only those behind a place in the order are looked at, which spares going through all of them.
        """
        last = dict[str, int](self._database.rows(_LAST_CHANGES, (after,)))
        return {month: MonthMark(sessions, last.get(month, 0)) for month, sessions in self._sessions_by_month()}

    def _sessions_by_month(self) -> Iterator[tuple[str, int]]:
        """Count along the order of the list: to group by a part of the time would sort all of it."""
        behind = ""
        while True:
            [(first,)] = self._database.rows("SELECT min(ended_at) FROM session_list WHERE ended_at >= ?", (behind,))
            if first is None:
                return
            month, behind = first[:7], first[:7] + _BEHIND
            [(sessions,)] = self._database.rows(
                "SELECT count(*) FROM session_list WHERE ended_at >= ? AND ended_at < ?", (month, behind)
            )
            yield month, sessions

    def position(self, follower: str) -> int:
        """Return how far a follower has read that keeps its place here; 0 before it read anything."""
        rows = self._database.rows("SELECT seq FROM feed_positions WHERE follower = ?", (follower,))
        return int(rows[0][0]) if rows else 0

    def advance(self, follower: str, seq: int) -> None:
        """Keep the place of a follower, which never goes back; call it inside a transaction."""
        self._database.connection.execute(
            "INSERT INTO feed_positions (follower, seq) VALUES (?, ?)"
            " ON CONFLICT (follower) DO UPDATE SET seq = max(seq, excluded.seq)",
            (follower, seq),
        )
