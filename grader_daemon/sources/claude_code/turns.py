"""Build a session from one chain of a Claude Code transcript: the session itself, or a side chain in it.

One answer of a model is several lines of one ``message.id``, each with a block of it and all with the same usage, and
the results of its first calls may stand between them. What the machinery wrote in a person's place is no message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    TOKEN_NAMES,
    TOOL,
    USER,
    Content,
    Ending,
    FunctionCall,
    Message,
    Part,
    ReportedOutcome,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.claude_code import entries
from grader_daemon.sources.claude_code.entries import ApiUsage, Block, Entry, Line, Note
from grader_daemon.sources.claude_code.tool_outcomes import INTERRUPTED, is_decided, outcome_of
from grader_daemon.sources.decoding import token_count, utc
from grader_daemon.sources.task_notifications import notifications_in

_SYNTHETIC = "<synthetic>"
"""The model of answers that no model gave, as of an error of the API."""

_INJECTED = (
    "<local-command-",
    "<command-name>",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "Caveat:",
    "[SYSTEM NOTIFICATION - NOT USER INPUT]",
)
_COMMAND = "<command-message>"
"""Beginning of a person's command that is a prompt; ``<command-name>`` begins those that the program does by itself."""

_COMMAND_NAME = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_COMMAND_ARGUMENTS = re.compile(r"<command-args>([^<]*+)</command-args>")
_IN_ORDER = frozenset({"end_turn", "stop_sequence"})
_AT_LIMIT = frozenset({"max_tokens", "model_context_window_exceeded"})
_LIMIT_ERROR: Final = "max_output_tokens"
_LIMIT_TEXT = re.compile(r"API Error: Claude's response exceeded the [0-9]{1,12} output token maximum")
"""Text of that error, which has no other mark before 2.1."""

_CALLS: Final = "tool_use"
_WORD = re.compile(r"[a-z_]{1,40}")
_SUB_AGENT_TOOLS = frozenset({"Agent", "Task"})


class _Answer(msgspec.Struct):
    """One answer of a model, of which more lines may come."""

    said: list[str]
    calls: list[ToolCall]
    stop_reason: str | None

    def message(self) -> Message:
        """Return it as far as it has come."""
        return Message(ASSISTANT, "\n".join(self.said), tuple(self.calls) or None, self.stop_reason)


class Turns:
    """The content of one chain, its lines added one after the other."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """Add lines in the order of their file."""
        self._messages: list[Message | _Answer] = []
        self.times: list[datetime | None] = []
        self.reported: dict[int, ReportedOutcome] = {}
        self.taken_back: list[int] = []
        self.model: str | None = None
        self.started_at: datetime | None = None
        self.updated_at: datetime | None = None
        self._seen: set[str] = set()
        self._answers: dict[str, int] = {}
        self._results: dict[str, int] = {}
        self._prompts: dict[str | None, int] = {}
        self._usage: dict[str, Usage] = {}
        self._ending: Ending | None = None
        self._process_ended = False
        self._cost: float | None = None
        self._delegated = False
        self._decisions = False
        self._answers_have_parents = False
        for line in lines:
            self._add(line)
        self.messages = tuple([each.message() if isinstance(each, _Answer) else each for each in self._messages])

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Usage of the calls of each model, those too that were taken back."""
        return usage_by_model(self._usage.values())

    @property
    def cost_usd(self) -> float | None:
        """Cost, if that was noted after all else; the sum of one with sub-agents is theirs, too."""
        return self._cost if self._process_ended and not self._delegated else None

    @property
    def ending(self) -> Ending | None:
        """State of the session, as it is noted."""
        if self._ending is not None or not self.messages:
            return self._ending
        last = self.messages[-1]
        if last.role == ASSISTANT and not last.tool_calls and last.finish_reason not in (None, _CALLS):
            in_order = last.finish_reason in _IN_ORDER
            state = SessionState.COMPLETE if in_order else SessionState.INTERRUPTED
            kind = EndingKind.LIMIT if last.finish_reason in _AT_LIMIT else EndingKind.ERROR
            return Ending(state, f"stop_reason={_word(last.finish_reason)}", kind)
        if self._process_ended:
            answered = last.role == ASSISTANT and last.finish_reason is None and not last.tool_calls
            state = SessionState.COMPLETE if answered else SessionState.INTERRUPTED
            return Ending(state, "its process ended", EndingKind.PROCESS)
        if last.role == ASSISTANT and last.finish_reason == _CALLS:
            return Ending(SessionState.OPEN, f"stop_reason={_CALLS}")
        return None

    def _add(self, line: Line) -> None:
        if line.uuid is not None:
            if line.uuid in self._seen:
                return
            self._seen.add(line.uuid)
        time = utc(line.timestamp)
        if time is not None:
            self.started_at = min(self.started_at or time, time)
            self.updated_at = max(self.updated_at or time, time)
        match line:
            case Note():
                self._add_note(line, time)
            case Entry(type=entries.ASSISTANT):
                self._add_answer(line, time)
            case _:
                self._add_user(line, time)

    def _add_note(self, note: Note, time: datetime | None) -> None:
        attachment = note.attachment
        if note.type == entries.COST:
            self._process_ended = True
            self._cost = None if note.has_unknown_model_cost else note.total_cost_usd
        elif attachment is not None and attachment.type == "max_turns_reached":
            self._ending = Ending(SessionState.INTERRUPTED, attachment.type, EndingKind.LIMIT)
        elif attachment is not None:
            text = _text(attachment.prompt)
            if attachment.command_mode == "prompt":
                self._append(Message(role=USER, content=text), time)
            else:
                self._notify(text)

    def _add_answer(self, entry: Entry, time: datetime | None) -> None:
        message = entry.message
        if message.model == _SYNTHETIC or entry.is_api_error_message:
            if entry.is_api_error_message:
                self._ending = _ending_of_error(entry)
            return
        self._ending, self._process_ended = None, False
        self.model = message.model or self.model
        self._answers_have_parents = entry.parent_uuid is not None
        answer_id = message.id or entry.uuid or f"{len(self._messages)}"
        self._use(answer_id, message.model, message.usage)
        place = self._answers.get(answer_id)
        if place is None:
            self._answers[answer_id] = len(self._messages)
            answer = _Answer([], [], None)
            self._append(answer, time)
        else:
            known = self._messages[place]
            assert isinstance(known, _Answer)
            answer = known
        said, calls = _said_and_called(message.content)
        answer.said += said
        answer.calls += calls
        answer.stop_reason = message.stop_reason or answer.stop_reason
        self._delegated = self._delegated or any(call.tool in _SUB_AGENT_TOOLS for call in calls)

    def _use(self, answer_id: str, model: str | None, api: ApiUsage | None) -> None:
        """The first lines of an answer may say what was written so far only, so the largest number counts."""
        usage = _usage_of(api) if api is not None else Usage()
        known = self._usage.get(answer_id)
        if known is not None:
            larger = {name: _larger(getattr(known, name), getattr(usage, name)) for name in TOKEN_NAMES}
            usage = msgspec.convert(larger, Usage)
        self._usage[answer_id] = msgspec.structs.replace(usage, model=model)

    def _add_user(self, entry: Entry, time: datetime | None) -> None:
        content = entry.message.content
        blocks = (Block(type="text", text=content),) if isinstance(content, str) else content
        texts = []
        for block in blocks:
            if block.type == "tool_result":
                self._add_result(block, entry, time)
            elif block.type == "text" and block.text:
                texts.append(block.text)
        text = "\n".join(texts)
        if texts and texts[-1].startswith(INTERRUPTED):
            self._ending = Ending(SessionState.INTERRUPTED, "interrupted by a person", EndingKind.PERSON)
        elif texts or not any(block.type == "tool_result" for block in blocks):
            self._add_prompt(entry, text, time)

    def _add_prompt(self, entry: Entry, text: str, time: datetime | None) -> None:
        if entry.is_compact_summary:
            return
        self._notify(text)
        said = _said_by_person(entry, text)
        if said is None:
            return
        self._take_back(entry.parent_uuid)
        self._ending, self._process_ended = None, False
        self._append(Message(role=USER, content=said), time)

    def _take_back(self, parent: str | None) -> None:
        """A prompt in the place of an earlier one takes back all that came since.

        Where nothing had been answered yet, a person only wrote it anew. The first prompt has no parent; another one
        without takes its place only where answers have theirs, so that parents are not just missing.
        """
        start = self._prompts.setdefault(parent, len(self._messages))
        worked = next(reversed(self._answers.values()), -1) >= start
        if start == len(self._messages) or (parent is None and not (worked and self._answers_have_parents)):
            return
        del self._messages[start:], self.times[start:]
        for places in (self._answers, self._results):
            while places and next(reversed(places.values())) >= start:
                places.popitem()
        while self._prompts and next(reversed(self._prompts.values())) > start:
            self._prompts.popitem()
        while self.reported and next(reversed(self.reported)) >= start:
            self.reported.popitem()
        kept = bisect_right(self.taken_back, start)
        self.taken_back[kept:] = [start] * (len(self.taken_back) - kept)
        if worked:
            self.taken_back.append(start)

    def _add_result(self, block: Block, entry: Entry, time: datetime | None) -> None:
        text = _text(block.content)
        self._decisions = self._decisions or is_decided(entry)
        place = len(self._messages)
        self.reported[place] = outcome_of(block, text, entry, decisions=self._decisions)
        if block.tool_use_id is not None:
            self._results.pop(block.tool_use_id, None)  # so that the places stand in their order
            self._results[block.tool_use_id] = place
        self._append(Message(role=TOOL, content=text, tool_call_id=block.tool_use_id), time)

    def _notify(self, text: str) -> None:
        """Note what became of a call that went on in the background."""
        for call_id, outcome in notifications_in(text):
            place = self._results.get(call_id)
            if place is not None:
                self.reported[place] = outcome

    def _append(self, message: Message | _Answer, time: datetime | None) -> None:
        self._messages.append(message)
        self.times.append(time)


def _ending_of_error(entry: Entry) -> Ending:
    """Return how an error of the API ended a session: an answer that is too long is at a limit."""
    said, _ = _said_and_called(entry.message.content)
    if entry.error == _LIMIT_ERROR or any(map(_LIMIT_TEXT.match, said)):
        return Ending(SessionState.INTERRUPTED, _LIMIT_ERROR, EndingKind.LIMIT)
    cause = f": {_word(entry.error)}" if isinstance(entry.error, str) else ""
    return Ending(SessionState.INTERRUPTED, f"API error{cause}")


def _said_by_person(entry: Entry, text: str) -> str | None:
    """Return what a person said, a command as it was typed; None where the machinery wrote the line."""
    human = entry.origin is None or entry.origin.kind in (None, "human")
    if entry.is_meta or not human or text.startswith(_INJECTED):
        return None
    if not text.startswith(_COMMAND):
        return text
    name, arguments = _COMMAND_NAME.search(text), _COMMAND_ARGUMENTS.search(text)
    if name is None:
        return text
    return " ".join(filter(None, (name[1], arguments[1].strip() if arguments is not None else "")))


def _said_and_called(content: str | Sequence[Block]) -> tuple[list[str], list[ToolCall]]:
    if isinstance(content, str):
        return [content], []
    said = [block.text for block in content if block.type == "text" and block.text]
    calls = [
        ToolCall(block.id, FunctionCall(block.name, str(memoryview(block.input), "utf-8", "replace") or None))
        for block in content
        if block.type == "tool_use"
    ]
    return said, calls


def _text(content: Content) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, tuple) else (content,)
    texts = [part.text if isinstance(part, Part) else str(part) for part in parts]
    return "\n".join(text for text in texts if text)


def _usage_of(api: ApiUsage) -> Usage:
    details = api.output_tokens_details
    return Usage(
        input_tokens=token_count(api.input_tokens),
        cache_read_tokens=token_count(api.cache_read_input_tokens),
        cache_write_tokens=token_count(api.cache_creation_input_tokens),
        output_tokens=token_count(api.output_tokens),
        reasoning_tokens=token_count(details.thinking_tokens) if details is not None else None,
    )


def _larger(one: int | None, other: int | None) -> int | None:
    return max(one, other) if one is not None and other is not None else one if other is None else other


def _word(text: str) -> str:
    """Return what is told of why a session stands as it does; nothing but a word, whatever the file says."""
    return text if _WORD.fullmatch(text) else "other"
