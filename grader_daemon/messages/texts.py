"""Texts of a session as its index takes them: what was said, and what tools were given and gave back, redacted."""

from __future__ import annotations

from typing import Final

import msgspec

from grader_daemon.domain.session import Message, Session
from grader_daemon.domain.text import storable
from grader_daemon.redaction import MARGIN, Redactor

LONGEST: Final = 8_000
"""Characters of a message: the first and the last half of a longer one; nobody searches the middle of a log."""

MOST_MESSAGES: Final = 10_000


def texts_of(session: Session, redactor: Redactor) -> list[str]:
    """Return the text of each message, at most the first 10,000."""
    return [_shortened(text_of(message), redactor) for message in session.messages[:MOST_MESSAGES]]


def text_of(message: Message) -> str:
    """Return what stands in a message: its text, and the arguments of its calls."""
    given = [call.arguments or "" for call in message.tool_calls or ()]
    arguments = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in given]
    return storable("\n".join(filter(None, (message.text, *arguments))))


def _shortened(text: str, redactor: Redactor) -> str:
    if len(text) <= LONGEST:
        return redactor.redact(text)
    half = LONGEST // 2
    return f"{redactor.redact_beginning(text, half)}\n{redactor.redact(text[-half - MARGIN :])[-half:]}"
