"""The events of Copilot CLI: which kinds there are, and of each what grading needs.

Read from files of 1.0.102, and from the schema of events that GitHub publishes with its SDK. Many events only repeat
what others say: a call is in the answer that makes it and again in ``tool.execution_start``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from grader_daemon.domain.limits import Folder, SessionId, Word


class Context(msgspec.Struct, frozen=True, gc=False):
    """Place in which a session works."""

    cwd: Folder | None = None


class Begin(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Begin of a session, or of going on with it."""

    session_id: SessionId | None = None
    copilot_version: Word | None = None
    selected_model: Word | None = None
    context: Context | None = None


class ModelChange(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Another model from here on."""

    new_model: Word | None = None


class Prompt(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Something said to a model. `content` is what was typed; `source` names the machinery, where that wrote it."""

    content: str | None = None
    source: str | None = None
    is_autopilot_continuation: object = None
    parent_tool_call_id: Word | None = None


class Request(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A call that an answer makes."""

    tool_call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()


class Answer(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An answer of a model, or a piece of one: then `chunk_index` counts them from 0."""

    content: str | None = None
    tool_requests: tuple[Request, ...] | None = None
    model: Word | None = None
    api_call_id: Word | None = None
    chunk_index: int | None = None
    parent_tool_call_id: Word | None = None


class Content(msgspec.Struct, frozen=True, gc=False):
    """Text of a result, as the model is given it."""

    content: str | None = None


class Failure(msgspec.Struct, frozen=True, gc=False):
    """Reason for which a call did not work."""

    message: str | None = None
    code: str | None = None


class Shell(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """End of a command."""

    exit_code: int | None = None


class Result(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """End of a call. `success` only says that the tool did its work: a command that failed is one, too."""

    tool_call_id: str | None = None
    success: bool | None = None
    result: Content | None = None
    error: Failure | None = None
    shell_execution: Shell | None = None
    parent_tool_call_id: Word | None = None


class Asked(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Call that is to be permitted."""

    tool_call_id: str | None = None


class PermissionRequest(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A question whether a call may run."""

    request_id: str | None = None
    permission_request: Asked | None = None


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Decision: approved, or denied by whom."""

    kind: str | None = None


class Permission(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The answer to such a question."""

    request_id: str | None = None
    tool_call_id: str | None = None
    result: Decision | None = None


class Counts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Tokens of a model; those of a cache are part of the input."""

    input_tokens: object = None
    output_tokens: object = None
    cache_read_tokens: object = None
    cache_write_tokens: object = None
    reasoning_tokens: object = None


class ModelCall(Counts, frozen=True, gc=False, rename="camel"):
    """A call of a model."""

    model: Word | None = None
    api_call_id: Word | None = None
    finish_reason: Word | None = None
    parent_tool_call_id: Word | None = None


class UsageRecord(msgspec.Struct, frozen=True, gc=False):
    """Usage of a call of a model."""

    usage: ModelCall


class Metrics(msgspec.Struct, frozen=True, gc=False):
    """Usage of all calls of a model."""

    usage: Counts | None = None


class AgentMetrics(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Usage of an agent, by model."""

    model_metrics: dict[str, Metrics] = {}


class Shutdown(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Orderly end of the process, with what was used by model, and by agent: ``main`` or the id of a sub-agent."""

    shutdown_type: Word | None = None
    model_metrics: dict[str, Metrics] | None = None
    agent_metrics: dict[str, AgentMetrics] | None = None


class Error(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An error that ended a turn, as of the API."""

    error_type: str | None = None


class Abort(msgspec.Struct, frozen=True, gc=False):
    """A turn that was stopped."""

    reason: str | None = None


class TurnStart(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Begin of a call of the model and of all that comes of it."""

    parent_tool_call_id: Word | None = None


class TurnEnd(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """End of a call of the model and of the tools that it called."""

    parent_tool_call_id: Word | None = None


class Compaction(msgspec.Struct, frozen=True, gc=False):
    """Earlier messages were replaced by a summary, if that worked."""

    success: bool | None = None


class SubAgentStart(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Begin of a sub-agent; `tool_call_id` is the call of its parent."""

    tool_call_id: str | None = None
    execution_mode: str | None = None


class SubAgentEnd(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """End of a sub-agent in order."""

    tool_call_id: str | None = None


class SubAgentFailure(SubAgentEnd, frozen=True, gc=False, rename="camel"):
    """End of a sub-agent by an error."""


class Notice(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Something that went on in the background: `type` says what."""

    type: str | None = None
    shell_id: str | None = None
    exit_code: int | None = None


class Notification(msgspec.Struct, frozen=True, gc=False):
    """Word to the model that something in the background has ended."""

    kind: Notice | None = None


Data = (
    Begin
    | ModelChange
    | Prompt
    | Answer
    | Result
    | PermissionRequest
    | Permission
    | UsageRecord
    | Shutdown
    | Error
    | Abort
    | TurnStart
    | TurnEnd
    | Compaction
    | SubAgentStart
    | SubAgentEnd
    | Notification
)
D_co = TypeVar("D_co", covariant=True)


class Event(msgspec.Struct, Generic[D_co], frozen=True, gc=False, rename="camel"):
    """A line. `agent_id` is the sub-agent of which it is; None of the session itself."""

    data: D_co
    id: Word | None = None
    agent_id: SessionId | None = None
    timestamp: Word | None = None


Line = Event[Data]
Reader = Callable[[bytes], Line]

_PASSED_OVER = (
    "assistant.fusion_phase_completed assistant.fusion_phase_failed assistant.idle assistant.intent "
    "assistant.message_start assistant.reasoning assistant.thinking assistant.turn_retry assistant.usage "
    "auto_mode_switch.completed auto_mode_switch.requested "
    "command.completed command.queued command.execute elicitation.completed elicitation.requested "
    "exit_plan_mode.completed exit_plan_mode.requested external_tool.completed external_tool.requested "
    "factory.run_settled factory.run_started factory.run_updated hook.end hook.progress hook.start "
    "model.call_failure model.call_finished pending_messages.modified sampling.completed sampling.requested "
    "session.auto_mode_resolved session.autopilot_objective_changed session.background_tasks_changed "
    "session.binary_asset session.canvas.recorded session.canvas.removed session.compaction_start "
    "session.context_changed session.context_cleared session.custom_notification session.fusion_completed "
    "session.fusion_resolved session.fusion_route_failed session.handoff session.idle session.import_legacy "
    "session.info session.managed_settings_enforced session.managed_settings_resolved session.mode_changed "
    "session.mode_notice_delivered session.permissions_changed session.plan_changed "
    "session.remote_steerable_changed session.schedule_cancelled session.schedule_created "
    "session.schedule_rearmed session.session_limits_changed session.snapshot_rewind session.task_complete "
    "session.title_changed session.todos_changed session.truncation session.usage_checkpoint session.usage_info "
    "session.warning session.workspace_file_changed skill.invoked subagent.configured subagent.deselected "
    "subagent.selected system.message tool.execution_partial_result tool.execution_progress tool.execution_start "
    "tool.user_requested tool_search.activated user_input.completed user_input.requested"
)
_BEGIN = msgspec.json.Decoder(Event[Begin]).decode
KINDS: Final[Mapping[str, Reader | None]] = {
    **dict.fromkeys(_PASSED_OVER.split()),
    "session.start": _BEGIN,
    "session.resume": _BEGIN,
    "session.model_change": msgspec.json.Decoder(Event[ModelChange]).decode,
    "user.message": msgspec.json.Decoder(Event[Prompt]).decode,
    "assistant.message": msgspec.json.Decoder(Event[Answer]).decode,
    "tool.execution_complete": msgspec.json.Decoder(Event[Result]).decode,
    "permission.requested": msgspec.json.Decoder(Event[PermissionRequest]).decode,
    "permission.completed": msgspec.json.Decoder(Event[Permission]).decode,
    "session.usage_record": msgspec.json.Decoder(Event[UsageRecord]).decode,
    "session.shutdown": msgspec.json.Decoder(Event[Shutdown]).decode,
    "session.error": msgspec.json.Decoder(Event[Error]).decode,
    "abort": msgspec.json.Decoder(Event[Abort]).decode,
    "assistant.turn_start": msgspec.json.Decoder(Event[TurnStart]).decode,
    "assistant.turn_end": msgspec.json.Decoder(Event[TurnEnd]).decode,
    "session.compaction_complete": msgspec.json.Decoder(Event[Compaction]).decode,
    "subagent.started": msgspec.json.Decoder(Event[SubAgentStart]).decode,
    "subagent.completed": msgspec.json.Decoder(Event[SubAgentEnd]).decode,
    "subagent.failed": msgspec.json.Decoder(Event[SubAgentFailure]).decode,
    "system.notification": msgspec.json.Decoder(Event[Notification]).decode,
}
"""Readers of lines by kind; None for those that are known and passed over."""
