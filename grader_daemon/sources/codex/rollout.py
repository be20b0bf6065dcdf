"""The lines of a rollout of Codex CLI to a session.

A line holds one thing that a model said or called, not one answer; which of them are one answer, the results and the
counts of tokens between them tell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import (
    ASSISTANT,
    USER,
    Content,
    Ending,
    FunctionCall,
    Message,
    ReportedOutcome,
    Session,
    ToolCall,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.errors import ParseError
from grader_daemon.sources.codex import code_mode
from grader_daemon.sources.codex import rollout_lines as shapes
from grader_daemon.sources.codex.call_results import read_result
from grader_daemon.sources.codex.rollout_lines import Counts, Line, read_origin
from grader_daemon.sources.codex.taken_apart import WAIT, Ran, take_apart
from grader_daemon.sources.codex.token_counts import TokenSums
from grader_daemon.sources.decoding import decoded_or, name_of, setup_digest, text_in, utc
from grader_daemon.sources.messages_so_far import Conversation

NAME = "codex"
"""Name of the source and of the agent, and of the format of its sessions."""

INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
"""Beginnings of messages that Codex writes in the name of a person; before 0.169 nothing else tells them apart."""

_WORDS_OF_A_PERSON = "user."
_CALLED = {
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
}
"""The tool of a call that names none."""

_RUN_BY_THE_PROVIDER = ("web_search_call", "image_generation_call")
"""Calls that are carried out where the model runs; Codex is told no result of them, only how they ended."""

_STATUS = {"completed": CallStatus.SUCCESS, "failed": CallStatus.FAILURE, "declined": CallStatus.REFUSED}
_WRITES_TO_PROCESS = "write_stdin"


class _Process(msgspec.Struct, frozen=True):
    session_id: int | str | None = None


_PROCESS = msgspec.json.Decoder(_Process).decode


def to_session(lines: Iterable[Line], *, session_id: str, path: str, limits: Limits) -> Session:
    """Return the session that the lines of a file hold, without messages where nothing was said.

    Args:
        lines: in their order.
        session_id: what it is called if no line says that.
        path: where it was read.
        limits: what a session may hold.

    Raises:
        ParseError: it has more messages than `limits` allow.
    """
    rollout = _Rollout()
    for line in lines:
        rollout.add(line)
    if len(rollout.messages) > limits.messages:
        raise ParseError(f"{len(rollout.messages):,} messages are more than max_messages = {limits.messages:,}")
    return rollout.session(session_id, path)


class _Answer:
    """The answer of one call of a model; its message stands at `place`.

    Before 0.110 each tool call is followed by its result, so an answer may go on after a result. Where one ends a count
    of tokens tells, with numbers or without: it stands before the first line of an answer there, later behind the last.
    """

    def __init__(self, place: int) -> None:
        self.place = place
        self.texts: list[str] = []
        self.calls: list[ToolCall] = []
        self.has_results = False

    def message(self) -> Message:
        return Message(role=ASSISTANT, content="\n".join(self.texts) or None, tool_calls=tuple(self.calls) or None)


class _Rollout(Conversation):
    """The content of the lines so far."""

    def __init__(self) -> None:
        super().__init__()
        self._begins: list[int] = []
        self._ending: Ending | None = None
        self._meta: shapes.Meta | None = None
        self._turn = shapes.Turn()
        self._tokens = TokenSums()
        self._has_counts = False
        self._is_compacting = False
        self._answers: list[_Answer] = []
        self._answer: _Answer | None = None
        self._compared: _Answer | None = None
        self._newest: datetime | None = None
        self._calls: dict[str, shapes.Call] = {}
        self._results: dict[str, int] = {}
        self._processes: dict[str, int] = {}
        self._noted: dict[str, ReportedOutcome] = {}
        self._ran: dict[str, Ran] = {}
        self._ran_at: dict[str, int] = {}
        self._has_code = False

    def add(self, line: Line) -> None:
        """Add the next line."""
        written_at = line.written_at
        if written_at is not None and (self._newest is None or written_at > self._newest):
            self._newest = written_at
        match line.payload:
            case shapes.Said() as said:
                self._add_said(said, written_at)
            case shapes.Call() as call:
                self._add_call(call, written_at)
            case shapes.Output() as output:
                self._add_output(output, written_at)
            case shapes.TokenCount() as count:
                info = count.info or shapes.Info()
                self._add_count(info.last_token_usage, info.total_token_usage)
            case shapes.TokenRecord(usage=usage, thread_token_usage=total):
                self._add_count(usage, total)
            case shapes.Started() | shapes.Completed() | shapes.Aborted() as turn:
                self._ending = _ending(turn, is_compacting=self._is_compacting)
                self._answer, self._is_compacting = None, False
            case other:
                self._add_note(other)

    def session(self, session_id: str, path: str) -> Session:
        """Return what they make."""
        meta = self._meta or shapes.Meta()
        origin = read_origin(meta)
        self._settle()
        if self._has_code:
            self._take_apart()
        return Session(
            session_id=meta.id or session_id,
            file=path,
            format=NAME,
            messages=tuple(self.messages),
            message_times=tuple(self.times) if any(self.times) else (),
            reported=self.reported,
            ending=self._ending,
            taken_back=tuple(self.taken_back),
            model=name_of(self._turn.model),
            platform=name_of(origin.platform),
            project=name_of(meta.cwd),
            parent=origin.parent,
            kind=origin.kind,
            agent=NAME,
            agent_version=name_of(meta.cli_version),
            usage=self._tokens.usage(),
            system_prompt_digest=setup_digest(meta.base_instructions),
            started_at=utc(meta.timestamp),
            updated_at=self._newest,
            named_after_id=session_id == meta.id,
        )

    def _add_note(self, payload: shapes.Payload) -> None:
        match payload:
            case shapes.Meta():
                self._meta = self._meta or payload  # that of a thread that was copied into this one comes after its own
            case shapes.Turn():
                self._turn = payload
            case shapes.RolledBack(num_turns=turns):
                self._take_back(turns)
            case shapes.Compacted(message=summary):
                self._drop_summary(summary)
            case shapes.ItemCompleted() | shapes.CallEnded():
                self._note_outcome(payload)
            case _:
                raise AssertionError(payload)  # all others were seen to before

    def _add_said(self, said: shapes.Said, written_at: datetime | None) -> None:
        text = text_in(said.content)
        if said.role == ASSISTANT:
            if text:
                self._answering(written_at).texts.append(text)
        elif said.role == USER and not _is_injected(said, text):
            self._answer = None
            if self._ending is not None and self._ending.state is not SessionState.OPEN:
                self._ending = None  # 0.45 notes no beginning of a turn
            self._begins.append(self.append(Message(role=USER, content=text), written_at))

    def _add_call(self, call: shapes.Call, written_at: datetime | None) -> None:
        call_id = call.call_id or call.id
        arguments = call.arguments or call.action
        if call.input is not None:
            arguments = {"input": call.input}
        tool = name_of(call.name) or _CALLED.get(call.type)
        answer = self._answering(written_at)
        answer.calls.append(ToolCall(call_id, FunctionCall(tool, arguments)))
        if call_id is None:
            return
        self._calls[call_id] = call
        self._has_code |= tool == code_mode.TOOL and call.input is not None
        if call.type in _RUN_BY_THE_PROVIDER and call.status in _STATUS:
            self._add_result(call_id, "", ReportedOutcome(_STATUS[call.status]), written_at)

    def _add_output(self, output: shapes.Output, written_at: datetime | None) -> None:
        result = read_result(text_in(output.output))
        outcome, call_id = result.outcome, output.call_id or ""
        began = self._process_of(call_id)
        if began is not None and outcome is not None and outcome.status is not CallStatus.INTERRUPTED:
            if outcome.status is not CallStatus.PENDING:
                self.reported[began] = outcome  # of the command itself; that its process was asked worked
            outcome = ReportedOutcome(CallStatus.SUCCESS)
        called = self._calls.get(call_id)
        is_of_code = called is not None and called.name in (code_mode.TOOL, WAIT)
        index = self._add_result(call_id, output.output if is_of_code else result.text, outcome, written_at)
        if result.process is not None:
            self._processes.setdefault(result.process, index)

    def _add_result(
        self, call_id: str, content: Content, outcome: ReportedOutcome | None, written_at: datetime | None
    ) -> int:
        index = self.append_result(content, outcome, written_at, call_id=call_id or None)
        self._results.pop(call_id, None)  # so that the places stand in their order
        self._results[call_id] = index
        if self._answer is not None:
            self._answer.has_results = True
        return index

    def _process_of(self, call_id: str) -> int | None:
        """Return the index of the result that said that the process goes on to which a call wrote."""
        call = self._calls.get(call_id)
        if call is None or call.name != _WRITES_TO_PROCESS or not isinstance(call.arguments, str):
            return None
        return self._processes.get(str(decoded_or(_PROCESS, call.arguments, _Process()).session_id))

    def _add_count(self, call: Counts | None, total: Counts | None) -> None:
        self._tokens.add(call, total=total, model=name_of(self._turn.model))
        self._has_counts = True
        self._answer = None

    def _take_back(self, turns: int) -> None:
        """Forget the last turns; each begins with a message of a person. Each message is looked at once only."""
        if not turns or not self._begins:
            return
        end = self._begins[max(0, len(self._begins) - turns)]
        del self._begins[-turns:]
        for index in range(end, len(self.messages)):
            self.reported.pop(index, None)
        del self.messages[end:], self.times[end:]
        for places in (self._results, self._processes, self._ran_at):
            while places and next(reversed(places.values())) >= end:
                places.popitem()
        while self._answers and self._answers[-1].place >= end:
            self._answers.pop()
        while self.taken_back and self.taken_back[-1] >= end:
            self.taken_back.pop()
        self.taken_back.append(end)
        self._answer = self._ending = None

    def _drop_summary(self, summary: str) -> None:
        """Forget the answer that became the summary: the model was asked for it by Codex, and nobody reads it."""
        self._is_compacting = True
        last = self._answers[-1] if self._answers else None
        if last is None or last is self._compared or last.calls or last.place != len(self.messages) - 1:
            return
        self._compared = last  # once, for it can be long, and the summaries many
        if summary.endswith("\n".join(last.texts)):
            del self._answers[-1], self.messages[-1], self.times[-1]
            self._answer = None

    def _note_outcome(self, note: shapes.ItemCompleted | shapes.CallEnded) -> None:
        call_id = note.item.id if isinstance(note, shapes.ItemCompleted) else note.call_id
        outcome = _noted(note)
        if call_id and outcome is not None:
            self._noted[call_id] = outcome
            ran = note.item.command if isinstance(note, shapes.ItemCompleted) else note.command
            if isinstance(ran, list) and ran and isinstance(ran[-1], str):
                self._ran[call_id] = Ran(ran[-1], outcome)  # the command stands behind a shell and its option
                self._ran_at[call_id] = len(self.messages)

    def _settle(self) -> None:
        """Fill in the answers, and what was noted of calls whose result does not say how they ended."""
        for answer in self._answers:
            self.messages[answer.place] = answer.message()
        for call_id, outcome in self._noted.items():
            index = self._results.get(call_id)
            said = None if index is None else self.reported.get(index)
            if index is not None and (said is None or said.status is CallStatus.PENDING):
                self.reported[index] = outcome

    def _take_apart(self) -> None:
        """Replace code by the calls in it; the commands that it ran are noted by ids that no call has."""
        ran = [self._ran[call_id] for call_id in self._ran_at if call_id not in self._calls]
        self.messages, self.reported, origins = take_apart(self.messages, self.reported, ran)
        self.times = [self.times[origin] for origin in origins]
        self.taken_back = [bisect_left(origins, place) for place in self.taken_back]

    def _answering(self, written_at: datetime | None) -> _Answer:
        answer = self._answer
        if answer is None or (answer.has_results and not self._has_counts):
            answer = self._answer = _Answer(self.append(Message(role=ASSISTANT), written_at))
            self._answers.append(answer)
        return answer


def _ending(turn: shapes.Started | shapes.Completed | shapes.Aborted, *, is_compacting: bool) -> Ending:
    match turn:
        case shapes.Started():
            return Ending(SessionState.OPEN, "task_started")
        case shapes.Aborted():
            return Ending(SessionState.INTERRUPTED, "turn_aborted", EndingKind.PERSON)
        case shapes.Completed(error=None, last_agent_message=None) if not is_compacting:
            # All that 0.110 says of a failed call; of a turn that only compacts it is right.
            return Ending(SessionState.INTERRUPTED, "task_complete without an answer", EndingKind.NO_ANSWER)
        case shapes.Completed(error=None):
            return Ending(SessionState.COMPLETE, "task_complete")
        case _:
            return Ending(SessionState.INTERRUPTED, "task_complete.error")


def _noted(note: shapes.ItemCompleted | shapes.CallEnded) -> ReportedOutcome | None:
    """Return what a note says of a call; None where it says nothing, as of a command that ended with Codex itself."""
    match note:
        case shapes.ItemCompleted(item=shapes.Item(exit_code=int(code))) | shapes.CallEnded(exit_code=int(code)):
            return ReportedOutcome.exited(code) if code >= 0 else None
        case shapes.ItemCompleted(item=item):
            status = _STATUS.get(item.status or "")
        case shapes.CallEnded(success=bool(success)):
            status = _STATUS["completed" if success else "failed"]
        case shapes.CallEnded(result=shapes.Returned() as returned):
            status = _STATUS["failed" if returned.is_error else "completed"]
        case _:
            status = None
    return None if status is None else ReportedOutcome(status)


def _is_injected(said: shapes.Said, text: str) -> bool:
    kinds = said.passed.content_item_kinds if said.passed is not None else None
    if kinds:
        return not any(kind.startswith(_WORDS_OF_A_PERSON) for kind in kinds)
    return text.startswith(INJECTED)
