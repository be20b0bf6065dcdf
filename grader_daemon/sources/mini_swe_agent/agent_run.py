"""A trajectory of mini-SWE-agent, the formats 1 and 1.1, to a session.

The model has one tool, a shell. Format 1.1 keeps what the API was told and gave, chat completions or responses, with
notes of what ran; format 1, and models without tools, have commands in the text, between fences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
import xxhash

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import (
    ASSISTANT,
    MOST_USD,
    USER,
    Ending,
    Message,
    ReportedOutcome,
    Session,
    SessionKind,
    ToolCall,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.decoding import setup_digest
from grader_daemon.sources.messages_so_far import Conversation
from grader_daemon.sources.mini_swe_agent.command_results import outcome_of, plain_result
from grader_daemon.sources.mini_swe_agent.stored_run import Given, StoredMessage, StoredRun

NAME: Final = "mini-swe-agent"
"""Name of the source, of the format of its sessions, and of the agent."""

_SUBMITTED: Final = "Submitted"
_SUBMITS: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_LIMITS: Final = ("LimitsExceeded", "TimeExceeded", "ContextWindowExceeded")
_BY_PERSON: Final = ("UserInterruption", "KeyboardInterrupt")
_LONGEST_STATUS: Final = 80
_REJECTED: Final = "UserRejection"
_LOCAL: Final = re.compile(r"(?:\A|\.)Local\w{0,40}\Z")
"""The environment whose folder is one of this machine; that of a container is not."""


class _Run(Conversation):
    """Messages of a run, one after the other."""

    def __init__(self, *, notes: bool) -> None:
        """Set up; `notes` says that the messages note which of them are results."""
        super().__init__()
        self.given: list[Given] = []
        self._notes = notes
        self._open: dict[str, ToolCall] = {}
        """Calls whose results are to come, by their ids."""

    def add(self, stored: StoredMessage) -> None:
        """Add what stands in a message."""
        if stored.is_answer:
            self._add_answer(stored)
        elif stored.is_result:
            self._add_noted_result(stored)
        elif stored.role == USER:
            self._add_user(stored)

    def submit(self, submission: str) -> None:
        """Add the result of the command that handed in; what was said with that command is the answer, behind it."""
        if not self._open:
            return
        calls = list(self._open.values())
        call = next(filter(_submits, calls), calls[-1])
        place = max(index for index, message in enumerate(self.messages) if message.role == ASSISTANT)
        said, time = self.messages[place], self.times[-1]
        self.messages[place] = msgspec.structs.replace(said, content=None)
        self._append_result(call, submission, ReportedOutcome(CallStatus.SUCCESS, 0), time)
        answer = said.text.strip() or submission.strip()
        if answer:
            self.append(Message(role=ASSISTANT, content=answer), time)

    def _add_answer(self, stored: StoredMessage) -> None:
        calls, text = stored.calls(f"{len(self.messages)}")
        given = stored.given
        self.given.append(given)
        self._open = {call.id or str(place): call for place, call in enumerate(calls)}
        self.append(Message(ASSISTANT, text or None, calls or None, given.finish_reason), stored.written_at)

    def _add_noted_result(self, stored: StoredMessage) -> None:
        call = self._take(stored.result_id)
        if call is not None:  # else a command of a person
            text, outcome = outcome_of(stored.extra, stored.text)
            self._append_result(call, text, outcome, stored.written_at)

    def _add_user(self, stored: StoredMessage) -> None:
        why = stored.extra.interrupt_type
        if why == "FormatError":
            return
        if why == _REJECTED:
            for refused in self._open.values():
                self._append_result(refused, stored.text, ReportedOutcome(CallStatus.REFUSED), stored.written_at)
            self._open = {}
        if not self._notes and self.messages and self.messages[-1].role == ASSISTANT:
            call = self._take(None)
            if call is not None:
                self._append_result(call, *plain_result(stored.text), stored.written_at)
            return  # else a reminder of how to write a command
        self.append(Message(role=USER, content=stored.text), stored.written_at)

    def _take(self, call_id: str | None) -> ToolCall | None:
        """Return the call of a result, which is open no more: that of the id, or the first if it has none."""
        return self._open.pop(next(iter(self._open), "") if call_id is None else call_id, None)

    def _append_result(self, call: ToolCall, text: str, outcome: ReportedOutcome | None, time: datetime | None) -> None:
        self.append_result(text, outcome, time, call_id=call.id, tool=call.tool)


def read_run(stored: StoredRun, unit: Unit, *, named: str) -> Session:
    """Return a run as a session, without messages where nothing was answered and it goes on.

    Args:
        stored: the document.
        unit: where it lies.
        named: the name of its file, as of the task.
    """
    info, task = stored.info, stored.instance_id or named
    told = _told(stored)
    has_begun = bool(info.exit_status or told.given)
    times = [message.written_at for message in stored.messages]
    known_times = [time for time in times if time is not None]
    first = next((message for message in stored.messages if message.is_answer), None)
    environment = info.config.environment_type or ""
    return Session(
        session_id=f"{task}-{_mark(first, task)}",
        file=unit.locator,
        format=NAME,
        messages=tuple(told.messages) if has_begun else (),
        message_times=tuple(told.times) if has_begun and any(told.times) else (),
        reported=told.reported,
        ending=_ending(info.exit_status),
        model=next(filter(None, (given.model for given in reversed(told.given))), info.config.model.model_name),
        project=(info.config.environment.cwd or None) if _LOCAL.search(environment) else None,
        kind=SessionKind.MAIN,
        agent=NAME,
        agent_version=info.mini_version,
        usage=usage_by_model(given.usage for given in told.given if given.usage is not None),
        cost_usd=_cost(info.model_stats.instance_cost),
        system_prompt_digest=_system_digest(stored.messages),
        started_at=min(known_times, default=None),
        updated_at=max(known_times, default=None),
        named_after_id=task == named,
    )


def _told(stored: StoredRun) -> _Run:
    """Return what was said in a run. In format 1 its last message may be no more than why it ended."""
    notes, status = stored.has_notes, stored.info.exit_status
    told, messages = _Run(notes=notes), list(stored.messages)
    if not notes and status and messages and messages[-1].role == USER and len(messages) > 1:
        messages.pop()
    for message in messages:
        told.add(message)
    if told.messages and told.messages[0].role == USER:
        told.messages[0] = Message(role=USER, content=stored.task_in(told.messages[0].text))
    if status == _SUBMITTED:
        told.submit(stored.info.submission or "")
    return told


def _submits(call: ToolCall) -> bool:
    return any(sign in str(call.arguments) for sign in _SUBMITS)


def _mark(first: StoredMessage | None, task: str) -> str:
    """Return what tells a run of a task from its other runs, wherever its file lies and however it grows.

    It is made of the first answer, whose id and time nobody else's has; a run without one is told by the task alone.
    """
    parts = () if first is None else (first.given.id, first.written_at and first.written_at.isoformat(), first.text)
    return xxhash.xxh3_64_hexdigest("\0".join(map(str, (task, *parts))).encode("utf-8", "replace"))[:8]


def _ending(status: str | None) -> Ending | None:
    """Return how a run ended by its own word; None where it goes on, or was killed."""
    if not status:
        return None
    reason = status[:_LONGEST_STATUS]
    if status == _SUBMITTED:
        return Ending(SessionState.COMPLETE, reason)
    if status.startswith(_LIMITS):
        return Ending(SessionState.INTERRUPTED, reason, EndingKind.LIMIT)
    kind = EndingKind.PERSON if status in _BY_PERSON else EndingKind.ERROR
    return Ending(SessionState.INTERRUPTED, reason, kind)


def _cost(cost: object) -> float | None:
    """Return the price; where none is known it is 0, which is not known to be the price."""
    return float(cost) if isinstance(cost, int | float) and 0 < cost <= MOST_USD else None


def _system_digest(messages: Sequence[StoredMessage]) -> str | None:
    first = next(iter(messages), None)
    return setup_digest(first.text.encode("utf-8", "replace")) if first is not None and first.role == "system" else None
