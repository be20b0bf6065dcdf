"""Files that a real Copilot CLI wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, TOOL, Session, SessionKind, total_usage
from grader_daemon.sources.copilot.session_events import CopilotSessions
from tests.tables import for_each

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "copilot").glob("*/*/EXPECTED.json"))

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

OUTCOMES = {
    "ok": CallStatus.SUCCESS,
    "failed": CallStatus.FAILURE,
    "unknown_tool": CallStatus.FAILURE,
    "refused": CallStatus.REFUSED,
}
"""By what the server noted of a call; one that was killed has no result."""

CUT_SHORT = {"cp1102/api_400": "error: query", "cp1102/sigint": "abort: user_abort"}
GOING_ON = {"cp1102/kill9"}


class Sample(NamedTuple):
    """A sample: the session, and its sub-agents."""

    name: str
    expected: dict[str, Any]
    session: Session
    sub_agents: list[Session]

    @property
    def all(self) -> list[Session]:
        """Session and sub-agents."""
        return [self.session, *self.sub_agents]


def load(path: Path) -> Sample:
    source = CopilotSessions(limits=Limits())
    (file,) = path.parent.glob(".copilot/session-state/*/events.jsonl")
    (unit,) = source.touched(str(file))
    read = source.read(source.look(unit))
    inside = [source.read(source.look(each)).session for each in read.inside]
    assert read.unknown is None
    assert isinstance(read.session, Session)
    expected = json.loads(path.read_text())
    return Sample(expected["sample"], expected, read.session, [one for one in inside if isinstance(one, Session)])


def samples() -> list[Sample]:
    return [load(path) for path in SAMPLES]


each_sample = for_each("sample", samples, ids=lambda sample: sample.name)


@each_sample
def test_a_sample_has_the_answers_calls_and_words_that_were_served(sample: Sample) -> None:
    answers = [message for one in sample.all for message in one.messages if message.role == ASSISTANT]
    final = [message.text for message in sample.session.messages if message.role == ASSISTANT][-1] or None

    assert sample.session.session_id == sample.expected["session_id"]
    assert sample.session.named_after_id
    assert len(answers) == sample.expected["responses_served"]
    assert {call.id for answer in answers for call in answer.tool_calls or ()} == {
        call["id"] for call in sample.expected["calls"]
    }
    assert final == sample.expected["final_text"]


@each_sample
def test_the_outcomes_of_a_sample_are_those_that_were_served(sample: Sample) -> None:
    truth = {call["id"]: call["truth"] for call in sample.expected["calls"]}
    for one in sample.all:
        for place, message in enumerate(one.messages):
            if message.role == TOOL:
                assert one.reported[place].status is OUTCOMES[truth.pop(message.tool_call_id)]

    assert set(truth.values()) <= {"killed_or_open"}


@each_sample
def test_the_tokens_of_a_sample_are_those_that_were_served(sample: Sample) -> None:
    used = total_usage(usage for one in sample.all for usage in one.usage)
    assert used.input_tokens is not None
    read = used.input_tokens + (used.cache_read_tokens or 0)

    assert (read, used.output_tokens) == (sample.expected["tokens_in_on_wire"], sample.expected["tokens_out_on_wire"])


@each_sample
def test_the_end_of_a_sample_is_what_happened(sample: Sample) -> None:
    ending = sample.session.ending
    assert ending is not None
    if sample.name in CUT_SHORT:
        assert (ending.state, ending.reason) == (SessionState.INTERRUPTED, CUT_SHORT[sample.name])
    else:
        assert ending.state is (SessionState.OPEN if sample.name in GOING_ON else SessionState.COMPLETE)


@each_sample
def test_sub_agents_are_told_apart(sample: Sample) -> None:
    parent = (SessionKind.SUB_AGENT, sample.session.session_id)

    assert sample.session.kind is SessionKind.MAIN
    assert [(kid.kind, kid.parent) for kid in sample.sub_agents] == [parent] * (2 if "delegate" in sample.name else 0)
