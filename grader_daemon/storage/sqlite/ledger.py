"""The ledger: what became of every file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from grader_daemon.domain.ledger import FileStamp, FileState, LedgerEntry, ledger_path
from grader_daemon.domain.session import SkipReason
from grader_daemon.storage.records import LastGrade, OutdatedFile, UngradedFile
from grader_daemon.storage.sqlite.database import LISTED, Database, listed, translated
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_LEDGER = (
    "path, device, inode, size, mtime_ns, ctime_ns, digest, session_id, state, reason, attempts, retry_at,"
    " last_error, rules_version"
)
_UPSERT_ENTRY = (
    f"INSERT INTO session_files ({_LEDGER}, grades, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (path) DO UPDATE SET device = excluded.device, inode = excluded.inode, size = excluded.size,"
    " mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, digest = excluded.digest,"
    " session_id = excluded.session_id, state = excluded.state, reason = excluded.reason, attempts = excluded.attempts,"
    " retry_at = excluded.retry_at, last_error = excluded.last_error, rules_version = excluded.rules_version,"
    " grades = grades + excluded.grades, seen_at = excluded.seen_at"
)
_NOTE_LAST = "INSERT OR REPLACE INTO last_grades (live, session_id, graded_at, lag_seconds) SELECT"
_NOTE_ANY = f"{_NOTE_LAST} 0, ?1, ?2, ?3"
_NOTE_LIVE = (
    f"{_NOTE_LAST} 1, ?1, ?2, ?3"
    " WHERE NOT EXISTS (SELECT 1 FROM session_files WHERE path = ?4 AND state = 'graded' AND digest IS ?5)"
)
_OTHERS = "SELECT coalesce(rules_version, ''), rowid, path FROM session_files WHERE state = 'graded'"
_FROM_THERE = "(coalesce(rules_version, ''), rowid) > (?1, ?2)"
_OUTDATED = (
    f"{_OTHERS} AND {_FROM_THERE} AND coalesce(rules_version, '') < ?3"
    f" UNION ALL {_OTHERS} AND {_FROM_THERE} AND coalesce(rules_version, '') > ?3 ORDER BY 1, 2 LIMIT ?4"
)
_BEFORE_ALL = -(1 << 63)
_UNGRADED = (
    "SELECT f.mtime_ns, f.rowid, f.path, f.reason, g.session_file"
    " FROM session_files AS f INDEXED BY session_files_state"
    " LEFT JOIN session_grades AS g ON g.session_id = f.session_id"
    " WHERE f.state <> 'graded' AND f.state = ? AND (f.mtime_ns, f.rowid) > (?, ?)"
    " ORDER BY f.mtime_ns, f.rowid LIMIT ?"
)


class Ledger(Database):
    """The part of the store that remembers files."""

    live_since: datetime | None = None
    """Set by a daemon when it begins: files that are written from then on are graded live."""

    def ledger_entry(self, path: str) -> LedgerEntry | None:
        """What became of the file `path`; None when it was never seen."""
        return self.ledger_entries([path]).get(path)

    def ledger_entries(self, paths: Sequence[str]) -> dict[str, LedgerEntry]:
        """What became of those of `paths` that were ever seen."""
        rows = self.rows(f"SELECT {_LEDGER} FROM session_files WHERE path IN {LISTED}", (listed(paths),))
        return {row[0]: _to_entry(row) for row in rows}

    def file_stamp(self, path: str) -> FileStamp | None:
        """What the file `path` was like when it was last looked at; the cheap half of `ledger_entry`."""
        with self.lock, translated(self.path):
            row = self.connection.execute(
                "SELECT device, inode, size, mtime_ns, ctime_ns FROM session_files WHERE path = ?", (ledger_path(path),)
            ).fetchone()
        return None if row is None else FileStamp(*row)

    def due_paths(self, now: datetime, *, longest_pause: timedelta, limit: int) -> list[str]:
        """Files that are to be looked at again though nothing changed, the longest due first.

        What is due later than after `longest_pause` was noted by a clock that was set back since: it is due too.
        """
        rows = self.rows(
            "SELECT retry_at, path FROM session_files WHERE retry_at <= ?"
            " UNION ALL SELECT retry_at, path FROM session_files WHERE retry_at > ? ORDER BY 1 LIMIT ?",
            (to_text(now), to_text(now + longest_pause), limit),
        )
        return [row[1] for row in rows]

    def outdated_files(self, rules_version: str, *, after: OutdatedFile | None, limit: int) -> list[OutdatedFile]:
        """Graded files whose grade was made under other rules, from the one behind `after` on."""
        place = ("", -1) if after is None else after[:2]
        return [OutdatedFile(*row) for row in self.rows(_OUTDATED, (*place, rules_version, limit))]

    def ungraded_files(self, state: FileState, *, after: UngradedFile | None, limit: int) -> list[UngradedFile]:
        """Files of a state that is not `graded`, from the one behind `after` on."""
        place = (_BEFORE_ALL, 0) if after is None else after[:2]
        return [UngradedFile(*row) for row in self.rows(_UNGRADED, (state, *place, limit))]

    def files_of_sessions(self, session_ids: Sequence[str]) -> dict[str, str]:
        """From which files those of the sessions are graded that are."""
        return dict(
            self.rows(
                f"SELECT session_id, session_file FROM session_grades WHERE session_id IN {LISTED}",
                (listed(session_ids),),
            )
        )

    def graded_paths(self, *, but_of: str | None = None, since: datetime | None = None) -> list[str]:
        """Graded files in order of path, but those of one version; `since`: of sessions that ended from then on."""
        rows = self.rows(
            "SELECT f.path FROM session_files AS f JOIN session_details AS d ON d.session_id = f.session_id"
            " WHERE f.state = 'graded' AND (?1 IS NULL OR f.rules_version IS NOT ?1)"
            " AND (?2 IS NULL OR d.ended_at >= ?2) ORDER BY f.path",
            (but_of, to_text(since)),
        )
        return [row[0] for row in rows]

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        """Write ledger rows; counts a grade for those whose state is `graded`."""
        seen_at = to_text(now)
        self._note_last([entry for entry in entries if entry.state is FileState.GRADED], now)
        self.connection.executemany(_UPSERT_ENTRY, [_entry_row(entry, seen_at) for entry in entries])

    def restamp(self, path: str, stamp: FileStamp) -> None:
        """Note that a file was touched or moved about without a change of content."""
        self.connection.execute(
            "UPDATE session_files SET device = ?, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ? WHERE path = ?",
            (stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns, path),
        )

    def forget_retry(self, path: str) -> None:
        """Stop looking for a file that is gone; its grade, if it has one, stays."""
        self.connection.execute("UPDATE session_files SET retry_at = NULL WHERE path = ?", (path,))

    def forget_files(self, paths: Sequence[str]) -> None:
        """Remove rows as if the files had never been seen, but not those of graded files."""
        self.connection.executemany(
            "DELETE FROM session_files WHERE path = ? AND state <> 'graded'", [(path,) for path in paths]
        )

    def note_rules(self, graded: Sequence[tuple[str, str]]) -> None:
        """Note for graded files, by path, by which version of the rules their grades are now."""
        self.connection.executemany(
            "UPDATE session_files SET rules_version = ?2 WHERE path = ?1 AND state = 'graded'", graded
        )

    def pass_over(self, path: str, reason: SkipReason) -> None:
        """Note that a file has no grade any more: that of its session comes from another one."""
        self._pass_over("path", path, reason)

    def pass_over_session(self, session_id: str, reason: SkipReason) -> None:
        """Note the same of the file that a session was graded from."""
        self._pass_over("session_id", session_id, reason)

    def compare_again(self, session_id: str, *, but: str, now: datetime) -> None:
        """Have the files looked at again in which a session was passed over, but for one."""
        self.connection.execute(
            "UPDATE session_files SET retry_at = ? WHERE session_id = ? AND path <> ? AND state = 'skipped'"
            " AND reason IN ('copy', 'superseded')",
            (to_text(now), session_id, but),
        )

    def file_counts(self) -> dict[str, int]:
        """Files by state."""
        return dict(self.rows("SELECT state, sum(files) FROM file_counts GROUP BY state HAVING sum(files) > 0"))

    def skip_counts(self) -> dict[str, int]:
        """Skipped files by reason."""
        return dict(
            self.rows("SELECT reason, files FROM file_counts WHERE state = 'skipped' AND files > 0 ORDER BY reason")
        )

    def last_grade(self, *, live: bool) -> LastGrade | None:
        """Give the grade made last; `live`: that of a file written, and then graded for the first time, as it ran."""
        rows = self.rows("SELECT session_id, graded_at, lag_seconds FROM last_grades WHERE live = ?", (live,))
        return LastGrade(rows[0][0], known_moment(rows[0][1]), rows[0][2]) if rows else None

    def troubled_entries(self, *, limit: int | None = None) -> list[LedgerEntry]:
        """Files that could not be graded, newest first."""
        rows = self.rows(
            f"SELECT {_LEDGER} FROM session_files WHERE state IN ('dead', 'retry') ORDER BY seen_at DESC LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return [_to_entry(row) for row in rows]

    def _pass_over(self, column: str, value: str, reason: SkipReason) -> None:
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            f" WHERE {column} = ? AND state = 'graded'",
            (reason, value),
        )

    def _note_last(self, graded: Sequence[LedgerEntry], now: datetime) -> None:
        """Note what was graded last, before the rows of the files say so."""
        rows = [
            (entry.session_id, to_text(now), now.timestamp() - entry.stamp.mtime_ns / 1e9, entry.path, entry.digest)
            for entry in graded
        ]
        self.connection.executemany(_NOTE_ANY, [row[:3] for row in rows[-1:]])
        if self.live_since is not None:
            longest = (now - self.live_since).total_seconds()
            self.connection.executemany(_NOTE_LIVE, [row for row in rows if 0 <= row[2] <= longest])


def _entry_row(entry: LedgerEntry, seen_at: str | None) -> tuple[Any, ...]:
    stamp = entry.stamp
    skipped = entry.state is FileState.SKIPPED
    return (
        entry.path,
        stamp.device,
        stamp.inode,
        stamp.size,
        stamp.mtime_ns,
        stamp.ctime_ns,
        entry.digest,
        entry.session_id,
        entry.state,
        entry.reason if skipped else None,
        entry.attempts,
        to_text(entry.look_again_at),
        None if skipped else entry.reason,
        entry.rules_version,
        int(entry.state is FileState.GRADED),
        seen_at,
    )


def _to_entry(row: tuple[Any, ...]) -> LedgerEntry:
    return LedgerEntry(
        path=row[0],
        stamp=FileStamp(*row[1:6]),
        digest=row[6],
        session_id=row[7],
        state=FileState(row[8]),
        reason=row[9] or row[12],
        attempts=row[10],
        look_again_at=to_moment(row[11]),
        rules_version=row[13],
    )
