"""Sessions of Acme, an agent that we made up: a log each in ``~/.acme/logs``, with a JSON object on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from grader_daemon.sources.api import (
    ASSISTANT,
    TOOL,
    USER,
    CallStatus,
    Ending,
    EndingKind,
    FunctionCall,
    Message,
    Parsed,
    ReportedOutcome,
    Session,
    SessionFiles,
    SessionState,
    ToolCall,
    Unit,
    UnknownKinds,
    Usage,
    read_lines,
    usage_by_model,
    utc,
)


class Call(msgspec.Struct):
    """A tool call in an answer."""

    id: str
    tool: str
    input: dict[str, Any] = {}


class Line(msgspec.Struct):
    """A line: what happened as its ``event``, when, and what belongs to that."""

    event: str = ""
    at: str | None = None
    session: str | None = None
    version: str | None = None
    model: str | None = None
    folder: str | None = None
    text: str = ""
    calls: tuple[Call, ...] = ()
    read: int | None = None
    cached: int | None = None
    written: int | None = None
    id: str | None = None
    output: str = ""
    exit_code: int | None = None
    denied: bool = False
    why: str = ""


LINE = msgspec.json.Decoder(Line).decode
KINDS = dict.fromkeys(("start", "person", "model", "tool", "end"), LINE)
CUTS = {"out of tokens": EndingKind.LIMIT, "stopped": EndingKind.PERSON, "crashed": EndingKind.PROCESS}


class Acme(SessionFiles):
    """The logs as a source."""

    api_version = 1
    name = "acme"
    title = "Acme"
    unknown = frozenset({"cost_usd", "finish_reason", "parent", "platform", "system_prompt_digest", "tools_digest"})
    append_only = True
    writes = True

    @staticmethod
    def default_roots() -> Sequence[str]:
        """Return where logs lie if no setting names other folders."""
        return ["~/.acme/logs"]

    def claims(self, path: str) -> bool:
        """Return whether a file below the folders is a log, by its name."""
        return path.endswith(".log")

    def recognizes(self, path: str, beginning: bytes) -> bool:
        """Return whether a file that a person names is a log, by its first 4 KB."""
        first = beginning.partition(b"\n")[0]
        return b'"event"' in first and b'"session"' in first

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """Return the session in a log."""
        lines = read_lines(content, KINDS, kind_of=lambda line: LINE(line).event, limits=self.limits)
        unknown = UnknownKinds(None, lines.unknown, lines.broken) if lines.unknown or lines.broken else None
        return Parsed(session_of(lines.read, unit), unknown=unknown)


def session_of(lines: Sequence[Line], unit: Unit) -> Session:
    """Return the session that lines tell."""
    start = next((line for line in lines if line.event == "start"), Line())
    told = [(line.at, *said) for line in lines for said in messages_of(line)]
    times = [moment for moment in (utc(line.at) for line in lines) if moment is not None]
    return Session(
        session_id=start.session or unit.locator.rpartition("/")[2].removesuffix(".log"),
        file=unit.locator,
        format=unit.source,
        messages=tuple(message for _, message, _ in told),
        message_times=tuple(utc(at) for at, _, _ in told),
        reported={place: outcome for place, (_, _, outcome) in enumerate(told) if outcome is not None},
        ending=ending_of(lines),
        model=start.model,
        project=start.folder,
        agent="acme",
        agent_version=start.version,
        usage=usage_by_model(usage_of(line, start.model) for line in lines if line.event == "model"),
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
    )


def messages_of(line: Line) -> Iterator[tuple[Message, ReportedOutcome | None]]:
    """Yield the message of a line, if it is one, with what Acme notes of a tool's result."""
    if line.event == "person":
        yield Message(role=USER, content=line.text), None
    elif line.event == "model":
        calls = tuple(ToolCall(call.id, FunctionCall(call.tool, call.input)) for call in line.calls)
        yield Message(role=ASSISTANT, content=line.text, tool_calls=calls or None), None
    elif line.event == "tool":
        outcome = ReportedOutcome(CallStatus.REFUSED) if line.denied else None
        if outcome is None and line.exit_code is not None:
            outcome = ReportedOutcome(CallStatus.FAILURE if line.exit_code else CallStatus.SUCCESS, line.exit_code)
        yield Message(role=TOOL, content=line.output, tool_call_id=line.id), outcome


def usage_of(line: Line, model: str | None) -> Usage:
    """Return the tokens of an answer; `read` has those from the cache in it."""
    fresh = None if line.read is None or line.cached is None else line.read - line.cached
    return Usage(model=model, input_tokens=fresh, cache_read_tokens=line.cached, output_tokens=line.written)


def ending_of(lines: Sequence[Line]) -> Ending:
    """Return how a session ended; one without an end may go on."""
    why = next((line.why for line in reversed(lines) if line.event == "end"), None)
    if why is None:
        return Ending(SessionState.OPEN, "no end yet")
    return Ending(SessionState.INTERRUPTED, why, CUTS[why]) if why in CUTS else Ending(SessionState.COMPLETE, why)
