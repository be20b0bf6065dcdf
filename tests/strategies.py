"""What tests are made of: builders for tables of cases, hypothesis strategies for properties."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st

from grader_daemon.domain.analysis import (
    Analysis,
    Category,
    Failure,
    FailureKind,
    SessionState,
    Step,
    Subcategory,
    ToolUse,
    errors_of,
)
from grader_daemon.domain.calibration import Calibration, Evidence
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.feedback import FeedbackSource, Label
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.domain.session import (
    MOST_TOKENS,
    MOST_USD,
    FunctionCall,
    Message,
    Session,
    SessionKind,
    ToolCall,
)
from grader_daemon.domain.session_features import Features
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.storage.records import NewGrade
from tests.units import unit

NOW = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
SESSION_ID = "20261121_220000_abcdef"
WORKED = '{"output": "fine", "exit_code": 0, "error": null}'
BROKE = '{"output": "", "exit_code": 3, "error": null}'

# The two tables of the original design, as it prints them.
SESSION_GRADES = """\
CREATE TABLE session_grades (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT UNIQUE NOT NULL,
    session_file TEXT NOT NULL,
    graded_at TEXT NOT NULL,
    -- Core metrics
    task_completed INTEGER NOT NULL,
    tool_calls_efficient INTEGER NOT NULL,
    response_quality INTEGER NOT NULL,
    errors_recovered INTEGER NOT NULL,
    total_api_calls INTEGER NOT NULL,
    -- Metadata
    model TEXT,
    platform TEXT,
    session_start TEXT,
    duration_seconds REAL,
    task_summary TEXT,
    -- Error analysis
    total_errors INTEGER NOT NULL,
    error_types TEXT,  -- JSON array
    tools_with_errors TEXT,  -- JSON array
    -- Pattern flags
    had_repeated_errors INTEGER NOT NULL,
    had_infinite_loop_risk INTEGER NOT NULL,
    had_user_clarification INTEGER NOT NULL
)"""
WEEKLY_REPORTS = """\
CREATE TABLE weekly_reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    week_start TEXT UNIQUE NOT NULL,
    week_end TEXT NOT NULL,
    generated_at TEXT NOT NULL,
    report_json TEXT NOT NULL  -- Serialized WeeklyReport
)"""

# -- builders ------------------------------------------------------------------------------------------------------


def status(*, device: int = 0, inode: int = 0, size: int = 0, mtime_ns: int = 0, ctime_ns: int = 0) -> os.stat_result:
    """What a file system says of a regular file."""
    return os.stat_result(
        (stat.S_IFREG, inode, device, 1, 0, 0, size, 0, 0, 0), {"st_mtime_ns": mtime_ns, "st_ctime_ns": ctime_ns}
    )


def user(content: str) -> Message:
    """A message in the user's place."""
    return Message(role="user", content=content)


def answer(content: str, finish_reason: str | None = "stop") -> Message:
    """An assistant message without tool calls."""
    return Message(role="assistant", content=content, finish_reason=finish_reason)


def call(*tools: str) -> Message:
    """An assistant message that calls each of `tools` once; call ids are the tools' names."""
    tool_calls = tuple(ToolCall(id=f"id-{tool}", function=FunctionCall(name=tool, arguments="{}")) for tool in tools)
    return Message(role="assistant", content="", tool_calls=tool_calls, finish_reason="tool_calls")


def result(content: str, tool: str | None = "terminal") -> Message:
    """A tool's answer."""
    return Message(role="tool", content=content, name=tool)


def rounds(*contents: str) -> tuple[Message, ...]:
    """One call of the terminal with its result for each of `contents`."""
    return tuple(message for content in contents for message in (call("terminal"), result(content)))


def session(*messages: Message, **changes: object) -> Session:
    """A session of these messages."""
    base = Session(session_id=SESSION_ID, file="/s/session_x.json", format="hermes", messages=messages)
    return msgspec.structs.replace(base, **changes)


def analysis(**changes: object) -> Analysis:
    """A session that was answered with a neutral sentence and without a failure, but for `changes`."""
    base = Analysis(
        state=SessionState.COMPLETE,
        state_reason="answered",
        task_type="general",
        task_summary="Look at it",
        final_answer="The colour of the house is green.",
        answered=True,
        spoke=True,
        final_index=1,
        total_api_calls=1,
        tool_calls=0,
        failures=(),
        signs=(),
        tools=(),
        had_repeated_errors=False,
        had_infinite_loop_risk=False,
        loop_index=None,
        had_user_clarification=False,
        had_user_refusal=False,
        had_user_interruption=False,
        errors_recovered=True,
        recovery_index=None,
        duration_seconds=1.5,
    )
    return msgspec.structs.replace(base, **changes)


def failures(count: int, *, first: int = 2) -> tuple[Failure, ...]:
    """`count` failures of the terminal at every second message."""
    return tuple(Failure(first + 2 * number, "terminal", Category.COMMAND_FAILED) for number in range(count))


def grade(**changes: object) -> Grade:
    """A good grade, but for `changes`; it was made when the session had ended."""
    ended = changes.get("ended_at")
    if isinstance(ended, datetime) and ended > NOW:
        changes = {"graded_at": ended, **changes}
    base = Grade(
        session_id=SESSION_ID,
        session_file="/s/session_x.json",
        graded_at=NOW,
        task_completed=True,
        tool_calls_efficient=5,
        response_quality=3,
        errors_recovered=True,
        total_api_calls=2,
        model="m",
        platform="cli",
        session_start=NOW - timedelta(minutes=5),
        duration_seconds=300.0,
        task_summary="Look at it",
        total_errors=0,
        error_types=(),
        tools_with_errors=(),
        had_repeated_errors=False,
        had_infinite_loop_risk=False,
        had_user_clarification=False,
        state=SessionState.COMPLETE,
        state_reason="answered",
        task_type="general",
        format="hermes",
        tool_calls=1,
        error_rate=0.0,
        had_user_refusal=False,
        had_user_interruption=False,
        ended_at=NOW,
        ended_on=NOW.date().isoformat(),
        tools=(ToolUse("terminal", 1, 0),),
        failures=(),
        reasons=(Reason("response_quality", "quality.base", 3.0),),
        rules_version="r1",
    )
    return msgspec.structs.replace(base, **changes)


def model(**changes: object) -> CompletionModel:
    """A model that knows no feature, but for `changes`."""
    base = CompletionModel(
        version="m1",
        features_version=1,
        names=(),
        means=(),
        weights=(),
        intercept=0.0,
        threshold=0.5,
    )
    return msgspec.structs.replace(base, **changes)


def evidence(**changes: object) -> Evidence:
    """What a calibration without labels is based on, but for `changes`."""
    base = Evidence(prior="m1", better=VerdictBy.RULES, why="nothing is known yet")
    return msgspec.structs.replace(base, **changes)


def label(**changes: object) -> Label:
    """A person says that a finished session was completed, but for `changes`."""
    base = Label(
        session_id=SESSION_ID,
        completed=True,
        quality=None,
        given_at=NOW,
        given_by="me",
        source=FeedbackSource.LABEL,
        note=None,
        sampled=None,
        drawn_at_random=False,
        went_on=False,
        is_persons=True,
        is_finished=True,
        ended_on=NOW.date().isoformat(),
        automatic_completed=True,
        automatic_quality=3,
        rules_completed=True,
        p_completed=None,
        request=None,
        features=(),
    )
    return msgspec.structs.replace(base, **changes)


def calibration(**changes: object) -> Calibration:
    """One that was adopted, but for `changes`."""
    base = Calibration(
        made_at=NOW,
        adopted=True,
        verdict_by=VerdictBy.RULES,
        policy=VerdictSetting.AUTO,
        labels=0,
        model=model(),
        evidence=evidence(),
    )
    return msgspec.structs.replace(base, **changes)


def new_grade(made: Grade) -> NewGrade:
    """The grade as it is saved, of a session that is like no other."""
    session = identity(
        session_id=made.session_id, unit=made.unit, started_at=made.session_start, updated_at=made.ended_at
    )
    return NewGrade(grade=made, identity=session, digest="d")


def identity(**changes: object) -> Identity:
    """A session that is like no other, but for `changes`."""
    base = Identity(
        session_id=SESSION_ID,
        unit=unit("/s/session_x.json"),
        written_ns=0,
        state=SessionState.COMPLETE,
        messages=4,
        started_at=NOW - timedelta(minutes=5),
        updated_at=NOW,
        lineage=None,
        opening=None,
        conversation=None,
        compacted=False,
        named_after_id=True,
    )
    return msgspec.structs.replace(base, **changes)


def document(messages: Sequence[dict[str, Any]] = (), **fields: Any) -> bytes:
    """The bytes of a session file as the later generations write it; a field that is None is left out."""
    content: dict[str, Any] = {
        "session_id": SESSION_ID,
        "model": "m",
        "base_url": "http://127.0.0.1/v1",
        "platform": "cli",
        "session_start": "2026-11-21T21:55:00.123456",
        "last_updated": "2026-11-21T22:00:00.000001",
        "system_prompt": "You are an agent.",
        "tools": [{"type": "function", "function": {"name": "terminal"}}],
        "message_count": len(messages),
        "messages": list(messages),
    }
    content |= fields
    return json.dumps({key: value for key, value in content.items() if value is not None}, indent=2).encode()


def json_user(content: Any = "Fix the tests") -> dict[str, Any]:
    """A user message of a session file."""
    return {"role": "user", "content": content}


def json_answer(content: str = "Done, all tests pass now.") -> dict[str, Any]:
    """A final answer of a session file."""
    return {"role": "assistant", "content": content, "reasoning": None, "finish_reason": "stop"}


def json_round(
    content: str = WORKED, *, call_id: str = "call_1", tool: str = "terminal", arguments: str = "{}"
) -> list[dict[str, Any]]:
    """A tool call and its result of a session file."""
    function = {"name": tool, "arguments": arguments}
    tool_call = {"id": call_id, "call_id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "finish_reason": "tool_calls", "tool_calls": [tool_call]},
        {"role": "tool", "name": tool, "content": content, "tool_call_id": call_id},
    ]


# -- values --------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=40)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
moments = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
counts = st.integers(min_value=0, max_value=2**53)
finite = st.floats(allow_nan=False, allow_infinity=False)
scores = st.integers(min_value=1, max_value=5)

reasons = st.builds(
    Reason,
    score=names,
    rule=names,
    effect=st.none() | finite,
    messages=st.lists(st.integers(min_value=0, max_value=10_000), max_size=4).map(tuple),
)


claims = st.builds(
    Claim,
    kind=st.sampled_from(ClaimKind),
    support=st.sampled_from(Support),
    subject=st.none() | names,
    index=st.integers(min_value=0, max_value=10_000),
    evidence=st.lists(st.integers(min_value=0, max_value=10_000), max_size=4).map(tuple),
)
signals = st.builds(PersonSignal, st.sampled_from(SignalKind), st.integers(min_value=0, max_value=10_000))
tokens = st.none() | st.integers(min_value=0, max_value=MOST_TOKENS)
rates = st.floats(min_value=0, max_value=1)
MARKS = 768
features = st.builds(
    lambda measures, marks: Features(measures, bytes(map(int, f"{marks:0{MARKS}b}")) if marks else b""),
    st.lists(finite, max_size=3).map(tuple),
    st.none() | st.integers(min_value=0, max_value=2**MARKS - 1),
)
"""Some measures with all marks, or few features without."""

steps = st.builds(Step, names, st.none() | names, st.none() | st.booleans())
call_counts = st.integers(min_value=0, max_value=1_000_000)
uses = st.builds(ToolUse, st.sampled_from(["terminal", "read_file", "browser"]), call_counts, call_counts)
days = st.dates(min_value=date(2026, 11, 1), max_value=date(2026, 11, 5)).map(date.isoformat)


@st.composite
def failure_lists(draw: st.DrawFn) -> tuple[Failure, ...]:
    """Failures in the order of their messages."""
    indexes = draw(st.lists(st.integers(min_value=0, max_value=10_000), unique=True, max_size=6))
    return tuple(_failure(draw, index) for index in sorted(indexes))


def _failure(draw: st.DrawFn, index: int) -> Failure:
    failure = Failure(
        index,
        draw(st.none() | names),
        draw(st.sampled_from(list(Category))),
        draw(st.none() | names),
        kind=draw(st.sampled_from(FailureKind)),
        subcategory=draw(st.none() | st.sampled_from(Subcategory)),
    )
    if not failure.is_error:
        return failure
    fingerprint = draw(st.none() | st.sampled_from(["1-aaa", "1-bbb", "1-ccc"]))
    return msgspec.structs.replace(failure, fingerprint=fingerprint, next_step=draw(st.none() | steps))


@st.composite
def grades(draw: st.DrawFn) -> Grade:
    """Any grade that the grader could give."""
    found = draw(failure_lists())
    errors = errors_of(found)
    api_calls = draw(counts)
    return Grade(
        session_id=draw(names),
        session_file=draw(names),
        graded_at=draw(moments),
        task_completed=draw(st.booleans()),
        tool_calls_efficient=draw(scores),
        response_quality=draw(scores),
        errors_recovered=draw(st.booleans()),
        total_api_calls=api_calls,
        model=draw(st.none() | texts),
        platform=draw(st.none() | texts),
        session_start=draw(st.none() | moments),
        duration_seconds=draw(st.none() | finite),
        task_summary=draw(st.none() | texts),
        total_errors=len(errors),
        error_types=tuple(dict.fromkeys(error.category for error in errors)),
        tools_with_errors=tuple(dict.fromkeys(error.tool for error in errors if error.tool)),
        had_repeated_errors=draw(st.booleans()),
        had_infinite_loop_risk=draw(st.booleans()),
        had_user_clarification=draw(st.booleans()),
        state=draw(st.sampled_from(list(SessionState))),
        state_reason=draw(names),
        task_type=draw(names),
        format=draw(names),
        tool_calls=draw(call_counts),
        error_rate=len(errors) / max(api_calls, 1),
        had_user_refusal=draw(st.booleans()),
        had_user_interruption=draw(st.booleans()),
        ended_at=draw(moments),
        ended_on=draw(days),
        tools=draw(st.lists(uses, max_size=3, unique_by=lambda use: use.tool).map(tuple)),
        failures=found,
        reasons=draw(st.lists(reasons, max_size=4).map(tuple)),
        rules_version=draw(names),
        p_completed=draw(st.none() | rates),
        verdict_by=draw(st.sampled_from(VerdictBy)),
        rules_completed=draw(st.none() | st.booleans()),
        automatic_completed=draw(st.none() | st.booleans()),
        automatic_by=draw(st.none() | st.sampled_from((VerdictBy.RULES, VerdictBy.MODEL))),
        automatic_quality=draw(st.none() | scores),
        claims=draw(st.lists(claims, max_size=3).map(tuple)),
        signals_from_people=draw(st.lists(signals, max_size=3).map(tuple)),
        request=draw(st.none() | counts),
        asked_again=draw(st.none() | names),
        features=draw(features),
        project=draw(st.none() | texts),
        scored=draw(st.booleans()),
        unsure=draw(st.booleans()),
        agent=draw(st.none() | names),
        kind=draw(st.none() | st.sampled_from(SessionKind)),
        input_tokens=draw(tokens),
        cache_read_tokens=draw(tokens),
        cache_write_tokens=draw(tokens),
        output_tokens=draw(tokens),
        reasoning_tokens=draw(tokens),
        cost_usd=draw(st.none() | st.floats(min_value=0, max_value=MOST_USD)),
        cost_by=draw(st.none() | names),
        skills=draw(st.none() | st.lists(st.builds(SkillUse, names, st.sampled_from(SkillHow)), max_size=3).map(tuple)),
        request_words=draw(st.none() | texts),
        answer_beginning=draw(st.none() | texts),
        last_check=draw(st.none() | texts),
        edited_paths=draw(st.none() | texts),
        ending=draw(st.none() | st.sampled_from(EndingKind)),
        standing=draw(st.none() | st.sampled_from(ResultStanding)),
        job=draw(st.none() | st.sampled_from(["nightly", "hourly"])),
        job_name=draw(st.none() | texts),
        adapter=draw(st.none() | st.just("acme-grader 1.0")),
    )


@st.composite
def ledger_entries(draw: st.DrawFn) -> LedgerEntry:
    """Any ledger row; only rows that are not `graded` have a reason."""
    state = draw(st.sampled_from(list(FileState)))
    return LedgerEntry(
        unit=Unit(draw(names), draw(names), draw(st.just("") | names)),
        stamp=draw(st.binary(max_size=40)),
        written_ns=draw(counts),
        state=state,
        digest=draw(st.none() | names),
        session_id=draw(st.none() | names),
        reason=None if state is FileState.GRADED else draw(names),
        attempts=draw(st.integers(min_value=0, max_value=100)),
        look_again_at=draw(st.none() | moments),
        rules_version=draw(st.none() | names),
    )


# -- session files -------------------------------------------------------------------------------------------------

tool_results = st.one_of(
    st.sampled_from(
        [
            WORKED,
            BROKE,
            BROKE + "\n\n[Tool loop warning: same_tool_failure_warning; count=3; terminal has failed 3 times.]",
            '{"output": "[Command interrupted]", "exit_code": 130, "error": null}',
            '{"output": "KEY=*** "exit_code": 1, "error": null}',
            '{"error": "Blocked", "guardrail": {"action": "block"}}',
            '{"success": false, "error": "File not found: a"}',
            '{"value": NaN}',
            '{"output": "\\ud83d", "exit_code": 2, "error": null}',
            '<untrusted_tool_result source="web">\n{"error": "timed out"}\n</untrusted_tool_result>',
            "Tool 'x' does not exist. Available tools: a, b",
            "[Tool execution cancelled — x was skipped due to user interrupt]",
            "Error: Invalid JSON arguments.",
            "",
        ]
    ),
    texts,
)
"""Contents of tool messages, of the shapes that occur and of none."""

tool_outcomes = st.lists(st.booleans(), max_size=12)
"""Which of a session's tool calls worked."""

_texts_of_python = st.text(st.characters(exclude_categories=[]), max_size=10)
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts_of_python,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts_of_python, inner, max_size=4),
    max_leaves=12,
)
_session_keys = st.sampled_from(
    ["session_id", "model", "platform", "session_start", "last_updated", "messages", "conversations", "tools", "x"]
)
_message_keys = st.sampled_from(
    ["role", "content", "tool_calls", "finish_reason", "name", "tool_name", "tool_call_id", "from", "value", "_x"]
)
_roles = st.sampled_from(["user", "assistant", "tool", "system", "human", "gpt", "", None, 1])
_messages = st.fixed_dictionaries(
    {"role": _roles, "content": tool_results | _json_values},
    optional={
        "tool_calls": st.none()
        | st.lists(st.fixed_dictionaries({}, optional={"id": texts, "function": _json_values}), max_size=2),
        "finish_reason": st.sampled_from(["stop", "length", None, 3]),
        "name": st.none() | texts,
        "from": _roles,
        "value": st.none() | texts,
    },
) | st.dictionaries(_message_keys, _json_values, max_size=4)


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A good session file that was cut, overwritten, or written into."""
    whole = document([json_user("Größe 漢字"), *json_round(), json_answer()])
    start = draw(st.integers(min_value=0, max_value=len(whole)))
    stop = draw(st.integers(min_value=start, max_value=len(whole)))
    return whole[:start] + draw(st.binary(max_size=8)) + draw(st.sampled_from([b"", whole[stop:]]))


file_contents = st.one_of(
    st.binary(max_size=200),
    _damaged(),
    _json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(_session_keys, _json_values, max_size=6).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {"session_id": texts, "messages": st.lists(_messages, max_size=6)},
        optional={"session_start": st.datetimes().map(datetime.isoformat) | texts, "last_updated": texts},
    ).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries({"session_id": texts, "conversations": st.lists(_messages, max_size=6)}).map(
        lambda value: json.dumps(value).encode()
    ),
)
"""Bytes of files, from noise to almost sessions."""


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Sessions of any shape that a file can have."""
    built: list[Message] = []
    for _ in range(draw(st.integers(min_value=0, max_value=8))):
        kind = draw(st.sampled_from(["user", "answer", "round", "lonely call", "lonely result"]))
        if kind == "user":
            built.append(user(draw(texts)))
        elif kind == "answer":
            built.append(answer(draw(texts), draw(st.sampled_from(["stop", "length", None]))))
        if kind in ("round", "lonely call"):
            built.append(call(*draw(st.lists(names, min_size=1, max_size=3))))
        if kind in ("round", "lonely result"):
            built.append(result(draw(tool_results), draw(st.none() | names)))
    return session(*built, started_at=draw(st.none() | moments), updated_at=draw(st.none() | moments))


_moments = st.sampled_from([None, NOW - timedelta(seconds=1), NOW, NOW + timedelta(seconds=1)])


def _fork(draw: st.DrawFn, started: datetime, updated: datetime | None) -> Identity:
    """A session of no chain, known by its calls; what is one conversation has the same calls and messages."""
    calls = draw(st.sampled_from([b"aaaa", b"aaaabbbb", b"aaaacccc", b"aaaabbbbcccc"]))
    messages = draw(st.integers(1, 2))
    return identity(
        session_id=draw(st.sampled_from("abcdef")),
        messages=messages,
        started_at=started,
        updated_at=max(filter(None, (started, updated))),
        kind=draw(st.sampled_from([None, SessionKind.MAIN, SessionKind.SUB_AGENT])),
        conversation=draw(st.none() | st.just(int.from_bytes(calls[-4:]) + messages)),
        first_call=1,
        calls=calls,
    )


@st.composite
def identities(draw: st.DrawFn) -> Identity:
    """Sessions with as little between them as possible: few times, chains, conversations and forks."""
    started, updated = draw(_moments), draw(_moments)
    if started is not None and draw(st.booleans()):
        return _fork(draw, started, updated)
    return identity(
        session_id=draw(st.sampled_from("abcdef")),
        state=draw(st.sampled_from(list(SessionState))),
        messages=draw(st.integers(1, 2)),
        started_at=started,
        updated_at=max(filter(None, (started, updated)), default=None),
        lineage=None if started is None else (started - NOW) // timedelta(seconds=1),
        opening=draw(st.integers(1, 2)),
        conversation=draw(st.none() | st.integers(1, 2)),
        compacted=draw(st.booleans()),
    )
