"""Skills that a session used: what its calls loaded or wrote, and what a person typed.

Hermes loads a skill by `skill_view`, writes one by `skill_manage`, and puts the text of one that was typed as a command
in its place (`user_messages.invocations`). Claude Code, OpenCode and Gemini CLI have one tool that loads a skill;
Codex, OpenClaw and pi open the file, as any agent may.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from grader_daemon.analysis.claims import Note
from grader_daemon.analysis.tool_calls import shared_name
from grader_daemon.analysis.tool_calls.call_view import CallView
from grader_daemon.analysis.tool_calls.tools import Purpose
from grader_daemon.analysis.user_messages import UserMessage
from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.redaction import Redactor

MOST_USES: Final = 32
_HOW: Final = {"skill_view": SkillHow.VIEW, "skill_manage": SkillHow.MANAGE}
"""Use of a skill by the name that a tool shares with those of other agents."""
_TELLING: Final = frozenset({"hermes", "claude-code", "opencode", "gemini-cli"})
"""Sources whose sessions show each use: where one of these shows none, there was none."""
_FILE: Final = "SKILL.md"
_PATH: Final = re.compile(r"([\w.-]{1,64})/SKILL\.md\b")
_NAME: Final = re.compile(r"[\w][\w .:/-]{0,127}")
_TYPED: Final = re.compile(r"/([a-z0-9][a-z0-9:_-]{0,63})(?=\s|$)")
_HEAD: Final = 4_000
"""Number of characters of a call's arguments that are searched for a skill's file."""


class _Arguments(msgspec.Struct):
    name: object = None
    skill: object = None
    command: object = None


_decode: Final = msgspec.json.Decoder(_Arguments).decode


def skills_used(
    notes: Iterable[Note], said: Iterable[UserMessage], *, source: str, redactor: Redactor
) -> tuple[SkillUse, ...] | None:
    """Return each skill with each way in which it was used, in the order of the first; at most `MOST_USES`.

    A call that failed used none. None where there may have been one that sessions of this source do not show.
    """
    found: dict[tuple[str, SkillHow], None] = {}
    for message in said:
        found |= dict.fromkeys((name, SkillHow.COMMAND) for name in _typed(message, source))
    for _, call, status in notes:
        if status is not CallStatus.SUCCESS or not call.tool:
            continue
        how = _HOW.get(shared_name(call.tool))
        if how is not None:
            found |= dict.fromkeys((name, how) for name in _named(call))
        elif isinstance(call.arguments, str) and _FILE in call.arguments:
            found |= dict.fromkeys(_opened(call))
    if not found and source not in _TELLING:
        return None
    return tuple(SkillUse(redactor.redact(name), how) for name, how in list(found)[:MOST_USES])


def _typed(message: UserMessage, source: str) -> Iterator[str]:
    for name in message.skills:
        yield from _plain(name)
    if source == "claude-code" and (typed := _TYPED.match(message.text)) is not None:
        yield typed[1]


def _named(call: CallView) -> Iterator[str]:
    try:
        given = _decode(call.text)
    except msgspec.MsgspecError:
        return
    for name in (given.name, given.skill, given.command):
        if isinstance(name, str):
            yield from _plain(name)
            return


def _opened(call: CallView) -> Iterator[tuple[str, SkillHow]]:
    how = SkillHow.MANAGE if call.effect is Purpose.WRITE else SkillHow.VIEW
    for found in _PATH.finditer(call.text[:_HEAD]):
        yield found[1], how


def _plain(name: str) -> Iterator[str]:
    """Yield the name of a skill without its category; what looks like none is none."""
    if _NAME.fullmatch(name):
        yield name.rstrip("/").rpartition("/")[2]
