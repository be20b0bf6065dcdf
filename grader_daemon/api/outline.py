"""Outline of a session, for a glance: who spoke when, how much, and how long each message took."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from grader_daemon.api.transcript import TranscriptMessage, readable, transcript
from grader_daemon.domain.session import ASSISTANT, Message, Session, ToolCall
from grader_daemon.redaction import Redactor
from grader_daemon.storage.records import StoredGrade

_LONGEST_ANSWER = 6_000


class OutlinedMessage(msgspec.Struct, frozen=True, gc=False):
    """Speaker of a message, its number of characters (text and arguments of calls), and how long after the one before.

    `seconds` is None where the agent does not note when messages were written.
    """

    role: str
    characters: int
    seconds: float | None


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """All messages of a session, in order; none if it cannot be read.

    `answer` is the message with the last text of the agent, None without one.
    """

    messages: tuple[OutlinedMessage, ...]
    answer: TranscriptMessage | None


def outline(stored: StoredGrade, session: Session | None, *, redactor: Redactor) -> Outline:
    """Return the outline of a session; `session` is None where it cannot be read."""
    if session is None:
        return Outline(messages=(), answer=None)
    roles = {role: readable(role, redactor) for role in {message.role for message in session.messages}}
    passed = _passed(session.message_times) if session.message_times else [None] * len(session.messages)
    return Outline(
        messages=tuple(
            [
                OutlinedMessage(roles[message.role], _characters(message), seconds)
                for message, seconds in zip(session.messages, passed, strict=True)
            ]
        ),
        answer=_answer(stored, session, redactor),
    )


def _answer(stored: StoredGrade, session: Session, redactor: Redactor) -> TranscriptMessage | None:
    for index in reversed(range(len(session.messages))):
        message = session.messages[index]
        if message.role == ASSISTANT and message.text.strip():
            shown = range(index, index + 1)
            told = transcript(stored, session, note=None, redactor=redactor, shown=shown, longest=_LONGEST_ANSWER)
            return told.messages[0]
    return None


def _passed(times: Iterable[datetime | None]) -> list[float | None]:
    """Return the seconds between each message and the one before, None where they are not known or go backwards."""
    passed: list[float | None] = []
    before: datetime | None = None
    for time in times:
        passed.append(None if before is None or time is None or time < before else (time - before).total_seconds())
        before = time
    return passed


def _characters(message: Message) -> int:
    return len(message.text) + sum([_characters_of(call) for call in message.tool_calls or ()])


def _characters_of(call: ToolCall) -> int:
    given = call.arguments or ""
    return len(given if isinstance(given, str) else msgspec.json.encode(given))
