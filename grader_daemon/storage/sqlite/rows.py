"""Grades as rows and back. A column of a grade is one line of a table here: what it is called, written as, read as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from grader_daemon.domain.analysis import Category, Failure, FailureKind, SessionState, Step, Subcategory, ToolUse
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.grade import UNKNOWN_FORMAT, Grade, Reason
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import BAD_ENDINGS, BAD_STANDINGS, EndingKind, ResultStanding
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.records import NewGrade, StoredGrade
from grader_daemon.storage.sqlite.columns import Column, Columns
from grader_daemon.storage.sqlite.features import from_features, to_features

PERSONS_TASK: Final = f"coalesce(d.kind, '{SessionKind.MAIN}') = '{SessionKind.MAIN}'"
"""See `Grade.is_persons`; `d` are the details."""

ANSWERED: Final = "coalesce(d.scored, g.total_api_calls > 0)"
"""See `Grade.scored`; `g` is the grade."""

HAS_SCORES: Final = f"({ANSWERED} AND coalesce(d.state, 'complete') <> 'interrupted')"
"""See `Grade.has_scores`."""

BY_LABEL: Final = "coalesce(d.verdict_by IN ('person', 'reward', 'revert'), 0)"
"""See `VerdictBy.is_automatic`."""

COMPLETED: Final = (
    f"CASE WHEN {BY_LABEL} OR {HAS_SCORES} THEN g.task_completed"
    f" WHEN {ANSWERED} AND NOT coalesce(d.unsure, 0) AND NOT g.task_completed THEN 0 END"
)
"""See `Grade.completed`."""


def ended_badly_of(row: str) -> str:
    """Return SQL for `session_result.ended_badly` of a `row` with an ending and a standing."""
    endings, standings = (", ".join(f"'{one}'" for one in sorted(bad)) for bad in (BAD_ENDINGS, BAD_STANDINGS))
    return (
        f"iif({row}.ending IS NULL OR {row}.standing IS NULL, NULL,"
        f" {row}.ending IN ({endings}) OR {row}.standing IN ({standings}))"
    )


_DAY: Final = len("2026-11-22")
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_NEVER: Final = _EPOCH.isoformat()
_encode = msgspec.json.Encoder().encode
_decode_tools = msgspec.json.Decoder(tuple[tuple[str, int, int], ...]).decode
_decode_skills = msgspec.json.Decoder(tuple[SkillUse, ...]).decode
_NO_NAMES: Final = "[]"
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
        if moment.tzinfo is UTC:  # as nearly all are
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # in UTC it may be of a year that there is not
        return None


def known_moment(text: str) -> datetime:
    """Read a time that `to_text` wrote."""
    return datetime.fromisoformat(text)


def to_flag(value: int | None) -> bool | None:
    """Read a column that is 0, 1 or unknown."""
    return None if value is None else bool(value)


def to_tools(text: str | None) -> tuple[ToolUse, ...]:
    """Read the column `tools`; a row of an older version has none."""
    return tuple(ToolUse(*use) for use in _decode_tools(text or "[]"))


def to_skills(text: str | None) -> tuple[SkillUse, ...] | None:
    """Read the column `skills`; what an older version wrote, or nobody knows, is None."""
    return None if text is None else _decode_skills(text)


def _to_names(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    try:
        return _decode_names(text)
    except msgspec.MsgspecError:
        return ()


def to_json(value: object) -> str | None:
    """Write a column that holds what is more than a number or a text; nothing stays nothing."""
    return None if value is None else _encode(value).decode()


def _member_of(kind: type[StrEnum]) -> Callable[[str], Any]:
    """Return the reader of a column with a kind of things; calling the kind itself takes fifty times as long."""
    return {each.value: each for each in kind}.__getitem__


def _readable_names(text: str) -> str:
    return text if _to_names(text) else _NO_NAMES


def _from_tools(tools: Sequence[ToolUse]) -> str | None:
    return to_json([(use.tool, use.calls, use.failures) for use in tools])


_to_category, _to_subcategory, _to_failure_kind = map(_member_of, (Category, Subcategory, FailureKind))

_GRADE: Final = Columns(
    Column("session_id"),
    Column("session_file"),
    Column("graded_at", to_text, lambda text: to_moment(text) or _EPOCH, known=_NEVER),
    Column("task_completed", None, bool, known=0),
    Column("tool_calls_efficient"),
    Column("response_quality"),
    Column("errors_recovered", None, bool, known=0),
    Column("total_api_calls"),
    Column("model"),
    Column("platform"),
    Column("session_start", to_text, to_moment),
    Column("duration_seconds"),
    Column("task_summary"),
    Column("total_errors"),
    Column("error_types", to_json, _to_names, known="[]"),
    Column("tools_with_errors", to_json, _to_names, known="[]"),
    Column("had_repeated_errors", None, bool, known=0),
    Column("had_infinite_loop_risk", None, bool, known=0),
    Column("had_user_clarification", None, bool, known=0),
)
"""`session_grades`, whose columns are those of the original program."""

_DETAILS: Final = Columns(
    Column("session_id"),
    Column("state", None, _member_of(SessionState), known=SessionState.COMPLETE),
    Column("state_reason", known="graded by another program"),
    Column("task_type", known="general"),
    Column("format", known=UNKNOWN_FORMAT),
    Column("ended_at", to_text, to_moment),
    Column("tool_calls", known=0),
    Column("had_user_refusal", None, bool, known=0),
    Column("had_user_interruption", None, bool, known=0),
    Column("rules_version", known="unknown"),
    Column("p_completed"),
    Column("reasons", to_json, msgspec.json.Decoder(tuple[Reason, ...]).decode, known="[]"),
    Column("ended_on"),
    Column("tools", _from_tools, to_tools, known="[]"),
    Column("verdict_by", None, _member_of(VerdictBy), known=VerdictBy.RULES),
    Column("rules_completed", None, to_flag),
    Column("automatic_completed", None, to_flag),
    Column("automatic_by", None, _member_of(VerdictBy)),
    Column("automatic_quality"),
    Column("features", from_features, to_features, known=""),
    Column("claims", to_json, msgspec.json.Decoder(tuple[Claim, ...]).decode, known="[]"),
    Column("people", to_json, msgspec.json.Decoder(tuple[PersonSignal, ...]).decode, "signals_from_people", known="[]"),
    Column("request"),
    Column("asked_again"),
    Column("project"),
    Column("scored", None, to_flag),
    Column("unsure", None, bool, known=0),
    Column("unit_key", known=""),
    Column("agent"),
    Column("agent_version"),
    Column("kind", None, _member_of(SessionKind)),
    Column("parent"),
    Column("input_tokens"),
    Column("cache_read_tokens"),
    Column("cache_write_tokens"),
    Column("output_tokens"),
    Column("reasoning_tokens"),
    Column("cost_usd"),
    Column("cost_by"),
    Column("undone", known=0),
    Column("system_prompt_digest"),
    Column("tools_digest"),
    Column("wording"),
    Column("early_errors"),
    Column("skills", to_json, to_skills),
    Column("fleet_host", field="host"),
    Column("request_words"),
    Column("answer_beginning"),
    Column("last_check"),
    Column("edited_paths"),
    Column("ending", None, _member_of(EndingKind)),
    Column("standing", None, _member_of(ResultStanding)),
    Column("job"),
    Column("job_name"),
    Column("adapter"),
)
"""What `session_details` holds of a grade."""

_IDENTITY: Final = Columns(
    Column("messages"),
    Column("started_at", to_text),
    Column("updated_at", to_text),
    Column("lineage"),
    Column("opening"),
    Column("conversation"),
    Column("compacted"),
    Column("named_after_id"),
    Column("first_call"),
    Column("calls"),
)
"""What it holds of the identity of a session, in the order in which `to_identity` reads it."""

_VERDICT: Final = _DETAILS.only(
    *("rules_version", "p_completed", "reasons", "verdict_by", "rules_completed", "automatic_completed"),
    *("automatic_by", "automatic_quality", "unsure", "session_id"),
)

_NAMES: Final = ("error_types", "tools_with_errors")
"""Columns that another program may have written, which are handed on only if they can be read."""
_DETAILS_SENT: Final = _DETAILS.only(*(name for name in _DETAILS.names if name not in {"session_id", "features"}))
_SENT: Final = _GRADE + _DETAILS_SENT
_READERS: Final = _SENT.readers
_NOTHING: Final = Grade(**{**_DETAILS.nothing(), **_GRADE.nothing(), "error_rate": 0.0, "failures": ()})

GRADE_COLUMNS: Final = _GRADE.names
DETAIL_COLUMNS_SENT: Final = _DETAILS_SENT.names
DETAIL_COLUMNS: Final = (*_DETAILS.names, *_IDENTITY.names, "digest", "host", "loop_told", "watched")
VERDICT_COLUMNS: Final = _VERDICT.names[:-1]
"""The details that another policy changes, other rules of verdicts, or a person's word."""
_DETAILS_END: Final = 1 + len(GRADE_COLUMNS) + len(_DETAILS.names)
_STORED_END: Final = 1 + len(GRADE_COLUMNS) + len(DETAIL_COLUMNS)
FAILURE_COLUMNS = tuple(
    "session_id message_index tool category command fingerprint ended_at next_tool next_command next_worked kind"
    " subcategory named".split()
)


def grade_row(grade: Grade) -> list[Any]:
    """Values for `GRADE_COLUMNS`."""
    return _GRADE.row(grade)


def detail_row(new: NewGrade, *, host: str, loop_told: bool, watched: bool) -> list[Any]:
    """Values for `DETAIL_COLUMNS`."""
    return [*_DETAILS.row(new.grade), *_IDENTITY.row(new.identity), new.digest, host, loop_told, watched]


def verdict_row(grade: Grade) -> list[Any]:
    """Values for `VERDICT_COLUMNS`, and the session that they are of."""
    return _VERDICT.row(grade)


def to_grade(row: Sequence[Any], failures: tuple[Failure, ...]) -> StoredGrade:
    """Read ``id, *GRADE_COLUMNS, *DETAIL_COLUMNS`` back into a grade."""
    known = _GRADE.fields(row[1 : 1 + len(GRADE_COLUMNS)])
    details = _DETAILS.fields(row[1 + len(GRADE_COLUMNS) : _DETAILS_END])
    digest, _, loop_told, watched = row[_STORED_END - 4 : _STORED_END]
    detailed = details["session_id"] is not None
    ended_at = details["ended_at"] or to_moment(row[1 + GRADE_COLUMNS.index("graded_at")])
    calls = known["total_api_calls"]
    return StoredGrade(
        id=row[0],
        detailed=detailed,
        digest=digest,
        loop_told=bool(loop_told),
        watched=bool(watched),
        grade=Grade(
            **{
                **details,
                **known,
                "error_rate": known["total_errors"] / max(calls, 1),
                "ended_at": ended_at,
                "ended_on": details["ended_on"] or (ended_at or _EPOCH).date().isoformat(),
                "scored": bool(details["scored"]) if detailed else calls > 0,
                "unsure": bool(details["unsure"]) if detailed else True,
                "failures": failures,
            }
        ),
    )


def to_columns(rows: Sequence[Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Read ``id, *GRADE_COLUMNS, *DETAIL_COLUMNS_SENT``, at least one row, into columns to hand on; see `to_grade`."""
    ids, *stored = zip(*rows, strict=True)
    columns = _SENT.held(stored)
    are_bare = [state is None for state in stored[_SENT.field_names.index("state")]]  # there are no details
    calls = columns["total_api_calls"]
    scored = zip(are_bare, calls, columns["scored"], strict=True)
    ended_at = [end or graded for end, graded in zip(columns["ended_at"], columns["graded_at"], strict=True)]
    return {
        **columns,
        **{name: list(map(_readable_names, columns[name])) for name in _NAMES},
        "id": ids,
        "scored": [called > 0 if is_bare else bool(held) for is_bare, called, held in scored],
        "unsure": [is_bare or held for is_bare, held in zip(are_bare, columns["unsure"], strict=True)],
        "ended_at": ended_at,
        "ended_on": [day or end[:_DAY] for day, end in zip(columns["ended_on"], ended_at, strict=True)],
        "error_rate": [errors / max(called, 1) for errors, called in zip(columns["total_errors"], calls, strict=True)],
    }


def partial_grade(held: Mapping[str, Any]) -> Grade:
    """Return a grade that knows what some columns of `to_columns` hold of it, and nothing else."""
    return replace(
        _NOTHING,
        **{
            name: value if value is None or (read := _READERS.get(name)) is None else read(value)
            for name, value in held.items()
        },
    )


def failure_rows(grade: Grade) -> list[tuple[Any, ...]]:
    """Values for `FAILURE_COLUMNS`, a row for each failure."""
    counts = grade.state is not SessionState.OPEN and grade.is_persons
    ended_at = to_text(grade.ended_at) if counts else None  # error issues are of those that have one
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
            failure.subcategory,
            failure.named,
        )
        for failure in grade.failures
    ]


def to_failure(row: Sequence[Any]) -> Failure:
    """Read `FAILURE_COLUMNS`."""
    _, index, tool, category, command, fingerprint, _, next_tool, next_command, worked, kind, finer, named = row
    step = None if next_tool is None else Step(next_tool, next_command, to_flag(worked))
    subcategory = None if finer is None else _to_subcategory(finer)
    return Failure(
        index, tool, _to_category(category), command, fingerprint, step, _to_failure_kind(kind), subcategory, named
    )


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
        kind=None if row[14] is None else SessionKind(row[14]),
        first_call=row[15],
        calls=row[16] or b"",
    )


def _step_columns(step: Step | None) -> tuple[Any, ...]:
    return (None, None, None) if step is None else (step.tool, step.command, step.worked)
