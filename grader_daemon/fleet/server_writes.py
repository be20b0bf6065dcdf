"""Rows that one host sends, each batch in one transaction with how far it is; and what people say of them.

The server says how far it has taken them, in the transaction that did, so an interrupted batch is there whole or not
at all; clocks decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from time import monotonic, sleep
from typing import Any, Final

import psycopg
from psycopg.rows import class_row

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.feedback import FleetLabel
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.fleet.server_connection import Link, bound_waiting, connect, translated
from grader_daemon.fleet.server_schema import HOST_GROUP, check_version
from grader_daemon.fleet.server_sums import NO_DAYS, SummedDays, read_revisions, write_days

CHANNEL: Final = "grader_grades"
"""Where a host is named after each batch of it (LISTEN)."""
LABEL_CHANNEL: Final = "grader_labels"
"""Where a host is named of whose sessions somebody said something."""
_PROGRAM: Final = "grader-daemon push"
_PATIENCE_SECONDS: Final = 2.0
"""The server may see for a moment what has ended."""
_GIVEN_UP_BY: Final = ("keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout")
_OWN_NAME: Final = f"substr(current_user, {len(HOST_GROUP) + 2})"
_OWN: Final = f"host = {_OWN_NAME}"
_SIGN: Final = ("fingerprint", "tool", "command", "category", "subcategory", "signal", "example")
_SAVE_SIGNS: Final = (
    f"INSERT INTO grader.error_issues AS known (host, {', '.join(_SIGN)})"
    f" SELECT %s, * FROM unnest(%s::text[]{', %s::text[]' * (len(_SIGN) - 1)})"
    " ON CONFLICT (host, fingerprint) DO UPDATE SET"
    " subcategory = excluded.subcategory, signal = excluded.signal, example = excluded.example"
    " WHERE (known.subcategory, known.signal, known.example)"
    " IS DISTINCT FROM (excluded.subcategory, excluded.signal, excluded.example)"
).encode()
"""Batch after batch tells of the same errors: one statement, which leaves known ones as they are."""
LABEL_COLUMNS: Final = FleetLabel.__struct_fields__
SELECT_LABELS: Final = f"SELECT {', '.join(LABEL_COLUMNS)} FROM grader.labels"
_SEND_LABEL: Final = (
    f"INSERT INTO grader.labels ({', '.join(LABEL_COLUMNS)})"
    f" VALUES (%s{', %s' * (len(LABEL_COLUMNS) - 1)}) ON CONFLICT DO NOTHING"
).encode()


class HostRows:
    """The rows of one host in the fleet's database; connects when it must, again after it was cut off."""

    def __init__(
        self, url: str, *, columns: Sequence[str], machine: str, version: str, clock: Callable[[], datetime]
    ) -> None:
        """`columns` are those of the rows, `machine` is who we are: the same for no two."""
        self._link = Link(url, program=_PROGRAM, begin=self._begin)
        self._machine = machine
        self._version = version
        self._clock = clock
        self._host = ""
        self._taken = 0
        self._labels_sent = 0
        self._summed: dict[date, int] = {}
        self._has_looked_for_labels = False
        names = (*columns, "changed_seq")
        told = ", ".join(names)
        self._copy = f"COPY pg_temp.batch (host, {told}) FROM STDIN".encode()
        self._finish = (
            f"INSERT INTO grader.grades (host, {told}) SELECT host, {told} FROM pg_temp.batch"
            " ON CONFLICT (host, session_id) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in names if name != "session_id")
            + "; SELECT grader.have_sessions(array(SELECT session_id FROM pg_temp.batch));"
            f" SELECT pg_notify('{CHANNEL}', {_OWN_NAME})"
        ).encode()
        """Statements that are sent at once: a server may be far away."""

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._link.close()

    def taken(self) -> int:
        """Return up to where in its feed the server has the rows of this host.

        Raises:
            DeliveryError: the server is away, or another program pushes as this host right now.
            CallError: the login is no host's, or that of another machine.
            StoreError: the schema is not of this version.
        """
        self._link.connected()
        return self._taken

    def summed(self) -> Mapping[date, int]:
        """Return the state of each day of which the server has sums of this host; raises as `taken` does."""
        self._link.connected()
        return self._summed

    def take_over(self) -> None:
        """From now on this machine is the host, whichever was before.

        Raises:
            DeliveryError: the server is away.
            CallError: the login is no host's.
        """
        self.close()
        with translated(), connect(self._link.url, program=_PROGRAM) as connection:
            connection.execute(
                "UPDATE grader.hosts SET machine = %s, last_seq = 0, labels_sent = 0, other_machine_at = NULL"
                f" WHERE {_OWN}".encode(),
                (self._machine,),
            )

    def save(
        self,
        rows: Sequence[Sequence[Any]],
        gone: Sequence[str],
        *,
        after: int,
        seq: int,
        newest: int,
        signs: Sequence[ErrorSign] = (),
        days: SummedDays = NO_DAYS,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Write rows in the place of those of the same sessions, and remove those of sessions that are `gone`.

        They are what changed `after` a number of the feed up to and with `seq`; what begins at 0 is all there is. What
        begins before what was taken already is of a feed that was set back: whoever copies the rows reads all anew.
        `signs` are what the errors in the rows look like, `days` the sums of days on which something changed.
        `meanwhile` is called when the server has all rows.

        Raises:
            DeliveryError: it was not taken now.
            CallError: it was refused, and will be again.
        """
        with self._link.talking() as connection, connection.transaction():
            self._advance(connection, seq=seq, newest=newest, begins_anew=after == 0 or after < self._taken)
            if gone or after == 0:
                _remove(connection, gone, seq=seq, everything=after == 0)
            with connection.cursor() as cursor, cursor.copy(self._copy) as copy:
                for row in rows:
                    copy.write_row((self._host, *row))
                meanwhile()
            if signs:
                told = [[getattr(sign, name) or None for sign in signs] for name in _SIGN]
                connection.execute(_SAVE_SIGNS, (self._host, *told))
            write_days(connection, self._host, days)
            connection.execute(self._finish)
        self._taken = seq
        self._summed = {**({} if after == 0 else self._summed), **days.revisions}

    def greet(self, *, newest: int) -> None:
        """Report that this host is there, and has nothing to send.

        Raises:
            DeliveryError: the server is away.
        """
        with self._link.talking() as connection:
            self._advance(connection, seq=self._taken, newest=newest, begins_anew=False)
            self._has_looked_for_labels = False

    def labels(self) -> list[FleetLabel]:
        """Return what people of the team said of this host's sessions, and was not taken yet, in order.

        The server is asked when it told of something, after `greet`, and first.

        Raises:
            DeliveryError: the server is away.
        """
        with self._link.talking() as connection:
            told = [note for note in connection.notifies(timeout=0) if note.payload == self._host]
            if self._has_looked_for_labels and not told:
                return []
            cursor = connection.cursor(row_factory=class_row(FleetLabel))
            found = cursor.execute(
                f"{SELECT_LABELS} WHERE taken_at IS NULL AND {_OWN} ORDER BY given_at".encode()
            ).fetchall()
            self._has_looked_for_labels = True
        return found

    def labels_sent(self) -> int:
        """Return up to which number what was said on this host is there; raises as `taken` does."""
        self._link.connected()
        return self._labels_sent

    def send_labels(self, labels: Sequence[FleetLabel], *, up_to: int) -> None:
        """Send what was said on this host, up to and with a number.

        Raises:
            DeliveryError: the server is away.
        """
        rows = [[self._host, *(getattr(label, name) for name in LABEL_COLUMNS[1:])] for label in labels]
        with self._link.talking() as connection, connection.transaction():
            with connection.cursor() as cursor:
                cursor.executemany(_SEND_LABEL, rows)
            connection.execute(f"UPDATE grader.hosts SET labels_sent = %s WHERE {_OWN}".encode(), (up_to,))
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._host))
        self._labels_sent = up_to

    def note_taken(self, labels: Sequence[FleetLabel]) -> None:
        """Note that what people said is in the database of this host.

        Raises:
            DeliveryError: the server is away.
        """
        with self._link.talking() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE grader.labels SET taken_at = clock_timestamp()"
                " WHERE host = %s AND session_id = %s AND given_by = %s AND given_at = %s",
                [(label.host, label.session_id, label.given_by, label.given_at) for label in labels],
            )

    def _advance(self, connection: psycopg.Connection, *, seq: int, newest: int, begins_anew: bool) -> None:
        """Note how far this host is, if nobody else did since we looked.

        One that begins anew sends again what was said there: the numbers of that begin anew, too.
        """
        labels_sent = 0 if begins_anew else self._labels_sent
        known = (self._host, self._machine, self._taken)
        done = connection.execute(
            "UPDATE grader.hosts SET last_seq = %s, newest_seq = %s, version = %s, epoch = epoch + %s::int,"
            " clock_ahead = extract(epoch FROM %s::timestamptz - clock_timestamp()), labels_sent = %s"
            " WHERE host = %s AND machine = %s AND last_seq = %s",
            (seq, newest, self._version, begins_anew, self._clock(), labels_sent, *known),
        )
        if done.rowcount != 1:
            raise DeliveryError(f"another program sends as host {self._host}, or the host was removed")
        self._labels_sent = labels_sent

    def _begin(self, connection: psycopg.Connection) -> None:
        with translated():
            _be_given_up_as_soon(connection)
            bound_waiting(connection)
            check_version(connection)
            found = connection.execute(
                f"SELECT host, machine, last_seq, labels_sent FROM grader.hosts WHERE {_OWN}".encode()
            ).fetchone()
            if found is None:
                raise CallError(
                    "the login in fleet_url may not send grades, because it is not a machine's. The fleet's"
                    " administrator can create one: grader-daemon fleet add-host NAME"
                )
            self._host, machine, self._taken, self._labels_sent = found
            self._refuse_others(connection, machine)
            self._summed = read_revisions(connection, self._host)
            connection.execute(
                "CREATE TEMPORARY TABLE batch (LIKE grader.grades INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"
            )
            connection.execute(f"LISTEN {LABEL_CHANNEL}".encode())
            self._has_looked_for_labels = False

    def _refuse_others(self, connection: psycopg.Connection, machine: str | None) -> None:
        """See that no other machine has this login: of two, each would undo what the other did."""
        if machine is None:
            connection.execute(
                f"UPDATE grader.hosts SET machine = %s WHERE machine IS NULL AND {_OWN}".encode(), (self._machine,)
            )
        elif machine != self._machine:
            connection.execute(f"UPDATE grader.hosts SET other_machine_at = now() WHERE {_OWN}".encode())
            raise CallError(
                f"another machine or database sends as host {self._host}: create a login for this one (fleet"
                " add-host), or let it replace the other one (fleet push --take-over)"
            )
        patience = monotonic() + _PATIENCE_SECONDS
        while self._is_another_there(connection):
            if monotonic() > patience:
                raise DeliveryError(f"another program sends as host {self._host} right now")
            sleep(0.05)

    @staticmethod
    def _is_another_there(connection: psycopg.Connection) -> bool:
        others = connection.execute(
            "SELECT 1 FROM pg_catalog.pg_stat_activity"
            " WHERE usename = current_user AND application_name = %s AND pid <> pg_backend_pid() LIMIT 1",
            (_PROGRAM,),
        )
        return others.fetchone() is not None


def _remove(connection: psycopg.Connection, gone: Sequence[str], *, seq: int, everything: bool) -> None:
    connection.execute("SELECT grader.remove_sessions(%s::text[], %s, %s)", (list(gone), everything, seq))


def _be_given_up_as_soon(connection: psycopg.Connection) -> None:
    """Have the server give up a connection that is cut off as soon as we do.

    By itself it may take hours: a machine that came back from another network would be taken for two until then.
    """
    ours = connection.info.get_parameters()
    given = {f"tcp_{name.removeprefix('tcp_')}": ours[name] for name in _GIVEN_UP_BY if name in ours}
    connection.execute(
        "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given (name, value)",
        (list(given), list(given.values())),
    )
