"""What one host sends: its rows, each batch in one transaction with how far it is.

The server says how far it has taken them, in the transaction that did, so an interrupted batch is there whole or not
at all; clocks decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any, Final

import psycopg

from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.storage.postgres.connection import connect, translated
from grader_daemon.storage.postgres.schema import HOST_GROUP, check_version

CHANNEL: Final = "grader_grades"
"""Where a host is named after each batch of it (LISTEN)."""
_PROGRAM: Final = "grader-daemon push"
_PATIENCE_SECONDS: Final = 2.0
"""The server may see for a moment what has ended."""
_OWN: Final = f"host = substr(current_user, {len(HOST_GROUP) + 2})"


class HostRows:
    """The rows of one host in the fleet's database; connects when it must, again after it was cut off."""

    def __init__(self, url: str, *, columns: Sequence[str], machine: str, version: str) -> None:
        """`columns` are those of the rows, `machine` is who we are: the same for no two."""
        self._url = url
        self._machine = machine
        self._version = version
        self._connection: psycopg.Connection | None = None
        self._host = ""
        self._taken = 0
        names = (*columns, "changed_seq")
        told = ", ".join(names)
        self._copy = f"COPY pg_temp.batch (host, {told}) FROM STDIN".encode()
        self._upsert = (
            f"INSERT INTO grader.grades (host, {told}) SELECT host, {told} FROM pg_temp.batch"
            " ON CONFLICT (host, session_id) DO UPDATE SET received_at = now(), "
            + ", ".join(f"{name} = excluded.{name}" for name in names if name != "session_id")
        ).encode()

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def taken(self) -> int:
        """Return up to where in its feed the server has the rows of this host.

        Raises:
            DeliveryError: the server is away, or another program pushes as this host right now.
            CallError: the login is no host's, or that of another machine.
            StoreError: the schema is not of this version.
        """
        self._connected()
        return self._taken

    def take_over(self) -> None:
        """From now on this machine is the host, whichever was before.

        Raises:
            DeliveryError: the server is away.
            CallError: the login is no host's.
        """
        self.close()
        with translated(), connect(self._url, program=_PROGRAM) as connection:
            connection.execute(
                f"UPDATE grader.hosts SET machine = %s, last_seq = 0, other_machine_at = NULL WHERE {_OWN}".encode(),
                (self._machine,),
            )

    def save(self, rows: Sequence[Sequence[Any]], gone: Sequence[str], *, after: int, seq: int, newest: int) -> None:
        """Write rows in the place of those of the same sessions, and remove those of sessions that are `gone`.

        They are what changed `after` a number of the feed up to and with `seq`; what begins at 0 is all there is.

        Raises:
            DeliveryError: it was not taken now.
            CallError: it was refused, and will be again.
        """
        connection = self._connected()
        try:
            with translated(), connection.transaction():
                self._advance(connection, seq=seq, newest=newest)
                connection.execute(
                    "DELETE FROM grader.grades WHERE host = %s AND (%s = 0 OR session_id = ANY(%s))",
                    (self._host, after, list(gone)),
                )
                with connection.cursor() as cursor, cursor.copy(self._copy) as copy:
                    for row in rows:
                        copy.write_row((self._host, *row))
                connection.execute(self._upsert)
                connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._host))
        except DeliveryError:
            self.close()
            raise
        self._taken = seq

    def greet(self, *, newest: int) -> None:
        """Report that this host is there, and has nothing to send.

        Raises:
            DeliveryError: the server is away.
        """
        connection = self._connected()
        try:
            with translated():
                self._advance(connection, seq=self._taken, newest=newest)
        except DeliveryError:
            self.close()
            raise

    def _advance(self, connection: psycopg.Connection, *, seq: int, newest: int) -> None:
        """Note how far this host is, if nobody else did since we looked."""
        done = connection.execute(
            "UPDATE grader.hosts SET last_seq = %s, newest_seq = %s, version = %s, last_seen = now()"
            " WHERE host = %s AND machine = %s AND last_seq = %s",
            (seq, newest, self._version, self._host, self._machine, self._taken),
        )
        if done.rowcount != 1:
            raise DeliveryError(f"another program pushes as host {self._host}, or the host was removed")

    def _connected(self) -> psycopg.Connection:
        if self._connection is None:
            connection = connect(self._url, program=_PROGRAM)
            try:
                self._begin(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _begin(self, connection: psycopg.Connection) -> None:
        with translated():
            check_version(connection)
            found = connection.execute(
                f"SELECT host, machine, last_seq FROM grader.hosts WHERE {_OWN}".encode()
            ).fetchone()
            if found is None:
                raise CallError(
                    "the login of fleet_url is no host's; its administrator runs: grader-daemon fleet add-host"
                )
            self._host, machine, self._taken = found
            self._refuse_others(connection, machine)
            connection.execute(
                "CREATE TEMPORARY TABLE batch (LIKE grader.grades INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"
            )

    def _refuse_others(self, connection: psycopg.Connection, machine: str | None) -> None:
        """See that no other machine has this login: of two, each would undo what the other did."""
        if machine is None:
            connection.execute(
                f"UPDATE grader.hosts SET machine = %s WHERE machine IS NULL AND {_OWN}".encode(), (self._machine,)
            )
        elif machine != self._machine:
            connection.execute(f"UPDATE grader.hosts SET other_machine_at = now() WHERE {_OWN}".encode())
            raise CallError(
                f"another machine or database pushes as host {self._host}: give this one a login of its own (fleet"
                " add-host), or say that it takes the place of the other (push fleet --take-over)"
            )
        patience = monotonic() + _PATIENCE_SECONDS
        while self._is_another_there(connection):
            if monotonic() > patience:
                raise DeliveryError(f"another program pushes as host {self._host} right now")
            sleep(0.05)

    @staticmethod
    def _is_another_there(connection: psycopg.Connection) -> bool:
        others = connection.execute(
            "SELECT 1 FROM pg_catalog.pg_stat_activity"
            " WHERE usename = current_user AND application_name = %s AND pid <> pg_backend_pid() LIMIT 1",
            (_PROGRAM,),
        )
        return others.fetchone() is not None
