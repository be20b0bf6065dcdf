"""Alerts, and the state of the watch that raises them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from grader_daemon.domain.alert import (
    Alert,
    AlertKind,
    AlertLevel,
    Decomposition,
    Observation,
    ShareChange,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupChange
from grader_daemon.errors import NotFoundError
from grader_daemon.storage.records import Position
from grader_daemon.storage.sqlite.columns import Column, Columns
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import (
    HAS_SCORES,
    PERSONS_TASK,
    ended_badly_of,
    known_moment,
    to_flag,
    to_json,
    to_moment,
    to_text,
    to_tools,
)

_ALERT = Columns(
    Column("kind", None, AlertKind),
    Column("level", None, AlertLevel),
    Column("rule"),
    Column("drops", to_json, msgspec.json.Decoder(tuple[StreamDrop, ...]).decode),
    Column("sessions", to_json, msgspec.json.Decoder(tuple[str, ...]).decode),
    Column("changes", to_json, msgspec.json.Decoder(tuple[ShareChange, ...]).decode),
    Column("decomposition", to_json, msgspec.json.Decoder(Decomposition).decode),
    Column("opened_at", to_text, known_moment),
    Column("began_at", to_text, known_moment),
    Column("resolved_at", to_text, to_moment),
    Column("acknowledged_at", to_text, to_moment),
    Column("note"),
    Column("told", None, bool),
    Column("setup_change", to_json, msgspec.json.Decoder(SetupChange).decode),
)
ALERT_COLUMNS = _ALERT.names
_INSERT_ALERT = f"INSERT INTO alerts ({', '.join(ALERT_COLUMNS)}) VALUES ({', '.join('?' * len(ALERT_COLUMNS))})"
_UPDATE_ALERT = f"UPDATE alerts SET {', '.join(f'{column} = ?' for column in ALERT_COLUMNS)} WHERE id = ?"
_SELECT_ALERTS = f"SELECT id, {', '.join(ALERT_COLUMNS)} FROM alerts"
_IS_SCHEDULED = f"coalesce(d.kind, '') = '{SessionKind.CRON}'"
_OBSERVATION = (
    f"SELECT d.session_id, d.ended_at, d.ended_on, d.task_type, g.model, g.platform, {ended_badly_of('d')},"
    f" iif({HAS_SCORES}, g.tool_calls_efficient, NULL), iif({HAS_SCORES}, g.response_quality, NULL),"
    " d.tool_calls, g.total_errors, d.tools, d.agent,"
    f" d.fleet_host, {_IS_SCHEDULED}, d.job"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    f" WHERE d.state <> 'open' AND d.scored AND ({PERSONS_TASK} OR {_IS_SCHEDULED})"
)
_LARGEST_NUMBER = 2**63 - 1
_KNOWN_STREAMS = " AND ".join(
    f"{column} IN ({', '.join(repr(member.value) for member in known)})"
    for column, known in (("metric", Metric), ("dimension", Dimension))
)


class Alerts(Table):
    """Alerts, the watch on degradation (how far it has read, the state of its detectors), and silences."""

    # -- alerts ----------------------------------------------------------------------------------------------------

    def add(self, alert: Alert) -> Alert:
        """Keep a new alert; returns it with its number."""
        connection = self._database.connection
        connection.execute(_INSERT_ALERT, _ALERT.row(alert))
        return msgspec.structs.replace(alert, number=connection.last_insert_rowid())

    def replace(self, alert: Alert) -> None:
        """Keep what became of an alert."""
        self._database.connection.execute(_UPDATE_ALERT, (*_ALERT.row(alert), alert.number))

    def open(self) -> list[Alert]:
        """Alerts that are not resolved, the newest first."""
        return self._alerts("WHERE resolved_at IS NULL ORDER BY opened_at DESC, id DESC")

    def latest(self, limit: int) -> list[Alert]:
        """Return the newest alerts, open or not."""
        return self._alerts("ORDER BY opened_at DESC, id DESC LIMIT ?", limit)

    def between(self, since: datetime, until: datetime) -> list[Alert]:
        """Alerts that were open at some time from `since` until before `until`, the oldest first."""
        return self._alerts(
            "WHERE opened_at < ? AND (resolved_at IS NULL OR resolved_at >= ?) ORDER BY opened_at, id",
            to_text(until),
            to_text(since),
        )

    def find(self, number: int) -> Alert:
        """Return one alert.

        Raises:
            InputError: there is none of this number.
        """
        found = self._alerts("WHERE id = ?", number) if 0 < number <= _LARGEST_NUMBER else []
        if not found:
            raise NotFoundError(f"there is no alert {number}")
        return found[0]

    # -- the watch -------------------------------------------------------------------------------------------------

    def streams(self) -> dict[Stream, bytes]:
        """The state of each detector, as JSON, but for those of metrics that only another version knows."""
        rows = self._database.rows(f"SELECT metric, dimension, name, state FROM alert_streams WHERE {_KNOWN_STREAMS}")
        return {Stream(Metric(row[0]), Dimension(row[1]), row[2]): row[3].encode() for row in rows}

    def save_streams(self, states: Mapping[Stream, bytes], *, gone: Collection[Stream]) -> None:
        """Keep the state of detectors, and forget those of `gone`."""
        self._database.connection.executemany(
            "DELETE FROM alert_streams WHERE metric = ? AND dimension = ? AND name = ?",
            [(stream.metric, stream.dimension, stream.name) for stream in sorted(gone)],
        )
        self._database.connection.executemany(
            "INSERT OR REPLACE INTO alert_streams (metric, dimension, name, state) VALUES (?, ?, ?, ?)",
            [(stream.metric, stream.dimension, stream.name, states[stream].decode()) for stream in sorted(states)],
        )

    def forget(self, metric: Metric) -> None:
        """Have the detectors of a metric begin anew, because it is measured in another way from now on."""
        self._database.connection.execute("DELETE FROM alert_streams WHERE metric = ?", (metric,))

    def position(self) -> Position | None:
        """Return how far the watch has read; None before it began."""
        rows = self._database.rows("SELECT ended_at, session_id FROM alert_position")
        return Position(known_moment(rows[0][0]), rows[0][1]) if rows else None

    def watched_from(self) -> datetime | None:
        """Return when the watch began; None before it began, and where that was not noted."""
        rows = self._database.rows("SELECT watched_from FROM alert_position")
        return to_moment(rows[0][0]) if rows else None

    def begin(self, position: Position, *, now: datetime) -> None:
        """Note that the watch begins now, and reads from a position on."""
        self._database.connection.execute(
            "INSERT OR REPLACE INTO alert_position (id, ended_at, session_id, watched_from) VALUES (1, ?, ?, ?)",
            (to_text(position.ended_at), position.session_id, to_text(now)),
        )

    def last_watched(self, until: datetime) -> Position | None:
        """Return the newest session that the watch has seen, of those that ended up to `until`."""
        rows = self._database.rows(
            "SELECT ended_at, session_id FROM session_details WHERE watched AND ended_at <= ?"
            " ORDER BY ended_at DESC, session_id DESC LIMIT 1",
            (to_text(until),),
        )
        return Position(known_moment(rows[0][0]), rows[0][1]) if rows else None

    def advance(self, position: Position, seen: Sequence[Observation]) -> None:
        """Note how far the watch has read, and which sessions it saw: one that is resumed does not count again."""
        self._database.connection.execute(
            "UPDATE alert_position SET ended_at = ?, session_id = ?", (to_text(position.ended_at), position.session_id)
        )
        self._database.connection.executemany(
            "UPDATE session_details SET watched = 1 WHERE session_id = ?", [(each.session_id,) for each in seen]
        )

    def unseen(self, after: Position, *, until: datetime, limit: int) -> list[Observation]:
        """Return finished sessions with scores that ended after a position and not after `until`, in order.

        These are tasks of persons and runs that a schedule began. Those seen before are left out.
        """
        return self._observations(
            " AND (d.ended_at, d.session_id) > (?, ?) AND d.ended_at <= ? AND NOT d.watched"
            " ORDER BY d.ended_at, d.session_id LIMIT ?",
            to_text(after.ended_at),
            after.session_id,
            to_text(until),
            limit,
        )

    def ended(self, *, since: datetime, until: datetime, limit: int, scheduled: bool = False) -> list[Observation]:
        """Return the newest finished sessions with scores that ended from `since` until before `until`, in order.

        Tasks of persons, or `scheduled` runs.
        """
        found = self._observations(
            f" AND d.ended_at >= ? AND d.ended_at < ? AND {_IS_SCHEDULED if scheduled else PERSONS_TASK}"
            " ORDER BY d.ended_at DESC, d.session_id DESC LIMIT ?",
            to_text(since),
            to_text(until),
            limit,
        )
        return found[::-1]

    # -- silences --------------------------------------------------------------------------------------------------

    def silence(self, streams: Sequence[Stream], until: datetime) -> None:
        """Note that nothing is told of these streams until then."""
        self._database.connection.executemany(
            "INSERT OR REPLACE INTO alert_silences (metric, dimension, name, until) VALUES (?, ?, ?, ?)",
            [(stream.metric, stream.dimension, stream.name, to_text(until)) for stream in streams],
        )

    def unsilence(self, streams: Sequence[Stream]) -> None:
        """Note that these streams are told of again."""
        self._database.connection.executemany(
            "DELETE FROM alert_silences WHERE metric = ? AND dimension = ? AND name = ?",
            [(stream.metric, stream.dimension, stream.name) for stream in streams],
        )

    def silenced(self, now: datetime) -> dict[Stream, datetime]:
        """Streams of which nothing is told, and until when."""
        rows = self._database.rows(
            f"SELECT metric, dimension, name, until FROM alert_silences WHERE until > ? AND {_KNOWN_STREAMS}",
            (to_text(now),),
        )
        return {Stream(Metric(row[0]), Dimension(row[1]), row[2]): known_moment(row[3]) for row in rows}

    def _alerts(self, rest: str, *values: Any) -> list[Alert]:
        rows = self._database.rows(f"{_SELECT_ALERTS} {rest}", values)
        return [Alert(number=number, **_ALERT.fields(held)) for number, *held in rows]

    def _observations(self, rest: str, *values: Any) -> list[Observation]:
        return [_to_observation(row) for row in self._database.rows(f"{_OBSERVATION}{rest}", values)]


def _to_observation(row: Sequence[Any]) -> Observation:
    return Observation(
        session_id=row[0],
        ended_at=known_moment(row[1]),
        ended_on=row[2] or row[1][:10],
        task_type=row[3],
        model=row[4],
        platform=row[5],
        ended_badly=to_flag(row[6]),
        efficiency=row[7],
        quality=row[8],
        tool_calls=row[9],
        failures=row[10],
        tools=to_tools(row[11]),
        agent=row[12],
        host=row[13],
        scheduled=bool(row[14]),
        job=row[15],
    )
