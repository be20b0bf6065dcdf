"""A trial of the receivers of alerts: a message that is marked as a test goes to each, and what came back is given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.errors import DeliveryError
from grader_daemon.integrations.receivers import Receiver

_NUMBER = 0
"""Of the delivery; those of alerts begin at 1."""


def try_receivers(receivers: Mapping[str, Receiver], *, now: datetime) -> dict[str, str | None]:
    """Send a test to each receiver; give what went wrong, by channel, None where it arrived."""
    return {channel: _trouble(receiver, now) for channel, receiver in receivers.items()}


def _trouble(receiver: Receiver, now: datetime) -> str | None:
    content = {
        "schema_version": SCHEMA_VERSION,
        "event": "test",
        "title": "Test: grader-daemon tells of alerts in this way",
        "cause": "",
        "command": "grader-daemon alerts",
        "alert": None,
    }
    try:
        receiver.send(msgspec.json.encode(content).decode(), delivery=_NUMBER, now=now)
    except DeliveryError as error:
        return str(error)
    return None
