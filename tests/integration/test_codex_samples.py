"""Files that real Codexes wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, Skipped, SkipReason, total_usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.codex.rollout_files import CodexRollouts
from grader_daemon.sources.session_files import Parsed
from tests.tables import for_each

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "codex").glob("*/*/EXPECTED.json"))
PUBLIC = SHARED / "public" / "agent-sessions"

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

SUCCESS = CallStatus.SUCCESS
FAILURE = CallStatus.FAILURE
PENDING = CallStatus.PENDING
REFUSED = CallStatus.REFUSED
INTERRUPTED = CallStatus.INTERRUPTED

OUTCOMES: dict[str, set[CallStatus | None]] = {
    "ok": {SUCCESS, None},  # of update_plan only its text tells
    "failed": {FAILURE},
    "probe(exit 1, no harm)": {FAILURE},  # which exit codes do no harm is judged later
    "unknown_tool": {FAILURE},
    "refused": {REFUSED},
    "interrupted": {INTERRUPTED},
    "timeout": {PENDING},
    "killed_or_open": {INTERRUPTED, None},
    "no_result_reached_the_model": {SUCCESS, FAILURE, INTERRUPTED},
}
"""By what the server noted of a call. The last three deviate: the file lacks the end, or has a late result."""

ANSWERS = {
    "cx45/kill_INT": 1,  # a running call is not in the file
    "cx169/empty": 1,  # an empty answer leaves no line
    "cx169_interactive/ci2": 8,  # the server also counted a title, and a call that never began
    "cx169_interactive/ci3": 7,
}
CALLS = {"cx45/kill_INT": 1, "cx169_interactive/ci2": 3}
LAST_WORDS = {"cx169_interactive/ci2": "extra one"}
TOKENS: dict[str, tuple[int | None, int | None]] = {
    "cx45/kill_INT": (3_433, 20),
    "cx110/length": (None, None),  # no counts are written for answers that were cut off
    "cx169_interactive/ci2": (129_847, 180),  # with the compaction, and an answer beside it
    "cx169_interactive/ci3": (116_346, 160),
}
STATUS = {("cx169/delegate2b_3", "failed"): INTERRUPTED}  # its result is `aborted by user`


def parse(path: Path) -> Parsed:
    return CodexRollouts(limits=Limits()).parse(path.read_bytes(), Unit("codex", str(path)))


@cache
def sample(expected_file: Path) -> tuple[str, dict[str, Any], Session]:
    expected = json.loads(expected_file.read_text())
    (rollout,) = expected_file.parent.glob("sessions/*/*/*/*.jsonl")
    session = parse(rollout).session
    assert isinstance(session, Session)
    return expected["sample"], expected, session


def name_of(expected_file: Path) -> str:
    return "-".join(expected_file.parts[-3:-1])


@for_each("expected_file", SAMPLES, ids=name_of)
def test_a_sample_has_the_answers_calls_and_words_that_were_served(expected_file: Path) -> None:
    name, expected, session = sample(expected_file)
    answers = [message for message in session.messages if message.role == ASSISTANT]
    calls = [call.id for answer in answers for call in answer.tool_calls or ()]

    assert session.session_id == expected["session_id"]
    assert len(answers) == ANSWERS.get(name, expected["responses_served"])
    assert len(calls) == CALLS.get(name, expected["tool_calls"])
    assert set(calls) <= {call["id"] for call in expected["calls"]}
    last = next((answer.text for answer in reversed(answers)), "")
    assert last.startswith(LAST_WORDS.get(name, expected["final_text"]) or "")


@for_each("expected_file", SAMPLES, ids=name_of)
def test_the_outcomes_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    name, expected, session = sample(expected_file)
    truth = {call["id"]: call["truth"] for call in expected["calls"]}
    results = {message.tool_call_id: index for index, message in enumerate(session.messages) if message.tool_call_id}

    found = {call: session.reported.get(index) for call, index in results.items()}

    for call_id, outcome in found.items():
        noted = truth[call_id or ""]
        status = None if outcome is None else outcome.status
        assert status in ({STATUS[name, noted]} if (name, noted) in STATUS else OUTCOMES[noted]), (call_id, noted)


@for_each("expected_file", SAMPLES, ids=name_of)
def test_the_tokens_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    name, expected, session = sample(expected_file)
    used = total_usage(session.usage)
    read = None if used.input_tokens is None else used.input_tokens + (used.cache_read_tokens or 0)
    served = expected["tokens_in_on_wire"] or None, expected["tokens_out_on_wire"] or None

    assert (read, used.output_tokens) == TOKENS.get(name, served)


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("codex_large", 13),
        ("codex_small", 14),
        ("codex_050_legacy", 0),
        ("codex_051_usage", 0),
        ("codex_052_raw", 0),
        ("codex_053_rate_limit", 0),
        ("codex_schema_drift", 0),
    ],
)
def test_files_of_other_versions_are_read_or_told_to_be_unreadable(name: str, messages: int) -> None:
    session = parse(PUBLIC / f"{name}.jsonl").session

    if isinstance(session, Skipped):
        assert session.reason is SkipReason.UNREADABLE_VERSION
        assert messages == 0
    else:
        assert len(session.messages) == messages
