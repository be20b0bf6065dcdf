"""A task of Cline's extension, or of one made from it, to a session: what the API was sent, and what the screen shows.

Models called tools in text before they had a way of their own to; the results of such calls stand in the next message,
each behind a line that names the call. The program wraps what a person says in tags, and adds what it knows itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    MOST_USD,
    USER,
    Ending,
    FunctionCall,
    Message,
    Session,
    SessionKind,
    ToolCall,
    Usage,
    total_usage,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.cline.session_messages import NAME
from grader_daemon.sources.cline.stored_messages import ApiRequest, Block, StoredMessage, UiMessage
from grader_daemon.sources.cline.tagged_calls import calls_in, spans_in, without
from grader_daemon.sources.cline.task_results import outcome_of
from grader_daemon.sources.decoding import decoded_or, fresh_tokens, moment_of, token_count
from grader_daemon.sources.messages_so_far import Conversation

_AGENTS: Final = {"rooveterinaryinc.roo-cline": "roo-code", "kilocode.kilo-code": "kilo-code"}
"""Agents that were made from Cline, by the names of their extensions in the paths of their tasks."""

_RESULT = re.compile(r"\[(\w{1,60})(?: for [^\n]{0,5000})?\] Result:\n?")
_PROMPT = re.compile(r"<(task|feedback|user_message|user_input)(?:\s[^<>]{0,200})?>")
_THINKING = re.compile(r"<(thinking)>")
_DETAILS: Final = "<environment_details>"
_PROJECT = re.compile(r"# Current (?:Working|Workspace) Directory \(([^\n)]{1,4096})\)")
_MODEL = re.compile(r"<model>([^<>\n]{1,256})</model>")
_INJECTED: Final = ("<", "[", "#", "(This is an automated message", "The previous ")
_API_CALL: Final = "api_req_started"
_ENDS: Final = {
    "completion_result": Ending(SessionState.COMPLETE, "completion_result"),
    "resume_completed_task": Ending(SessionState.COMPLETE, "completion_result"),
    "api_req_failed": Ending(SessionState.INTERRUPTED, "api_req_failed"),
    "mistake_limit_reached": Ending(SessionState.INTERRUPTED, "mistake_limit_reached", EndingKind.LIMIT),
    "auto_approval_max_req_reached": Ending(
        SessionState.INTERRUPTED, "auto_approval_max_req_reached", EndingKind.LIMIT
    ),
}
_STOPS: Final = {
    "user_cancelled": Ending(SessionState.INTERRUPTED, "user_cancelled", EndingKind.PERSON),
    "streaming_failed": Ending(SessionState.INTERRUPTED, "streaming_failed"),
}
_CONTENT: msgspec.json.Decoder[str | tuple[Block, ...] | None] = msgspec.json.Decoder(str | tuple[Block, ...] | None)
_REQUEST = msgspec.json.Decoder(ApiRequest).decode


class _Conversation(Conversation):
    """Messages, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.project: str | None = None
        self.model: str | None = None
        self.compacted = False
        self._tools: dict[str, str | None] = {}
        self._open: list[ToolCall] = []
        """Calls in text whose results are to come."""

    def add(self, stored: StoredMessage) -> None:
        """Add a message, and what stands in it."""
        self.compacted = self.compacted or stored.is_summary is True
        if stored.role == ASSISTANT and stored.is_summary is not True:
            self._add_answer(stored)
        elif stored.role == USER:
            self._add_user(stored)

    def _add_answer(self, stored: StoredMessage) -> None:
        text = "\n".join(block.text for block in stored.blocks if block.type == "text" and block.text)
        made = [block.call for block in stored.blocks if block.type == "tool_use"]
        self._open = []
        if not made:
            text, tagged = calls_in(text)
            number = len(self.messages)
            self._open = [
                ToolCall(f"{number}.{place}", FunctionCall(call.tool, call.arguments))
                for place, call in enumerate(tagged)
            ]
        calls = (*made, *self._open)
        self._tools |= {call.id: call.tool for call in calls if call.id}
        said = without(text, _THINKING)
        self.append(Message(ASSISTANT, said or None, calls or None), stored.written_at)

    def _add_user(self, stored: StoredMessage) -> None:
        texts: list[str] = []
        for block in stored.blocks:
            if block.type == "tool_result":
                text = _content(block.content)
                tool = self._tools.get(block.tool_use_id or "")
                self._add_result(block.tool_use_id, tool, text, stored, is_error=block.is_error is True)
                texts += [text[begin:end] for begin, end, _ in spans_in(text, _PROMPT)]
            elif block.type == "text" and block.text:
                texts.append(block.text)
        self._add_texts(texts, stored)

    def _add_texts(self, texts: Sequence[str], stored: StoredMessage) -> None:
        """Add texts: a result from the line that names its call up to what is no part of it, and what a person says."""
        result: tuple[ToolCall, list[str]] | None = None
        said: list[str] = []
        for text in texts:
            named = _RESULT.match(text)
            call = self._open_call(named[1]) if named is not None else None
            if text.startswith(_DETAILS):
                self._note(text)
                continue
            if named is not None and call is not None:
                self._end(result, stored)
                result = (call, [text[named.end() :]])
            elif result is not None and not text.startswith(_INJECTED):
                result[1].append(text)
            said += _prompts_in(text, is_result=result is not None)
        self._end(result, stored)
        for prompt in said:
            self.append(Message(role=USER, content=prompt), stored.written_at)

    def _open_call(self, tool: str) -> ToolCall | None:
        call = next((call for call in self._open if call.tool == tool), None)
        if call is not None:
            self._open.remove(call)
        return call

    def _end(self, result: tuple[ToolCall, list[str]] | None, stored: StoredMessage) -> None:
        if result is not None:
            call, texts = result
            self._add_result(call.id, call.tool, "\n".join(filter(None, texts)), stored, is_error=False)

    def _add_result(
        self, call_id: str | None, tool: str | None, text: str, stored: StoredMessage, *, is_error: bool
    ) -> None:
        outcome = outcome_of(text, tool=tool, is_error=is_error)
        self.append_result(text, outcome, stored.written_at, call_id=call_id, tool=tool)

    def _note(self, details: str) -> None:
        project, model = _PROJECT.search(details), _MODEL.search(details)
        self.project = self.project or (project[1] if project is not None else None)
        self.model = model[1] if model is not None else self.model


def read_task(history: Sequence[StoredMessage], screen: Sequence[UiMessage], unit: Unit, *, task: str) -> Session:
    """Return a task as a session, without messages where nothing was said.

    Args:
        history: what the API was sent, and answered.
        screen: what the person saw; nothing where that is not there.
        unit: where it lies.
        task: its name.
    """
    told = _Conversation()
    for stored in history:
        told.add(stored)
    requests = [request for line in screen if (request := _request_in(line)) is not None]
    models = [line.model_info.model_id for line in screen if line.model_info is not None]
    model = next(filter(None, reversed(models)), None) or told.model
    times = [time for time in (*told.times, *(moment_of(line.ts) for line in screen)) if time is not None]
    return Session(
        session_id=task,
        file=unit.locator,
        format=NAME,
        messages=tuple(told.messages),
        message_times=tuple(told.times) if any(told.times) else (),
        reported=told.reported,
        ending=_ending(screen),
        model=model,
        platform="vscode" if "globalStorage" in unit.locator else None,
        project=told.project,
        kind=SessionKind.MAIN,
        agent=next((agent for name, agent in _AGENTS.items() if f"/{name}/" in unit.locator), NAME),
        usage=_usage(requests, model),
        cost_usd=_cost(requests),
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
        compacted=told.compacted,
    )


def _content(raw: msgspec.Raw) -> str:
    content = decoded_or(_CONTENT.decode, raw, bytes(memoryview(raw)))
    if isinstance(content, str | bytes):
        return content if isinstance(content, str) else content.decode("utf-8", "replace")
    return "\n".join(block.text for block in content or () if block.text)


def _prompts_in(text: str, *, is_result: bool) -> list[str]:
    """Return what a person says in a text: what stands in the tags for that; else a text that is not the program's."""
    tagged = [inside for _, _, inside in spans_in(text, _PROMPT)]
    if tagged or is_result or text.startswith(_INJECTED):
        return [said for said in tagged if said]
    return [text]


def _request_in(line: UiMessage) -> ApiRequest | None:
    return decoded_or(_REQUEST, line.text, None) if line.say == _API_CALL and line.text else None


def _usage(requests: Sequence[ApiRequest], model: str | None) -> tuple[Usage, ...]:
    used = [_tokens(request) for request in requests if request.tokens_in is not None]
    return (msgspec.structs.replace(total_usage(used), model=model),) if used else ()


def _tokens(request: ApiRequest) -> Usage:
    read, cached = token_count(request.tokens_in), token_count(request.cache_reads)
    written = token_count(request.cache_writes)
    if request.api_protocol == "openai":
        read = fresh_tokens(read, cached, written)
    return Usage(
        input_tokens=read,
        cache_read_tokens=cached or 0,
        cache_write_tokens=written or 0,
        output_tokens=token_count(request.tokens_out),
    )


def _cost(requests: Sequence[ApiRequest]) -> float | None:
    """Return the price; where none is known it is 0, which is not known to be the price."""
    costs = [float(request.cost) for request in requests if isinstance(request.cost, int | float)]
    total = sum(cost for cost in costs if 0 < cost <= MOST_USD)
    return total if 0 < total <= MOST_USD else None


def _ending(screen: Sequence[UiMessage]) -> Ending | None:
    """Return how a task stands by the last line of the screen that says it."""
    if not screen:
        return None
    last = screen[-1]
    found = _ENDS.get(last.ask or "") or _ENDS.get(last.say or "")
    if found is not None:
        return found
    request = next((request for line in reversed(screen[-5:]) if (request := _request_in(line)) is not None), None)
    reason = request.cancel_reason if request is not None else None
    return _STOPS.get(reason) if isinstance(reason, str) else None
