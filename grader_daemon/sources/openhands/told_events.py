"""The conversation that events of OpenHands tell, in either vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import ASSISTANT, USER, Ending, FunctionCall, Message, ReportedOutcome, ToolCall
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.decoding import UNREADABLE, mending, text_in, utc_in
from grader_daemon.sources.messages_so_far import Conversation
from grader_daemon.sources.openhands.event_results import outcome_of, text_of
from grader_daemon.sources.openhands.stored_events import BOOKKEEPING, TOOLS, StoredEvent

_AGENT: Final = "agent"
_FINISH: Final = "finish"
_CONDENSED: Final = ("Condensation", "condensation")
_URGED: Final = "Please continue working on the task on whatever approach you think is suitable."
"""Beginning of what an evaluation says in place of a person who is asked something."""

_NO_ARGUMENTS: Final = frozenset(
    {
        *("thought", "blocking", "hidden", "confirmation_state", "is_confirmed", "security_risk", "impl_source"),
        *("keep_prompt", "is_static", "image_urls", "wait_for_response", "is_input", "cwd", "tool_call_metadata"),
    }
)
"""Notes of version 0 beside the arguments of a call."""

_ANSWERS: Final = ("final_thought", "message", "thought")
_DECODE: Final = msgspec.json.Decoder(StoredEvent).decode
_DECODE_PAIR: Final = msgspec.json.Decoder(tuple[msgspec.Raw, ...]).decode


class Told(Conversation):
    """Messages, one after the other, and what was passed over."""

    def __init__(self, zone: tzinfo | None) -> None:
        """Set up. Times are those of the machine that ran it, without a zone: in `zone`, or that of this machine."""
        super().__init__()
        self.ending: Ending | None = None
        self.system_prompt: str | None = None
        self.compacted = False
        self.unknown: list[str] = []
        self.broken = 0
        self.mark = ""
        """Id and time of the first event of the agent, which no other run has; "" of old events, which have no time."""

        self._zone = zone
        self._tools: dict[str, str | None] = {}
        self._group: object = None
        self._grouped: list[ToolCall] = []
        """Calls of the last message, which further events may add to: then it is not made yet."""
        self._answer: str | None = None

    def add_all(self, history: Sequence[msgspec.Raw]) -> None:
        """Add events, which in old files stand in pairs of action and observation."""
        for raw in history:
            if bytes(memoryview(raw)[:1]) == b"[":
                self.add_all(_DECODE_PAIR(raw))
                continue
            try:
                event = mending(_DECODE, bytes(raw))
            except UNREADABLE:
                self.broken += 1
                continue
            self._add(event)

    def begin_with(self, task: str) -> None:
        """Insert what a person asked for, unless somebody says something: not every version keeps it in its events."""
        if all(message.role != USER for message in self.messages):
            self.messages.insert(0, Message(role=USER, content=task))
            self.times.insert(0, None)
            self.reported = {place + 1: outcome for place, outcome in self.reported.items()}

    def finish(self) -> None:
        """Add what the agent said as it finished, behind the result of that call."""
        self._make_last()
        if self._answer:
            self.append(Message(role=ASSISTANT, content=self._answer), self.times[-1])
        self._answer = None

    def _add(self, event: StoredEvent) -> None:
        kind = event.kind or (event.observation if isinstance(event.observation, str) else event.action)
        if not self.mark and event.source == _AGENT and event.timestamp is not None:
            self.mark = f"{event.id}\0{event.timestamp}"
        if kind in ("MessageEvent", "message"):
            self._add_message(event)
        elif event.kind == "ActionEvent" or (event.kind is None and event.observation is None and kind == event.action):
            self._add_action(event, str(kind))
        elif event.kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation") or event.kind is None:
            self._add_result(event, str(kind))
        else:
            self._add_note(event, event.kind)

    def _add_note(self, event: StoredEvent, kind: str) -> None:
        if kind in _CONDENSED:
            self.compacted = True
        elif kind == "SystemPromptEvent":
            self.system_prompt = event.system_prompt.text if event.system_prompt is not None else None
        elif kind == "ConversationErrorEvent":
            self.ending = ending_by(event.code or kind)
        elif kind not in BOOKKEEPING:
            self.unknown.append(kind)

    def _add_message(self, event: StoredEvent) -> None:
        args = event.args or {}
        said = text_in(event.llm_message.content) if event.llm_message is not None else args.get("content")
        text = said if isinstance(said, str) else ""
        self._group = None
        self.finish()
        if event.source == _AGENT:
            self.append(Message(role=ASSISTANT, content=text), self._at(event))
        elif event.source == USER and not text.startswith(_URGED):
            self.append(Message(role=USER, content=text), self._at(event))

    def _add_action(self, event: StoredEvent, kind: str) -> None:
        if kind == "system":
            prompt = (event.args or {}).get("content")
            self.system_prompt = prompt if isinstance(prompt, str) else None
        elif event.source == _AGENT and kind not in BOOKKEEPING and kind not in _CONDENSED:
            self._add_call(event, kind)
        else:
            self.compacted = self.compacted or kind in _CONDENSED

    def _add_call(self, event: StoredEvent, kind: str) -> None:
        notes, args = event.tool_call_metadata, event.args or {}
        call = _call_since_1(event) if event.kind is not None else _call_of_0(event, kind)
        thought = text_in(event.thought) if event.kind is not None else args.get("thought")
        text = thought if isinstance(thought, str) and thought else None
        group = event.llm_response_id
        if notes is not None and notes.model_response is not None:
            group = notes.model_response.id
        self._tools[call.id or ""] = call.tool
        self._answer = _answer_of(event, args) if _FINISH in (call.tool, kind) else None
        if self._answer is not None and self._answer == text:
            text = None
        if group is None or group != self._group or not self._grouped:
            self.append(Message(ASSISTANT, text), self._at(event))
        self._grouped.append(call)
        self._group = group
        if self._answer is not None:
            self.ending = Ending(SessionState.COMPLETE, _FINISH)
            if event.kind is None:
                self._append_result(call.id, "", ReportedOutcome(CallStatus.SUCCESS), self._at(event))

    def _add_result(self, event: StoredEvent, kind: str) -> None:
        if kind == "agent_state_changed":
            self._add_state(event.extras.agent_state if event.extras is not None else None)
            return
        notes = event.tool_call_metadata
        call_id = event.tool_call_id or (notes.tool_call_id if notes is not None else None) or _word(event.cause)
        if kind in BOOKKEEPING or (call_id not in self._tools and kind != "error"):
            return
        self._append_result(call_id, text_of(event), outcome_of(event), self._at(event))

    def _add_state(self, state: object) -> None:
        if state == "error":
            self.ending = ending_by("error")
        elif state in ("stopped", "rejected"):
            self.ending = Ending(SessionState.INTERRUPTED, str(state), EndingKind.PERSON)

    def _append_result(
        self, call_id: str | None, text: str, outcome: ReportedOutcome | None, time: datetime | None
    ) -> None:
        if call_id not in self._tools:
            return  # an error of the machinery, which no call answers for
        self._group = None
        self.append_result(text, outcome, time, call_id=call_id, tool=self._tools[call_id or ""])

    def _make_last(self) -> None:
        if self._grouped:
            self.messages[-1] = msgspec.structs.replace(self.messages[-1], tool_calls=tuple(self._grouped))
            self._grouped = []

    def append(self, message: Message, time: datetime | None) -> int:
        """See `Conversation.append`; the last one is whole then."""
        self._make_last()
        return super().append(message, time)

    def _at(self, event: StoredEvent) -> datetime | None:
        return utc_in(event.timestamp, self._zone)


def ending_by(error: str) -> Ending:
    """Return how a run ended by the error that is noted; its first words tell which."""
    low = error.lower()
    is_limit = any(sign in low for sign in ("maximum iteration", "maxiterations", "max iterations", "budget"))
    kind = EndingKind.LIMIT if is_limit else EndingKind.ERROR
    return Ending(SessionState.INTERRUPTED, "limit" if is_limit else "error", kind)


def _call_since_1(event: StoredEvent) -> ToolCall:
    made = event.tool_call
    function = made.function if made is not None else None
    name = event.tool_name or (made.name if made is not None else None)
    arguments = made.arguments if made is not None else None
    if function is not None:
        name, arguments = name or function.name, arguments or function.arguments
    return ToolCall(event.tool_call_id, FunctionCall(name, arguments))


def _call_of_0(event: StoredEvent, kind: str) -> ToolCall:
    notes = event.tool_call_metadata
    name = notes.function_name if notes is not None else None
    call_id = notes.tool_call_id if notes is not None else None
    arguments = {key: value for key, value in (event.args or {}).items() if key not in _NO_ARGUMENTS}
    return ToolCall(call_id or _word(event.id), FunctionCall(name or TOOLS.get(kind, kind), arguments))


def _answer_of(event: StoredEvent, args: dict[str, object]) -> str:
    said = (args.get(name) for name in _ANSWERS) if event.kind is None else (getattr(event.action, "message", None),)
    return next((text for text in said if isinstance(text, str) and text), "")


def _word(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""
