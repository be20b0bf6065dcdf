"""The agents that run a program before they stop: what they hand it, what they make of its answer, where they are told.

Claude Code and Codex: a hook of the event `Stop` (Claude Code 2.1.330; the schema `stop.command` of Codex 0.169).
Hermes: a shell hook `pre_verify` (Hermes Agent 0.19), which is asked when files were edited, and can only have the
agent go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from grader_daemon.hook.settings_edits import Edit, JsonHook, YamlHook


class Mode(StrEnum):
    """Treatment of a claim that the record speaks against."""

    TELL = "tell"
    BLOCK = "block"
    LOG = "log"


class Stop(NamedTuple):
    """The moment at which an agent wants to stop.

    path: the file of its session; None where the agent names only the session.
    session_id: as the agent calls it.
    answer: its last answer, which its file may not have yet; None where it does not say.
    is_second: it goes on from a stop that was blocked.
    """

    path: str | None
    session_id: str
    answer: str | None = None
    is_second: bool = False


class _StopEvent(msgspec.Struct):
    session_id: str
    transcript_path: str | None = None
    last_assistant_message: str | None = None
    stop_hook_active: bool = False
    background_tasks: list[object] = []


class _Verifying(msgspec.Struct):
    final_response: str | None = None
    attempt: int = 0


class _PreVerify(msgspec.Struct):
    session_id: str
    extra: _Verifying


def _stop(payload: bytes) -> Stop | None:
    event = msgspec.json.decode(payload, type=_StopEvent)
    if event.background_tasks:
        return None  # it waits for work that goes on, and will be woken
    return Stop(event.transcript_path, event.session_id, event.last_assistant_message, event.stop_hook_active)


def _pre_verify(payload: bytes) -> Stop:
    event = msgspec.json.decode(payload, type=_PreVerify)
    return Stop(None, event.session_id, event.extra.final_response, event.extra.attempt > 0)


class Agent(NamedTuple):
    """One agent that can be asked to ask us.

    name, title: as those of its source.
    settings: returns the file that says which programs it runs.
    edit: what is put there.
    read: makes of what it hands over the moment of a stop; None where it does not stop. Raises `msgspec.MsgspecError`.
    modes: what its protocol allows, the first is meant where nothing is said.
    note: what a person has to do beside.
    """

    name: str
    title: str
    settings: Callable[[], Path]
    edit: Edit
    read: Callable[[bytes], Stop | None]
    modes: tuple[Mode, ...]
    note: str = ""


def _below(variable: str, otherwise: str, *names: str) -> Callable[[], Path]:
    return lambda: Path(os.environ.get(variable) or os.path.expanduser(otherwise), *names)


AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            _below("CLAUDE_CONFIG_DIR", "~/.claude", "settings.json"),
            JsonHook(),
            _stop,
            (Mode.TELL, Mode.BLOCK, Mode.LOG),
        ),
        Agent(
            "codex",
            "Codex",
            _below("CODEX_HOME", "~/.codex", "hooks.json"),
            JsonHook(),
            _stop,
            (Mode.TELL, Mode.BLOCK, Mode.LOG),
            note="Codex asks you once whether it may run: /hooks there.",
        ),
        Agent(
            "hermes",
            "Hermes",
            _below("HERMES_HOME", "~/.hermes", "config.yaml"),
            YamlHook(),
            _pre_verify,
            (Mode.BLOCK, Mode.LOG),
            note="Hermes asks you once whether it may run, at its next start in a terminal.",
        ),
    )
}


def reply(mode: Mode, words: str) -> bytes:
    """Return what an agent is answered: a line that it shows the person, or with `block` its reason to go on."""
    if mode is Mode.BLOCK:
        return msgspec.json.encode({"decision": "block", "reason": words})
    return msgspec.json.encode({"systemMessage": words})
