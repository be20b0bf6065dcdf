"""The tables: grades with their details and failures, the ledger of files, the daemon's status."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from grader_daemon.domain.analysis import Failure
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.ledger import FileStamp, FileState, LedgerEntry, ledger_path
from grader_daemon.domain.session import SkipReason
from grader_daemon.errors import InputError
from grader_daemon.storage.database import Database, translated
from grader_daemon.storage.rows import (
    DETAIL_COLUMNS,
    GRADE_COLUMNS,
    StoredGrade,
    detail_row,
    grade_row,
    to_failure,
    to_grade,
    to_identity,
    to_moment,
    to_text,
)

_LEDGER = (
    "path, device, inode, size, mtime_ns, digest, session_id, state, reason, attempts, retry_at, last_error,"
    " rules_version"
)
_UPSERT_GRADE = (
    f"INSERT INTO session_grades ({', '.join(GRADE_COLUMNS)}) VALUES ({', '.join('?' * len(GRADE_COLUMNS))})"
    " ON CONFLICT (session_id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in GRADE_COLUMNS[1:])
)
_REPLACE_DETAILS = (
    f"INSERT OR REPLACE INTO session_details ({', '.join(DETAIL_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(DETAIL_COLUMNS))})"
)
_SELECT_GRADES = (
    f"SELECT g.id, {', '.join(f'g.{column}' for column in GRADE_COLUMNS)},"
    f" {', '.join(f'd.{column}' for column in DETAIL_COLUMNS)}"
    " FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id"
)
_SELECT_RIVALS = (
    "SELECT d.session_id, g.session_file, d.state, d.messages, g.session_start, d.updated_at, d.lineage,"
    " d.opening, d.conversation, d.compacted, d.named_after_id"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
)


_LISTED = "(SELECT value FROM json_each(?))"
_UPSERT_ENTRY = (
    f"INSERT INTO session_files ({_LEDGER}, grades, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (path) DO UPDATE SET device = excluded.device, inode = excluded.inode, size = excluded.size,"
    " mtime_ns = excluded.mtime_ns, digest = excluded.digest, session_id = excluded.session_id,"
    " state = excluded.state, reason = excluded.reason, attempts = excluded.attempts,"
    " retry_at = excluded.retry_at, last_error = excluded.last_error, rules_version = excluded.rules_version,"
    " grades = grades + excluded.grades, seen_at = excluded.seen_at"
)


class GradeFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which grades to list. `since` is exclusive of nothing: sessions that ended at or after it."""

    since: datetime | None = None
    until: datetime | None = None
    state: str | None = None
    task_type: str | None = None
    model: str | None = None
    completed: bool | None = None
    limit: int | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and means over the finished sessions of a span; means are None without sessions."""

    sessions: int
    completed: int
    efficiency: float | None
    quality: float | None
    with_errors: int
    recovered: int
    open_sessions: int


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon said of itself last. `watching` maps each root to "watched" or the reason why not."""

    pid: int
    started_at: datetime
    said_at: datetime
    backlog: int
    watching: dict[str, str]


class Store(Database):
    """One connection to the database of grades."""

    def __init__(self, path: Path, *, host: str = "", read_only: bool = False) -> None:
        """See `Database`. `host` is kept with every grade."""
        super().__init__(path, read_only=read_only)
        self._host = host

    # -- the ledger ------------------------------------------------------------------------------------------------

    def ledger_entry(self, path: str) -> LedgerEntry | None:
        """What became of the file `path`; None when it was never seen."""
        return self.ledger_entries([path]).get(path)

    def ledger_entries(self, paths: Sequence[str]) -> dict[str, LedgerEntry]:
        """What became of those of `paths` that were ever seen."""
        rows = self.rows(f"SELECT {_LEDGER} FROM session_files WHERE path IN {_LISTED}", (_listed(paths),))
        return {row[0]: _to_entry(row) for row in rows}

    def file_stamp(self, path: str) -> FileStamp | None:
        """What the file `path` was like when it was last looked at; the cheap half of `ledger_entry`."""
        with self.lock, translated(self.path):
            row = self.connection.execute(
                "SELECT device, inode, size, mtime_ns FROM session_files WHERE path = ?", (ledger_path(path),)
            ).fetchone()
        return None if row is None else FileStamp(*row)

    def due_paths(self, now: datetime, *, limit: int) -> list[str]:
        """Files that are to be looked at again though nothing changed, the longest due first."""
        rows = self.rows(
            "SELECT path FROM session_files WHERE retry_at <= ? ORDER BY retry_at LIMIT ?", (to_text(now), limit)
        )
        return [row[0] for row in rows]

    def outdated_paths(self, rules_version: str, *, after: str, limit: int) -> list[str]:
        """Graded files whose grade was made under other rules, in order of path, from `after` on."""
        rows = self.rows(
            "SELECT path FROM session_files WHERE path > ? AND state = 'graded' AND rules_version IS NOT ?"
            " ORDER BY path LIMIT ?",
            (after, rules_version, limit),
        )
        return [row[0] for row in rows]

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        """Write ledger rows; counts a grade for those whose state is `graded`."""
        seen_at = to_text(now)
        self.connection.executemany(_UPSERT_ENTRY, [_entry_row(entry, seen_at) for entry in entries])

    def restamp(self, path: str, stamp: FileStamp) -> None:
        """Note that a file was touched or moved about without a change of content."""
        self.connection.execute(
            "UPDATE session_files SET device = ?, inode = ?, size = ?, mtime_ns = ? WHERE path = ?",
            (stamp.device, stamp.inode, stamp.size, stamp.mtime_ns, path),
        )

    def forget_retry(self, path: str) -> None:
        """Stop looking for a file that is gone; its grade, if it has one, stays."""
        self.connection.execute("UPDATE session_files SET retry_at = NULL WHERE path = ?", (path,))

    def file_counts(self) -> dict[str, int]:
        """Files by state."""
        others = dict(self.rows("SELECT state, count(*) FROM session_files WHERE state <> 'graded' GROUP BY state"))
        graded = self.rows("SELECT count(*) FROM session_files")[0][0] - sum(others.values())
        return {"graded": graded, **others} if graded else others

    def skip_counts(self) -> dict[str, int]:
        """Skipped files by reason."""
        return dict(
            self.rows(
                "SELECT reason, count(*) FROM session_files WHERE state <> 'graded' AND state = 'skipped'"
                " GROUP BY reason ORDER BY reason"
            )
        )

    def troubled_entries(self, *, limit: int) -> list[LedgerEntry]:
        """Files that could not be graded, newest first."""
        rows = self.rows(
            f"SELECT {_LEDGER} FROM session_files WHERE state <> 'graded' AND state IN ('dead', 'retry')"
            " ORDER BY seen_at DESC LIMIT ?",
            (limit,),
        )
        return [_to_entry(row) for row in rows]

    # -- grades ----------------------------------------------------------------------------------------------------

    def rivals(self, identities: Sequence[Identity]) -> list[Identity]:
        """Graded sessions that may be the same as one of these: by id, by lineage or by conversation."""
        rows = self.rows(
            f"{_SELECT_RIVALS} WHERE d.session_id IN {_LISTED}", (_listed([i.session_id for i in identities]),)
        )
        for column, keys in (
            ("lineage", {identity.lineage for identity in identities}),
            ("conversation", {identity.conversation for identity in identities}),
        ):
            rows += self.rows(f"{_SELECT_RIVALS} WHERE d.{column} IN {_LISTED}", (_listed(list(keys - {None})),))
        return [to_identity(row) for row in rows]

    def save_grades(self, grades: Sequence[tuple[Grade, Identity, str]], *, replaced: Sequence[str]) -> None:
        """Insert or replace grades with their details and failures.

        Args:
            grades: each with the identity of its session and the digest of its file.
            replaced: ids of those that may have failures from an earlier grade.
        """
        many = self.connection.executemany
        many(_UPSERT_GRADE, [grade_row(grade) for grade, _, _ in grades])
        many(
            _REPLACE_DETAILS,
            [detail_row(grade, identity, digest=digest, host=self._host) for grade, identity, digest in grades],
        )
        many("DELETE FROM session_failures WHERE session_id = ?", [(session_id,) for session_id in replaced])
        many(
            "INSERT OR REPLACE INTO session_failures (session_id, message_index, tool, category) VALUES (?, ?, ?, ?)",
            [
                (grade.session_id, failure.index, failure.tool, failure.category)
                for grade, _, _ in grades
                for failure in grade.failures
            ],
        )

    def retract(self, session_id: str, reason: SkipReason) -> None:
        """Take a grade back because another file holds the session; its own file's ledger row says why."""
        self._delete_grade(session_id)
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            " WHERE session_id = ? AND state = 'graded'",
            (reason, session_id),
        )

    def retract_file(self, path: str, reason: SkipReason) -> None:
        """Note that the grade of a session now comes from another file than `path`."""
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            " WHERE path = ? AND state = 'graded'",
            (reason, path),
        )

    def grades(self, which: GradeFilter) -> list[StoredGrade]:
        """List grades, the session that ended last first."""
        conditions, values = _conditions(which)
        limit = "" if which.limit is None else f" LIMIT {int(which.limit)}"
        rows = self.rows(
            f"{_SELECT_GRADES}{conditions} ORDER BY coalesce(d.ended_at, g.graded_at) DESC, g.id DESC{limit}", values
        )
        return [to_grade(row, self._failures(row[1])) for row in rows]

    def find_grade(self, prefix: str) -> StoredGrade:
        """Give the one grade whose session id is, or begins with, `prefix`.

        Raises:
            InputError: none or several do.
        """
        rows = self.rows(f"{_SELECT_GRADES} WHERE g.session_id = ?", (prefix,)) or self.rows(
            f"{_SELECT_GRADES} WHERE substr(g.session_id, 1, ?) = ? ORDER BY g.session_id LIMIT 4",
            (len(prefix), prefix),
        )
        if not rows:
            raise InputError(f"no graded session has an id that begins with {prefix!r}; see 'grader-daemon list'")
        if len(rows) > 1:
            some = ", ".join(row[1] for row in rows[:3])
            raise InputError(f"several session ids begin with {prefix!r} ({some}, …); give more of it")
        return to_grade(rows[0], self._failures(rows[0][1]))

    def summary(self, which: GradeFilter) -> Summary:
        """Count and average the finished sessions of a span."""
        conditions, values = _conditions(which)
        counted = "coalesce(d.state, 'complete') <> 'open'"
        row = self.rows(
            f"SELECT count(*) FILTER (WHERE {counted}), count(*) FILTER (WHERE {counted} AND g.task_completed),"
            f" avg(g.tool_calls_efficient) FILTER (WHERE {counted}), avg(g.response_quality) FILTER (WHERE {counted}),"
            f" count(*) FILTER (WHERE {counted} AND g.total_errors > 0),"
            f" count(*) FILTER (WHERE {counted} AND g.total_errors > 0 AND g.errors_recovered),"
            f" count(*) FILTER (WHERE NOT {counted})"
            f" FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id{conditions}",
            values,
        )[0]
        return Summary(
            sessions=row[0],
            completed=row[1],
            efficiency=row[2],
            quality=row[3],
            with_errors=row[4],
            recovered=row[5],
            open_sessions=row[6],
        )

    def last_lag(self) -> tuple[str, datetime, float] | None:
        """Session id and time of the grade made last, and how long after the last write of its file, in seconds."""
        rows = self.rows(
            "SELECT session_id, seen_at, mtime_ns FROM session_files WHERE state = 'graded'"
            " ORDER BY seen_at DESC LIMIT 1"
        )
        if not rows:
            return None
        session_id, seen_at, mtime_ns = rows[0]
        graded_at = datetime.fromisoformat(seen_at)
        return session_id, graded_at, graded_at.timestamp() - mtime_ns / 1e9

    def task_scores(self, which: GradeFilter) -> dict[str, tuple[int, float]]:
        """Number of finished sessions and mean session score (1-5) of each task type."""
        conditions, values = _conditions(which)
        rows = self.rows(
            "SELECT d.task_type, count(*),"
            " avg((g.tool_calls_efficient + g.response_quality + 1 + 4 * g.task_completed) / 3.0)"
            f" FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id{conditions}"
            f"{' AND' if conditions else ' WHERE'} d.state <> 'open' GROUP BY d.task_type ORDER BY 3, 1",
            values,
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def failure_counts(self, which: GradeFilter, *, by_tool: bool) -> dict[str, int]:
        """Failures in finished sessions, by tool or by category, most first."""
        column = "coalesce(f.tool, 'unknown')" if by_tool else "f.category"
        conditions, values = _conditions(which)
        rows = self.rows(
            f"SELECT {column}, count(*) FROM session_failures AS f"
            " JOIN session_grades AS g ON g.session_id = f.session_id"
            f" JOIN session_details AS d ON d.session_id = f.session_id{conditions}"
            f"{' AND' if conditions else ' WHERE'} d.state <> 'open' GROUP BY 1 ORDER BY 2 DESC, 1",
            values,
        )
        return dict(rows)

    # -- the daemon ------------------------------------------------------------------------------------------------

    def save_status(self, status: DaemonStatus) -> None:
        """Keep what the daemon says of itself."""
        self.connection.execute(
            "INSERT OR REPLACE INTO daemon_status (id, pid, started_at, said_at, backlog, watching)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            (
                status.pid,
                to_text(status.started_at),
                to_text(status.said_at),
                status.backlog,
                msgspec.json.encode(status.watching).decode(),
            ),
        )

    def status(self) -> DaemonStatus | None:
        """What the daemon said of itself last; None when none ever ran."""
        rows = self.rows("SELECT pid, started_at, said_at, backlog, watching FROM daemon_status")
        if not rows:
            return None
        pid, started_at, said_at, backlog, watching = rows[0]
        return DaemonStatus(
            pid=pid,
            started_at=datetime.fromisoformat(started_at),
            said_at=datetime.fromisoformat(said_at),
            backlog=backlog,
            watching=msgspec.json.decode(watching, type=dict[str, str]),
        )

    def _delete_grade(self, session_id: str) -> None:
        for table in ("session_grades", "session_details", "session_failures"):
            self.connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def _failures(self, session_id: str) -> tuple[Failure, ...]:
        rows = self.rows(
            "SELECT message_index, tool, category FROM session_failures WHERE session_id = ? ORDER BY message_index",
            (session_id,),
        )
        return tuple(to_failure(row) for row in rows)


def _conditions(which: GradeFilter) -> tuple[str, list[Any]]:
    wanted = (
        ("coalesce(d.ended_at, g.graded_at) >= ?", to_text(which.since)),
        ("coalesce(d.ended_at, g.graded_at) < ?", to_text(which.until)),
        ("d.state = ?", which.state),
        ("d.task_type = ?", which.task_type),
        ("g.model = ?", which.model),
        ("g.task_completed = ?", which.completed),
    )
    given = [(condition, value) for condition, value in wanted if value is not None]
    if not given:
        return "", []
    return " WHERE " + " AND ".join(condition for condition, _ in given), [value for _, value in given]


def _listed(values: Sequence[str] | Sequence[int | None]) -> str:
    """Many values as one parameter, for `_LISTED`."""
    return msgspec.json.encode(values).decode()


def _entry_row(entry: LedgerEntry, seen_at: str | None) -> tuple[Any, ...]:
    stamp = entry.stamp
    skipped = entry.state is FileState.SKIPPED
    return (
        entry.path,
        stamp.device,
        stamp.inode,
        stamp.size,
        stamp.mtime_ns,
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
        stamp=FileStamp(*row[1:5]),
        digest=row[5],
        session_id=row[6],
        state=FileState(row[7]),
        reason=row[8] or row[11],
        attempts=row[9],
        look_again_at=to_moment(row[10]),
        rules_version=row[12],
    )
