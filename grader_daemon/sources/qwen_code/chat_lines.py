"""The lines of Qwen Code's chats: which kinds there are, and of each what grading needs.

A line is a record in the frame of Claude Code (``uuid``, ``parentUuid``, ``type``) around a message of Gemini's parts.
Read from files of 0.24, and from the recorder in Qwen Code's source. Records of what the program did itself are of the
type ``system``; most of them only restore its screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from grader_daemon.domain.limits import Folder, SessionId, Word
from grader_daemon.sources.gemini_cli.chat_records import Part

USER: Final = "user"
ASSISTANT: Final = "assistant"
RESULT: Final = "tool_result"
_SYSTEM: Final = "system"
_API_ERROR: Final = "qwen-code.api_error"


class Content(msgspec.Struct, frozen=True):
    """A message as the API takes and gives it."""

    parts: tuple[Part, ...] | None = None


class ApiUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Tokens of an answer; those of a cache are part of the prompt."""

    prompt_token_count: object = None
    candidates_token_count: object = None
    cached_content_token_count: object = None
    thoughts_token_count: object = None
    total_token_count: object = None


class CallResult(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """End of a call beside what the model is told of it. `result_display` is what the person sees, of any shape."""

    call_id: str | None = None
    status: str | None = None
    error_type: str | None = None
    execution_status: str | None = None
    result_display: msgspec.Raw = msgspec.Raw()


class Payload(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Details of a record: a prompt as it was typed, and the session that had this one begun."""

    display_text: str | None = None
    parent_session_id: SessionId | None = None


class Origin(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The session that a line was copied from."""

    session_id: SessionId | None = None


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """A line."""

    type: str
    uuid: Word | None = None
    parent_uuid: Word | None = None
    session_id: SessionId | None = None
    timestamp: Word | None = None
    subtype: str | None = None
    provenance: str | None = None
    external_input_kind: str | None = None
    cwd: Folder | None = None
    version: Word | None = None
    model: Word | None = None
    message: Content | None = None
    usage_metadata: ApiUsage | None = None
    tool_call_result: CallResult | None = None
    system_payload: Payload | None = None
    forked_from: Origin | None = None


class _Event(msgspec.Struct, frozen=True, gc=False):
    name: object = msgspec.field(name="event.name", default=None)
    subagent_id: object = None
    error_type: object = None


class _Telemetry(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    ui_event: _Event | None = None


class ApiError(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An error of the API, which is noted nowhere else."""

    timestamp: Word | None = None
    system_payload: _Telemetry | None = None

    @property
    def cause(self) -> object:
        """Class of the error."""
        return self._event.error_type

    @property
    def is_of_sub_agent(self) -> bool:
        """True if a sub-agent met it."""
        return self._event.subagent_id is not None

    @property
    def _event(self) -> _Event:
        return (self.system_payload or _Telemetry()).ui_event or _Event()


Line = Record | ApiError


class _Kind(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    subtype: str | None = None
    system_payload: msgspec.Raw = msgspec.Raw()


_KIND = msgspec.json.Decoder(_Kind).decode
_TOLD = msgspec.json.Decoder(_Telemetry).decode
_SHORT = r'"(?!type"|subtype"|message"|systemPayload")\w{1,40}":(?:"[^"\\]{0,512}"|null|true|false),'
_HEAD = re.compile(
    (
        rf'\{{(?:{_SHORT})*+"type":"(\w{{1,40}})",(?:{_SHORT})*+'
        r'(?:"subtype":"(\w{1,60})",(?:"systemPayload":\{"uiEvent":\{"event\.name":"([\w.-]{1,60})")?|"message":)'
    ).encode()
)
"""The keys before these are short ones. A subtype stands before the message, or there is none."""

_RECORD = msgspec.json.Decoder(Record).decode
_BOOKKEEPING: Final = (
    "agent_launch_prompt agent_bootstrap agent_retry agent_session_ready at_command attribution_snapshot "
    "background_task_completed branch_checkpoint custom_title file_history_snapshot goal_runtime goal_state "
    "goal_turn_end managed_session_commit_v1 managed_session_event_v1 managed_session_header_v1 omni_recall "
    "session_approval_mode session_artifact_event session_artifact_snapshot session_execution_engine session_model "
    "session_notes session_source session_sources_snapshot slash_command turn_result ui_telemetry user_text_elements"
)
REWIND: Final = "rewind"
COMPRESSION: Final = "chat_compression"
PARENT: Final = "parent_session"
KINDS: Final[Mapping[str, Callable[[bytes], Line] | None]] = {
    **{f"{_SYSTEM}/{subtype}": None for subtype in _BOOKKEEPING.split()},
    **{f"{_SYSTEM}/{subtype}": _RECORD for subtype in (REWIND, COMPRESSION, PARENT)},
    USER: _RECORD,
    ASSISTANT: _RECORD,
    RESULT: _RECORD,
    _API_ERROR: msgspec.json.Decoder(ApiError).decode,
}
"""Readers of lines by kind; None for those that are known and passed over."""


def kind_of(line: bytes) -> str:
    """Return the type of a line; of what the program did itself with the subtype, and of an error of the API its name.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no JSON object.
    """
    head = _HEAD.match(line)
    if head is not None:
        if head[2] is None:
            return head[1].decode()
        kind, subtype, event = head[1].decode(), head[2].decode(), head[3].decode() if head[3] is not None else None
    else:
        found = _KIND(line)
        kind, subtype, event = found.type, found.subtype, _event_in(found)
    if kind != _SYSTEM:
        return kind
    return _API_ERROR if event == _API_ERROR else f"{_SYSTEM}/{subtype or ''}"


def _event_in(found: _Kind) -> object:
    if found.subtype != "ui_telemetry":
        return None
    told = _TOLD(found.system_payload)
    return told.ui_event.name if told.ui_event is not None else None
