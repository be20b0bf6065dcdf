"""Claims of an answer, side by side with what the record of the session holds about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.plain_text import stated_code, without_code
from grader_daemon.api.excerpts import excerpt
from grader_daemon.api.transcript import command_given, fields_of, readable
from grader_daemon.domain.claims import Claim, Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import TOOL, Message, Session, ToolCall
from grader_daemon.redaction import MARGIN, Redactor

_ORDER: Final = (Support.CONTRADICTED, Support.STALE, Support.PARTIAL, Support.UNSUPPORTED, Support.VERIFIED)
_ENDING: Final = 600
_LINES: Final = 3
_COLUMNS: Final = 200
_OUTPUTS: Final = ("output", "stdout", "stderr", "error", "content")
"""Values of a result in which a program's own words stand, in the order in which one is looked for."""

_EXIT_CODES: Final = ("exit_code", "exitCode", "returncode")


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the record that supports or contradicts a claim.

    `index` is its place; `call` the command or the arguments that it answers, on a line; `lines` the last of what it
    says, at most three. All are redacted. `exit_code` is None where the result has none as a number.
    """

    index: int
    call: str | None
    is_command: bool
    lines: tuple[str, ...]
    exit_code: int | None

    @property
    def as_in_a_terminal(self) -> tuple[str, ...]:
        """The call, what came of it and how it ended, in lines."""
        called = () if self.call is None else (f"{'$' if self.is_command else '→'} {self.call}",)
        ended = () if self.exit_code is None else (f"exit {self.exit_code}",)
        return (*called, *self.lines, *ended)


class SaidAndHappened(msgspec.Struct, frozen=True, kw_only=True):
    """A claim and `happened`, the message that decides it; None if no message does or the session cannot be read."""

    claim: Claim
    happened: Happened | None


def said_and_happened(grade: Grade, session: Session | None, redactor: Redactor) -> tuple[SaidAndHappened, ...]:
    """Return the claims of a session, those that the record speaks against first; `session` as it can be read now."""
    claims = sorted(grade.claims, key=lambda claim: _ORDER.index(claim.support))
    if session is None:
        return tuple(SaidAndHappened(claim=claim, happened=None) for claim in claims)
    places = [_deciding(claim, session) for claim in claims]
    calls = _calls(session.messages, places)
    return tuple(
        SaidAndHappened(claim=claim, happened=None if place is None else _happened(session, place, calls, redactor))
        for claim, place in zip(claims, places, strict=True)
    )


def _deciding(claim: Claim, session: Session) -> int | None:
    """Return the message that decides a claim; None where none does, or it is not there any more."""
    place = claim.evidence[-1] if claim.evidence else None
    return None if place is None or place >= len(session.messages) else place


def _calls(messages: Sequence[Message], results: Iterable[int | None]) -> dict[str, ToolCall]:
    """Return the calls that some results answer, by their ids."""
    wanted = {messages[index].tool_call_id for index in results if index is not None}
    return {call.id: call for message in messages for call in message.tool_calls or () if call.id and call.id in wanted}


def _happened(session: Session, index: int, calls: dict[str, ToolCall], redactor: Redactor) -> Happened:
    message = session.messages[index]
    called = calls.get(message.tool_call_id or "")
    view = None if called is None else CallView(called.tool, called.arguments)
    command = "" if view is None else command_given(view)
    text, code = _said_by(message)
    noted = session.reported.get(index)
    return Happened(
        index=index,
        call=None if view is None else excerpt(command or " ".join(filter(None, (view.tool, view.path))), redactor),
        is_command=bool(command),
        lines=tuple(_last_lines(text, redactor)),
        exit_code=code if noted is None or noted.exit_code is None else noted.exit_code,
    )


def _said_by(message: Message) -> tuple[str, int | None]:
    """Return what a result says, and its exit code, without what stands around them."""
    if message.role != TOOL:
        return message.text, None
    fields = fields_of(message.text)
    if fields is None:
        return without_code(message.text), stated_code(message.text)
    code = next((code for name in _EXIT_CODES if type(code := fields.get(name)) is int), None)
    said = next((text for name in _OUTPUTS if isinstance(text := fields.get(name), str) and text.strip()), None)
    return message.text if said is None else said, code


def _last_lines(text: str, redactor: Redactor) -> Iterator[str]:
    ending = redactor.redact(text.rstrip()[-_ENDING - MARGIN :])[-_ENDING:]
    lines = [line for line in readable(ending, redactor).split("\n") if line.strip()]
    for line in lines[-_LINES:]:
        yield line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"
