"""The messages of a session of Cline's program, and its manifest, to a session."""

from __future__ import annotations

import re
from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    USER,
    Ending,
    Message,
    Session,
    SessionKind,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.cline.operation_results import read_operations
from grader_daemon.sources.cline.stored_messages import Manifest, Marks, MessagesFile, Metrics, StoredMessage
from grader_daemon.sources.cline.tagged_calls import spans_in
from grader_daemon.sources.decoding import fresh_tokens, name_of, token_count, utc
from grader_daemon.sources.messages_so_far import Conversation

NAME: Final = "cline"
"""Name of the source, of the agent, and of the format of its sessions."""

_PARTED: Final = "__"
"""Between the id of a session and what its sub-agents are called."""

_TYPED = re.compile(r"<(user_input)\b[^<>]{0,200}>")
_INJECTED: Final = ("<hook_context", "<mode_notice", "<environment_details", "<system-reminder")
_SUMMARY: Final = "Context summary:"
_COMPLETED, _CANCELLED, _FAILED = "completed", "cancelled", "failed"
_LIMITED: Final = "Model reached the maximum output token limit"
_LEFT: Final = re.compile(r"Capability owner client \S{1,200} disconnected before request was resolved")
"""What is shown when the terminal that had asked ends while its work goes on in Cline's hub, as after Ctrl-C."""


class _Conversation(Conversation):
    """Messages, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[Usage] = []
        self.model: str | None = None
        self.compacted = False
        self.shown = ""
        """What was shown last, and is no word of the model."""

        self._tools: dict[str, str | None] = {}

    def add(self, stored: StoredMessage) -> None:
        """Add a message, and what stands in it; one that is only shown, as an error of the API is, nobody said."""
        marks = stored.metadata or Marks()
        if marks.display_only is True:
            self.shown = _said(stored)
            return
        if stored.role == ASSISTANT:
            self._add_answer(stored)
        elif stored.role == USER:
            self._add_user(stored, marks)

    def _add_answer(self, stored: StoredMessage) -> None:
        said, calls = _said(stored), []
        for block in stored.blocks:
            if block.type == "tool_use":
                calls.append(block.call)
                if block.id:
                    self._tools[block.id] = block.name
        model = name_of(stored.model_info.id) if stored.model_info is not None else None
        self.model = model or self.model
        self.used.append(_usage(stored.metrics or Metrics(), model))
        self.append(Message(ASSISTANT, said or None, tuple(calls) or None), stored.written_at)

    def _add_user(self, stored: StoredMessage, marks: Marks) -> None:
        for block in stored.blocks:
            if block.type == "tool_result":
                tool = self._tools.get(block.tool_use_id or "", block.name)
                text, outcome = read_operations(block.content, tool=tool, is_error=block.is_error is True)
                self.append_result(text, outcome, stored.written_at, call_id=block.tool_use_id, tool=tool)
        said = _said(stored)
        if not said:
            return
        self.compacted = self.compacted or said.startswith(_SUMMARY)
        prompt = _prompt_in(said, is_reminder=marks.user_run_span == 0)
        if prompt and marks.display_role is None:
            self.append(Message(role=USER, content=prompt), stored.written_at)


def read_session(file: MessagesFile, manifest: Manifest | None, unit: Unit, *, named: str, folder: str) -> Session:
    """Return a session, without messages where nothing was said.

    Args:
        file: its messages.
        manifest: of the session whose folder it is in, where there is one.
        unit: where it lies.
        named: name of the file.
        folder: name of the folder.
    """
    told = _Conversation()
    for stored in file.messages:
        told.add(stored)
    session_id = file.session_id or named
    is_sub_agent = file.agent not in (None, "", "lead") or _PARTED in session_id
    notes = manifest if manifest is not None else Manifest()
    own = Manifest() if is_sub_agent else notes
    times = [time for time in (*told.times, utc(own.started_at), utc(own.ended_at)) if time is not None]
    return Session(
        session_id=session_id,
        file=unit.locator,
        format=NAME,
        messages=tuple(told.messages),
        message_times=tuple(told.times) if any(told.times) else (),
        reported=told.reported,
        ending=_ending(own, told.shown),
        model=told.model or own.model,
        platform=notes.source or (name_of(file.origin.source) if file.origin is not None else None),
        project=notes.cwd,
        parent=(session_id.partition(_PARTED)[0] if _PARTED in session_id else folder) if is_sub_agent else None,
        kind=SessionKind.SUB_AGENT if is_sub_agent else SessionKind.MAIN,
        agent=NAME,
        agent_version=name_of(file.origin.version) if file.origin is not None else None,
        usage=usage_by_model(told.used),
        cost_usd=_cost(own),
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
        compacted=told.compacted,
        named_after_id=is_sub_agent or named == session_id,
    )


def _said(stored: StoredMessage) -> str:
    return "\n".join([block.text for block in stored.blocks if block.type == "text" and block.text])


def _prompt_in(said: str, *, is_reminder: bool) -> str:
    """Return what a person said: what stands in the tags for that, else all that is not the program's."""
    typed = [inside for _, _, inside in spans_in(said, _TYPED)]
    if typed:
        return "\n".join(filter(None, typed))
    return "" if is_reminder or said.startswith((*_INJECTED, _SUMMARY)) else said


def _usage(metrics: Metrics, model: str | None) -> Usage:
    read, cached = token_count(metrics.input_tokens), token_count(metrics.cache_read_tokens)
    written = token_count(metrics.cache_write_tokens)
    return Usage(
        model=model,
        input_tokens=fresh_tokens(read, cached, written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=token_count(metrics.output_tokens),
    )


def _cost(manifest: Manifest) -> float | None:
    """Return the price; where Cline knows none it writes 0, which is not known to be the price."""
    usage = manifest.metadata.usage if manifest.metadata is not None else None
    cost = usage.total_cost if usage is not None else None
    return float(cost) if isinstance(cost, int | float) and 0 < cost < float("inf") else None


def _ending(manifest: Manifest, shown: str) -> Ending | None:
    """Return how the process ended; one that is found without its process was killed. `shown` is its last error."""
    match manifest.status:
        case "completed" if manifest.exit_code in (None, 0):
            return Ending(SessionState.COMPLETE, f"status={_COMPLETED}")
        case "completed" | "failed":
            killed = manifest.metadata is not None and manifest.metadata.terminal_marker is not None
            kind = EndingKind.PROCESS if killed or _LEFT.match(shown) else EndingKind.ERROR
            kind = EndingKind.LIMIT if shown.startswith(_LIMITED) else kind
            return Ending(SessionState.INTERRUPTED, f"status={_FAILED}", kind)
        case "cancelled":
            return Ending(SessionState.INTERRUPTED, f"status={_CANCELLED}", EndingKind.PERSON)
        case _:
            return None
