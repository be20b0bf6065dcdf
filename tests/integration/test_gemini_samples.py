"""Files that real Gemini CLIs wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SessionKind, Skipped, SkipReason, total_usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.gemini_cli.chat_files import GeminiChats
from grader_daemon.sources.session_files import Parsed

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "gemini_cli").glob("*/*/EXPECTED.json"))
PUBLIC = SHARED / "public" / "agent-sessions"

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

SUCCESS, FAILURE, REFUSED = CallStatus.SUCCESS, CallStatus.FAILURE, CallStatus.REFUSED

OUTCOMES: dict[str, set[CallStatus | None]] = {
    "ok": {SUCCESS},
    "failed": {FAILURE},
    "probe(exit 1, no harm)": {FAILURE},  # which exit codes do no harm is judged later
    "unknown_tool": {FAILURE},
    "refused": {REFUSED},
    "timeout": {SUCCESS},  # `sleep 8` finished: the limit was longer
    "no_result_reached_the_model": {SUCCESS},
    "killed_or_open": {SUCCESS},
}
"""By what the server noted of a call; docs/agents.md says why the last two deviate."""

ANSWERS = {
    "gm61/delegate2_2": 3,  # the server counted the third, and its tokens, as the parent's
    "gm61/delegate2_3": 2,  # the server counted four, of which two are its sub-agents'
    "gm61/repeat": 4,  # the last two were dropped when a loop was detected
    "gm20/recover": 2,  # this version stores several rounds of tools as one answer
}
CALLS = {"gm61/repeat": 4}
LAST_WORDS = {"gm61/delegate2_2": "(script exhausted)"}
TOKENS: dict[str, tuple[int | None, int | None]] = {
    "gm20/parallel": (None, None),
    "gm20/recover": (None, None),
    "gm61/delegate2_2": (35_861, 60),
    "gm61/delegate2_3": (24_641, 40),
    "gm61/repeat": (49_582, 80),
}


def parse(path: Path) -> Parsed:
    return GeminiChats(limits=Limits()).parse(path.read_bytes(), Unit("gemini-cli", str(path)))


def sample(expected_file: Path) -> tuple[str, dict[str, Any], Session]:
    expected = json.loads(expected_file.read_text())
    (file,) = (path for path in expected_file.parent.glob("tmp/**/*.json*") if path.is_file())
    session = parse(file).session
    assert isinstance(session, Session)
    return expected["sample"], expected, session


def name_of(expected_file: Path) -> str:
    return "-".join(expected_file.parts[-3:-1])


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_a_sample_has_the_answers_calls_and_words_that_were_served(expected_file: Path) -> None:
    name, expected, session = sample(expected_file)
    answers = [message for message in session.messages if message.role == ASSISTANT]
    calls = [call.id or "" for answer in answers for call in answer.tool_calls or ()]

    assert session.session_id == expected["session_id"]
    assert session.named_after_id
    assert len(answers) == ANSWERS.get(name, expected["responses_served"])
    assert len(calls) == CALLS.get(name, expected["tool_calls"])
    assert {call.rpartition("__")[2] for call in calls} <= {call["id"] for call in expected["calls"]}
    last = answers[-1].text if answers else ""
    assert last.startswith(LAST_WORDS.get(name, expected["final_text"]) or "")


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_the_outcomes_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    _, expected, session = sample(expected_file)
    truth = {call["id"]: call["truth"] for call in expected["calls"]}
    results = {message.tool_call_id: index for index, message in enumerate(session.messages) if message.tool_call_id}

    for call_id, index in results.items():
        noted = truth[(call_id or "").rpartition("__")[2]]
        outcome = session.reported.get(index)
        assert (None if outcome is None else outcome.status) in OUTCOMES[noted], (call_id, noted)


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_the_tokens_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    name, expected, session = sample(expected_file)
    used = total_usage(session.usage)
    read = None if used.input_tokens is None else used.input_tokens + (used.cache_read_tokens or 0)
    served = expected["tokens_in_on_wire"] or None, expected["tokens_out_on_wire"] or None

    assert (read, used.output_tokens) == TOKENS.get(name, served)


def test_what_a_sub_agent_did_belongs_to_the_session_that_began_it() -> None:
    (expected,) = (path for path in SAMPLES if path.parts[-2] == "delegate2_2")
    _, _, session = sample(expected)

    assert (session.kind, session.parent) == (SessionKind.SUB_AGENT, "603c8e81-bf33-44be-a4ad-f7a2b5584aaa")
    assert session.project == "/tmp/gmproj"


@pytest.mark.parametrize(
    ("name", "messages"), [("gemini_jsonl_v040.jsonl", 4), ("gemini_large.json", 6), ("gemini_small.json", 2)]
)
def test_files_of_other_versions_are_read(name: str, messages: int) -> None:
    session = parse(PUBLIC / name).session

    assert isinstance(session, Session)
    assert len(session.messages) == messages


def test_a_file_of_a_shape_that_is_not_known_is_no_session() -> None:
    assert parse(PUBLIC / "gemini_schema_drift.json").session == Skipped(
        SkipReason.NOT_A_SESSION, "gemini_schema_drift"
    )
