"""A session as text that people may read: redacted, with what its grade found beside the messages it was found in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from grader_daemon.domain.claims import Claim, Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import TOOL, Message, Session, ToolCall, with_tools
from grader_daemon.domain.text import clean, storable
from grader_daemon.errors import InputError
from grader_daemon.redaction import Redactor
from grader_daemon.storage.records import StoredGrade

_SAYS = {Support.VERIFIED: "for", Support.CONTRADICTED: "against", Support.UNSUPPORTED: "nothing of"}


class FindingKind(StrEnum):
    """What was found in a message."""

    FAILURE = "failure"
    CLAIM = "claim"
    EVIDENCE = "evidence"
    PERSON = "person"


class Finding(msgspec.Struct, frozen=True):
    """One thing that the grade found in a message; `text` says it in a few words."""

    kind: FindingKind
    text: str


class TranscriptCall(msgspec.Struct, frozen=True):
    """A tool call; `arguments` a line each, "name: value", as they stand where they are no object, "" without any."""

    tool: str | None
    arguments: str


class TranscriptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `index` is its position in the session, from 0; `tool` is whose result it is, None for others.

    `text` has line breaks and nothing else that a terminal obeys; a result that is a JSON object has a line for each of
    its values, "name: value", or more where the value has more.
    """

    index: int
    role: str
    tool: str | None
    text: str
    calls: tuple[TranscriptCall, ...]
    findings: tuple[Finding, ...]


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """Some or all messages of a session, in their order; `total` counts all that it has.

    `note` says why the messages are missing, or may not be those that were graded; None when all is well.
    """

    stored: StoredGrade
    total: int
    messages: tuple[TranscriptMessage, ...]
    note: str | None


def transcript(
    stored: StoredGrade,
    session: Session | None,
    *,
    note: str | None,
    redactor: Redactor,
    around: int | None,
    reach: int,
) -> Transcript:
    """Return all messages, or those at most `reach` before and after message `around`.

    Raises:
        InputError: there is no message `around`.
    """
    messages = () if session is None else session.messages
    shown = range(len(messages))
    if around is not None and session is not None:
        if around not in shown:
            raise InputError(f"there is no message {around}; the session has {len(messages)}, from 0 on")
        shown = shown[max(0, around - reach) : around + reach + 1]
    return Transcript(
        stored=stored,
        total=len(messages),
        messages=tuple(_told(messages, shown, _findings(stored.grade, redactor), redactor)),
        note=note,
    )


def _told(
    messages: tuple[Message, ...], shown: range, findings: dict[int, list[Finding]], redactor: Redactor
) -> Iterator[TranscriptMessage]:
    for index, (message, tool) in enumerate(with_tools(messages[: shown.stop])):
        if index in shown:
            yield TranscriptMessage(
                index=index,
                role=readable(message.role, redactor),
                tool=readable(tool, redactor) if tool else None,
                text=readable(_unfolded(message.text) if message.role == TOOL else message.text, redactor),
                calls=tuple(_call(call, redactor) for call in message.tool_calls or ()),
                findings=tuple(findings.get(index, ())),
            )


def _call(call: ToolCall, redactor: Redactor) -> TranscriptCall:
    given = call.arguments or ""
    written = _unfolded(given) if isinstance(given, str) else _lines(given)
    return TranscriptCall(call.tool and readable(call.tool, redactor), readable(written, redactor))


def _unfolded(text: str) -> str:
    """Return a JSON object with its values in lines of their own, and any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        return _lines(msgspec.json.decode(text, type=dict[str, object]))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return text


def _lines(given: dict[str, object]) -> str:
    return "\n".join([f"{name}: {_value(value)}" for name, value in given.items()])


def _value(value: object) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return f"\n{value}" if "\n" in value.strip() else value


def _findings(grade: Grade, redactor: Redactor) -> dict[int, list[Finding]]:
    """Return what the grade found, by the message that shows it."""
    found: dict[int, list[Finding]] = defaultdict(list)
    for failure in grade.failures:
        said = f"{failure.finest.replace('_', ' ')}, {failure.kind}"
        found[failure.index].append(Finding(FindingKind.FAILURE, said))
    for claim in grade.claims:
        said = _claimed(claim, redactor)
        found[claim.index].append(Finding(FindingKind.CLAIM, f"{said}: {claim.support}"))
        for index in claim.evidence:
            found[index].append(
                Finding(FindingKind.EVIDENCE, f"says {_SAYS[claim.support]} the claim in {claim.index}: {said}")
            )
    for signal in grade.signals_from_people:
        found[signal.index].append(Finding(FindingKind.PERSON, signal.kind.replace("_", " ")))
    return found


def _claimed(claim: Claim, redactor: Redactor) -> str:
    kind = claim.kind.replace("_", " ")
    return kind if claim.subject is None else f"{kind} {readable(claim.subject, redactor)}"


def readable(text: str, redactor: Redactor) -> str:
    """Return a text in its own lines, without secrets and without anything that a terminal obeys."""
    lines = redactor.redact(storable(text)).splitlines()
    return "\n".join([clean(line.expandtabs(4)) for line in lines])
