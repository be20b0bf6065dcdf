"""The lines of a chat of Qwen Code to a conversation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import ASSISTANT, USER, Ending, FunctionCall, Message, ToolCall, Usage, usage_by_model
from grader_daemon.sources.decoding import fresh_tokens, token_count, utc
from grader_daemon.sources.gemini_cli.tool_results import answer_in, text_of
from grader_daemon.sources.messages_so_far import Conversation
from grader_daemon.sources.qwen_code import chat_lines
from grader_daemon.sources.qwen_code.call_ends import read_end
from grader_daemon.sources.qwen_code.chat_lines import ApiError, ApiUsage, Line, Record
from grader_daemon.sources.task_notifications import notifications_in

_PERSON: Final = "real_user"
_SAID: Final = frozenset({None, "mid_turn_user_message", "cron", "realtime_message"})
"""Subtypes of what was asked for: typed, typed while the agent worked, on a schedule, or spoken."""

_EMPTY: Final = "(empty content)"
"""Text that stands for an answer without one."""

_WORD = re.compile(r"[A-Za-z_]{1,40}")


class ChatTurns(Conversation):
    """The content of a chat, its lines added one after the other.

    In the file of a sub-agent each call has a line of its own, so lines that follow each other are one answer there.
    """

    def __init__(self, lines: Iterable[Line], *, is_sub_agent: bool) -> None:
        """Add lines in the order of their file."""
        super().__init__()
        self.model: str | None = None
        self.compacted = False
        self.parent: str | None = None
        self.started_at: datetime | None = None
        self.updated_at: datetime | None = None
        self._is_sub_agent = is_sub_agent
        self._used: list[Usage] = []
        self._seen: set[str] = set()
        self._results: dict[str, int] = {}
        self._prompts: dict[str | None, int] = {}
        self._error: ApiError | None = None
        for line in lines:
            self._add(line)

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Usage of the answers of each model, those too that were taken back."""
        return usage_by_model(self._used)

    @property
    def ending(self) -> Ending | None:
        """State of the session, as far as it is noted: an error of the API before anything was answered."""
        last = self.messages[-1] if self.messages else None
        if self._error is None or last is None or (last.role == ASSISTANT and not last.tool_calls):
            return None
        cause = self._error.cause
        told = cause if isinstance(cause, str) and _WORD.fullmatch(cause) else "other"
        return Ending(SessionState.INTERRUPTED, f"API error: {told}")

    def _add(self, line: Line) -> None:
        if isinstance(line, ApiError):
            self._at(line.timestamp)
            self._error = self._error if line.is_of_sub_agent else line
            return
        if line.uuid is not None:
            if line.uuid in self._seen:
                return
            self._seen.add(line.uuid)
        time = self._at(line.timestamp)
        match line.type:
            case chat_lines.USER:
                self._add_user(line, time)
            case chat_lines.ASSISTANT:
                self._add_answer(line, time)
            case chat_lines.RESULT:
                self._add_results(line, time)
            case _:
                self._add_mark(line)

    def _at(self, stamp: str | None) -> datetime | None:
        time = utc(stamp)
        if time is not None:
            self.started_at = min(self.started_at or time, time)
            self.updated_at = max(self.updated_at or time, time)
        return time

    def _add_user(self, record: Record, time: datetime | None) -> None:
        text = text_of(record.message.parts if record.message is not None else None)
        if "notification" in (record.subtype, record.external_input_kind):
            for call_id, outcome in notifications_in(text):
                place = self._results.get(call_id)
                if place is not None:
                    self.reported[place] = outcome
            return
        typed = record.system_payload.display_text if record.system_payload is not None else None
        is_said = record.subtype in _SAID and (record.subtype is not None or record.provenance in (None, _PERSON))
        if is_said and (typed or text):
            if record.parent_uuid is not None:  # nobody knows where the others belong
                self._take_back(record.parent_uuid)
            self._prompts.setdefault(None, len(self.messages))
            self._error = None
            self.append(Message(role=USER, content=typed or text), time)

    def _add_answer(self, record: Record, time: datetime | None) -> None:
        self._error = None
        self.model = record.model or self.model
        parts = (record.message.parts if record.message is not None else None) or ()
        calls = tuple(
            ToolCall(part.call.id, FunctionCall(part.call.name, part.call.args))
            for part in parts
            if part.call is not None
        )
        said = text_of(parts)
        said = "" if said == _EMPTY else said
        self._used.append(_usage(record.usage_metadata or ApiUsage(), record.model))
        last = self.messages[-1] if self.messages else None
        if self._is_sub_agent and last is not None and last.role == ASSISTANT:
            self.messages[-1] = Message(
                ASSISTANT,
                "\n".join(filter(None, (last.text, said))) or None,
                (*(last.tool_calls or ()), *calls) or None,
            )
            return
        self.append(Message(ASSISTANT, said or None, calls or None), time)

    def _add_results(self, record: Record, time: datetime | None) -> None:
        noted = record.tool_call_result
        for part in (record.message.parts if record.message is not None else None) or ():
            answer = answer_in(part)
            if answer is None:
                continue
            is_noted = noted is not None and noted.call_id in (None, answer.id)
            text, outcome = read_end(answer, noted if is_noted else None)
            if answer.id is not None:
                self._results.pop(answer.id, None)  # so that the places stand in their order
                self._results[answer.id] = len(self.messages)
            self.append_result(text, outcome, time, call_id=answer.id, tool=answer.name)

    def _add_mark(self, record: Record) -> None:
        match record.subtype:
            case chat_lines.REWIND:
                self._take_back(record.parent_uuid)
            case chat_lines.COMPRESSION:
                self.compacted = True
            case _:
                payload = record.system_payload
                self.parent = payload.parent_session_id if payload is not None else None

    def _take_back(self, parent: str | None) -> None:
        """Remove a prompt, and all that came since, whose parent something else has now.

        Where nothing had been answered yet, a person only wrote it anew.
        """
        start = self._prompts.setdefault(parent, len(self.messages))
        if start == len(self.messages):
            return
        worked = any(message.role == ASSISTANT for message in self.messages[start:])
        del self.messages[start:], self.times[start:]
        while self._results and next(reversed(self._results.values())) >= start:
            self._results.popitem()
        while self._prompts and next(reversed(self._prompts.values())) > start:
            self._prompts.popitem()
        while self.reported and next(reversed(self.reported)) >= start:
            self.reported.popitem()
        kept = bisect_right(self.taken_back, start)
        self.taken_back[kept:] = [start] * (len(self.taken_back) - kept)
        if worked:
            self.taken_back.append(start)


def _usage(api: ApiUsage, model: str | None) -> Usage:
    read, cached = token_count(api.prompt_token_count), token_count(api.cached_content_token_count)
    written, thought = token_count(api.candidates_token_count), token_count(api.thoughts_token_count)
    return Usage(
        model=model,
        input_tokens=fresh_tokens(read, cached),
        cache_read_tokens=cached,
        output_tokens=None if written is None else written + _beside(api, read, written, thought),
        reasoning_tokens=thought,
    )


def _beside(api: ApiUsage, read: int | None, written: int, thought: int | None) -> int:
    """Return the tokens of thoughts that the output does not have in it; servers differ in that, the total tells."""
    if read is None or thought is None:
        return 0
    return thought if api.total_token_count == read + written + thought else 0
