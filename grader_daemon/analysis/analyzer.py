"""One pass over the messages of a session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from grader_daemon.analysis.claims import Note, verify_claims
from grader_daemon.analysis.features import RecentMessages, features_of
from grader_daemon.analysis.session_state import is_answer, is_cut_off, read_state
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.failure_trail import UNNAMED_TOOL, FailureTrail
from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader, ToolOutcome
from grader_daemon.analysis.tool_calls.probes import ProbeFinder
from grader_daemon.analysis.user_messages import (
    SignalReader,
    TaskTypes,
    UserMessage,
    digest_of,
    summarize,
    written_by_person,
)
from grader_daemon.domain.analysis import Analysis, Category, Outcome, SessionState, ToolUse
from grader_daemon.domain.limits import LONGEST_NAME, MOST_TOOLS
from grader_daemon.domain.rules import ErrorRunRules, PeopleRules, Rules
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, Message, Session, ToolCall
from grader_daemon.redaction import Redactor, redactor_of

_SUCCESS = Outcome.SUCCESS
_OTHER_TOOL = "other"
_NOT_CALLED = CallView(None, None)
_QUESTION_TAIL = 40
_CLOSERS = " \t\r\n*_`\"')]”’"


class Analyzer:
    """Analyses sessions under one set of rules. Holds no state between sessions; safe to share among threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._redactor = redactor_of(rules.redaction)
        self._outcomes = OutcomeReader(rules.failures)
        self._task_types = TaskTypes(rules.task_types)
        self._signals = SignalReader(rules.people)

    def without_secrets(self, session: Session) -> Session:
        """Return the session with names of model, platform and project that can be kept."""
        names = (session.model, session.platform, session.project)
        model, platform, project = (name and self._redactor.redact_name(name) for name in names)
        return msgspec.structs.replace(session, model=_cut(model), platform=_cut(platform), project=project)

    def analyze(self, session: Session, *, idle: bool = False) -> Analysis:
        """Count and name what happened. `idle`: nothing was written to the file for `idle_minutes`."""
        rules = self._rules
        walk = self._walk(session.messages)
        state, state_reason = read_state(session.messages, rules.tail, last_outcome=walk.last_outcome, idle=idle)
        final_index = _final_index(session.messages)
        final_answer = session.messages[final_index].text.strip() if final_index is not None else ""
        answered = final_index is not None and is_answer(session.messages[final_index], rules.tail)
        claims = verify_claims(session, walk.notes, final_index=final_index, redactor=self._redactor)
        signals = self._signals.read(walk.user_messages)
        last = session.messages[-1] if session.messages else None
        failures = tuple(walk.trail.failures)
        cut_off = is_cut_off(session.messages, state, last_outcome=walk.last_outcome)
        return Analysis(
            state=state,
            state_reason=state_reason,
            task_type=self._task_types.of(walk.request),
            task_summary=summarize(walk.request, rules.people, self._redactor),
            final_answer=final_answer,
            answered=answered,
            final_index=final_index,
            total_api_calls=walk.api_calls,
            tool_calls=walk.tool_calls,
            failures=failures,
            signs=tuple(walk.trail.signs.values()),
            tools=walk.tool_use(),
            had_repeated_errors=walk.longest_run >= rules.error_runs.repeated_errors,
            had_infinite_loop_risk=walk.loop_index is not None,
            loop_index=walk.loop_index,
            had_user_clarification=walk.asked or not rules.people.clarification_tools.isdisjoint(walk.called),
            had_user_refusal=walk.refused,
            had_user_interruption=walk.interrupted,
            errors_recovered=not walk.trail.errors
            or (state is SessionState.COMPLETE and answered and walk.recovery_index is not None),
            recovery_index=walk.recovery_index,
            duration_seconds=_duration(session),
            claims=claims,
            signals_from_people=signals,
            request=self._request(session, walk),
            features=features_of(
                walk.recent,
                last,
                request=walk.request,
                cut_off=cut_off,
                failures=failures,
                claims=claims,
                signals=signals,
            ),
        )

    def _request(self, session: Session, walk: _Walk) -> int | None:
        """Identify what a person asked for at the beginning; not what a program asks for day after day."""
        rules = self._rules.people
        if not walk.user_messages or walk.user_messages[0].answered or session.platform in rules.unattended_platforms:
            return None
        return (
            None
            if session.session_id.startswith(rules.unattended_ids)
            else digest_of(walk.user_messages[0].text, rules)
        )

    def _walk(self, messages: tuple[Message, ...]) -> _Walk:
        redactor = self._redactor
        walk = _Walk(self._rules.error_runs, self._rules.people, redactor, FailureTrail(redactor), messages)
        read = self._outcomes.read
        for index, message in enumerate(messages):
            role = message.role
            if role == TOOL:
                call = walk.call_of(message)
                result = read(call.tool, message.text, call)
                walk.see_result(index, message, result, call)
                walk.notes.append((index, call, result.outcome))
            elif role == ASSISTANT:
                walk.see_answer(index, message)
            elif role == USER:
                walk.see_request(index, message.text)
        return walk


@dataclass(slots=True)
class _Walk:
    """What has been seen so far."""

    limits: ErrorRunRules
    people: PeopleRules
    redactor: Redactor
    trail: FailureTrail
    messages: tuple[Message, ...]
    answered: bool = False
    api_calls: int = 0
    tool_calls: int = 0
    run: int = 0
    longest_run: int = 0
    stuck: int = 0
    loop_index: int | None = None
    recovery_index: int | None = None
    last_outcome: Outcome | None = None
    last_answer: Message | None = None
    asked: bool = False
    refused: bool = False
    interrupted: bool = False
    notes: list[Note] = field(default_factory=list)
    calls: dict[str, CallView] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    called: dict[str, int] = field(default_factory=dict)
    recent: RecentMessages = field(default_factory=RecentMessages)
    failed: set[int] = field(default_factory=set)
    probes: ProbeFinder | None = None
    user_messages: list[UserMessage] = field(default_factory=list)

    @property
    def request(self) -> str | None:
        """What a person asked for first."""
        return self.user_messages[0].text if self.user_messages else None

    def see_request(self, index: int, text: str) -> None:
        """A message in the user's role; it answers a question if a person wrote it and the last message was one.

        A person's first message is no answer to what the agent did, unless the machinery has written before.
        """
        said = written_by_person(text, self.people)
        self.answered = self.answered or said is not text or (bool(self.user_messages) and self.api_calls > 0)
        if said is None:
            return
        question, self.last_answer = self.last_answer, None
        asked = (
            question is not None
            and not question.tool_calls
            and _ends_in_question(question.text, self.people.question_endings)
        )
        self.asked = self.asked or asked
        self.recent.note_person(said)
        self.user_messages.append(
            UserMessage(index=index, text=said, answered=self.answered, asked=asked, tool_calls=self.tool_calls)
        )

    def see_answer(self, index: int, message: Message) -> None:
        """An assistant message, with or without tool calls."""
        self.last_answer = message
        self.api_calls += 1
        if self.api_calls == self.limits.loop_api_calls + 1:
            self._risk_at(index)
        calls = message.tool_calls
        if not calls:
            self.recent.note_answer(message)
            return
        views = [self.see_call(call) for call in calls]
        self.recent.note_answer(message, views)
        self.tool_calls += len(calls)
        if self.trail.errors:
            self.trail.see_calls(views[0], self.known_as(views[0].tool), call_id=calls[0].id)

    def see_call(self, call: ToolCall) -> CallView:
        """One of the calls of an assistant message."""
        view = CallView(call.tool, call)
        tool = self.known_as(call.tool)
        if tool:
            self.called[tool] = self.called.get(tool, 0) + 1
            if call.id:
                self.calls[call.id] = view
        return view

    def call_of(self, message: Message) -> CallView:
        """Return the call that a result answers; where the two name different tools, the result knows better."""
        call = self.calls.get(message.tool_call_id or "", _NOT_CALLED)
        tool = message.name or message.tool_name or call.tool
        return call if tool == call.tool else CallView(tool, call.wire)

    def see_result(self, index: int, message: Message, result: ToolOutcome, call: CallView) -> None:
        """Errors in a row: a success ends the row; what was not executed, and a probe, neither end nor lengthen it.

        Calls that a guard against loops refused are no errors, and look like a loop as errors do.
        """
        outcome = self.last_outcome = result.outcome
        self.recent.results.append((message, outcome))
        has_failed = self.trail.errors > 0
        if has_failed:
            self.trail.see_result(message, outcome)
        if outcome is _SUCCESS:
            self.run = self.stuck = 0
            if has_failed:
                self._see_recovery(index, call)
        elif outcome is Outcome.GUARDED:
            self._see_no_progress(index)
        elif outcome is Outcome.REFUSED:
            self.refused = True
        elif outcome is Outcome.INTERRUPTED:
            self.interrupted = True
        elif result.category is not None:
            self._see_failure(index, result, result.category, call)

    def _see_recovery(self, index: int, call: CallView) -> None:
        self.trail.see_success(self.known_as(call.tool), call)
        if self.recovery_index is None:
            self.recovery_index = index

    def _see_failure(self, index: int, result: ToolOutcome, category: Category, call: CallView) -> None:
        if self.probes is None:
            self.probes = ProbeFinder(self.messages, self.calls, self.failed)
        self.failed.add(index)
        tool = self.known_as(call.tool)
        if self.probes.is_probe(index, result, call):
            self.trail.add_probe(index, tool, category=category, call=call)
            self.recent.forgive()
            return
        self.trail.add(index, tool, category=category, call=call, output=result.output)
        self.recovery_index = None
        self.run += 1
        self.longest_run = max(self.longest_run, self.run)
        self._see_no_progress(index)

    def _see_no_progress(self, index: int) -> None:
        self.stuck += 1
        if self.stuck == self.limits.loop_errors:
            self._risk_at(index)

    def known_as(self, tool: str | None) -> str | None:
        """Return the name under which a tool counts: cut, without secrets, and "other" after the first `MOST_TOOLS`."""
        if not tool:
            return tool
        name = self.names.get(tool)
        if name is None:
            few = len(self.names) < MOST_TOOLS
            name = self._shown(tool) if few else _OTHER_TOOL
            self.names[tool] = name
        return name

    def _shown(self, tool: str) -> str:
        redactor = self.redactor
        return (
            redactor.redact_name(tool) if len(tool) <= LONGEST_NAME else redactor.redact_beginning(tool, LONGEST_NAME)
        )

    def tool_use(self) -> tuple[ToolUse, ...]:
        """Calls and failures by tool. A result may name another tool than its call: then that was called too."""
        if not self.trail.errors:
            return tuple([ToolUse(tool, calls, 0) for tool, calls in self.called.items()])
        failed = Counter(failure.tool or UNNAMED_TOOL for failure in self.trail.failures if failure.is_error)
        called = {**self.called, **{tool: 0 for tool in failed if tool not in self.called}}
        return tuple([ToolUse(tool, max(calls, failed[tool]), failed[tool]) for tool, calls in called.items()])

    def _risk_at(self, index: int) -> None:
        if self.loop_index is None:
            self.loop_index = index


def _cut(name: str | None) -> str | None:
    return name and name[:LONGEST_NAME]


def _final_index(messages: tuple[Message, ...]) -> int | None:
    if messages and messages[-1].role == ASSISTANT and not messages[-1].tool_calls:
        return len(messages) - 1
    return None


def _ends_in_question(text: str, endings: tuple[str, ...]) -> bool:
    return text[-_QUESTION_TAIL:].rstrip(_CLOSERS).endswith(endings)


def _duration(session: Session) -> float | None:
    if session.started_at is None or session.updated_at is None:
        return None
    seconds = (session.updated_at - session.started_at).total_seconds()
    return seconds if seconds >= 0 else None
