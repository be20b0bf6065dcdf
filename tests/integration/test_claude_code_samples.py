"""Transcripts that real versions of Claude Code wrote, each against what the model's server saw of the session."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SessionKind, Skipped, SkipReason, total_usage
from grader_daemon.sources.claude_code.project_files import ClaudeCode
from tests.tables import for_each

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "sources"
EXPECTED = sorted(SAMPLES.glob("claude_code/*/*/EXPECTED.json"))
PUBLIC = sorted(
    [*SAMPLES.glob("public/claude-code-log/*.jsonl"), *SAMPLES.glob("public/agent-sessions/claude_*.jsonl")]
)

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir() and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

NOT_A_SESSION = {"cc1128/de83ac66"}
"""One line with a title."""

DEVIATIONS: dict[str, dict[str, object]] = {
    "cc1128/delegate2": {"answers": 2, "calls": 2, "read": 30_535, "written": 40},  # without its sub-agents
    "cc197/empty": {"answers": 1, "read": 28_951, "written": 20, "final": None},  # without the empty answers
}

STATUSES = {
    "ok": CallStatus.SUCCESS,
    "failed": CallStatus.FAILURE,
    "timeout": CallStatus.FAILURE,
    "unknown_tool": CallStatus.FAILURE,
    "refused": CallStatus.REFUSED,
    "killed_or_open": CallStatus.INTERRUPTED,
}
"""By what the server's log says of a call; a probe, and what only its text says, the agent takes for a success."""

CUT_SHORT = {
    "cc1128/api_400": "API error",
    "cc1128/length": "max_output_tokens",
    "cc197/maxturns": "max_turns_reached",
    "cc2050/api_400": "API error: unknown",
    "cc2050/length": "max_output_tokens",
    "cc330/4c095cc8": "its process ended",
    "cc330/INT": "interrupted by a person",
    "cc330/api_400": "API error: unknown",
    "cc330/api_529": "API error: server_error",
    "cc330/length": "max_output_tokens",
    "cc330/maxturns": "max_turns_reached",
}
GOING_ON = {"cc1128/errors", "cc1128/kill9", "cc1128/sigint", "cc330/KILL"}
"""Killed before the result of a call was written."""

SILENT = {
    *("cc1128/denied", "cc1128/fork", "cc1128/parallel", "cc2050/denied", "cc2050/parallel", "cc2050/success"),
    *("cc1128/sigterm_api", "cc197/79881990", "cc197/empty", "cc197/sigterm_api"),
}
"""Nothing is noted of their end: old versions of answered ones, or killed before an answer."""


class Sample(NamedTuple):
    """A sample and what was read of it."""

    name: str
    expected: dict[str, Any]
    session: Session
    others: tuple[Session | Skipped, ...]


def read(path: Path) -> list[Session | Skipped]:
    """Read a file and what lies inside it."""
    claude = ClaudeCode([str(SAMPLES)], limits=Limits())
    (unit,) = claude.touched(str(path))
    first = claude.read(claude.look(unit))
    sessions = [first.session, *(claude.read(claude.look(inside)).session for inside in first.inside)]
    assert first.unknown is None or path in PUBLIC
    return [session for session in sessions if session is not None]


def load(path: Path) -> Sample:
    """Read a sample whole."""
    expected = json.loads(path.read_text())
    found = [session for file in sorted(path.parent.rglob("*.jsonl")) for session in read(file)]
    session = next(one for one in found if one.session_id == expected["session_id"])
    assert isinstance(session, Session)
    return Sample(expected["sample"], expected, session, tuple(one for one in found if one is not session))


def name_of(path: Path) -> str:
    """Return version and name of a sample."""
    return "/".join(path.parts[-3:-1])


@cache
def samples() -> list[Sample]:
    """Return each sample that holds a session."""
    return [load(path) for path in EXPECTED if name_of(path) not in NOT_A_SESSION]


each_sample = for_each("sample", samples, ids=lambda sample: sample.name)


def test_all_samples_are_here() -> None:
    assert len(EXPECTED) >= 50
    assert len(PUBLIC) == 7


@each_sample
def test_messages_calls_and_final_text_are_what_the_server_saw(sample: Sample) -> None:
    answers = [message for message in sample.session.messages if message.role == ASSISTANT]
    calls = [call for answer in answers for call in answer.tool_calls or ()]
    final = next((answer.text for answer in reversed(answers) if answer.text and not answer.tool_calls), None)
    expected = sample.expected
    wanted = {"answers": expected["responses_served"], "calls": expected["tool_calls"], "final": expected["final_text"]}
    wanted |= {key: value for key, value in DEVIATIONS.get(sample.name, {}).items() if key in wanted}
    assert {"answers": len(answers), "calls": len(calls), "final": final} == wanted


@each_sample
def test_each_outcome_is_what_the_server_saw(sample: Sample) -> None:
    truth = {call["id"]: call["truth"] for call in sample.expected["calls"]}
    for index, outcome in sample.session.reported.items():
        said = truth[sample.session.messages[index].tool_call_id or ""]
        assert outcome.status is STATUSES.get(said, CallStatus.SUCCESS), said
        if "exit 1" in said:
            assert outcome.exit_code == 1


@each_sample
def test_tokens_are_those_on_the_wire(sample: Sample) -> None:
    usage = total_usage(sample.session.usage)
    read = sum(filter(None, (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)))
    wanted = {"read": sample.expected["tokens_in_on_wire"], "written": sample.expected["tokens_out_on_wire"]}
    wanted |= {key: value for key, value in DEVIATIONS.get(sample.name, {}).items() if key in wanted}
    assert {"read": read, "written": usage.output_tokens or 0} == wanted


@each_sample
def test_the_end_is_what_happened(sample: Sample) -> None:
    ending = sample.session.ending
    if sample.name in SILENT:
        assert ending is None
    elif sample.name in CUT_SHORT:
        assert ending is not None
        assert (ending.state, ending.reason) == (SessionState.INTERRUPTED, CUT_SHORT[sample.name])
    else:
        assert ending is not None
        assert ending.state is (SessionState.OPEN if sample.name in GOING_ON else SessionState.COMPLETE)


@each_sample
def test_nothing_is_taken_back_where_nobody_did(sample: Sample) -> None:
    assert sample.session.taken_back == ()


@each_sample
def test_sub_agents_are_told_apart(sample: Sample) -> None:
    children = [other for other in sample.others if isinstance(other, Session)]
    side_calls = [other.reason for other in sample.others if isinstance(other, Skipped)]
    delegated = sample.name.endswith("/delegate2")
    assert sample.session.kind is SessionKind.MAIN
    assert [(child.kind, child.parent) for child in children] == [
        (SessionKind.SUB_AGENT, sample.session.session_id)
    ] * (2 if delegated else 0)
    assert side_calls == [SkipReason.SIDE_CALL] * (2 if sample.name.startswith("cc2050/") else 0)
    if delegated:
        outcomes = Counter(outcome.status for child in children for outcome in child.reported.values())
        assert outcomes == {CallStatus.SUCCESS: 1, CallStatus.FAILURE: 1}
        last = {child.messages[-1].text for child in children}
        assert last == {"Hello from child A.", "Child B: the command failed."}


@each_sample
def test_money_is_what_the_agent_noted(sample: Sample) -> None:
    """Its own report names the sum of the last run, which of a resumed session is not all."""
    noted = sample.session.cost_usd
    if sample.name.startswith("cc330") and not sample.name.endswith(("KILL", "/delegate2")):
        assert noted is not None
        said = sample.expected.get("agent_says") or {}
        if len(sample.expected["runs_on_this_session"]) == 1 and "total_cost_usd" in said:
            assert noted == pytest.approx(said["total_cost_usd"])
    else:
        assert noted is None


def test_a_file_without_a_conversation_is_no_session() -> None:
    for path in EXPECTED:
        if name_of(path) in NOT_A_SESSION:
            (file,) = path.parent.rglob("*.jsonl")
            assert read(file) == [Skipped(SkipReason.NOT_A_SESSION)]


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_public_samples_are_recognized_and_read(path: Path) -> None:
    assert ClaudeCode(limits=Limits()).recognizes(str(path), path.read_bytes()[:4096])
    (session, *_) = read(path)
    assert isinstance(session, Session)
    assert session.messages
    assert session.taken_back == ()
