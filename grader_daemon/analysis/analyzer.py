"""Analysis of a session by one pass over its messages and a look at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from grader_daemon.analysis.checks import last_check
from grader_daemon.analysis.claims import CallRecord, Note, verify_claims
from grader_daemon.analysis.endings import EndingReader
from grader_daemon.analysis.features import features_of
from grader_daemon.analysis.features.session_window import SessionWindow, window_of
from grader_daemon.analysis.job_identity import job_of
from grader_daemon.analysis.session_state import SessionEnd, is_answer, last_word, read_state
from grader_daemon.analysis.skills_used import skills_used
from grader_daemon.analysis.tool_calls import shared_name
from grader_daemon.analysis.tool_calls.hand_in import handed_in_at
from grader_daemon.analysis.tool_calls.outcomes import OutcomeReader
from grader_daemon.analysis.user_messages import (
    SignalReader,
    TaskTypes,
    UserMessage,
    digest_of,
    is_sentinel,
    summarize,
    without_secrets,
    wording_of_request,
)
from grader_daemon.analysis.walk import MessageWalk
from grader_daemon.analysis.work_done import work_done
from grader_daemon.domain.analysis import Analysis, Failure, SessionState
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.early import EARLY_CALLS
from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.people import ACCEPTING, MOST_SIGNALS, PersonSignal, SignalKind
from grader_daemon.domain.rules import PeopleRules, Rules
from grader_daemon.domain.session import ASSISTANT, USER, Message, Session, SessionKind
from grader_daemon.domain.session_features import NO_FEATURES, Features
from grader_daemon.domain.session_result import Check, EndingKind
from grader_daemon.redaction import public_id, redactor_of

_NAMES: Final = ("model", "platform", "agent", "agent_version", "schedule", "adapter")


class _Finished(NamedTuple):
    """Facts that only a finished session shows; see the fields of `Analysis` of these names."""

    features: Features = NO_FEATURES
    ending: EndingKind | None = None
    check: Check | None = None
    admitted: bool = False


_OPEN: Final = _Finished()


class Analyzer:
    """Analyses sessions under one set of rules. Holds no state between sessions; safe to share among threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._redactor = redactor_of(rules.redaction)
        self._outcomes = OutcomeReader(rules.failures)
        self._task_types = TaskTypes(rules.task_types)
        self._signals = SignalReader(rules.people)
        self._endings = EndingReader(rules.evidence, rules.people)

    def without_secrets(self, session: Session) -> Session:
        """Return the session with names that can be kept: of models, programs and folders, and the id of its parent."""
        redactor = self._redactor
        named = [(name, getattr(session, name)) for name in _NAMES]
        kept = {
            name: redactor.redact_beginning(value, LONGEST_NAME) if value.strip() else None
            for name, value in named
            if value is not None
        }
        if session.project:
            kept["project"] = redactor.redact_name(session.project)
        if session.parent:
            kept["parent"] = public_id(session.parent)
        return msgspec.structs.replace(session, **kept)

    def analyze(self, session: Session, *, idle: bool = False) -> Analysis:
        """Count and name what happened. `idle`: nothing was written to the file for `idle_minutes`."""
        rules = self._rules
        session = _without_sentinel(session, rules.people)
        walk = self._walk(session)
        users = walk.users.messages
        final_index, end = _final_index(session, walk), self._end(session, walk, idle=idle)
        final_answer = session.messages[final_index].text.strip() if final_index is not None else ""
        answered = final_index is not None and is_answer(session.messages[final_index], rules.tail)
        record = CallRecord(session, walk.notes, final_index=final_index)
        signals = _with_undone(self._signals.read(users), session)
        claims = self._claims_told(session, record, final_index, signals)
        failures = tuple(walk.trail.failures)
        shown = without_secrets(walk.request, self._redactor)
        finished = _OPEN
        if end.state is not SessionState.OPEN:
            word = last_word(session.messages, rules.tail, last_status=walk.last_status, ending=session.ending)
            window = window_of(
                walk.recent, word, request=walk.request, failures=failures, claims=claims, signals=signals
            )
            finished = self._finished(record, walk, end, window, answer=final_answer or window.answer)
        return Analysis(
            state=end.state,
            state_reason=end.reason,
            task_type=self._task_types.of(walk.request),
            task_summary=summarize(shown, rules.people),
            final_answer=final_answer,
            answered=answered,
            spoke=answered or any(is_answer(said, rules.tail) for said in walk.recent.answers),
            final_index=final_index,
            total_api_calls=walk.api_calls,
            tool_calls=walk.tool_calls,
            failures=failures,
            signs=tuple(walk.trail.signs.values()),
            tools=walk.tools.use(walk.trail.failures),
            had_repeated_errors=walk.error_runs.longest >= rules.error_runs.repeated_errors,
            had_infinite_loop_risk=walk.error_runs.loop_index is not None,
            loop_index=walk.error_runs.loop_index,
            had_user_clarification=_asked(walk, rules.people),
            had_user_refusal=walk.refused,
            had_user_interruption=walk.interrupted,
            errors_recovered=not walk.trail.errors
            or (end.state is SessionState.COMPLETE and answered and walk.recovery_index is not None),
            recovery_index=walk.recovery_index,
            duration_seconds=_duration(session),
            claims=claims,
            signals_from_people=signals,
            request=self._request(session, users[0] if users else None),
            wording=None if walk.request is None else wording_of_request(walk.request, rules.people),
            features=finished.features,
            skills=skills_used(walk.notes, users, source=session.format, redactor=self._redactor),
            early_errors=_early_errors(walk.notes, failures),
            cut_short=end.cut_short,
            error_last=bool(failures) and failures[-1].is_error and failures[-1].index == len(session.messages) - 1,
            ending=finished.ending,
            check=finished.check,
            admitted=finished.admitted,
            of_job=job_of(session, rules.people, self._redactor),
            done=work_done(record, shown=shown, answer=final_answer, redactor=self._redactor),
        )

    def claims(self, session: Session) -> tuple[Claim, ...]:
        """Return the claims of the last answer, held against the record; it costs a part of `analyze`."""
        session = _without_sentinel(session, self._rules.people)
        walk = self._walk(session)
        final_index = _final_index(session, walk)
        record = CallRecord(session, walk.notes, final_index=final_index)
        return verify_claims(record, final_index=final_index, redactor=self._redactor)

    def _claims_told(
        self, session: Session, record: CallRecord, final_index: int | None, signals: Sequence[PersonSignal]
    ) -> tuple[Claim, ...]:
        """Return the claims of the last answer; without any, of the last one with any that a person thanked for."""
        claims = verify_claims(record, final_index=final_index, redactor=self._redactor)
        for index in () if claims else _thanked_answers(session.messages, final_index, signals):
            until = msgspec.structs.replace(session, messages=session.messages[: index + 1])
            claims = verify_claims(CallRecord(until, record.notes), final_index=index, redactor=self._redactor)
            if claims:
                break
        return claims

    def _walk(self, session: Session) -> MessageWalk:
        return MessageWalk(session, self._rules, redactor=self._redactor, outcomes=self._outcomes).to_the_end()

    def _end(self, session: Session, walk: MessageWalk, *, idle: bool) -> SessionEnd:
        return read_state(
            session.messages,
            self._rules.tail,
            last_status=walk.last_status,
            idle=idle,
            ending=session.ending,
            is_handed_in=handed_in_at(session.messages, walk.last_status) is not None,
        )

    def _finished(
        self, record: CallRecord, walk: MessageWalk, end: SessionEnd, window: SessionWindow, *, answer: str
    ) -> _Finished:
        """Read what only a finished session shows; `answer` is the last text of the agent."""
        return _Finished(
            features_of(window),
            self._endings.read(end, window, walk.notes, answer),
            last_check(record, walk.trail.failures),
            self._endings.is_admitted(answer),
        )

    def _request(self, session: Session, first: UserMessage | None) -> int | None:
        """Identify what a person asked for at the beginning; not what a program asks for day after day."""
        rules = self._rules.people
        if first is None or first.answered or session.platform in rules.unattended_platforms:
            return None
        if session.kind not in (None, SessionKind.MAIN):
            return None
        return None if session.session_id.startswith(rules.unattended_ids) else digest_of(first.text, rules)


def _without_sentinel(session: Session, rules: PeopleRules) -> Session:
    """Return the session without what a harness wrote in a person's place to end it: what came before is its end."""
    messages = session.messages
    while messages and messages[-1].role == USER and is_sentinel(messages[-1].text, rules):
        messages = messages[:-1]
    return session if messages is session.messages else msgspec.structs.replace(session, messages=messages)


def _asked(walk: MessageWalk, rules: PeopleRules) -> bool:
    return walk.users.was_asked or not rules.clarification_tools.isdisjoint(map(shared_name, walk.tools.called))


def _final_index(session: Session, walk: MessageWalk) -> int | None:
    """Return where the last answer stands: what ends the session, or stands beside the call that hands the work in."""
    messages = session.messages
    if messages and messages[-1].role == ASSISTANT and not messages[-1].tool_calls:
        return len(messages) - 1
    return handed_in_at(messages, walk.last_status)


def _thanked_answers(
    messages: Sequence[Message], final_index: int | None, signals: Sequence[PersonSignal]
) -> Iterator[int]:
    """Yield where the answers before the last one stand that a person only thanked for, the newest first.

    No call was made since.
    """
    thanked = {signal.index for signal in signals if signal.kind in ACCEPTING}
    at = len(messages) - 1 if final_index is None else final_index - 1
    while at in thanked and messages[at - 1].role == ASSISTANT and not messages[at - 1].tool_calls:
        yield at - 1
        at -= 2


def _early_errors(notes: Sequence[Note], failures: Sequence[Failure]) -> int | None:
    if len(notes) < EARLY_CALLS:
        return None
    last = notes[EARLY_CALLS - 1][0]
    return sum(failure.is_error and failure.index <= last for failure in failures)


def _with_undone(said: tuple[PersonSignal, ...], session: Session) -> tuple[PersonSignal, ...]:
    """Add what a person took back: before what came next, at the end of all at the last message."""
    last = len(session.messages) - 1
    if not session.taken_back or last < 0:
        return said
    undone = [PersonSignal(SignalKind.UNDONE, min(place, last)) for place in session.taken_back]
    return tuple(sorted((*undone, *said), key=lambda signal: signal.index)[-MOST_SIGNALS:])


def _duration(session: Session) -> float | None:
    if session.started_at is None or session.updated_at is None:
        return None
    seconds = (session.updated_at - session.started_at).total_seconds()
    return seconds if seconds >= 0 else None
