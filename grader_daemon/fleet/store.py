"""Tables of the copy of a fleet: up to where it is read of each machine, and what all copies share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import apsw
import msgspec

from grader_daemon.domain.fleet_hosts import FleetHostState, copied_id
from grader_daemon.domain.rollup import SUM_NAMES
from grader_daemon.errors import InputError
from grader_daemon.storage.records import FleetCopyState
from grader_daemon.storage.sqlite.alerts import ALERT_COLUMNS, Alerts
from grader_daemon.storage.sqlite.hosts import Hosts
from grader_daemon.storage.sqlite.rows import to_text

_HOST: Final = FleetHostState.__struct_fields__
_ALERT: Final = ("id", *ALERT_COLUMNS)
_OUTBOX: Final = (
    *("id", "kind", "subject", "event", "channel", "payload", "created_at", "attempts", "next_at"),
    *("delivered_at", "last_error"),
)
_REPORT: Final = ("week_start", "week_end", "generated_at", "report_json")
_NEWEST_WEEKS: Final = " WHERE week_start IN (SELECT week_start FROM report_bases ORDER BY week_start DESC LIMIT 26)"
_NUMBERS: Final = frozenset({"id", "attempts", "told", "basis"})
_MOMENTS: Final = frozenset({"until", "generated_at"})
_LARGEST: Final = 2**53
_YEARS: Final = range(1970, 2200)
_DECISIONS: Final = {
    "alerts": (_ALERT, ""),
    "alert_streams": (("metric", "dimension", "name", "state"), ""),
    "alert_position": (("id", "ended_at", "session_id", "watched_from"), ""),
    "alert_silences": (("metric", "dimension", "name", "until"), ""),
    "outbox": (_OUTBOX, " WHERE delivered_at IS NULL"),
    "weekly_reports": (_REPORT, _NEWEST_WEEKS),
    "report_bases": (("week_start", "basis"), _NEWEST_WEEKS),
}
"""What all copies share beside grades: tables, each with its columns and which of its rows."""
_MARK: Final = ("fingerprint", "resolved_at", "ignored_at")
_MARKS: Final = (
    "SELECT fingerprint, resolved_at, ignored_at FROM error_issues"
    " WHERE resolved_at IS NOT NULL OR ignored_at IS NOT NULL UNION ALL"
    " SELECT fingerprint, resolved_at, ignored_at FROM fleet_marks ORDER BY fingerprint"
)
_UNMARK: Final = (
    "UPDATE error_issues SET resolved_at = NULL, ignored_at = NULL"
    " WHERE resolved_at IS NOT NULL OR ignored_at IS NOT NULL"
)
_SINCE_REPORTS: Final = frozenset({"weekly_reports", "report_bases"})
_NOT_OURS: Final = (msgspec.MsgspecError, apsw.Error, KeyError, TypeError, ValueError, OverflowError, RecursionError)
_decode_decisions: Final = msgspec.json.Decoder(dict[str, list[list[str | int | None]]]).decode


class CopyTables(Hosts):
    """The tables of a copy, as what keeps it up to date reads and writes them."""

    def save_state(self, state: FleetCopyState) -> None:
        """Note of which fleet it is a copy; call it inside a transaction."""
        self._database.connection.execute(
            "INSERT OR REPLACE INTO fleet_copy (id, fleet, version, read_at, decisions, labels_at)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            (state.fleet, state.version, to_text(state.read_at), state.decisions, to_text(state.labels_at)),
        )

    def save_host(self, host: FleetHostState) -> None:
        """Note how far a machine is; call it inside the transaction that saves its rows."""
        self._database.connection.execute(
            f"INSERT OR REPLACE INTO fleet_hosts ({', '.join(_HOST)}) VALUES ({', '.join('?' * len(_HOST))})",
            tuple({**msgspec.structs.asdict(host), "last_seen": to_text(host.last_seen)}.values()),
        )

    def forget_host(self, host: str) -> None:
        """Remove a machine, of which no sessions are here any more."""
        self._database.connection.execute("DELETE FROM fleet_hosts WHERE host = ?", (host,))

    def sessions_of(self, host: str, limit: int) -> Sequence[str]:
        """Return the ids of some sessions of a machine."""
        first = copied_id(host, "")
        rows = self._database.rows(
            "SELECT session_id FROM session_grades WHERE session_id > ?1 AND session_id < ?1 || char(1114111) LIMIT ?2",
            (first, limit),
        )
        return [name for (name,) in rows]

    def ended_before(self, moment: datetime, limit: int) -> Sequence[str]:
        """Return the ids of some sessions that ended before a moment."""
        rows = self._database.rows(
            "SELECT session_id FROM session_list WHERE ended_at < ? LIMIT ?", (to_text(moment), limit)
        )
        return [name for (name,) in rows]

    def save_sums(self, sums: Iterable[Sequence[Any]]) -> None:
        """Replace the sums of machines, each with its dimension, day and name; call it inside a transaction."""
        connection = self._database.connection
        connection.execute("DELETE FROM fleet_sums")
        connection.executemany(f"INSERT OR REPLACE INTO fleet_sums VALUES (?, ?, ?{', ?' * len(SUM_NAMES)})", sums)

    def decisions(self) -> bytes:
        """Return what all copies share: alerts, their watch, what is to be told, what people said of them; as JSON."""
        tables = {
            name: self._database.rows(f"SELECT {', '.join(columns)} FROM {name}{condition} ORDER BY 1, 2")
            for name, (columns, condition) in _DECISIONS.items()
        }
        return msgspec.json.encode({**tables, "marks": self._database.rows(_MARKS)})

    def replace_decisions(self, content: bytes) -> None:
        """Replace what is here by what another copy decided; call it inside a transaction.

        Raises:
            InputError: it cannot be read; what is here stands.
        """
        try:
            with self._database.connection:
                self._replace(_decode_decisions(content))
                self._read_back()
        except _NOT_OURS as error:
            raise InputError("cannot read the fleet's decisions") from error

    def mark_errors(self) -> None:
        """Note what people said of errors that came in since; call it inside a transaction."""
        self._database.connection.execute(
            "UPDATE error_issues SET resolved_at = m.resolved_at, ignored_at = m.ignored_at FROM fleet_marks AS m"
            " WHERE m.fingerprint = error_issues.fingerprint"
        )
        self._database.connection.execute(
            "DELETE FROM fleet_marks WHERE fingerprint IN (SELECT fingerprint FROM error_issues)"
        )

    def _read_back(self) -> None:
        """Read all that came from elsewhere: no command may be the first that cannot."""
        alerts = Alerts(self._database)
        alerts.latest(-1)
        alerts.streams()
        alerts.position()
        alerts.silenced(datetime(_YEARS.start, 1, 1, tzinfo=UTC))

    def _replace(self, tables: dict[str, list[list[str | int | None]]]) -> None:
        connection = self._database.connection
        for name, (columns, condition) in _DECISIONS.items():
            if name in _SINCE_REPORTS and name not in tables:  # decided by an older version
                continue
            connection.execute(f"DELETE FROM {name}{condition}")
            connection.executemany(
                f"INSERT OR REPLACE INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                [_checked(columns, row) for row in tables[name]],
            )
        connection.execute(_UNMARK)
        connection.execute("DELETE FROM fleet_marks")
        connection.executemany(
            "INSERT OR REPLACE INTO fleet_marks (fingerprint, resolved_at, ignored_at) VALUES (?, ?, ?)",
            [_checked(_MARK, row) for row in tables["marks"]],
        )
        self.mark_errors()
        # What a round took up that did not come to be kept is taken up again.
        connection.execute(
            "UPDATE session_details SET watched = 0 WHERE watched"
            " AND (ended_at, session_id) > (SELECT ended_at, session_id FROM alert_position)"
        )


def _checked(columns: Sequence[str], row: Sequence[str | int | None]) -> Sequence[str | int | None]:
    """Return a row of another's making if each value is of its column.

    Raises:
        ValueError: it is not.
    """
    for column, value in zip(columns, row, strict=True):
        if value is not None and not _is_of(column, value):
            raise ValueError(column)
    return row


def _is_of(column: str, value: str | int) -> bool:
    if column in _NUMBERS:
        return isinstance(value, int) and 0 <= value < _LARGEST
    if not isinstance(value, str):
        return False
    if column in _MOMENTS or column.endswith("_at"):
        moment = datetime.fromisoformat(value)
        return moment.tzinfo is not None and moment.year in _YEARS
    return True
