"""Grades as rows and back: one place that knows the order of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState, Step, ToolUse
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.grade import UNKNOWN_FORMAT, Grade, Reason
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.records import StoredGrade
from grader_daemon.storage.sqlite.features import from_features, to_features

GRADE_COLUMNS = (
    "session_id",
    "session_file",
    "graded_at",
    "task_completed",
    "tool_calls_efficient",
    "response_quality",
    "errors_recovered",
    "total_api_calls",
    "model",
    "platform",
    "session_start",
    "duration_seconds",
    "task_summary",
    "total_errors",
    "error_types",
    "tools_with_errors",
    "had_repeated_errors",
    "had_infinite_loop_risk",
    "had_user_clarification",
)
DETAIL_COLUMNS = (
    "session_id",
    "state",
    "state_reason",
    "task_type",
    "format",
    "host",
    "ended_at",
    "messages",
    "tool_calls",
    "had_user_refusal",
    "had_user_interruption",
    "digest",
    "rules_version",
    "p_completed",
    "reasons",
    "updated_at",
    "lineage",
    "opening",
    "conversation",
    "compacted",
    "named_after_id",
    "ended_on",
    "tools",
    "loop_told",
    "watched",
    "verdict_by",
    "rules_completed",
    "automatic_completed",
    "automatic_by",
    "automatic_quality",
    "features",
    "claims",
    "people",
    "request",
    "asked_again",
    "project",
    "scored",
    "unsure",
    "started_at",
    "unit_key",
)
VERDICT_COLUMNS = (
    "rules_version",
    "p_completed",
    "reasons",
    "verdict_by",
    "automatic_completed",
    "automatic_by",
    "automatic_quality",
    "unsure",
)
"""The details that another policy changes, or a person's word."""
FAILURE_COLUMNS = (
    "session_id",
    "message_index",
    "tool",
    "category",
    "command",
    "fingerprint",
    "ended_at",
    "next_tool",
    "next_command",
    "next_worked",
    "kind",
)
_EPOCH = datetime.fromtimestamp(0, UTC)
_encode = msgspec.json.Encoder().encode
_decode_reasons = msgspec.json.Decoder(tuple[Reason, ...]).decode
_decode_tools = msgspec.json.Decoder(tuple[tuple[str, int, int], ...]).decode
_decode_claims = msgspec.json.Decoder(tuple[Claim, ...]).decode
_decode_people = msgspec.json.Decoder(tuple[PersonSignal, ...]).decode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


@lru_cache(maxsize=16)
def to_text(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat()


def to_moment(text: str | None) -> datetime | None:
    """The reverse of `to_text`; a time without a zone is taken as UTC, one that is no time is unknown."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def known_moment(text: str) -> datetime:
    """Read a time that `to_text` wrote."""
    return datetime.fromisoformat(text)


def grade_row(grade: Grade) -> tuple[Any, ...]:
    """Values for `GRADE_COLUMNS`."""
    return (
        grade.session_id,
        grade.session_file,
        to_text(grade.graded_at),
        grade.task_completed,
        grade.tool_calls_efficient,
        grade.response_quality,
        grade.errors_recovered,
        grade.total_api_calls,
        grade.model,
        grade.platform,
        to_text(grade.session_start),
        grade.duration_seconds,
        grade.task_summary,
        grade.total_errors,
        _encode(grade.error_types).decode(),
        _encode(grade.tools_with_errors).decode(),
        grade.had_repeated_errors,
        grade.had_infinite_loop_risk,
        grade.had_user_clarification,
    )


def detail_row(
    grade: Grade, identity: Identity, *, digest: str, host: str, loop_told: bool, watched: bool
) -> tuple[Any, ...]:
    """Values for `DETAIL_COLUMNS`."""
    return (
        grade.session_id,
        grade.state,
        grade.state_reason,
        grade.task_type,
        grade.format,
        host,
        to_text(grade.ended_at),
        identity.messages,
        grade.tool_calls,
        grade.had_user_refusal,
        grade.had_user_interruption,
        digest,
        grade.rules_version,
        grade.p_completed,
        _encode(grade.reasons).decode(),
        to_text(identity.updated_at),
        identity.lineage,
        identity.opening,
        identity.conversation,
        identity.compacted,
        identity.named_after_id,
        grade.ended_on,
        _encode([(use.tool, use.calls, use.failures) for use in grade.tools]).decode(),
        loop_told,
        watched,
        grade.verdict_by,
        grade.rules_completed,
        grade.automatic_completed,
        grade.automatic_by,
        grade.automatic_quality,
        from_features(grade.features),
        _encode(grade.claims).decode(),
        _encode(grade.signals_from_people).decode(),
        grade.request,
        grade.asked_again,
        grade.project,
        grade.scored,
        grade.unsure,
        to_text(identity.started_at),
        grade.unit_key,
    )


def verdict_row(grade: Grade) -> tuple[Any, ...]:
    """Values for `VERDICT_COLUMNS`, and the session that they are of."""
    return (
        grade.rules_version,
        grade.p_completed,
        _encode(grade.reasons).decode(),
        grade.verdict_by,
        grade.automatic_completed,
        grade.automatic_by,
        grade.automatic_quality,
        grade.unsure,
        grade.session_id,
    )


def failure_rows(grade: Grade) -> list[tuple[Any, ...]]:
    """Values for `FAILURE_COLUMNS`, a row for each failure."""
    ended_at = None if grade.state is SessionState.OPEN else to_text(grade.ended_at)
    return [
        (
            grade.session_id,
            failure.index,
            failure.tool,
            failure.category,
            failure.command,
            failure.fingerprint,
            ended_at,
            *_step_columns(failure.next_step),
            failure.kind,
        )
        for failure in grade.failures
    ]


def to_grade(row: Sequence[Any], failures: tuple[Failure, ...]) -> StoredGrade:
    """Read ``id, *GRADE_COLUMNS, *DETAIL_COLUMNS`` back into a grade."""
    known = dict(zip(GRADE_COLUMNS, row[1:], strict=False))
    details = dict(zip(DETAIL_COLUMNS, row[1 + len(GRADE_COLUMNS) :], strict=True))
    detailed = details["session_id"] is not None
    calls = known["total_api_calls"]
    ended_at = to_moment(details["ended_at"]) or to_moment(known["graded_at"])
    return StoredGrade(
        id=row[0],
        detailed=detailed,
        digest=details["digest"],
        loop_told=bool(details["loop_told"]),
        watched=bool(details["watched"]),
        grade=Grade(
            session_id=known["session_id"],
            session_file=known["session_file"],
            graded_at=to_moment(known["graded_at"]) or _EPOCH,
            task_completed=bool(known["task_completed"]),
            tool_calls_efficient=known["tool_calls_efficient"],
            response_quality=known["response_quality"],
            errors_recovered=bool(known["errors_recovered"]),
            total_api_calls=calls,
            model=known["model"],
            platform=known["platform"],
            session_start=to_moment(known["session_start"]),
            duration_seconds=known["duration_seconds"],
            task_summary=known["task_summary"],
            total_errors=known["total_errors"],
            error_types=_names(known["error_types"]),
            tools_with_errors=_names(known["tools_with_errors"]),
            had_repeated_errors=bool(known["had_repeated_errors"]),
            had_infinite_loop_risk=bool(known["had_infinite_loop_risk"]),
            had_user_clarification=bool(known["had_user_clarification"]),
            state=SessionState(details["state"] or SessionState.COMPLETE),
            state_reason=details["state_reason"] or "graded by another program",
            task_type=details["task_type"] or "general",
            format=details["format"] or UNKNOWN_FORMAT,
            tool_calls=details["tool_calls"] or 0,
            error_rate=known["total_errors"] / max(calls, 1),
            had_user_refusal=bool(details["had_user_refusal"]),
            had_user_interruption=bool(details["had_user_interruption"]),
            ended_at=ended_at,
            ended_on=details["ended_on"] or (ended_at or _EPOCH).date().isoformat(),
            tools=to_tools(details["tools"]),
            failures=failures,
            reasons=_decode_reasons(details["reasons"] or "[]"),
            rules_version=details["rules_version"] or "unknown",
            p_completed=details["p_completed"],
            verdict_by=VerdictBy(details["verdict_by"] or VerdictBy.RULES),
            rules_completed=to_flag(details["rules_completed"]),
            automatic_completed=to_flag(details["automatic_completed"]),
            automatic_by=None if details["automatic_by"] is None else VerdictBy(details["automatic_by"]),
            automatic_quality=details["automatic_quality"],
            claims=_decode_claims(details["claims"] or "[]"),
            signals_from_people=_decode_people(details["people"] or "[]"),
            request=details["request"],
            asked_again=details["asked_again"],
            features=to_features(details["features"]),
            project=details["project"],
            scored=bool(details["scored"]) if detailed else calls > 0,
            unsure=bool(details["unsure"]),
            unit_key=details["unit_key"] or "",
        ),
    )


def to_tools(text: str | None) -> tuple[ToolUse, ...]:
    """Read the column `tools`; a row of an older version has none."""
    return tuple(ToolUse(*use) for use in _decode_tools(text or "[]"))


def to_failure(row: Sequence[Any]) -> Failure:
    """Read `FAILURE_COLUMNS`."""
    _, index, tool, category, command, fingerprint, _, next_tool, next_command, worked, kind = row
    step = None if next_tool is None else Step(next_tool, next_command, to_flag(worked))
    return Failure(index, tool, Category(category), command, fingerprint, step, FailureKind(kind))


def to_identity(row: Sequence[Any]) -> Identity:
    """Read the columns of a rival, in the order in which `Rivals` asks for them."""
    return Identity(
        session_id=row[0],
        unit=Unit(*row[1:4]),
        written_ns=row[4] or 0,
        state=SessionState(row[5]),
        messages=row[6],
        started_at=to_moment(row[7]),
        updated_at=to_moment(row[8]),
        lineage=row[9],
        opening=row[10],
        conversation=row[11],
        compacted=bool(row[12]),
        named_after_id=bool(row[13]),
    )


def to_flag(value: int | None) -> bool | None:
    """Read a column that is 0, 1 or unknown."""
    return None if value is None else bool(value)


def _names(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    try:
        return _decode_names(text)
    except msgspec.MsgspecError:
        return ()


def _step_columns(step: Step | None) -> tuple[Any, ...]:
    return (None, None, None) if step is None else (step.tool, step.command, step.worked)
