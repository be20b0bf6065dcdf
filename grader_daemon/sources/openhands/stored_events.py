"""Events of OpenHands as they are stored, in both of its vocabularies, as far as they are read.

Up to version 0 an event is an `action` or an `observation`, named by a word; since version 1 it is of a `kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from grader_daemon.domain.session import Part
from grader_daemon.sources.decoding import Text


class Exited(msgspec.Struct, frozen=True):
    """Notes of a shell on a command."""

    exit_code: object = None


class Extras(msgspec.Struct, frozen=True):
    """Notes on an observation, of version 0; `exit_code` stood here before there was `metadata`."""

    metadata: Exited | None = None
    exit_code: object = None
    agent_state: object = None


class _Response(msgspec.Struct, frozen=True):
    id: object = None


class CallNotes(msgspec.Struct, frozen=True):
    """The call that an event is a part of, of version 0."""

    function_name: str | None = None
    tool_call_id: str | None = None
    model_response: _Response | None = None


class _Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class StoredCall(msgspec.Struct, frozen=True):
    """A call as the model made it, of version 1; its first releases kept it as `function`."""

    name: str | None = None
    arguments: str | None = None
    function: _Function | None = None


class Done(msgspec.Struct, frozen=True):
    """An action of version 1, of which only the words of the last one are read: the call has its arguments."""

    message: object = None


class Observed(msgspec.Struct, frozen=True):
    """The result of a call, of version 1; its first releases had `output` and `error` in place of the others."""

    content: Text = None
    output: object = None
    is_error: object = None
    error: object = None
    exit_code: object = None
    metadata: Exited | None = None


class Said(msgspec.Struct, frozen=True):
    """A message of version 1."""

    content: Text = None


class StoredEvent(msgspec.Struct, frozen=True):
    """One event. `action` and `observation` are words in version 0."""

    id: object = None
    timestamp: object = None
    source: str | None = None
    kind: str | None = None
    action: str | Done | None = None
    observation: str | Observed | None = None
    args: dict[str, object] | None = None
    content: Text = None
    message: object = None
    extras: Extras | None = None
    cause: object = None
    success: object = None
    tool_call_metadata: CallNotes | None = None
    llm_message: Said | None = None
    thought: tuple[Part, ...] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: StoredCall | None = None
    llm_response_id: object = None
    error: str | None = None
    rejection_reason: str | None = None
    code: str | None = None
    system_prompt: Part | None = None


BOOKKEEPING: Final = frozenset(
    {
        *("StreamingDeltaEvent", "LLMCompletionLogEvent", "TokenEvent", "HookExecutionEvent", "PauseEvent"),
        *("SecurityAnalysisEvent", "CondensationRequest", "ConversationStateUpdateEvent", "InterruptEvent"),
        *("agent_state_changed", "recall", "change_agent_state", "null", "condensation_request", "loop_recovery"),
        *("condense", "task_tracking"),
    }
)
"""Kinds of events that say nothing of the conversation."""

TOOLS: Final[Mapping[str, str]] = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "read_file",
    "edit": "str_replace_editor",
    "write": "write_file",
}
"""Names of tools by the words of version 0, for events that do not name theirs."""
