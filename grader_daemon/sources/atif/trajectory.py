"""ATIF documents (versions 1.0 to 1.8) to sessions; the format is that of Harbor 0.25.

The steps of a run stand in one document, in those that continue it, and, of sub-agents, in documents inside it.
Harbor's converter for Claude Code puts the steps of sub-agents between those of the run, with a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import LongName, SessionId
from grader_daemon.domain.session import (
    ASSISTANT,
    TOOL,
    USER,
    Ending,
    FunctionCall,
    Message,
    ReportedOutcome,
    Session,
    SessionKind,
    ToolCall,
    Usage,
    usage_by_model,
)
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.atif.observations import Result, read_observation
from grader_daemon.sources.codex.rollout import INJECTED
from grader_daemon.sources.codex.taken_apart import take_apart
from grader_daemon.sources.decoding import Text, mending, name_of, text_in, token_count, utc_in
from grader_daemon.sources.strange_elements import read_without_strange

NAME = "atif"
"""Name of the source, and of the format of its sessions. The agent is the one that the run names."""

CONTINUATION: Final = re.compile(r"trajectory\.cont-\d{1,4}\.json")
"""The name of a document that continues ``trajectory.json``; no other one is followed."""

_CODEX = "codex"
_END = Ending(SessionState.COMPLETE, "written after the run")
_CUTS = (EndingKind.LIMIT, EndingKind.ERROR, EndingKind.PERSON, EndingKind.PROCESS)
_TOLD_ENDS: Final[Mapping[object, Ending]] = {
    "complete": Ending(SessionState.COMPLETE, "the run says that it is complete"),
    "open": Ending(SessionState.OPEN, "the run says that it goes on"),
    **{str(cut): Ending(SessionState.INTERRUPTED, f"the run says {cut}", cut) for cut in _CUTS},
}
"""Ends that a document may tell in its notes: the format has no field for one."""

_API_ERROR = Ending(SessionState.INTERRUPTED, "API error")
_SYNTHETIC = "<synthetic>"
"""The model of steps that no model gave, as of an error of the API; so Claude Code calls it in its own files, too."""


class _AgentNotes(msgspec.Struct, frozen=True):
    cwd: object = None
    cwds: object = None


class _Agent(msgspec.Struct, frozen=True):
    name: LongName | None = None
    version: object = None
    model_name: object = None
    extra: _AgentNotes | None = None


class _Call(msgspec.Struct, frozen=True):
    tool_call_id: str | None = None
    function_name: str | None = None
    arguments: str | dict[str, object] | None = None


class _Observation(msgspec.Struct, frozen=True):
    results: tuple[Result, ...] = ()


class _MetricNotes(msgspec.Struct, frozen=True):
    cache_creation_input_tokens: object = None
    cache_write_input_tokens: object = None
    reasoning_output_tokens: object = None


class _Metrics(msgspec.Struct, frozen=True):
    prompt_tokens: object = None
    completion_tokens: object = None
    cached_tokens: object = None
    cost_usd: object = None
    extra: _MetricNotes | None = None


class _FinalMetrics(msgspec.Struct, frozen=True):
    total_cost_usd: object = None


class _StepNotes(msgspec.Struct, frozen=True):
    is_sidechain: bool | None = None
    agent_id: LongName | None = None
    tool_call_details: object = None


class _Step(msgspec.Struct, frozen=True):
    source: str
    timestamp: object = None
    model_name: LongName | None = None
    message: Text = None
    tool_calls: tuple[_Call, ...] | None = None
    observation: _Observation | None = None
    metrics: _Metrics | None = None
    is_copied_context: bool | None = None
    extra: _StepNotes | None = None

    @property
    def side(self) -> str:
        """The sub-agent whose step it is; "" for those of the run itself."""
        return (self.extra.agent_id or "sidechain") if self.extra is not None and self.extra.is_sidechain else ""


class _DocumentNotes(msgspec.Struct, frozen=True):
    ending: object = None


class _Document(msgspec.Struct, frozen=True):
    schema_version: str
    steps: tuple[_Step, ...]
    agent: _Agent = _Agent()
    session_id: SessionId | None = None
    trajectory_id: SessionId | None = None
    final_metrics: _FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: tuple[_Document, ...] | None = None
    extra: _DocumentNotes | None = None


_DECODE = msgspec.json.Decoder(_Document).decode

_FORMAT = "ATIF-"
_READABLE = "ATIF-v1."


class Version(msgspec.Struct, frozen=True):
    """The version of a document, read before all else of it."""

    schema_version: object = None

    @property
    def is_run(self) -> bool:
        """True if the document is one in ATIF."""
        return isinstance(self.schema_version, str) and self.schema_version.startswith(_FORMAT)

    @property
    def unreadable(self) -> str | None:
        """The version of a run that is too new to be read."""
        version = self.schema_version
        return version if isinstance(version, str) and not version.startswith(_READABLE) else None


_VERSION = msgspec.json.Decoder(Version).decode


class Head(NamedTuple):
    """Name of a run and of the sub-agents in it; or its version, where that cannot be read."""

    name: str
    inside: tuple[str, ...] = ()
    version: str | None = None


class _Branch(NamedTuple):
    """Steps of one session of a run, the document that begins it, and the notes of the one that it ends in."""

    steps: list[_Step]
    document: _Document
    notes: _DocumentNotes | None


def read_run(documents: Sequence[bytes], *, path: str, named: str, passed_over: dict[str, None]) -> dict[str, Session]:
    """Return the sessions of a run: its own under "", those of its sub-agents by their names in it.

    Args:
        documents: the document of the run, and those that continue it.
        path: where the first was read.
        named: what the run is called if it does not say that itself.
        passed_over: is told of steps that are left out; see `read_without_strange`.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: one of them is no such document.
    """
    first, *following = (_document(content, passed_over) for content in documents)
    session_id = first.session_id or first.trajectory_id or named
    branches = dict(_branches(first, ""))
    for document in following:
        branches[""].steps.extend(step for step in document.steps if not step.side)
        branches[""] = branches[""]._replace(notes=document.extra)
        for key, branch in _branches(document, ""):
            if key:
                branches.setdefault(key, _Branch([], branch.document, branch.notes)).steps.extend(branch.steps)
    return {key: _session(branch, session_id, key, path) for key, branch in branches.items()}


def head_of(document: bytes, *, named: str, passed_over: dict[str, None]) -> Head | None:
    """Return how a run is called, for a whole document of it; None where it is another kind of JSON. See `read_run`.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is no such document.
    """
    version = mending(_VERSION, document)
    if not version.is_run:
        return None
    if version.unreadable is not None:
        return Head("", version=version.unreadable)
    run = _document(document, passed_over)
    return Head(run.session_id or run.trajectory_id or named, tuple(key for key, _ in _branches(run, "") if key))


def _document(content: bytes, passed_over: dict[str, None]) -> _Document:
    return mending(lambda whole: read_without_strange(_DECODE, whole, passed_over), content)


def _branches(document: _Document, key: str) -> Iterator[tuple[str, _Branch]]:
    sides: dict[str, list[_Step]] = {"": []}
    for step in document.steps:
        sides.setdefault(step.side, []).append(step)
    for side, steps in sides.items():
        yield "/".join(filter(None, (key, side))), _Branch(steps, document, None if side else document.extra)
    for number, child in enumerate(document.subagent_trajectories or ()):
        name = child.trajectory_id or str(number)
        unique = name if name not in sides else f"{name}.{number}"
        sides[unique] = []
        yield from _branches(child, "/".join(filter(None, (key, unique))))


def _session(branch: _Branch, run: str, key: str, path: str) -> Session:
    original = [step for step in branch.steps if not step.is_copied_context]
    steps = [step for step in original if step.model_name != _SYNTHETIC]
    agent = branch.document.agent
    messages: list[Message] = []
    times: list[datetime | None] = []
    reported: dict[int, ReportedOutcome] = {}
    for step in steps:
        for message, outcome in _messages(step, agent.name):
            if outcome is not None:
                reported[len(messages)] = outcome
            messages.append(message)
            times.append(utc_in(step.timestamp, UTC))  # as Harbor writes it, where it names no zone
    if agent.name == _CODEX:
        messages, reported, origins = take_apart(messages, reported)
        times = [times[origin] for origin in origins]
    known_times = [moment for moment in times if moment is not None]
    return Session(
        session_id=f"{run}/{key}" if key else run,
        file=path,
        format=NAME,
        unit_key=key,
        messages=tuple(messages),
        message_times=tuple(times) if known_times else (),
        reported=reported,
        ending=_ending(original, branch.notes),
        model=next((step.model_name for step in reversed(steps) if step.model_name), _model_of(agent)),
        project=_folder(agent.extra),
        parent=run if key else None,
        kind=SessionKind.SUB_AGENT if key else SessionKind.MAIN,
        agent=agent.name,
        agent_version=name_of(agent.version),
        usage=_usage(steps, _model_of(agent)),
        cost_usd=_cost(steps, None if key else branch.document.final_metrics),
        started_at=min(known_times, default=None),
        updated_at=max(known_times, default=None),
    )


def _model_of(agent: _Agent) -> str | None:
    return None if agent.model_name == _SYNTHETIC else name_of(agent.model_name)


def _ending(steps: Sequence[_Step], notes: _DocumentNotes | None) -> Ending:
    """Return how a run ended: as it says, or with an error of the API where that stands in place of its last answer."""
    told = notes.ending if notes is not None else None
    if isinstance(told, str) and told in _TOLD_ENDS:
        return _TOLD_ENDS[told]
    last = next((step for step in reversed(steps) if step.source == "agent"), None)
    is_error = last is not None and last.model_name == _SYNTHETIC and text_in(last.message).startswith("API Error")
    return _API_ERROR if is_error else _END


def _messages(step: _Step, agent: str | None) -> Iterator[tuple[Message, ReportedOutcome | None]]:
    text = text_in(step.message)
    if step.source == "user":
        if not (agent == _CODEX and text.startswith(INJECTED)):
            yield Message(role=USER, content=text), None
    elif step.source == "agent":
        calls = tuple(
            ToolCall(call.tool_call_id, FunctionCall(call.function_name, call.arguments))
            for call in step.tool_calls or ()
        )
        yield Message(role=ASSISTANT, content=text or None, tool_calls=calls or None), None
        details = step.extra.tool_call_details if step.extra is not None else None
        for result in step.observation.results if step.observation is not None else ():
            said, outcome = read_observation(result, text_in(result.content), details, agent=agent)
            yield Message(role=TOOL, content=said, tool_call_id=result.source_call_id), outcome


def _usage(steps: Sequence[_Step], model: str | None) -> tuple[Usage, ...]:
    """Prompt tokens are all that the model read, from a cache or not; what was written to one stands in the notes."""
    calls: list[Usage] = []
    for step in steps:
        metrics = step.metrics
        if metrics is None:
            continue
        notes = metrics.extra or _MetricNotes()
        read, cached = token_count(metrics.prompt_tokens), token_count(metrics.cached_tokens)
        written = token_count(notes.cache_creation_input_tokens)
        written = token_count(notes.cache_write_input_tokens) if written is None else written
        fresh = None if read is None or cached is None else max(0, read - cached - (written or 0))
        used = Usage(
            model=step.model_name or model,
            input_tokens=fresh,
            cache_read_tokens=cached,
            cache_write_tokens=written,
            output_tokens=token_count(metrics.completion_tokens),
            reasoning_tokens=token_count(notes.reasoning_output_tokens),
        )
        calls.append(used)
    return usage_by_model(calls)


def _cost(steps: Sequence[_Step], final: _FinalMetrics | None) -> float | None:
    """The sum at the end has that of sub-agents in it, so it counts only where the steps say nothing."""
    costs = [_usd(step.metrics.cost_usd) for step in steps if step.metrics is not None]
    known = [cost for cost in costs if cost is not None]
    if known:
        return sum(known) if len(known) == len(costs) else None
    return _usd(final.total_cost_usd) if final is not None else None


def _usd(told: object) -> float | None:
    return float(told) if isinstance(told, int | float) else None


def _folder(notes: _AgentNotes | None) -> str | None:
    if notes is None:
        return None
    folder = notes.cwds[0] if isinstance(notes.cwds, list) and notes.cwds else notes.cwd
    return name_of(folder)
