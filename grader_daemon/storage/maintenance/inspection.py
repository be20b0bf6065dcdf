"""A look at a database file that changes nothing: is it whole, is it ours, does it agree with itself?

Opening a `Database` makes and migrates it; a doctor must not. Nothing here writes, but for the empty ``-wal`` and
``-shm`` files that reading a WAL database may leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import apsw

from grader_daemon.domain.claims import AGAINST
from grader_daemon.domain.rollup import SUM_NAMES
from grader_daemon.storage.sqlite.database import distrust, translated
from grader_daemon.storage.sqlite.rows import ANSWERED, COMPLETED, HAS_SCORES, PERSONS_TASK
from grader_daemon.storage.sqlite.schema import applied_version, has_table, own_tables, strange_entries
from grader_daemon.storage.sqlite.session_list import LIST_AS_GRADED, LIST_AS_KEPT

_NO_VALUES: Mapping[str, str] = MappingProxyType({})
_GROWING = ("session_", "grade_changes")
"""How the names of tables begin that get rows with every session."""
_WAL_RESET_FIXED = (3, 51, 3)
_PATIENCE_MILLISECONDS = 5000
_LINES = 20
_PATHS = 10_000
_COMPARED = (
    *"sessions open_sessions unanswered interrupted completed efficiency quality calls failures".split(),
    *("side", "input_tokens", "output_tokens"),
)
_CLOSED = "(coalesce(d.state, 'complete') <> 'open')"
_FINISHED = f"({_CLOSED} AND {PERSONS_TASK})"
_ANSWERED = f"({_FINISHED} AND {ANSWERED})"
_SCORED = f"({_FINISHED} AND {HAS_SCORES})"
_DAY = "coalesce(d.ended_on, date(d.ended_at), date(g.graded_at), '1970-01-01')"
_AROUND = "ended_at >= :since AND ended_at < :until"
_SAMPLED = f"g.id IN (SELECT id FROM session_list WHERE {_AROUND})"
_SUMS_OF_ROWS = (
    f"SELECT {_DAY} AS day,"
    f" sum({_ANSWERED}) AS sessions,"
    f" sum(NOT {_CLOSED}) AS open_sessions,"
    f" sum({_FINISHED} AND NOT {_ANSWERED}) AS unanswered,"
    f" sum({_ANSWERED} AND NOT {HAS_SCORES}) AS interrupted,"
    f" sum({_FINISHED} AND coalesce({COMPLETED}, 0)) AS completed,"
    f" sum({_SCORED} * g.tool_calls_efficient) AS efficiency,"
    f" sum({_SCORED} * g.response_quality) AS quality,"
    f" sum({_FINISHED} * coalesce(d.tool_calls, 0)) AS calls,"
    f" sum({_FINISHED} * g.total_errors) AS failures,"
    f" sum({_CLOSED} AND NOT {PERSONS_TASK}) AS side,"
    f" sum({_CLOSED} * coalesce(d.input_tokens, 0)) AS input_tokens,"
    f" sum({_CLOSED} * coalesce(d.output_tokens, 0)) AS output_tokens"
    " FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id"
)
_SUMS_OF_DAYS = f"SELECT day, {', '.join(_COMPARED)} FROM daily_rollups WHERE dimension = 'overall'"
_DAYS_BY_MONTH = (
    f"SELECT dimension, substr(day, 1, 7) AS month, name, {', '.join(f'sum({name})' for name in SUM_NAMES)}"
    " FROM daily_rollups"
)
_BY_MONTH = "GROUP BY dimension, month, name"
_MONTHS = f"SELECT dimension, month, name, {', '.join(SUM_NAMES)} FROM monthly_rollups"
_FAILURES_OF_ROWS = (
    "SELECT f.fingerprint, count(*) FROM session_failures AS f"
    " JOIN session_grades AS g ON g.session_id = f.session_id AND g.total_errors > 0"
    " LEFT JOIN session_details AS d ON d.session_id = g.session_id"
    " WHERE f.fingerprint IS NOT NULL AND f.ended_at IS NOT NULL"
)
_FAILURES_OF_DAYS = "SELECT fingerprint, sum(failures) FROM issue_days"
_BY_ISSUE = "GROUP BY fingerprint"
_AGAINST = ", ".join(f"'{support}'" for support in sorted(AGAINST))
_CLAIMS_OF_ROWS = (
    f"SELECT {_DAY} AS day, c.value ->> 'kind' AS claimed,"
    " count(DISTINCT d.session_id) AS sessions,"
    f" count(DISTINCT d.session_id) FILTER (WHERE c.value ->> 'support' IN ({_AGAINST})) AS against"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    " JOIN json_each(iif(json_valid(d.claims), d.claims, '[]')) AS c"
    f" WHERE d.claims <> '[]' AND {_FINISHED}"
)
_CLAIMS_OF_DAYS = "SELECT day, kind AS claimed, sum(sessions), sum(against) FROM daily_claims"
_BY_CLAIM = "GROUP BY day, claimed"
_TWICE = (
    ("days", f"{_SUMS_OF_ROWS} GROUP BY day", _SUMS_OF_DAYS),
    ("months", f"{_DAYS_BY_MONTH} {_BY_MONTH}", _MONTHS),
    ("error issues", f"{_FAILURES_OF_ROWS} {_BY_ISSUE}", f"{_FAILURES_OF_DAYS} {_BY_ISSUE}"),
    ("claims", f"{_CLAIMS_OF_ROWS} {_BY_CLAIM}", f"{_CLAIMS_OF_DAYS} {_BY_CLAIM}"),
    ("listed sessions", LIST_AS_GRADED, LIST_AS_KEPT),
)
"""What is counted in two ways: its name, and the two queries that must give the same rows."""
_TWICE_ON_A_DAY = (
    ("days", f"{_SUMS_OF_ROWS} WHERE {_SAMPLED} GROUP BY day HAVING day = :day", f"{_SUMS_OF_DAYS} AND day = :day"),
    ("months", f"{_DAYS_BY_MONTH} WHERE substr(day, 1, 7) = :month {_BY_MONTH}", f"{_MONTHS} WHERE month = :month"),
    (
        "error issues",
        f"{_FAILURES_OF_ROWS} AND {_SAMPLED} AND {_DAY} = :day {_BY_ISSUE}",
        f"{_FAILURES_OF_DAYS} WHERE day = :day {_BY_ISSUE}",
    ),
    (
        "claims",
        f"{_CLAIMS_OF_ROWS} AND {_SAMPLED} {_BY_CLAIM} HAVING day = :day",
        f"{_CLAIMS_OF_DAYS} WHERE day = :day {_BY_CLAIM}",
    ),
    ("listed sessions", f"{LIST_AS_GRADED} WHERE {_SAMPLED}", f"{LIST_AS_KEPT} WHERE {_AROUND}"),
)
"""The same of the sessions of one day, wherever on earth it is."""

HALF_GRADED = (
    "SELECT f.rowid FROM session_files AS f"
    " LEFT JOIN session_grades AS g ON g.session_id = f.session_id"
    " LEFT JOIN session_details AS d ON d.session_id = f.session_id"
    " WHERE f.state = 'graded' AND (g.session_id IS NULL OR d.session_id IS NULL OR g.total_errors <>"
    " (SELECT count(*) FROM session_failures AS x WHERE x.session_id = f.session_id AND x.kind <> 'probe'))"
)
"""Rows of units that the ledger calls graded, and whose grade, details or failures are missing."""


_HALF_GRADED_FILES = "SELECT path FROM session_files WHERE rowid IN ({}) AND retry_at IS NULL LIMIT {}"
_OF_OTHERS = (
    "SELECT count(*) FROM session_grades AS g"
    " WHERE NOT EXISTS (SELECT 1 FROM session_details AS d WHERE d.session_id = g.session_id)"
)


def sqlite_version() -> str:
    """Return the release of SQLite in use."""
    return apsw.sqlite_lib_version()


def is_wal_reset_fixed(version: str) -> bool:
    """Return whether a release is free of the corruption of WAL databases by two writers at the same moment."""
    return tuple(int(part) for part in version.split(".")) >= _WAL_RESET_FIXED


class Inspection:
    """One file, opened for reading. A context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            StoreError: it cannot be opened, or its first page not be read.
        """
        self.path = path
        with translated(path):
            self._connection = distrust(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
            self._connection.set_busy_timeout(_PATIENCE_MILLISECONDS)
        try:
            self.pages()
        except BaseException:
            self.close()  # else its locks would stay with the exception
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    def pages(self) -> int:
        """Size in pages.

        Raises:
            StoreError: here and below: the file cannot be read.
        """
        self._rows("SELECT count(*) FROM sqlite_master")  # the number itself is known without reading a page
        return int(self._rows("PRAGMA page_count")[0][0])

    def schema(self) -> int | None:
        """Return the number of the last migration; 0 for the original program's two tables, None if it is not ours."""
        with translated(self.path):
            version = applied_version(self._connection)
            return version if version or has_table(self._connection, "session_grades") else None

    def grades(self) -> int:
        """Count the grades."""
        return int(self._rows("SELECT count(*) FROM session_grades")[0][0])

    def any_day(self) -> date | None:
        """Return a day with sessions, another one with each call; None where there are none."""
        days = "dimension = 'overall' AND day > '1970-01-01'"  # which stands for an unknown one
        rows = self._rows(f"SELECT day FROM daily_rollups WHERE {days} ORDER BY random() LIMIT 1")
        return date.fromisoformat(rows[0][0]) if rows else None

    def damage(self, day: date | None = None) -> list[str]:
        """Return what SQLite finds wrong with the structure of the file: at most 20 lines, none if it is whole.

        With a `day`, only tables are looked through that do not grow with every session.
        """
        try:
            checked = [_LINES] if day is None else self._small_tables()
            rows = [row for each in checked for row in self._connection.execute(f"PRAGMA quick_check({each})")]
        except (apsw.CorruptError, apsw.NotADBError) as error:
            return [str(error)]
        except apsw.Error:
            with translated(self.path):
                raise
        lines = [line for row in rows for line in str(row[0]).splitlines()]
        return [line for line in lines if line != "ok" and not line.startswith("***")][:_LINES]

    def foreign_tables(self) -> list[str]:
        """Name the tables that no migration of ours makes."""
        names = {row[0] for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return sorted(name for name in names - self._own_tables() if not name.startswith("sqlite_"))

    def strange_entries(self) -> list[str]:
        """Name what in the schema could act in our place, and what of ours is missing; see `schema.strange_entries`."""
        with translated(self.path):
            return strange_entries(self._connection)

    def user_version(self) -> int:
        """Return a number that is free for every program to use; we leave it 0."""
        return int(self._rows("PRAGMA user_version")[0][0])

    def foreign_grades(self, day: date | None = None) -> int:
        """Count the grades that another program wrote: they have no details. With a `day`, those of it."""
        sql = _OF_OTHERS if day is None else f"{_OF_OTHERS} AND {_SAMPLED}"
        return int(self._rows(sql, _values_of(day))[0][0])

    def miscounted(self, day: date | None = None) -> dict[str, int]:
        """Return what of the roll-ups is not what the rows give, and how much of it. With a `day`, of that alone."""
        twice, values = _TWICE if day is None else _TWICE_ON_A_DAY, _values_of(day)
        return {name: differing for name, rows, sums in twice if (differing := self._differing(rows, sums, values))}

    def half_graded(self, day: date | None = None) -> list[str]:
        """Files that the ledger calls graded, whose grade is not whole and will not be made again; at most 10,000.

        With a `day`, of the sessions that the list has then.
        """
        around = f" AND f.session_id IN (SELECT session_id FROM session_list WHERE {_AROUND})"
        half = HALF_GRADED if day is None else HALF_GRADED + around
        return [row[0] for row in self._rows(_HALF_GRADED_FILES.format(half, _PATHS), _values_of(day))]

    def dead(self) -> list[str]:
        """Files that were given up, the one seen last first; at most 10,000."""
        return [
            row[0]
            for row in self._rows(
                "SELECT path FROM session_files WHERE state <> 'graded' AND state = 'dead'"
                f" ORDER BY seen_at DESC LIMIT {_PATHS}"
            )
        ]

    def last_seen_at(self, day: date | None = None) -> str | None:
        """Return the newest time in the ledger; with a `day`, of the thousand files that came last."""
        files = "" if day is None else " ORDER BY rowid DESC LIMIT 1000"
        newest: str | None = self._rows(f"SELECT max(seen_at) FROM (SELECT seen_at FROM session_files{files})")[0][0]
        return newest

    def graded_by(self) -> dict[str, int]:
        """Count the files that are graded, by the version that made the grade."""
        asked = "SELECT coalesce(rules_version, ''), count(*) FROM session_files WHERE state = 'graded' GROUP BY 1"
        return dict(self._rows(asked))

    def _own_tables(self) -> frozenset[str]:
        with translated(self.path):
            return own_tables(applied_version(self._connection))

    def _small_tables(self) -> list[str]:
        names = {row[0] for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return sorted(name for name in names & self._own_tables() if not name.startswith(_GROWING))

    def _differing(self, one: str, other: str, values: Mapping[str, str]) -> int:
        """Count the rows that only one of two queries gives, by their first column's place in both."""
        return int(
            self._rows(
                f"SELECT max((SELECT count(*) FROM ({one} EXCEPT {other})),"
                f" (SELECT count(*) FROM ({other} EXCEPT {one})))",
                values,
            )[0][0]
        )

    def _rows(self, sql: str, values: Mapping[str, str] = _NO_VALUES) -> list[Any]:
        with translated(self.path):
            return self._connection.execute(sql, values).fetchall()


def _values_of(day: date | None) -> Mapping[str, str]:
    """Return what is asked for of a day: it begins 14 hours before that in UTC at the earliest, and ends 12 later."""
    if day is None:
        return _NO_VALUES
    before, after = day - timedelta(days=1), day + timedelta(days=1)
    return {
        "day": day.isoformat(),
        "month": day.isoformat()[:7],
        "since": f"{before.isoformat()}T10",
        "until": f"{after.isoformat()}T12",
    }
