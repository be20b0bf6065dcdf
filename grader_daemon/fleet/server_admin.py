"""Administration of a fleet's database: make it, let hosts and people in and out, see how hosts are."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Final

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import class_row

from grader_daemon.domain.fleet_hosts import FleetWatch
from grader_daemon.errors import DeliveryError, InputError
from grader_daemon.fleet.server_connection import bound_waiting, connect, server_time, translated
from grader_daemon.fleet.server_schema import (
    HOST_GROUP,
    MEMBER_GROUP,
    READER_GROUP,
    check_version,
    migrate,
    newest_version,
)
from grader_daemon.fleet.server_watch import finite, read_watch

_ROLE: Final = f"{HOST_GROUP}_"
_MEMBER_ROLE: Final = f"{MEMBER_GROUP}_"
_CONNECTIONS: Final = 4
"""A host needs one, and a second while a first that was cut off is not yet given up."""
_MEMBER_CONNECTIONS: Final = 16
"""A person has the page open, and asks in a few terminals."""
_GONE_WITHIN_MS: Final = 10_000


class FleetMade(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `FleetDatabase.make`: the schema's version before (0 if there was none), and now."""

    before: int
    version: int


class FleetLogin(msgspec.Struct, frozen=True, kw_only=True):
    """Login of a new host, or of a person; the password is kept nowhere."""

    name: str
    role: str
    password: str
    server: str
    port: int
    database: str


class FleetHost(msgspec.Struct, frozen=True, kw_only=True):
    """State of a machine at its last contact.

    Attributes:
        host: its name.
        user: the machine's owner; None if not set.
        version: version of its grader-daemon; None if it never sent anything.
        last_seen: its last contact, by the server's clock.
        behind: number of its changes not sent at that time; one session may have several.
        other_machine_at: when another machine tried to send under this name; None if none did since it was last added.
        added_at: when it was added to the fleet.
        clock_ahead: seconds by which its clock was ahead of the server's; None if unknown.
    """

    host: str
    user: str | None
    version: str | None
    last_seen: datetime | None
    behind: int
    other_machine_at: datetime | None
    added_at: datetime
    clock_ahead: float | None


class FleetDatabase:
    """A fleet's database in the hands of its administrator; use it as a context manager."""

    def __init__(self, url: str) -> None:
        """Connect.

        Raises:
            ConfigurationError: the URL cannot be understood.
            DeliveryError: nobody answers, or does not let us in.
        """
        self._connection = connect(url, program="grader-daemon fleet")
        with translated():
            bound_waiting(self._connection)

    def __enter__(self) -> FleetDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def make(self) -> FleetMade:
        """Make the schema and its groups of roles, or bring them to this version.

        Raises:
            StoreError: it is of a newer version.
            CallError: the role may not do that.
        """
        with translated():
            try:
                before = self._make()
            except (
                psycopg.errors.UniqueViolation,
                psycopg.errors.DuplicateSchema,
                psycopg.errors.DuplicateObject,
            ):  # another one made it just now
                before = self._make()
        return FleetMade(before=before, version=newest_version())

    def _make(self) -> int:
        with self._connection.transaction():
            before = migrate(self._connection)
            grant = sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}, {}, {}")
            names = (self._connection.info.dbname, HOST_GROUP, READER_GROUP, MEMBER_GROUP)
            self._connection.execute(grant.format(*map(sql.Identifier, names)))
        return before

    def add(self, host: str, *, user: str | None = None) -> FleetLogin:
        """Admit a host, which is the machine of `user`, by a login role of its own.

        Raises:
            InputError: there is one of this name.
            StoreError: the schema is not of this version.
            CallError: the role may not do that.
        """
        with translated(), self._connection.transaction():
            check_version(self._connection)
            if self._has_role(_ROLE + host):
                raise InputError(f"there is a host {host} already, in a fleet of this server; choose another name")
            login = self._make_login(host, _ROLE + host, group=HOST_GROUP, connections=_CONNECTIONS)
            self._connection.execute("INSERT INTO grader.hosts (host, user_name) VALUES (%s, %s)", (host, user))
        return login

    def add_member(self, name: str) -> FleetLogin:
        """Admit a person of the team, who reads all, labels, and answers alerts, by a login role of their own.

        Raises:
            InputError: there is one of this name.
            StoreError: the schema is not of this version.
            CallError: the role may not do that.
        """
        with translated(), self._connection.transaction():
            check_version(self._connection)
            if self._has_role(_MEMBER_ROLE + name):
                raise InputError(f"there is a member {name} already, of a fleet of this server; choose another name")
            return self._make_login(name, _MEMBER_ROLE + name, group=MEMBER_GROUP, connections=_MEMBER_CONNECTIONS)

    def remove_member(self, name: str) -> None:
        """Remove the login of a person, and end its connections; what they said of sessions stays.

        Raises:
            InputError: there is none of this name.
            CallError: the role may not do that.
            DeliveryError: a connection does not end; nothing but the login was removed.
        """
        role = _MEMBER_ROLE + name
        with translated():
            if not self._has_role(role):
                raise InputError(f"there is no member {name}")
            self._end_connections(role, f"member {name}")
        with translated(), self._connection.transaction():
            self._drop_role(role)

    def remove(self, host: str) -> int:
        """Remove a host with its grades, its role and its connections; returns how many grades there were.

        Raises:
            InputError: there is none of this name.
            StoreError: the schema is not of this version.
            CallError: the role may not do that.
            DeliveryError: a connection of the host does not end; nothing but its login was removed.
        """
        with translated():
            check_version(self._connection)
            if self._connection.execute("SELECT 1 FROM grader.hosts WHERE host = %s", (host,)).fetchone() is None:
                raise InputError(f"there is no host {host}; see: grader-daemon fleet status")
            self._end_connections(_ROLE + host, f"host {host}")
        with translated(), self._connection.transaction():
            removed = self._connection.execute("DELETE FROM grader.grades WHERE host = %s", (host,)).rowcount
            self._connection.execute("DELETE FROM grader.hosts WHERE host = %s", (host,))
            self._drop_role(_ROLE + host)
        return removed

    def hosts(self) -> list[FleetHost]:
        """Return the hosts by name; a host is told of itself alone.

        Raises:
            StoreError: the schema is not of this version.
        """
        with translated():
            check_version(self._connection)
            return self._hosts(self._connection.cursor(row_factory=class_row(FleetHost)))

    def now(self) -> datetime:
        """Return the time by the clock of the server, by which all contacts are noted."""
        with translated():
            return server_time(self._connection)

    def watch(self) -> FleetWatch | None:
        """Return who watches the fleet; None where this login may not know.

        Raises:
            StoreError: the schema is not of this version.
        """
        with translated():
            check_version(self._connection)
            [may_know] = self._connection.execute(
                "SELECT has_table_privilege('grader.watch', 'SELECT')"
            ).fetchone() or (False,)
            return read_watch(self._connection) if may_know else None

    @staticmethod
    def _hosts(cursor: psycopg.Cursor[FleetHost]) -> list[FleetHost]:
        return cursor.execute(
            "SELECT host, left(user_name, 200) AS user, left(version, 200) AS version,"
            " greatest(newest_seq - last_seq, 0) AS behind,"
            f" {finite('last_seen')}, {finite('other_machine_at')}, {finite('added_at')},"
            " round(clock_ahead) AS clock_ahead FROM grader.hosts ORDER BY host"
        ).fetchall()

    def _has_role(self, role: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s", (role,))
        return found.fetchone() is not None

    def _make_login(self, name: str, role: str, *, group: str, connections: int) -> FleetLogin:
        password = secrets.token_urlsafe(24)
        # The server is given the verifier alone: what it logs of statements holds no password.
        verifier = self._connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        make = sql.SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT {} PASSWORD {} IN ROLE {}")
        self._connection.execute(
            make.format(sql.Identifier(role), connections, sql.Literal(verifier.decode()), sql.Identifier(group))
        )
        info = self._connection.info
        return FleetLogin(
            name=name, role=role, password=password, server=info.host, port=info.port, database=info.dbname
        )

    def _drop_role(self, role: str) -> None:
        # A crash of the server leaves temporary tables of the role.
        self._connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
        self._connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))

    def _end_connections(self, role: str, whose: str) -> None:
        """Refuse a role from now on, end what it has open, and wait for that, which takes to be a member of it."""
        name = sql.Identifier(role)
        self._connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(name))
        self._connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(name))
        ended = self._connection.execute(
            "SELECT pg_terminate_backend(pid, %s) FROM pg_catalog.pg_stat_activity WHERE usename = %s",
            (_GONE_WITHIN_MS, role),
        ).fetchall()
        if not all(is_gone for (is_gone,) in ended):
            raise DeliveryError(f"a connection of {whose} is still open; run this again")
