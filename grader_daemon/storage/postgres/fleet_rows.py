"""The rows of all hosts, for whoever has a copy of them elsewhere, and what a person of the team says of them.

A host sends its rows in the order of its change feed, each batch with how far it is, so whoever has all up to a place
in that order lacks nothing: no clock is asked, and no place in an order that transactions of several hosts share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
import psycopg
from psycopg.rows import class_row

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.feedback import FleetLabel, Said
from grader_daemon.domain.fleet_hosts import FleetHostState, host_and_session
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.storage.postgres.connection import Link, translated
from grader_daemon.storage.postgres.host_rows import CHANNEL, LABEL_CHANNEL, LABEL_COLUMNS, SELECT_LABELS
from grader_daemon.storage.postgres.schema import MEMBER_GROUP, check_version

_PROGRAM: Final = "grader-daemon fleet copy"
_WATCH_LOCK: Final = 0x77617463  # "watc": who has it raises the alerts of the fleet
_NOT_SENT: Final = ("features", "unit_key")
_MADE: Final = {
    "session_id": "g.host || '/' || g.session_id",
    "asked_again": "g.host || '/' || g.asked_again",
    "parent": "g.host || '/' || g.parent",
    "session_file": "coalesce(g.session_file, '')",
    "task_completed": "coalesce(g.task_completed, false)",
    "tool_calls_efficient": "coalesce(g.tool_calls_efficient, 1)",
    "response_quality": "coalesce(g.response_quality, 1)",
    "errors_recovered": "coalesce(g.errors_recovered, false)",
    "wording": "encode(g.wording, 'base64')",
}
"""Columns that are not as a `Grade` has them; what is unknown of a session that was not scored says nothing there."""
_FIELDS: Final = ", ".join(
    f"{_MADE.get(name, f'g.{name}')} AS {name}" for name in Grade.__struct_fields__ if name not in _NOT_SENT
)
_GRADES: Final = (
    f"SELECT changed_seq, row_to_json(g)::text FROM (SELECT g.changed_seq, {_FIELDS} FROM grader.grades AS g"
    " WHERE g.host = %s AND g.changed_seq > %s AND (%s::timestamptz IS NULL OR g.ended_at >= %s)"
    " ORDER BY g.changed_seq LIMIT %s) AS g"
).encode()
_SIGNS: Final = (
    "SELECT json_build_object('fingerprint', fingerprint, 'tool', tool, 'command', command, 'category', category,"
    " 'subcategory', subcategory, 'signal', coalesce(signal, ''), 'example', coalesce(example, ''))::text"
    " FROM grader.error_issues WHERE host = %s AND fingerprint = ANY(%s)"
)
_LABELS: Final = f"{SELECT_LABELS} WHERE %s::timestamptz IS NULL OR kept_at >= %s ORDER BY given_at".encode()
_decode_grade: Final = msgspec.json.Decoder(Grade).decode
_decode_sign: Final = msgspec.json.Decoder(ErrorSign).decode
_DECISIONS: Final = b"SELECT decisions_version, decisions::text FROM grader.fleet WHERE decisions_version <> %s"
_NO_VERSION: Final = -1
_DECIDING_SECONDS: Final = 30
"""A round of the watch, which may wait for a receiver, ends within it."""
_OWN_NAME: Final = f"substr(current_user, {len(MEMBER_GROUP) + 2})"


class Decisions(NamedTuple):
    """What was decided, as `FleetCopies.decisions` says it, by its version; None before anything was."""

    version: int
    content: bytes | None


class SentGrade(NamedTuple):
    """A grade as its host sent it, and its place in the feed there; None: this version cannot read it."""

    seq: int
    grade: Grade | None


class FleetRows:
    """The fleet's database in the hands of a person of the team; connects when it must."""

    def __init__(self, url: str) -> None:
        self._link = Link(url, program=_PROGRAM, begin=self._begin)
        self._is_leader = False

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._link.close()

    def name(self) -> str:
        """Return what names the fleet for ever.

        Raises: here and below
            DeliveryError: the server is away.
            CallError: the login is no person's.
            StoreError: the schema is not of this version.
        """
        with self._link.talking() as connection:
            [name] = connection.execute("SELECT name::text FROM grader.fleet").fetchone() or ("",)
        return str(name)

    def person(self) -> str:
        """Return as whom this login says something."""
        with self._link.talking() as connection:
            [name] = connection.execute(f"SELECT {_OWN_NAME}".encode()).fetchone() or ("",)
        return str(name)

    def hosts(self) -> list[FleetHostState]:
        """Return the hosts by name, each with how far its rows are there."""
        with self._link.talking() as connection:
            cursor = connection.cursor(row_factory=class_row(FleetHostState))
            return cursor.execute(
                "SELECT host, user_name AS user, epoch, last_seq AS seq, version, last_seen"
                " FROM grader.hosts ORDER BY host"
            ).fetchall()

    def grades(self, host: str, *, after: int, limit: int, since: datetime | None = None) -> list[SentGrade]:
        """Return grades of a host that changed behind a place in its feed, in order.

        Those of sessions that ended `since` then, by default all, with the ids of `domain.fleet_hosts.copied_id`.
        """
        with self._link.talking() as connection:
            rows = connection.execute(_GRADES, (host, after, since, since, limit)).fetchall()
        return [SentGrade(seq, _read_grade(grade)) for seq, grade in rows]

    def removed(self, host: str, *, after: int, up_to: int | None) -> list[str]:
        """Return the ids of sessions of a host, as it has them, that were removed between places in its feed.

        Those behind `after` up to and with `up_to`, None: the end.
        """
        with self._link.talking() as connection:
            rows = connection.execute(
                "SELECT session_id FROM grader.removals"
                " WHERE host = %s AND changed_seq > %s AND (%s::bigint IS NULL OR changed_seq <= %s)",
                (host, after, up_to, up_to),
            ).fetchall()
        return [name for (name,) in rows]

    def signs(self, host: str, fingerprints: Collection[str]) -> list[ErrorSign]:
        """Return what those of some errors of a host look like that it told of; what they say may be empty."""
        with self._link.talking() as connection:
            rows = connection.execute(_SIGNS, (host, list(fingerprints))).fetchall()
        return [_decode_sign(sign) for (sign,) in rows]

    def waiting_labels(self) -> list[FleetLabel]:
        """Return what people said of sessions, and their hosts did not take yet, in order."""
        with self._link.talking() as connection:
            cursor = connection.cursor(row_factory=class_row(FleetLabel))
            return cursor.execute(f"{SELECT_LABELS} WHERE taken_at IS NULL ORDER BY given_at".encode()).fetchall()

    def labels(self, *, since: datetime | None) -> tuple[list[FleetLabel], datetime | None]:
        """Return what was said of sessions that came in since a moment, or ever, in order, and when the last did."""
        with self._link.talking() as connection:
            cursor = connection.cursor(row_factory=class_row(FleetLabel))
            found = cursor.execute(_LABELS, (since, since)).fetchall()
            [newest] = connection.execute("SELECT max(kept_at) FROM grader.labels").fetchone() or (None,)
        return found, newest

    def say(self, said: Sequence[Said], *, withdraws: Sequence[datetime | None]) -> list[FleetLabel]:
        """Keep what the person of this login says of sessions; their hosts are told. All of it, or nothing.

        `withdraws` is for each when they said what they take back by it.

        Raises:
            DeliveryError: the server is away.
            CallError: it refuses.
        """
        insert = (
            "INSERT INTO grader.labels (host, session_id, given_by, completed, quality, note, withdraws, withdraws_by)"
            f" VALUES (%s, %s, {_OWN_NAME}, %s, %s, %s, %s, CASE WHEN %s THEN {_OWN_NAME} END)"
            f" RETURNING {', '.join(LABEL_COLUMNS)}"
        ).encode()
        kept: list[FleetLabel] = []
        with self._link.talking() as connection, connection.transaction():
            cursor = connection.cursor(row_factory=class_row(FleetLabel))
            for each, taken_back in zip(said, withdraws, strict=True):
                host, session_id = host_and_session(each.session_id)
                values = (host, session_id, each.completed, each.quality, each.note, taken_back, taken_back is not None)
                kept += cursor.execute(insert, values).fetchall()
            for host in sorted({label.host for label in kept}):
                connection.execute("SELECT pg_notify(%s, %s)", (LABEL_CHANNEL, host))
        return kept

    def decisions(self, *, but: int) -> Decisions | None:
        """Return what was decided; None where it is of the version `but`."""
        with self._link.talking() as connection:
            return _read_decisions(connection, but=but)

    @contextmanager
    def deciding(self) -> Iterator[Decisions]:
        """Hand out what was decided; nobody else decides meanwhile. `decide` inside changes it.

        Raises:
            DeliveryError: the server is away, or somebody else does not come to an end.
        """
        with self._link.talking() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{_DECIDING_SECONDS}s'".encode())
            try:
                connection.execute("SELECT 1 FROM grader.fleet FOR UPDATE")
            except psycopg.errors.LockNotAvailable as error:
                raise DeliveryError("somebody else decides on alerts of the fleet; try again") from error
            decided = _read_decisions(connection, but=_NO_VERSION)
            assert decided is not None
            yield decided

    def decide(self, content: bytes) -> int:
        """Keep what is decided now; returns its version. Call it inside `deciding`."""
        with self._link.talking() as connection:
            [version] = connection.execute(
                "UPDATE grader.fleet SET decisions = %s::jsonb, decisions_version = decisions_version + 1"
                " RETURNING decisions_version",
                (content.decode(),),
            ).fetchone() or (0,)
        return int(version)

    def leads(self) -> bool:
        """Whether this connection is the one that watches the fleet: the first that asked, while it lasts."""
        with self._link.talking() as connection:
            if not self._is_leader:
                [self._is_leader] = connection.execute(
                    "SELECT pg_try_advisory_lock(%s)", (_WATCH_LOCK,)
                ).fetchone() or (False,)
        return self._is_leader

    def wait(self, seconds: float) -> None:
        """Wait until a host sent something, at most so long.

        Raises:
            DeliveryError: the server is away.
        """
        with self._link.talking() as connection:
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass

    def _begin(self, connection: psycopg.Connection) -> None:
        self._is_leader = False
        with translated():
            check_version(connection)
            [is_member] = connection.execute(
                "SELECT starts_with(current_user, %s)", (f"{MEMBER_GROUP}_",)
            ).fetchone() or (False,)
            if not is_member:
                raise CallError(
                    "the login of fleet_read_url is no person's; its administrator runs: grader-daemon fleet add-member"
                )
            connection.execute("SET timezone = 'UTC'")
            connection.execute(f"LISTEN {CHANNEL}".encode())


def _read_grade(row: str) -> Grade | None:
    try:
        return _decode_grade(row)
    except msgspec.MsgspecError:  # another version knows more kinds of something, or it is not of our making
        return None


def _read_decisions(connection: psycopg.Connection, *, but: int) -> Decisions | None:
    row = connection.execute(_DECISIONS, (but,)).fetchone()
    return None if row is None else Decisions(row[0], None if row[1] is None else row[1].encode())
