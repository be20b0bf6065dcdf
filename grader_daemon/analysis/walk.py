"""One pass over the messages of a session: what is seen on the way, kept by what it is about."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from grader_daemon.analysis.claims import Note
from grader_daemon.analysis.features.session_window import RecentMessages
from grader_daemon.analysis.tool_calls import CallView, view_of
from grader_daemon.analysis.tool_calls.failure_trail import UNNAMED_TOOL, FailureTrail
from grader_daemon.analysis.tool_calls.frames import without_frame
from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader, ToolOutcome
from grader_daemon.analysis.tool_calls.probes import ProbeFinder
from grader_daemon.analysis.user_messages import UserMessage, invocation_of, written_by_person
from grader_daemon.domain.analysis import CallStatus, Category, Failure, ToolUse
from grader_daemon.domain.limits import LONGEST_NAME, MOST_TOOLS
from grader_daemon.domain.rules import ErrorRunRules, PeopleRules, Rules
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, Message, Session
from grader_daemon.redaction import Redactor

_SUCCESS: Final = CallStatus.SUCCESS
_NOT_CALLED: Final = CallView(None, None)
_QUESTION_TAIL = 40
_CLOSERS = " \t\r\n*_`\"')]”’"


class ToolTally:
    """The tools of a session by the names that are kept, and how often each was called."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._names: dict[str, str] = {}
        self.called: dict[str, int] = {}

    def known_as(self, tool: str | None) -> str | None:
        """Return the name under which a tool counts: cut, without secrets, "other" after the first `MOST_TOOLS`."""
        return self._name_of(tool) if tool else tool

    def add(self, tool: str) -> None:
        """Count a call of a tool."""
        name = self._name_of(tool)
        self.called[name] = self.called.get(name, 0) + 1

    def _name_of(self, tool: str) -> str:
        name = self._names.get(tool)
        if name is None:
            few = len(self._names) < MOST_TOOLS
            name = self._redactor.redact_beginning(tool, LONGEST_NAME) if few else "other"
            self._names[tool] = name
        return name

    def use(self, failures: list[Failure]) -> tuple[ToolUse, ...]:
        """Return calls and errors by tool. A result may name another tool than its call: then that was called too."""
        failed = Counter(failure.tool or UNNAMED_TOOL for failure in failures if failure.is_error)
        called = {**self.called, **{tool: 0 for tool in failed if tool not in self.called}}
        return tuple([ToolUse(tool, max(calls, failed[tool]), failed[tool]) for tool, calls in called.items()])


class ErrorRuns:
    """Errors in a row, and where they first look like a loop.

    A success ends the row; what was not executed, and a probe, neither end nor lengthen it. Calls that a guard against
    loops refused are no errors, and look like a loop as errors do.
    """

    def __init__(self, limits: ErrorRunRules) -> None:
        self._limits = limits
        self._run = 0
        self._stuck = 0
        self.longest = 0
        self.loop_index: int | None = None

    def end(self) -> None:
        """A call worked."""
        self._run = self._stuck = 0

    def add_error(self, index: int) -> None:
        """A call failed."""
        self._run += 1
        self.longest = max(self.longest, self._run)
        self.add_stuck(index)

    def add_stuck(self, index: int) -> None:
        """A call brought nothing forward."""
        self._stuck += 1
        if self._stuck == self._limits.loop_errors:
            self._risk_at(index)

    def add_api_call(self, count: int, index: int) -> None:
        """The model was called for the `count`-th time."""
        if count == self._limits.loop_api_calls + 1:
            self._risk_at(index)

    def _risk_at(self, index: int) -> None:
        if self.loop_index is None:
            self.loop_index = index


class UserSide:
    """Messages of people, and whether they answered a question of the agent."""

    def __init__(self, rules: PeopleRules) -> None:
        self._rules = rules
        self._answered = False
        self.messages: list[UserMessage] = []
        self.question: Message | None = None
        """The last message of the agent, until a person writes."""

        self.was_asked = False

    def add(self, index: int, text: str, *, api_calls: int, tool_calls: int) -> str | None:
        """Add a message in the user's role and return what a person says in it, None if nobody wrote it.

        A person's first message is no answer to what the agent did, unless the machinery has written before.
        """
        invocation = invocation_of(text)
        typed = text if invocation is None else invocation.said
        said = written_by_person(typed, self._rules)
        self._answered = self._answered or said is not typed or (bool(self.messages) and api_calls > 0)
        if said is None:
            return None
        question, self.question = self.question, None
        asked = question is not None and not question.tool_calls and ends_in_question(question.text, self._rules)
        self.was_asked = self.was_asked or asked
        self.messages.append(
            UserMessage(
                index=index,
                text=said,
                answered=self._answered,
                asked=asked,
                tool_calls=tool_calls,
                skills=() if invocation is None else invocation.skills,
            )
        )
        return said


def ends_in_question(text: str, rules: PeopleRules) -> bool:
    """Return whether a text of the agent ends in a question, whatever closes it."""
    return text[-_QUESTION_TAIL:].rstrip(_CLOSERS).endswith(rules.question_endings)


class MessageWalk:
    """State of a pass over a session, from its first message to its last."""

    def __init__(self, session: Session, rules: Rules, *, redactor: Redactor, outcomes: OutcomeReader) -> None:
        self._messages = session.messages
        self._reported = session.reported
        self._read_result = outcomes.read
        self._calls: dict[str, CallView] = {}
        self._failed: set[int] = set()
        self._probes: ProbeFinder | None = None
        self.tools = ToolTally(redactor)
        self.trail = FailureTrail(redactor)
        self.error_runs = ErrorRuns(rules.error_runs)
        self.users = UserSide(rules.people)
        self.recent = RecentMessages()
        self.notes: list[Note] = []
        self.api_calls = 0
        self.tool_calls = 0
        self.recovery_index: int | None = None
        self.last_status: CallStatus | None = None
        self.refused = False
        self.interrupted = False

    def to_the_end(self) -> MessageWalk:
        """See all messages, in their order."""
        for index, message in enumerate(self._messages):
            role = message.role
            if role == TOOL:
                self._see_result(index, message)
            elif role == ASSISTANT:
                self._see_answer(index, message)
            elif role == USER:
                said = self.users.add(index, message.text, api_calls=self.api_calls, tool_calls=self.tool_calls)
                if said is not None:
                    self.recent.note_person(said, index)
        return self

    @property
    def request(self) -> str | None:
        """The first request of a person."""
        return self.users.messages[0].text if self.users.messages else None

    def _see_answer(self, index: int, message: Message) -> None:
        """Read an assistant message, with or without tool calls."""
        self.users.question = message
        self.api_calls += 1
        self.error_runs.add_api_call(self.api_calls, index)
        if not message.tool_calls:
            self.recent.note_answer(message)
            return
        calls = []
        for wire in message.tool_calls:
            call = view_of(wire)
            calls.append(call)
            if call.tool:
                self.tools.add(call.tool)
                if wire.id:
                    self._calls[wire.id] = call
        self.recent.note_answer(message, calls)
        self.tool_calls += len(calls)
        if self.trail.errors:
            self.trail.see_calls(calls[0], self.tools.known_as(calls[0].tool), call_id=message.tool_calls[0].id)

    def _call_of(self, message: Message) -> CallView:
        """Return the call that a result answers; where the two name different tools, the result knows better."""
        call = self._calls.get(message.tool_call_id or "", _NOT_CALLED)
        tool = message.name or message.tool_name or call.tool
        return call if tool == call.tool else CallView(tool, call.arguments)

    def _see_result(self, index: int, message: Message) -> None:
        call = self._call_of(message)
        reported = self._reported.get(index)
        result = self._read_result(call.tool, message.text, call, reported=reported)
        status = self.last_status = result.status
        self.notes.append((index, call, status))
        self.recent.note_result(message if reported is None else _unframed(message), status, call)
        has_failed = self.trail.errors > 0
        if has_failed:
            self.trail.see_result(message, status)
        if status is _SUCCESS:
            self.error_runs.end()
            if has_failed:
                self._see_recovery(index, call)
        elif status is CallStatus.GUARDED:
            self.error_runs.add_stuck(index)
        elif status is CallStatus.REFUSED:
            self.refused = True
        elif status is CallStatus.INTERRUPTED:
            self.interrupted = True
        elif result.category is not None:
            self._see_failure(index, result, result.category, call=call)

    def _see_recovery(self, index: int, call: CallView) -> None:
        self.trail.see_success(self.tools.known_as(call.tool), call)
        if self.recovery_index is None:
            self.recovery_index = index

    def _see_failure(self, index: int, result: ToolOutcome, category: Category, *, call: CallView) -> None:
        if self._probes is None:
            self._probes = ProbeFinder(self._messages, self._calls, self._failed)
        self._failed.add(index)
        tool = self.tools.known_as(call.tool)
        if self._probes.is_probe(index, result, call):
            self.trail.add_probe(index, tool, category=category, subcategory=result.subcategory, call=call)
            self.recent.forgive()
            return
        self.trail.add(index, tool, category=category, subcategory=result.subcategory, call=call, output=result.output)
        self.recovery_index = None
        self.error_runs.add_error(index)


def _unframed(message: Message) -> Message:
    said = without_frame(text := message.text)
    return message if said == text else msgspec.structs.replace(message, content=said)
