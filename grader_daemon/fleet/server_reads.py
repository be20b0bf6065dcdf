"""The rows of all hosts, for whoever has a copy of them elsewhere, and what a person of the team says of them.

A host sends its rows in the order of its change feed, each batch with how far it is, so whoever has all up to a place
in that order lacks nothing: no clock is asked, and no place in an order that transactions of several hosts share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from uuid import uuid4

import psycopg
from psycopg.rows import class_row

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.feedback import FleetLabel, Said
from grader_daemon.domain.fleet_hosts import FleetHostState, FleetWatch, host_and_session
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import CallError, DeliveryError, GraderError, InputError
from grader_daemon.fleet.server_connection import Link, bound_waiting, server_time, translated
from grader_daemon.fleet.server_rows import read_grade, read_label, read_sign
from grader_daemon.fleet.server_schema import MEMBER_GROUP, check_version
from grader_daemon.fleet.server_sums import read_sums
from grader_daemon.fleet.server_watch import finite, leads, read_watch
from grader_daemon.fleet.server_writes import CHANNEL, LABEL_CHANNEL, LABEL_COLUMNS

_PROGRAM: Final = "grader-daemon fleet copy"
_MOST_BYTES: Final = 16 * 1024 * 1024
"""Of grades at once, of which one may have some megabytes."""
_NOT_SENT: Final = ("features", "unit_key")
_OF_THE_FUTURE: Final = "g.ended_at > g.received_at + interval '1 hour'"
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
    "graded_at": "coalesce(least(g.graded_at, g.received_at + interval '1 hour'), g.received_at)",
    "ended_at": f"CASE WHEN {_OF_THE_FUTURE} THEN g.received_at + interval '1 hour' ELSE g.ended_at END",
    "ended_on": f"CASE WHEN {_OF_THE_FUTURE} OR g.ended_on IS NULL THEN g.received_at::date ELSE g.ended_on END",
}
"""Columns that are not as a `Grade` has them; what is unknown of a session that was not scored says nothing there.

No session is of a time after it came in, whatever the clock of its host says.
"""
_FIELDS: Final = ", ".join(
    f"{_MADE.get(name, f'g.{name}')} AS {name}" for name in Grade.__struct_fields__ if name not in _NOT_SENT
)
_GRADES: Final = (
    "SELECT changed_seq, said, found FROM (SELECT g.changed_seq, said, count(*) OVER () AS found,"
    " sum(octet_length(said)) OVER (ORDER BY g.changed_seq {order}, g.session_id) - octet_length(said) AS before"
    " FROM (SELECT g.changed_seq, g.session_id, row_to_json(g)::text AS said"
    f" FROM (SELECT g.changed_seq, {_FIELDS} FROM grader.grades AS g"
    " WHERE g.host = %s AND g.changed_seq {behind} %s AND (%s::timestamptz IS NULL OR g.ended_at >= %s)"
    " ORDER BY g.changed_seq {order} LIMIT %s) AS g) AS g) AS g"
    f" WHERE before < {_MOST_BYTES} ORDER BY changed_seq {{order}}"
)
_NEWER: Final = _GRADES.replace("{order}", "ASC").replace("{behind}", ">").encode()
_OLDER: Final = _GRADES.replace("{order}", "DESC").replace("{behind}", "<=").encode()
_SIGNS: Final = (
    "SELECT json_build_object('fingerprint', fingerprint, 'tool', tool, 'command', command, 'category', category,"
    " 'subcategory', subcategory, 'signal', coalesce(signal, ''), 'example', coalesce(example, ''))::text"
    " FROM grader.error_issues WHERE host = %s AND fingerprint = ANY(%s)"
)
_BY: Final = "{0}.given_by || CASE WHEN {0}.said_on_host THEN '@' || {0}.host ELSE '' END"
"""Who said something: what came from a host is said there, whoever it says."""
_LABEL_FIELDS: Final = {
    "given_by": _BY.format("l"),
    "withdraws_by": f"coalesce((SELECT {_BY.format('o')} FROM grader.labels AS o WHERE o.host = l.host"
    " AND o.session_id = l.session_id AND o.given_by = l.withdraws_by AND o.given_at = l.withdraws), l.withdraws_by)",
}
_SELECT_LABELS: Final = "SELECT row_to_json(l)::text FROM (SELECT {} FROM grader.labels AS l WHERE {{}}) AS l".format(
    ", ".join(f"{_LABEL_FIELDS.get(name, f'l.{name}')} AS {name}" for name in LABEL_COLUMNS)
)
_WAITING: Final = f"{_SELECT_LABELS.format('l.taken_at IS NULL')} ORDER BY given_at".encode()
_LABELS: Final = f"{_SELECT_LABELS.format('%s::timestamptz IS NULL OR l.kept_at >= %s')} ORDER BY given_at".encode()
_MOST_NOTE: Final = 2_000
_DECISIONS: Final = b"SELECT decisions_version, decisions::text FROM grader.fleet WHERE decisions_version <> %s"
_NO_VERSION: Final = -1
_DECIDING_SECONDS: Final = 30
"""A round of the watch, which may wait for a receiver, ends within it."""
_OWN_NAME: Final = f"substr(current_user, {len(MEMBER_GROUP) + 2})"


class Decisions(NamedTuple):
    """Decisions, as `CopyTables.decisions` tells them, with their version; None before there were any."""

    version: int
    content: bytes | None


class SentGrade(NamedTuple):
    """A grade as its host sent it, and its place in the feed there; None: this version cannot read it."""

    seq: int
    grade: Grade | None


class SentGrades(NamedTuple):
    """Some grades of a host; is there more?"""

    grades: list[SentGrade]
    more: bool


class FleetRows:
    """The fleet's database in the hands of a person of the team; connects when it must."""

    def __init__(self, url: str) -> None:
        self._link = Link(url, program=_PROGRAM, begin=self._begin)
        self._id = uuid4()
        self._has_led = False
        self.unread_labels = 0
        """How many labels the last look passed over, because this version cannot read them."""

    def close(self) -> None:
        """Close the connection, and have another one lead; safe to call twice."""
        if self._has_led:
            self._has_led = False
            with suppress(GraderError), self._link.talking() as connection:  # the server has it wait for half a minute
                connection.execute("SELECT grader.stop_leading(%s)", (self._id,))
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

    def now(self) -> datetime:
        """Return the time by the clock of the server."""
        with self._link.talking() as connection:
            return server_time(connection)

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
                "SELECT host, left(user_name, 200) AS user, epoch, last_seq AS seq, left(version, 200) AS version,"
                f" {finite('last_seen')} FROM grader.hosts ORDER BY host"
            ).fetchall()

    def grades(self, host: str, *, after: int, limit: int, since: datetime | None = None) -> SentGrades:
        """Return grades of a host that changed behind a place in its feed, in order.

        Those of sessions that ended `since` then, by default all, with the ids of `domain.fleet_hosts.copied_id`.
        """
        return self._grades(_NEWER, host, after, limit, since)

    def older_grades(self, host: str, *, up_to: int, limit: int, since: datetime | None = None) -> SentGrades:
        """Return grades of a host that changed before and at a place in its feed, the newest first; see `grades`."""
        return self._grades(_OLDER, host, up_to, limit, since)

    def _grades(self, query: bytes, host: str, place: int, limit: int, since: datetime | None) -> SentGrades:
        with self._link.talking() as connection:
            rows = connection.execute(query, (host, place, since, since, limit)).fetchall()
        grades = [SentGrade(seq, read_grade(grade)) for seq, grade, _ in rows]
        return SentGrades(grades, more=bool(rows) and (rows[0][2] == limit or len(rows) < rows[0][2]))

    @contextmanager
    def sums(self, *, since: date | None) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Hand out what the machines counted by day, since a day or ever, for `CopyTables.save_sums`."""
        with self._link.talking() as connection, closing(read_sums(connection, since=since)) as sums:
            yield sums

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
        read = [read_sign(sign) for (sign,) in rows]
        return [sign for sign in read if sign is not None]

    def waiting_labels(self) -> list[FleetLabel]:
        """Return what people said of sessions, and their hosts did not take yet, in order."""
        with self._link.talking() as connection:
            return self._read_labels(connection.execute(_WAITING).fetchall())

    def labels(self, *, since: datetime | None) -> tuple[list[FleetLabel], datetime | None]:
        """Return what was said of sessions that came in since a moment, or ever, in order, and when the last did."""
        with self._link.talking() as connection:
            found = connection.execute(_LABELS, (since, since)).fetchall()
            [newest] = connection.execute(
                "SELECT max(kept_at) FROM grader.labels WHERE kept_at <= now() + interval '1 hour'"
            ).fetchone() or (None,)
        return self._read_labels(found), newest

    def _read_labels(self, rows: Sequence[tuple[str]]) -> list[FleetLabel]:
        read = [read_label(row) for (row,) in rows]
        labels = [label for label in read if label is not None]
        self.unread_labels = len(read) - len(labels)
        return labels

    def say(self, said: Sequence[Said], *, withdraws: Sequence[datetime | None]) -> list[FleetLabel]:
        """Keep what the person of this login says of sessions; their hosts are told. All of it, or nothing.

        `withdraws` is for each when they said what they take back by it.

        Raises:
            DeliveryError: the server is away.
            CallError: it refuses.
            InputError: a note is too long.
        """
        insert = (
            "INSERT INTO grader.labels (host, session_id, given_by, completed, quality, note, withdraws, withdraws_by)"
            f" VALUES (%s, %s, {_OWN_NAME}, %s, %s, %s, %s, CASE WHEN %s THEN {_OWN_NAME} END)"
            f" RETURNING {', '.join(LABEL_COLUMNS)}"
        ).encode()
        if any(len(each.note or "") > _MOST_NOTE for each in said):
            raise InputError(f"a note for a fleet has at most {_MOST_NOTE:,} characters")
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
                raise DeliveryError("somebody else is changing the fleet's alerts; try again") from error
            decided = _read_decisions(connection, but=_NO_VERSION)
            assert decided is not None
            yield decided

    def decide(self, content: bytes) -> int:
        """Keep what is decided now; returns its version. Call it inside `deciding`."""
        with self._link.talking() as connection:
            [version] = connection.execute(
                "UPDATE grader.fleet SET decisions = %s::jsonb RETURNING decisions_version", (content.decode(),)
            ).fetchone() or (0,)
        return int(version)

    def leads(self) -> bool:
        """Note that this watch is there; returns whether it is the one that works."""
        with self._link.talking() as connection:
            self._has_led = leads(connection, self._id)
        return self._has_led

    def note_work(self) -> None:
        """Note that the one that works came to an end with all it does."""
        with self._link.talking() as connection:
            connection.execute("SELECT grader.note_work(%s)", (self._id,))

    def watch(self) -> FleetWatch:
        """Return who watches the fleet."""
        with self._link.talking() as connection:
            return read_watch(connection)

    def wait(self, seconds: float) -> None:
        """Wait until a host sent something, at most so long.

        Raises:
            DeliveryError: the server is away.
        """
        with self._link.talking() as connection:
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass

    def _begin(self, connection: psycopg.Connection) -> None:
        with translated():
            bound_waiting(connection)
            check_version(connection)
            [is_member] = connection.execute(
                "SELECT starts_with(current_user, %s)", (f"{MEMBER_GROUP}_",)
            ).fetchone() or (False,)
            if not is_member:
                raise CallError(
                    "the login in fleet_read_url may not read grades, because it is not a member's. The fleet's"
                    " administrator can create one: grader-daemon fleet add-member NAME"
                )
            connection.execute("SET timezone = 'UTC'")
            connection.execute(f"LISTEN {CHANNEL}".encode())


def _read_decisions(connection: psycopg.Connection, *, but: int) -> Decisions | None:
    row = connection.execute(_DECISIONS, (but,)).fetchone()
    return None if row is None else Decisions(row[0], None if row[1] is None else row[1].encode())
