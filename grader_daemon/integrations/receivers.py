"""Receivers of alerts: a webhook and a command. Each takes one JSON document and says by an exception that it did not.

The body of a webhook call is signed: ``X-Grader-Signature: sha256=`` and the HMAC-SHA256 (RFC 2104), in hexadecimal, of
the time in ``X-Grader-Timestamp`` (seconds since 1970), a full stop and the body. `X-Grader-Delivery` stays the same
when a call is repeated, so that a receiver can tell.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.integrations.chat import WebhookFormat, in_format
from grader_daemon.integrations.posting import Poster
from grader_daemon.integrations.run_program import environment_without_secrets, tell_program

_TRIAL = 0
"""Number of the delivery of a test; those of alerts begin at 1."""


class Receiver(Protocol):
    """Receiver of alerts."""

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:
        """Hand over one JSON document; `delivery` stays the same when it is sent again.

        Raises:
            DeliveryError: it did not arrive, as far as we know.
        """


class Webhook:
    """Posts to a URL. Redirects are not followed: what is signed goes where it was meant to go, or nowhere."""

    def __init__(self, url: str, *, secret: str | None, timeout_seconds: float, form: WebhookFormat = "json") -> None:
        self._url = url
        self._secret = secret
        self._timeout_seconds = timeout_seconds
        self._form: WebhookFormat = form

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:
        """See `Receiver`."""
        url, body = in_format(payload, self._form, self._url)
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
            answer = Poster(url, timeout_seconds=self._timeout_seconds).post(body, headers, most_bytes=0)
        except CallError as error:
            raise DeliveryError(f"webhook: {error}") from error
        if not answer.is_success:
            raise DeliveryError(f"webhook: the receiver answered {answer.status}")


class Command:
    """Runs a program, without a shell; the document is its standard input."""

    def __init__(self, arguments: Sequence[str], *, timeout_seconds: float) -> None:
        self._arguments = list(arguments)
        self._timeout_seconds = timeout_seconds

    def send(self, payload: str, *, delivery: int, now: datetime) -> None:  # noqa: ARG002  a program has its own clock
        """See `Receiver`. The number of the delivery is in the environment, as ``GRADER_DELIVERY``."""
        environment = environment_without_secrets({"GRADER_DELIVERY": str(delivery)})
        try:
            tell_program(
                self._arguments, payload.encode(), environment=environment, timeout_seconds=self._timeout_seconds
            )
        except CallError as error:
            raise DeliveryError(f"command {self._arguments[0]}: {error}") from error


def sign(body: bytes, timestamp: str, secret: str) -> str:
    """Return the value of ``X-Grader-Signature``."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"sha256={digest}"


def try_receivers(receivers: Mapping[str, Receiver], *, now: datetime) -> dict[str, str | None]:
    """Send what is marked as a test to each receiver; return what went wrong, by channel, None where it arrived."""
    return {channel: _trouble(receiver, now) for channel, receiver in receivers.items()}


def _trouble(receiver: Receiver, now: datetime) -> str | None:
    content = {
        "schema_version": SCHEMA_VERSION,
        "event": "test",
        "title": "Test: grader-daemon sends alerts like this",
        "cause": "",
        "command": "grader-daemon alerts",
        "alert": None,
    }
    try:
        receiver.send(msgspec.json.encode(content).decode(), delivery=_TRIAL, now=now)
    except DeliveryError as error:
        return str(error)
    return None
