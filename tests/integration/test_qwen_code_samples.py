"""Files that a real Qwen Code wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, TOOL, Ending, Session, SessionKind, total_usage
from grader_daemon.sources.qwen_code.chat_transcripts import QwenChats
from tests.tables import for_each

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "qwen_code").glob("*/*/EXPECTED.json"))

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

OUTCOMES = {
    "ok": CallStatus.SUCCESS,
    "failed": CallStatus.FAILURE,
    "probe(exit 1, no harm)": CallStatus.FAILURE,  # which exit codes do no harm is judged later
    "unknown_tool": CallStatus.FAILURE,
    "refused": CallStatus.REFUSED,
}
"""By what the server noted of a call."""

DEVIATIONS = {
    "qw0244/delegate2": {"answers": 3, "calls": 2, "read": 60_391, "written": 60},  # without its sub-agents
    "qw0244/empty": {"answers": 2, "read": 39_136, "written": 40},  # without the empty answers
}


def load(path: Path) -> tuple[dict[str, Any], Session]:
    source = QwenChats(limits=Limits())
    (file,) = path.parent.glob(".qwen/projects/*/chats/*.jsonl")
    (unit,) = source.touched(str(file))
    read = source.read(source.look(unit))
    assert read.unknown is None
    assert isinstance(read.session, Session)
    return json.loads(path.read_text()), read.session


def samples() -> list[tuple[dict[str, Any], Session]]:
    return [load(path) for path in SAMPLES]


each_sample = for_each("sample", samples, ids=lambda sample: sample[0]["sample"])


@each_sample
def test_a_sample_is_what_was_served(sample: tuple[dict[str, Any], Session]) -> None:
    expected, session = sample
    answers = [message for message in session.messages if message.role == ASSISTANT]
    used = total_usage(session.usage)
    found = {
        "answers": len(answers),
        "calls": sum(len(answer.tool_calls or ()) for answer in answers),
        "read": (used.input_tokens or 0) + (used.cache_read_tokens or 0),
        "written": used.output_tokens,
        "final": answers[-1].text or None,
        "id": session.session_id,
    }

    assert found == {
        "answers": expected["responses_served"],
        "calls": expected["tool_calls"],
        "read": expected["tokens_in_on_wire"],
        "written": expected["tokens_out_on_wire"],
        "final": expected["final_text"],
        "id": expected["session_id"],
        **DEVIATIONS.get(expected["sample"], {}),
    }
    assert (session.kind, session.named_after_id) == (SessionKind.MAIN, True)


@each_sample
def test_the_outcomes_of_a_sample_are_those_that_were_served(sample: tuple[dict[str, Any], Session]) -> None:
    expected, session = sample
    truth = {call["id"]: call["truth"] for call in expected["calls"]}
    for place, message in enumerate(session.messages):
        if message.role == TOOL:
            outcome = session.reported[place]
            assert outcome.status is OUTCOMES[truth[message.tool_call_id]]
            assert outcome.exit_code == 1 or "exit 1" not in truth[message.tool_call_id]


@each_sample
def test_an_error_of_the_api_is_noted_and_nothing_else_of_the_end(sample: tuple[dict[str, Any], Session]) -> None:
    expected, session = sample
    failed = Ending(SessionState.INTERRUPTED, "API error: BadRequestError")

    assert session.ending == (failed if expected["http_errors"] else None)
    assert session.taken_back == ()
