"""One line of an evaluation with OpenHands to a session: the events of a run, what it cost, and the verdict on it."""

from __future__ import annotations

from datetime import tzinfo
from typing import Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import LongName, SessionId
from grader_daemon.domain.session import MOST_USD, Ending, Session, SessionKind, Skipped, SkipReason, Usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.decoding import decoded_or, fresh_tokens, setup_digest, token_count
from grader_daemon.sources.openhands.told_events import Told, ending_by

NAME: Final = "openhands"
"""Name of the source, of the format of its sessions, and of the agent."""

_END: Final = Ending(SessionState.COMPLETE, "written after the run")


class _Llm(msgspec.Struct, frozen=True):
    model: LongName | None = None


class _Metadata(msgspec.Struct, frozen=True):
    llm: _Llm | None = None
    llm_config: _Llm | None = None


class _Tokens(msgspec.Struct, frozen=True):
    model: LongName | None = None
    prompt_tokens: object = None
    completion_tokens: object = None
    cache_read_tokens: object = None
    cache_write_tokens: object = None
    reasoning_tokens: object = None


class Metrics(msgspec.Struct, frozen=True):
    """Money and tokens that calls of models took."""

    accumulated_cost: object = None
    accumulated_token_usage: _Tokens | None = None


class _Judged(msgspec.Struct, frozen=True):
    resolved: bool | None = None


class _Result(_Judged, frozen=True):
    report: _Judged | None = None


class _Line(msgspec.Struct, frozen=True):
    instance_id: SessionId
    history: tuple[msgspec.Raw, ...] | None = None
    instruction: str | None = None
    metadata: _Metadata | None = None
    metrics: Metrics | None = None
    error: str | None = None
    resolved: bool | None = None
    report: _Judged | None = None
    test_result: msgspec.Raw = msgspec.Raw(b"null")


_DECODE: Final = msgspec.json.Decoder(_Line).decode
_RESULT: Final = msgspec.json.Decoder(_Result).decode


class ReadLine(NamedTuple):
    """A run that was read: the session with its verdict, if the line has it; kinds and events that are not known."""

    session: Session | Skipped
    kinds: tuple[str, ...] = ()
    broken: int = 0


def read_line(content: bytes, unit: Unit, *, zone: tzinfo | None) -> ReadLine:
    """Return what a line holds; for `zone` see `Told`.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is none.
    """
    line = _DECODE(content)
    if line.history is None:
        return ReadLine(Skipped(SkipReason.NOT_A_SESSION, line.instance_id))
    told = Told(zone)
    told.add_all(line.history)
    told.finish()
    if told.messages and line.instruction:
        told.begin_with(line.instruction)
    kinds = tuple(dict.fromkeys(told.unknown))
    session = _session(line, told, unit) if told.messages else Skipped(SkipReason.NOT_A_SESSION, line.instance_id)
    return ReadLine(session, kinds, told.broken)


def _session(line: _Line, told: Told, unit: Unit) -> Session:
    times = [time for time in told.times if time is not None]
    usage, model = usage_of(line.metrics), _model(line)
    prompt = told.system_prompt
    of_run = told.mark.encode("utf-8", "replace") or b"\0".join(line.history or ())
    mark = xxhash.xxh3_64_hexdigest(b"\0".join((line.instance_id.encode("utf-8", "replace"), of_run)))[:8]
    return Session(
        session_id=f"{line.instance_id}-{mark}",
        file=unit.locator,
        format=NAME,
        unit_key=unit.key,
        messages=tuple(told.messages),
        message_times=tuple(told.times) if times else (),
        reported=told.reported,
        ending=ending_by(line.error) if line.error else told.ending or _END,
        model=model,
        kind=SessionKind.MAIN,
        agent=NAME,
        usage=() if usage is None else (msgspec.structs.replace(usage, model=model),),
        cost_usd=cost_of(line.metrics),
        reward=_reward(line),
        system_prompt_digest=setup_digest(prompt.encode("utf-8", "replace")) if prompt else None,
        started_at=min(times, default=None),
        updated_at=max(times, default=None),
        compacted=told.compacted,
    )


def _reward(line: _Line) -> float | None:
    """Return the verdict on a run: `resolved`, wherever the version writes it; scores of other scales are none."""
    result = decoded_or(_RESULT, line.test_result, _Result())
    reports = (line.report, result.report, result)
    said = [line.resolved, *(report.resolved for report in reports if report is not None)]
    verdict = next((resolved for resolved in said if resolved is not None), None)
    return None if verdict is None else float(verdict)


def _model(line: _Line) -> str | None:
    used = line.metrics.accumulated_token_usage if line.metrics is not None else None
    told = line.metadata
    names = (used, told.llm if told is not None else None, told.llm_config if told is not None else None)
    return next((name.model for name in names if name is not None and name.model), None)


def usage_of(metrics: Metrics | None) -> Usage | None:
    """Return the tokens that were used; None where none were counted."""
    used = metrics.accumulated_token_usage if metrics is not None else None
    read = token_count(used.prompt_tokens) if used is not None else None
    if used is None or not read:
        return None
    cached, written = token_count(used.cache_read_tokens), token_count(used.cache_write_tokens)
    return Usage(
        model=used.model,
        input_tokens=fresh_tokens(read, cached, written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=token_count(used.completion_tokens),
        reasoning_tokens=token_count(used.reasoning_tokens),
    )


def cost_of(metrics: Metrics | None) -> float | None:
    """Return the price; where none is known it is 0, which is not known to be the price."""
    cost = metrics.accumulated_cost if metrics is not None else None
    return float(cost) if isinstance(cost, int | float) and 0 < cost <= MOST_USD else None
