"""Connections to PostgreSQL by libpq's own means, and its exceptions as ours.

No text of ours holds the URL, which may have a password in it; what libpq says of a connection never does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from grader_daemon.domain.this_machine import is_this_machine
from grader_daemon.errors import CallError, ConfigurationError, DeliveryError

_DEFAULTS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # ms; a cut network is noticed so soon
}
_LOCK_SECONDS: Final = 15
_STATEMENT_SECONDS: Final = 300
"""A batch takes seconds on the slowest of disks."""
_LEFT_TO_LIBPQ: Final = "prefer"
"""The `sslmode` of libpq where nobody says another: it takes no TLS, or that of anybody, without a word."""

_HINTS: Final = {
    "password authentication failed": "; the login was removed, or its password is wrong; the administrator creates"
    " it again with grader-daemon fleet add-host or add-member",
    "is not permitted to log in": "; its administrator is removing the login",
    "no password supplied": "; put it into ~/.pgpass or PGPASSWORD, or into the URL",
}
"""What to do, behind words of libpq and the server."""

logging.getLogger("psycopg").addHandler(logging.NullHandler())
"""What it passes over where a connection broke is no line of its own: the exception says the same."""


def connect(url: str, *, program: str) -> psycopg.Connection:
    """Connect; certificates of other hosts are verified unless the URL or PGSSLMODE says otherwise.

    `program` is how the server names the connection. Each statement is a transaction of its own but in `transaction()`.

    Raises:
        ConfigurationError: the URL cannot be understood.
        DeliveryError: nobody answers, or does not let us in.
    """
    given = _parts_of(url)
    said = {option.keyword.decode(): option.val for option in Conninfo.get_defaults()}
    hosts = str(given.get("host") or (said.get("host") or b"").decode()).split(",")
    is_left_open = "sslmode" not in given and "service" not in given and said["sslmode"] == _LEFT_TO_LIBPQ.encode()
    if is_left_open and not all(_is_here(host) for host in hosts):
        given["sslmode"] = "verify-full"
    with translated():
        return psycopg.connect(
            make_conninfo("", **{**_DEFAULTS, "client_encoding": "utf8", **given, "application_name": program}),
            autocommit=True,
            prepare_threshold=None,  # poolers may hand each transaction another session
        )


class Link:
    """A connection that is made when it is needed, and again after it was cut off."""

    def __init__(self, url: str, *, program: str, begin: Callable[[psycopg.Connection], None]) -> None:
        """`begin` is called with each new connection, before anything else; for `program` see `connect`."""
        self.url = url
        self._program = program
        self._begin = begin
        self._connection: psycopg.Connection | None = None

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connected(self) -> psycopg.Connection:
        """Return the connection; raises as `connect`, and as what begins."""
        if self._connection is None:
            connection = connect(self.url, program=self._program)
            try:
                self._begin(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    @contextmanager
    def talking(self) -> Iterator[psycopg.Connection]:
        """Hand out the connection, which is closed when the server is away; exceptions are translated."""
        connection = self.connected()
        try:
            with translated():
                yield connection
        except DeliveryError:
            self.close()
            raise


def bound_waiting(connection: psycopg.Connection, *, statement_seconds: int = _STATEMENT_SECONDS) -> None:
    """Have the server end what waits for a lock of another login, or takes too long; 0: that does not count."""
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false)",
        (f"{_LOCK_SECONDS}s", f"{statement_seconds}s"),
    )


def server_time(connection: psycopg.Connection) -> datetime:
    """Return the time by the clock of the server."""
    [now] = connection.execute("SELECT now()").fetchone() or (None,)
    assert isinstance(now, datetime)
    return now


def place_of(url: str) -> str:
    """Return which database a URL names, whoever connects to it.

    Raises:
        ConfigurationError: the URL cannot be understood.
    """
    given = _parts_of(url)
    return " ".join(f"{name}={given.get(name, '')}" for name in ("host", "hostaddr", "port", "dbname", "service"))


@contextmanager
def translated() -> Iterator[None]:
    """Translate the exceptions of psycopg.

    Raises:
        DeliveryError: the server is away, has no room, or ends; it may take it later.
        CallError: it refuses what it was asked.
    """
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise DeliveryError(
            f"PostgreSQL: another login has held a lock for more than {_LOCK_SECONDS} s;"
            " an administrator finds it in pg_locks and pg_stat_activity"
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise DeliveryError(f"PostgreSQL: {_line(error)}") from error
    except psycopg.Error as error:
        raise CallError(f"PostgreSQL refused: {_line(error)}") from error


def _parts_of(url: str) -> dict[str, Any]:
    try:
        return conninfo_to_dict(url)
    except psycopg.Error:
        raise ConfigurationError("the PostgreSQL URL is wrong; write it as postgresql://user@host/database") from None


def _is_here(host: str) -> bool:
    """Return whether a host is this machine; nothing, or a folder, is a Unix socket."""
    return not host or host.startswith(("/", "@")) or is_this_machine(host)


def _line(error: psycopg.Error) -> str:
    said = " ".join((error.diag.message_primary or str(error)).split()) or type(error).__name__
    return said + next((hint for words, hint in _HINTS.items() if words in said), "")
