"""The events of Copilot CLI to the conversations in them, and one of these to a session."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Session, SessionKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.copilot.agent_conversation import Conversation
from grader_daemon.sources.copilot.event_lines import (
    Abort,
    Answer,
    Begin,
    Compaction,
    Decision,
    Error,
    Line,
    Metrics,
    ModelChange,
    Notification,
    Permission,
    PermissionRequest,
    Prompt,
    Result,
    Shutdown,
    SubAgentEnd,
    SubAgentFailure,
    SubAgentStart,
    TurnEnd,
    TurnStart,
    UsageRecord,
)
from grader_daemon.sources.decoding import utc

NAME: Final = "copilot"
"""Name of the source and of the agent, and of the format of its sessions."""

UNKNOWN: Final = frozenset({"platform", "cost_usd", "taken_back", "system_prompt_digest", "tools_digest"})
"""Facts that no file has, or of which it only says a part."""

MAIN: Final = ""
"""Key of the session itself among the conversations of a file."""

_MAIN_METRICS: Final = "main"
_DENIED: Final = ("denied", "reject")
_OF_ALL: Final = frozenset({Begin, ModelChange, Shutdown, PermissionRequest})
_OF_CALLERS: Final = frozenset({SubAgentStart, SubAgentEnd, SubAgentFailure, Permission})


class EventLog:
    """All events of a file, in the order in which they were written."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """Add lines in the order of their file."""
        self._shutdowns: list[Shutdown] = []
        self.conversations: dict[str, Conversation] = {MAIN: Conversation(is_main=True, shutdowns=self._shutdowns)}
        self.session_id: str | None = None
        self.version: str | None = None
        self._project: str | None = None
        self._model: str | None = None
        self._seen: set[str] = set()
        self._asked: dict[str, str] = {}
        """Calls for which a permission was asked, by the ids of the questions."""

        self._callers: dict[str, Conversation] = {}
        """Makers of calls, by the ids of these."""

        self._unnamed: set[str] = set()
        """Sub-agents of versions that give them no id; their keys are the calls that had them begun."""

        for line in lines:
            if line.id is None or line.id not in self._seen:
                self._seen.add(line.id or "")
                self._add(line, utc(line.timestamp))

    def session(self, unit: Unit, *, session_id: str, named_after_id: bool) -> Session:
        """Return the conversation of a unit as a session, without messages where nothing was said."""
        found = self.conversations[unit.key]
        return Session(
            session_id=session_id if found.is_main else self._name(unit.key, session_id),
            file=unit.locator,
            format=NAME,
            unit_key=unit.key,
            messages=tuple(found.messages),
            message_times=tuple(found.times) if any(found.times) else (),
            reported=found.reported,
            ending=found.ending,
            model=found.model or self._model,
            project=self._project,
            parent=None if found.is_main else session_id,
            kind=SessionKind.MAIN if found.is_main else SessionKind.SUB_AGENT,
            agent=NAME,
            agent_version=self.version,
            usage=found.usage(self._totals(unit.key)),
            started_at=found.started_at,
            updated_at=found.updated_at,
            compacted=found.compacted,
            named_after_id=named_after_id,
        )

    def _name(self, key: str, session_id: str) -> str:
        return f"{session_id}-{key}" if key in self._unnamed else key

    def _add(self, line: Line, time: datetime | None) -> None:
        kind = type(line.data)
        if kind in _OF_ALL:
            self._add_to_all(line, time)
        elif kind in _OF_CALLERS:
            self._add_to_caller(line)
        else:
            self._add_to_one(line, time)

    def _add_to_all(self, line: Line, time: datetime | None) -> None:
        """Add what is said of the session as a whole."""
        main = self.conversations[MAIN]
        match line.data:
            case Begin() as begin:
                main.at(time)
                self.session_id = self.session_id or begin.session_id
                self.version = begin.copilot_version or self.version
                self._model = begin.selected_model or self._model
                self._project = self._project or (begin.context.cwd if begin.context is not None else None)
            case ModelChange(new_model=model) if line.agent_id is None:
                self._model = model or self._model
            case Shutdown() as shutdown:
                main.at(time)
                self._shutdowns.append(shutdown)
            case PermissionRequest(request_id=request_id, permission_request=asked):
                if request_id is not None and asked is not None and asked.tool_call_id is not None:
                    self._asked[request_id] = asked.tool_call_id

    def _add_to_caller(self, line: Line) -> None:
        """Add what is said of a call, whoever made it."""
        data = line.data
        call_id = getattr(data, "tool_call_id", None)
        if isinstance(data, Permission):
            call_id = call_id or self._asked.get(data.request_id or "")
        caller = self._callers.get(call_id or "")
        if call_id is None or caller is None:
            return
        match data:
            case Permission(result=Decision(kind=str(kind))) if kind.startswith(_DENIED):
                caller.deny(call_id)
            case SubAgentStart(execution_mode=str(mode)) if mode != "sync":
                caller.delegate(call_id)
            case SubAgentFailure():
                caller.end_delegated(call_id, CallStatus.FAILURE)
            case SubAgentEnd():
                caller.end_delegated(call_id, CallStatus.SUCCESS)

    def _add_to_one(self, line: Line, time: datetime | None) -> None:
        """Add an event of one conversation."""
        conversation = self._of(line)
        conversation.at(time)
        match line.data:
            case Prompt() as prompt:
                conversation.add_prompt(prompt, time)
            case Answer() as answer:
                self._callers.update(dict.fromkeys(conversation.add_answer(answer, time), conversation))
            case Result() as result:
                conversation.add_result(result, time)
            case UsageRecord(usage=call):
                conversation.use(call)
            case TurnStart():
                conversation.goes_on()
            case TurnEnd():
                conversation.end_turn()
            case _:
                self._add_mark(conversation, line)

    def _add_mark(self, conversation: Conversation, line: Line) -> None:
        match line.data:
            case Error() as error:
                conversation.fail(error)
            case Abort() as abort:
                conversation.abort(abort)
            case Compaction(success=True):
                conversation.compacted = True
            case Notification(kind=notice) if notice is not None:
                conversation.add_notice(notice)

    def _of(self, line: Line) -> Conversation:
        """Return whose event it is; versions that give sub-agents no id name the call that had them begun."""
        data = line.data
        told = data.usage if isinstance(data, UsageRecord) else data
        key = line.agent_id or getattr(told, "parent_tool_call_id", None) or MAIN
        found = self.conversations.get(key)
        if found is None:
            found = self.conversations[key] = Conversation(is_main=False, shutdowns=self._shutdowns)
            if line.agent_id is None:
                self._unnamed.add(key)
        return found

    def _totals(self, key: str) -> dict[str, Metrics] | None:
        """Return what the process noted at its end, where there was only one: it is not said if the next adds to it."""
        if len(self._shutdowns) != 1:
            return None
        (shutdown,) = self._shutdowns
        if shutdown.agent_metrics is not None:
            agent = shutdown.agent_metrics.get(key or _MAIN_METRICS)
            return agent.model_metrics if agent is not None else None
        return shutdown.model_metrics if set(self.conversations) == {MAIN} else None
