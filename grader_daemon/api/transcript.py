"""A session as text that people may read: redacted, with what its grade found beside the messages it was found in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

import msgspec

from grader_daemon.analysis.tool_calls import CallView, Purpose
from grader_daemon.analysis.tool_calls.edits import SEVERAL, names_of_texts, parts_of
from grader_daemon.domain.analysis import Failure, FailureKind
from grader_daemon.domain.claims import Claim, Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import TOOL, Message, Session, ToolCall, with_tools
from grader_daemon.domain.session_result import EVIDENCE_SENTENCES, ResultStanding
from grader_daemon.domain.text import alike, clean, storable
from grader_daemon.errors import NotFoundError
from grader_daemon.redaction import Redactor
from grader_daemon.reports.session_words import KIND_WORDS, NOT_ALLOWED, why_words
from grader_daemon.storage.records import StoredGrade

_STANDING = "standing"
_BY_CHECK = frozenset({ResultStanding.CHECKED, ResultStanding.CHECK_FAILED})
_PROVES = {
    Support.VERIFIED: "proves",
    Support.CONTRADICTED: "contradicts",
    Support.UNSUPPORTED: "does not prove",
    Support.STALE: "is too early for",
    Support.PARTIAL: "proves a part of",
}


class FindingKind(StrEnum):
    """Kind of finding in a message."""

    FAILURE = "failure"
    EXPECTED_FAILURE = "expected_failure"
    REFUSED = "refused"
    CLAIM = "claim"
    EVIDENCE = "evidence"
    PERSON = "person"
    CHECK = "check"


class Finding(msgspec.Struct, frozen=True):
    """One thing that the grade found in a message; `text` says it in a few words."""

    kind: FindingKind
    text: str


class TranscriptCall(msgspec.Struct, frozen=True):
    """A tool call.

    Attributes:
        arguments: one line for each, "name: value"; unchanged if they are no JSON object, "" if there are none. If the
            call replaces one text by another, the diff of both follows.
        left_out: number of characters cut off.
        runs_command: true if it gives a command to a shell, or code to an interpreter.
    """

    tool: str | None
    arguments: str
    left_out: int = 0
    runs_command: bool = False


class TranscriptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message.

    Attributes:
        index: its position in the session, from 0.
        tool: the tool whose result it is; None for other messages.
        text: its text, without control characters except line breaks. A result that is a JSON object has a line for
            each
        value, "name: value".
        written_at: when it was written; None if the agent does not record it.
        left_out: number of characters cut off.
    """

    index: int
    role: str
    tool: str | None
    text: str
    calls: tuple[TranscriptCall, ...]
    findings: tuple[Finding, ...]
    written_at: datetime | None = None
    left_out: int = 0


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """Some or all messages of a session, in order; `total` is the number of all its messages.

    `note` says why messages are missing or may differ from the graded ones; None if neither is so.
    """

    stored: StoredGrade
    total: int
    messages: tuple[TranscriptMessage, ...]
    note: str | None


def messages_around(session: Session | None, index: int, reach: int) -> Sequence[int]:
    """Return a message and at most `reach` before and after it; none of a session that cannot be read.

    Raises:
        InputError: there is no such message.
    """
    total = _total(session, index)
    return range(max(0, index - reach), min(total, index + reach + 1))


def messages_from(session: Session | None, first: int, count: int | None) -> Sequence[int]:
    """Return the messages from one on, at most `count`; none of a session that cannot be read.

    Raises:
        InputError: there is no such message.
    """
    total = _total(session, first)
    return range(first, total if count is None else min(total, first + count))


def messages_among(session: Session | None, wanted: Sequence[int]) -> Sequence[int]:
    """Return those of some messages that are there."""
    return [] if session is None else [index for index in wanted if index < len(session.messages)]


def messages_with(session: Session | None, words: str, redactor: Redactor, *, limit: int) -> list[int]:
    """Return the first messages in whose text or calls words stand as they are shown, in any case."""
    messages = () if session is None else session.messages
    found = (index for index, message in enumerate(messages) if _has(message, words.casefold(), redactor))
    return list(islice(found, limit))


def _has(message: Message, sought: str, redactor: Redactor) -> bool:
    return any(sought in readable(text, redactor).casefold() for text in _texts(message) if sought in text.casefold())


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    for call in message.tool_calls or ():
        yield call.tool or ""
        yield _plain(call.arguments or "")


def _total(session: Session | None, index: int) -> int:
    """Return how many messages there are; of those that can be read, `index` must be one."""
    total = 0 if session is None else len(session.messages)
    if total and index not in range(total):
        raise NotFoundError(f"there is no message {index}; the session has {total}, numbered from 0")
    return total


def transcript(
    stored: StoredGrade,
    session: Session | None,
    *,
    note: str | None,
    redactor: Redactor,
    shown: Sequence[int],
    longest: int | None = None,
) -> Transcript:
    """Return the messages `shown`, in order, their texts cut where they have more than `longest` characters."""
    told: Iterable[TranscriptMessage] = ()
    if session is not None:
        findings = _findings(stored.grade, session, redactor)
        told = _told(session, shown, findings, _Telling(redactor, longest))
    return Transcript(
        stored=stored, total=0 if session is None else len(session.messages), messages=tuple(told), note=note
    )


class _Telling(NamedTuple):
    """Form in which texts are shown: redacted, and cut if a longest is set."""

    redactor: Redactor
    longest: int | None

    def of(self, text: str) -> tuple[str, int]:
        """Return a text as it is shown, and how many characters of it are left out."""
        if self.longest is None or len(text) <= self.longest:
            return readable(text, self.redactor), 0
        beginning = self.redactor.redact_beginning(storable(text), self.longest)
        return _in_lines(beginning), len(text) - self.longest


def _told(
    session: Session, shown: Sequence[int], findings: dict[int, list[Finding]], telling: _Telling
) -> Iterator[TranscriptMessage]:
    if not shown:
        return
    has_results = any(session.messages[index].role == TOOL for index in shown)
    begin = 0 if has_results else shown[0]  # only a result is named by a call, which may stand far before it
    tools = enumerate(with_tools(session.messages[begin : shown[-1] + 1]), begin)
    wanted = frozenset(shown)
    for index, (message, tool) in tools:
        if index not in wanted:
            continue
        text, left_out = telling.of(_unfolded(message.text) if message.role == TOOL else message.text)
        yield TranscriptMessage(
            index=index,
            role=readable(message.role, telling.redactor),
            tool=readable(tool, telling.redactor) if tool else None,
            text=text,
            calls=tuple(_call(call, telling) for call in message.tool_calls or ()),
            findings=tuple(findings.get(index, ())),
            written_at=session.message_times[index] if session.message_times else None,
            left_out=left_out,
        )


def _call(call: ToolCall, telling: _Telling) -> TranscriptCall:
    arguments, left_out = telling.of(_written(call.arguments or "", telling.redactor))
    tool = call.tool and readable(call.tool, telling.redactor)
    return TranscriptCall(tool, arguments, left_out, bool(command_given(CallView(call.tool, call.arguments))))


def command_given(view: CallView) -> str:
    """Return what a call gives a shell or an interpreter; "" where `command` tells an editor what to do with a file."""
    is_told = view.purpose is not Purpose.RUN and view.path is not None
    return "" if is_told else view.shell or view.command


def _written(given: str | dict[str, object], redactor: Redactor) -> str:
    """Return the arguments of a call, the texts of an edit as a diff; what is no object stands as it is."""
    fields = fields_of(given) if isinstance(given, str) else given
    if fields is None:
        return str(given)
    rest, edits = edits_apart(fields, redactor)
    return "\n".join(filter(None, (_lines(rest), *edits)))


def _plain(given: str | dict[str, object]) -> str:
    """Return the arguments of a call as they are searched."""
    fields = fields_of(given) if isinstance(given, str) else given
    return str(given) if fields is None else _lines(fields)


def _unfolded(text: str) -> str:
    """Return a JSON object with its values in lines of their own, and any other text as it is."""
    fields = fields_of(text)
    return text if fields is None else _lines(fields)


def fields_of(text: str) -> dict[str, object] | None:
    """Return what a text that is a JSON object has; None of any other text."""
    if not text.startswith("{"):
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _lines(given: dict[str, object]) -> str:
    return "\n".join([f"{name}: {_value(value)}" for name, value in given.items()])


def _value(value: object) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return f"\n{value}" if "\n" in value.strip() else value


def _findings(grade: Grade, session: Session, redactor: Redactor) -> dict[int, list[Finding]]:
    """Return what the grade found, and the calls that the agent's record says were refused, by the message."""
    found: dict[int, list[Finding]] = defaultdict(list)
    for index, finding in _of_calls(grade, session):
        found[index].append(finding)
    for claim in grade.claims:
        said = _claimed(claim, redactor)
        found[claim.index].append(Finding(FindingKind.CLAIM, f"{said}: {_verdict(claim)}"))
        for index in claim.evidence:
            found[index].append(
                Finding(FindingKind.EVIDENCE, f"{_PROVES[claim.support]} the claim in message {claim.index}: {said}")
            )
    for signal in grade.signals_from_people:
        found[signal.index].append(Finding(FindingKind.PERSON, signal.kind.replace("_", " ")))
    for reason in grade.reasons:
        if reason.score == _STANDING and reason.messages and grade.standing in _BY_CHECK:
            found[reason.messages[-1]].append(Finding(FindingKind.CHECK, EVIDENCE_SENTENCES[reason.rule]))
    return found


def _of_calls(grade: Grade, session: Session) -> Iterator[tuple[int, Finding]]:
    yield from ((failure.index, _failed(failure)) for failure in grade.failures)
    yield from ((index, Finding(FindingKind.REFUSED, NOT_ALLOWED)) for index in session.refused)


def _failed(failure: Failure) -> Finding:
    if failure.kind is FailureKind.PROBE:
        return Finding(FindingKind.EXPECTED_FAILURE, f"{failure.words}, a probe")
    return Finding(FindingKind.FAILURE, f"{failure.words}, {KIND_WORDS[failure.kind]}")


def _claimed(claim: Claim, redactor: Redactor) -> str:
    kind = claim.kind.replace("_", " ")
    return kind if claim.subject is None else f"{kind} {readable(claim.subject, redactor)}"


def _verdict(claim: Claim) -> str:
    why = why_words(claim)
    return f"{claim.support}: {why}" if why else claim.support.value


def readable(text: str, redactor: Redactor) -> str:
    """Return a text in its own lines, without secrets and without anything that a terminal obeys."""
    return _in_lines(redactor.redact(storable(text)))


def edits_apart(given: Mapping[str, object], redactor: Redactor) -> tuple[dict[str, object], list[str]]:
    """Return the arguments of a call without those that are texts of edits, and these edits as diffs.

    Agents give the old text and the new one, each whole. Redacted before they are compared: the sign in front of a line
    could hide what gives a secret away.
    """
    parts = parts_of(given)
    diffs = [_diff(part, names, redactor) for part in parts if (names := names_of_texts(part)) is not None]
    if len(diffs) < len(parts):
        return dict(given), []
    shown = (SEVERAL, *(names_of_texts(given) or ()))
    return {name: value for name, value in given.items() if name not in shown}, diffs


def _in_lines(text: str) -> str:
    return "\n".join([clean(line.expandtabs(4)) for line in text.splitlines()])


def _diff(given: Mapping[str, object], names: tuple[str, str], redactor: Redactor) -> str:
    before, after = (redactor.redact(str(given[name])).splitlines() for name in names)
    return "\n".join(_diff_lines(names, before, after))


def _diff_lines(names: tuple[str, str], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield a diff in the unified format: the lines that both begin and end with, and between them what is replaced."""
    head = alike(before, after)
    tail = alike(before[head:][::-1], after[head:][::-1])
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{_range(before)} +{_range(after)} @@"
    yield from (f" {line}" for line in before[:head])
    yield from (f"-{line}" for line in before[head : len(before) - tail])
    yield from (f"+{line}" for line in after[head : len(after) - tail])
    yield from (f" {line}" for line in before[len(before) - tail :])


def _range(lines: Sequence[str]) -> str:
    return f"{1 if lines else 0},{len(lines)}"
