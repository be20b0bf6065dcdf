"""The row of a session of OpenClaw beside its lines: who began it, through what, and how its last run ended.

What it puts before the words of a person (who they are, what was said in the chat) is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import USER, Ending, Message, Session, SessionKind
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.pi.spoken_branch import UNKNOWN as UNKNOWN_OF_PI

NAME: Final = "openclaw"
"""Name of the source and of the agent, and of the format of its sessions."""

UNKNOWN: Final = (UNKNOWN_OF_PI - {"platform"}) | {"system_prompt_digest", "tools_digest"}
"""Facts that no session has."""

_BY_ITSELF: Final = frozenset({"cron", "heartbeat", "hook"})
_SUB_AGENT: Final = "subagent"
_ENDINGS: Final[Mapping[str, Ending]] = {
    "failed": Ending(SessionState.INTERRUPTED, "status=failed", EndingKind.ERROR),
    "killed": Ending(SessionState.INTERRUPTED, "status=killed", EndingKind.PERSON),
    "timeout": Ending(SessionState.INTERRUPTED, "status=timeout", EndingKind.LIMIT),
}


_CONTEXT: Final = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n.*?\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\s*+"
    r"|[^\n]{1,120}(?:\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}openclaw:ctx\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"
    r"|\(untrusted[^)\n]{0,80}\):)[ \t]*+\n(?:```json\n(?:(?!```)[^\n]*+\n)*+```|(?:[^\n]++\n?)*+)\s*+",
    re.DOTALL,
)
_TIME: Final = re.compile(r"\[[A-Za-z]{3} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,40}\] *")


class Window(msgspec.Struct, frozen=True):
    """The row of a session.

    key: the conversation that it is a window of, as in ``agent:main:subagent:<id>``.
    begun_by: the session that had it begun, or the conversation where that is gone.
    previous: the session that it goes on from, or is a copy of.
    replaced: another session took its place when a person went back in it, and holds all that stands here.
    status: how its last run ended, where that is noted.
    """

    key: str = ""
    begun_by: str | None = None
    previous: str | None = None
    replaced: bool = False
    status: str | None = None
    model: str | None = None
    channel: str | None = None


def in_words_of_persons(session: Session) -> Session:
    """Return a session without what stands before the words of a person."""
    if not any(message.role == USER and _is_led(message.text) for message in session.messages):
        return session
    messages = tuple(_as_said(message) if message.role == USER else message for message in session.messages)
    return msgspec.structs.replace(session, messages=messages)


def in_window(session: Session, window: Window) -> Session:
    """Return a session with what its row says of it; its lines know better how the last answer ended."""
    kind = _kind(window)
    is_open = session.ending is None or session.ending.state is SessionState.OPEN
    return msgspec.structs.replace(
        session,
        kind=kind,
        platform=window.channel,
        model=session.model or window.model,
        parent=window.begun_by or session.parent or window.previous,
        ending=_ENDINGS.get(window.status or "", session.ending) if is_open else session.ending,
    )


def _kind(window: Window) -> SessionKind:
    parts = window.key.split(":")
    if _SUB_AGENT in parts or window.begun_by is not None:
        return SessionKind.SUB_AGENT
    return SessionKind.MAIN if _BY_ITSELF.isdisjoint(parts) else SessionKind.CRON


def _is_led(text: str) -> bool:
    return _CONTEXT.match(text) is not None or _TIME.match(text) is not None


def _as_said(message: Message) -> Message:
    text, start = message.text, 0
    while (context := _CONTEXT.match(text, start)) is not None:
        start = context.end()
    time = _TIME.match(text, start)
    said = text[start if time is None else time.end() :]
    return msgspec.structs.replace(message, content=said) if said else message
