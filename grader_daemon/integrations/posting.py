"""One HTTP request, and no more: no redirect followed, no proxy of the environment used, an end to time and size.

Redirects are not followed so that what is meant for one place goes there, or nowhere.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

import msgspec

from grader_daemon.errors import CallError

_CONNECTING_SECONDS = 10.0
_SAID_CHARACTERS = 200
_SUCCESS = 2


class Answer(msgspec.Struct, frozen=True):
    """Answer of a server. `body` holds no more bytes than were asked for."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        """True for a status of 2xx."""
        return self.status // 100 == _SUCCESS


class Poster:
    """Asks one URL."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._is_secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout_seconds = timeout_seconds

    def post(self, body: bytes, headers: Mapping[str, str], *, most_bytes: int) -> Answer:
        """Post, and read up to `most_bytes` of the answer's body. A peer that dribbles is cut off in time.

        Raises:
            CallError: there was no answer within the time, or none in HTTP.
        """
        return self._ask("POST", body, headers, most_bytes)

    def get(self, headers: Mapping[str, str], *, most_bytes: int) -> Answer:
        """Get what is there; else see `post`."""
        return self._ask("GET", None, headers, most_bytes)

    def _ask(self, method: str, body: bytes | None, headers: Mapping[str, str], most_bytes: int) -> Answer:
        connection = self._connect()
        deadline = _Deadline(connection.sock, self._timeout_seconds)
        try:
            deadline.start()
            connection.request(method, self._target, body, dict(headers))
            answer = _read(connection.getresponse(), most_bytes)
        except (OSError, HTTPException, ValueError) as error:
            is_late = deadline.is_over or isinstance(error, TimeoutError)
            raise CallError(self._late if is_late else said_by(error)) from error
        finally:
            deadline.cancel()
            connection.close()
        if deadline.is_over:
            raise CallError(self._late)
        return answer

    def _connect(self) -> HTTPConnection:
        """Connect. A host may have several addresses, each of which is waited for."""
        kind = HTTPSConnection if self._is_secure else HTTPConnection
        patience = min(self._timeout_seconds, _CONNECTING_SECONDS)
        connection = kind(self._host, self._port, timeout=patience)
        try:
            connection.connect()
        except (OSError, HTTPException, ValueError) as error:
            connection.close()
            is_late = isinstance(error, TimeoutError)
            raise CallError(f"no connection within {patience:g} s" if is_late else said_by(error)) from error
        connection.sock.settimeout(self._timeout_seconds)
        return connection

    @property
    def _late(self) -> str:
        return f"no answer within {self._timeout_seconds:g} s"


def said_by(error: BaseException) -> str:
    """Return what a foreign exception says, in one short line."""
    return " ".join(str(error).split())[:_SAID_CHARACTERS] or type(error).__name__


class _Deadline(threading.Timer):
    """Ends a connection when the time of a call is up; the timeout of a socket begins anew with each byte."""

    def __init__(self, opened: socket.socket, seconds: float) -> None:
        super().__init__(seconds, self._cut_off)
        self.daemon = True
        self.is_over = False
        self._opened = opened

    def _cut_off(self) -> None:
        self.is_over = True
        with suppress(OSError):
            self._opened.shutdown(socket.SHUT_RDWR)


def _read(response: HTTPResponse, most_bytes: int) -> Answer:
    return Answer(response.status, response.read(most_bytes) if most_bytes else b"")
