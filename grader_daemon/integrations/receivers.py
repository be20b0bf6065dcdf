"""Receivers of alerts: a webhook and a command. Each takes one JSON document and says by an exception that it did not.

The body of a webhook call is signed: ``X-Grader-Signature: sha256=`` and the HMAC-SHA256 (RFC 2104), in hexadecimal, of
the time in ``X-Grader-Timestamp`` (seconds since 1970), a full stop and the body. `X-Grader-Delivery` stays the same
when a call is repeated, so that a receiver can tell.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Protocol
from urllib.parse import urlsplit

from grader_daemon.errors import DeliveryError

_SAID_CHARACTERS = 200
_SUCCESS = 2
_ENDING_SECONDS = 5


class Receiver(Protocol):
    """Somebody who is told of alerts."""

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:
        """Hand over one JSON document; `delivery` stays the same when it is sent again.

        Raises:
            DeliveryError: it did not arrive, as far as we know.
        """


class Webhook:
    """Posts to a URL. Redirects are not followed: what is signed goes where it was meant to go, or nowhere."""

    def __init__(self, url: str, *, secret: str | None, timeout_seconds: float) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._is_secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secret = secret
        self._timeout_seconds = timeout_seconds

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:
        """See `Receiver`."""
        body = payload.encode()
        timestamp = str(int(now.timestamp()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "grader-daemon",
            "X-Grader-Delivery": str(delivery),
            "X-Grader-Timestamp": timestamp,
        }
        if self._secret is not None:
            headers["X-Grader-Signature"] = sign(body, timestamp, self._secret)
        try:
            status = self._post(body, headers)
        except (OSError, HTTPException, ValueError) as error:
            raise DeliveryError(f"webhook: {_said(error)}") from error
        if status // 100 != _SUCCESS:
            raise DeliveryError(f"webhook: the receiver answered {status}")

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        """Give the status of the answer. A receiver that dribbles is cut off when the time is up."""
        kind = HTTPSConnection if self._is_secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout_seconds)
        deadline = _Deadline(connection, self._timeout_seconds)
        try:
            connection.connect()
            deadline.start()
            connection.request("POST", self._target, body, headers)
            return connection.getresponse().status
        except (OSError, HTTPException, ValueError) as error:
            if deadline.is_over or isinstance(error, TimeoutError):
                raise DeliveryError(f"webhook: no answer within {self._timeout_seconds:g} s") from error
            raise
        finally:
            deadline.cancel()
            connection.close()


class _Deadline(threading.Timer):
    """Ends a connection when the time of a call is up; the timeout of a socket begins anew with each byte."""

    def __init__(self, connection: HTTPConnection, seconds: float) -> None:
        super().__init__(seconds, self._cut_off)
        self.daemon = True
        self.is_over = False
        self._connection = connection

    def _cut_off(self) -> None:
        self.is_over = True
        opened = self._connection.sock
        if opened is not None:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)


class Command:
    """Runs a program, without a shell; the document is its standard input."""

    def __init__(self, arguments: Sequence[str], *, timeout_seconds: float) -> None:
        self._arguments = list(arguments)
        self._timeout_seconds = timeout_seconds

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:  # noqa: ARG002  a program has its own clock
        """See `Receiver`. The number of the delivery is in the environment, as ``GRADER_DELIVERY``."""
        program = self._arguments[0]
        try:
            process = subprocess.Popen(
                self._arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(delivery),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise DeliveryError(f"command {program}: {_said(error)}") from error
        try:
            process.communicate(payload.encode(), timeout=self._timeout_seconds)
        except subprocess.TimeoutExpired as error:
            _end_group(process)
            raise DeliveryError(f"command {program}: not done after {self._timeout_seconds:g} s, stopped") from error
        if process.returncode:
            raise DeliveryError(f"command {program}: exit code {process.returncode}")


def sign(body: bytes, timestamp: str, secret: str) -> str:
    """Give the value of ``X-Grader-Signature``."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"


def _environment(delivery: int) -> dict[str, str]:
    """Give the environment of a program: ours, but for what signs the calls of the webhook."""
    ours = {name: value for name, value in os.environ.items() if name.upper() != "GRADER_ALERT_WEBHOOK_SECRET"}
    return {**ours, "GRADER_DELIVERY": str(delivery)}


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the program and all that it started: it leads a group of its own. One that may not be ended is left alone."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_SECONDS)


def _said(error: object) -> str:
    return " ".join(str(error).split())[:_SAID_CHARACTERS] or type(error).__name__
