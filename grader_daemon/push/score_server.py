"""A server that takes scores, asked over HTTP: what it answers, as errors that say whether to try again."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from grader_daemon._version import __version__
from grader_daemon.errors import CallError, DeliveryError
from grader_daemon.integrations.posting import Answer, Poster

_RETRYABLE: Final = frozenset(
    (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
)
"""Statuses that are retried. With any other error the same request is not sent again, as OTLP says; it is wise
elsewhere.
"""

_MOST_BYTES: Final = 65_536


class ScoreServer:
    """A server with the name by which people are told of it."""

    def __init__(self, name: str, url: str, *, headers: Mapping[str, str], timeout_seconds: float) -> None:
        """`url` is what the paths of requests are put behind."""
        self._name = name
        self._url = url.rstrip("/")
        self._headers = {"User-Agent": f"grader-daemon/{__version__}", **headers}
        self._timeout_seconds = timeout_seconds

    def post(self, path: str, body: Any) -> Answer:
        """Post a JSON document.

        Raises:
            DeliveryError: it has no time now, or cannot be reached.
        """
        headers = {"Content-Type": "application/json", **self._headers}
        try:
            answer = self._poster(path).post(msgspec.json.encode(body), headers, most_bytes=_MOST_BYTES)
        except CallError as error:
            raise DeliveryError(f"{self._name}: {error}") from error
        return self._answered(answer)

    def get(self, path: str) -> Answer:
        """Get what is there; else see `post`."""
        try:
            answer = self._poster(path).get(self._headers, most_bytes=_MOST_BYTES)
        except CallError as error:
            raise DeliveryError(f"{self._name}: {error}") from error
        return self._answered(answer)

    def refusal(self, answer: Answer) -> CallError:
        """Return what to raise for an answer that makes another try useless."""
        return CallError(f"{self._name}: the receiver answered {answer.status}; stopped")

    def _poster(self, path: str) -> Poster:
        return Poster(self._url + path, timeout_seconds=self._timeout_seconds)

    def _answered(self, answer: Answer) -> Answer:
        if answer.status in _RETRYABLE:
            raise DeliveryError(f"{self._name}: the receiver answered {answer.status}")
        return answer
