"""The conversation of one agent in a session of Copilot CLI: the session itself, or a sub-agent that it started."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    FunctionCall,
    Message,
    ReportedOutcome,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.copilot.completed_calls import read_result
from grader_daemon.sources.copilot.event_lines import (
    Abort,
    Answer,
    Counts,
    Error,
    Metrics,
    ModelCall,
    Notice,
    Prompt,
    Request,
    Result,
)
from grader_daemon.sources.decoding import fresh_tokens, token_count

_PERSONS: Final = frozenset({None, "", "user"})
"""The `source` of what a person wrote."""

_FROM_PARENT: Final = "agent-"
_BY_PERSON: Final = ("user", "remote", "cancel")
_WORD = re.compile(r"[a-z_]{1,40}")


class Conversation:
    """Its messages, and how it stands, event by event.

    is_main: it is the session, no sub-agent.
    """

    def __init__(self, *, is_main: bool, shutdowns: Sized) -> None:
        """`shutdowns` has one more each time that the process ends in order."""
        self.is_main = is_main
        self._messages: list[Message] = []
        self._pieces: list[Answer] = []
        """Pieces of the last message, an answer, that are still to be added to it."""

        self.times: list[datetime | None] = []
        self.reported: dict[int, ReportedOutcome] = {}
        self.model: str | None = None
        self.compacted = False
        self.started_at: datetime | None = None
        self.updated_at: datetime | None = None
        self._answers = 0
        self._newest_call: str | None = None
        self._tools: dict[str, str | None] = {}
        """Tools of the calls whose results are still to come, by the ids of the calls."""

        self._results: dict[str, int] = {}
        """Places of the results of calls that go on in the background: of sub-agents by call, of commands by shell."""

        self._in_background: dict[str, ReportedOutcome] = {}
        """State of each sub-agent in the background, by the call that had it begun."""

        self._denied: set[str] = set()
        self._finished: dict[str, str | None] = {}
        self._used: list[Usage] = []
        self._cut: Ending | None = None
        self._turn_ended = False
        self._shutdowns = shutdowns
        self._begun_after = 0
        """Number of shutdowns before it went on last."""

    def at(self, time: datetime | None) -> None:
        """Note when something happened in it."""
        if time is None:
            return
        if self.started_at is None or time < self.started_at:
            self.started_at = time
        if self.updated_at is None or time > self.updated_at:
            self.updated_at = time

    def goes_on(self) -> None:
        """Note that it goes on, however it stood."""
        self._cut, self._turn_ended, self._begun_after = None, False, len(self._shutdowns)

    def add_prompt(self, prompt: Prompt, time: datetime | None) -> None:
        """Add what a person said, or the parent of a sub-agent; what the machinery wrote is no message."""
        source = prompt.source or ""
        is_said = source in _PERSONS or (not self.is_main and source.startswith(_FROM_PARENT))
        if is_said and prompt.content and prompt.is_autopilot_continuation is not True:
            self.goes_on()
            self._append(Message(role=USER, content=prompt.content), time)

    def add_answer(self, answer: Answer, time: datetime | None) -> list[str]:
        """Add an answer, or the next piece of one; return the ids of the calls that it makes."""
        self.goes_on()
        self.model = answer.model or self.model
        made = {call.tool_call_id: call.name for call in answer.tool_requests or () if call.tool_call_id}
        self._tools.update(made)
        call_id = answer.api_call_id
        if answer.chunk_index and call_id is not None and call_id == self._newest_call:
            self._pieces.append(answer)
            return list(made)
        self._answers += 1
        reason = self._finished.pop(call_id or "", None)
        self._append(Message(ASSISTANT, answer.content or "", _calls(answer) or None, reason), time)
        self._newest_call = call_id
        return list(made)

    def add_result(self, result: Result, time: datetime | None) -> None:
        """Add the end of a call that an answer made; others are a person's own."""
        call_id = result.tool_call_id
        if call_id is None or call_id not in self._tools:
            return
        tool = self._tools.pop(call_id)
        text, outcome, shell, command = read_result(result, tool=tool, is_denied=call_id in self._denied)
        place = len(self._messages)
        if shell is not None and command is not None:
            self._end(shell, command)
        elif shell is not None:
            self._results[shell] = place
        elif call_id in self._in_background and outcome.status is CallStatus.SUCCESS:
            outcome, self._results[call_id] = self._in_background[call_id], place
        self.reported[place] = outcome
        self._append(Message(role=TOOL, content=text, tool_call_id=call_id), time)

    def deny(self, call_id: str) -> None:
        """Note that a call may not run."""
        self._denied.add(call_id)

    def delegate(self, call_id: str) -> None:
        """Note that the sub-agent of a call works in the background."""
        self._in_background[call_id] = ReportedOutcome(CallStatus.PENDING)

    def end_delegated(self, call_id: str, status: CallStatus) -> None:
        """Note how the sub-agent of a call ended, if it worked in the background."""
        if call_id in self._in_background:
            self._in_background[call_id] = ReportedOutcome(status)
            self._end(call_id, self._in_background[call_id])

    def add_notice(self, notice: Notice) -> None:
        """Note how a command in the background ended."""
        if notice.shell_id is not None and notice.exit_code is not None:
            self._end(notice.shell_id, ReportedOutcome.exited(notice.exit_code))

    def use(self, call: ModelCall) -> None:
        """Add what a call of the model used, and why the model stopped."""
        self._used.append(_usage(call, call.model))
        if call.api_call_id is not None:
            self._finished[call.api_call_id] = call.finish_reason

    def end_turn(self) -> None:
        """Note that a turn has ended: all results of an answer are there."""
        self._turn_ended = True

    def fail(self, error: Error) -> None:
        """Note an error that ended a turn."""
        self._cut = Ending(SessionState.INTERRUPTED, f"error: {_word(error.error_type)}")

    def abort(self, abort: Abort) -> None:
        """Note that a turn was stopped."""
        reason = abort.reason or ""
        kind = EndingKind.ERROR
        if "limit" in reason:
            kind = EndingKind.LIMIT
        elif reason.startswith(_BY_PERSON) or not reason:
            kind = EndingKind.PERSON
        self._cut = Ending(SessionState.INTERRUPTED, f"abort: {_word(reason)}", kind)

    @property
    def messages(self) -> list[Message]:
        """Its messages."""
        if self._pieces:
            last = self._messages[-1]
            said = "\n".join(filter(None, (last.text, *(piece.content for piece in self._pieces))))
            calls = (*(last.tool_calls or ()), *(call for piece in self._pieces for call in _calls(piece)))
            self._messages[-1] = msgspec.structs.replace(last, content=said, tool_calls=calls or None)
            self._pieces = []
        return self._messages

    @property
    def ending(self) -> Ending | None:
        """State of it, as it is noted."""
        if self._cut is not None or not self.messages:
            return self._cut
        last = self.messages[-1]
        answered = last.role == ASSISTANT and not last.tool_calls
        process_ended = len(self._shutdowns) > self._begun_after
        if answered and (self._turn_ended or process_ended):
            return Ending(SessionState.COMPLETE, "assistant.turn_end")
        if process_ended:
            return Ending(SessionState.INTERRUPTED, "session.shutdown", EndingKind.PROCESS)
        return Ending(SessionState.OPEN, "toolRequests") if last.tool_calls else None

    def usage(self, totals: Mapping[str, Metrics] | None) -> tuple[Usage, ...]:
        """Return what its calls used; `totals` are those that the process noted at its end, if it noted all."""
        if self._used and len(self._used) >= self._answers:
            return usage_by_model(self._used)
        if self._used or not totals:
            return ()
        return tuple(_usage(metrics.usage or Counts(), model) for model, metrics in totals.items())

    def _end(self, name: str, outcome: ReportedOutcome) -> None:
        place = self._results.pop(name, None)
        if place is not None:
            self.reported[place] = outcome

    def _append(self, message: Message, time: datetime | None) -> None:
        self.messages.append(message)
        self.times.append(time)
        self._newest_call = None


def _calls(answer: Answer) -> tuple[ToolCall, ...]:
    return tuple(_call(request) for request in answer.tool_requests or ())


def _call(request: Request) -> ToolCall:
    return ToolCall(request.tool_call_id, FunctionCall(request.name, _arguments(request.arguments)))


def _arguments(raw: msgspec.Raw) -> str | None:
    """Return arguments as JSON; those that are no object but a text, as a patch, as they are."""
    text = str(memoryview(raw), "utf-8")
    return msgspec.json.decode(raw, type=str) if text.startswith('"') else text or None


def _usage(counts: Counts, model: str | None) -> Usage:
    """Copilot counts what came from a cache, or was written to one, as part of the input."""
    read, cached, written = map(token_count, (counts.input_tokens, counts.cache_read_tokens, counts.cache_write_tokens))
    return Usage(
        model=model,
        input_tokens=fresh_tokens(read, cached, written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=token_count(counts.output_tokens),
        reasoning_tokens=token_count(counts.reasoning_tokens),
    )


def _word(text: str | None) -> str:
    """Return what is told of why a session stands as it does; nothing but a word, whatever the file says."""
    return text if text and _WORD.fullmatch(text) else "other"
