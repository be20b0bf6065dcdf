"""Files that a real Cline wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, TOOL, Ending, Session, SessionKind, total_usage
from grader_daemon.sources.cline.cline_sessions import ClineSessions
from tests.tables import for_each

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "cline").glob("*/*/EXPECTED.json"))

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

OUTCOMES = {"ok": CallStatus.SUCCESS, "failed": CallStatus.FAILURE}
"""By what the server noted of a call."""


def load(path: Path) -> tuple[dict[str, Any], Session]:
    source = ClineSessions([str(path.parent)], limits=Limits())
    (found,) = source.walk(str(path.parent))
    read = source.read(found)
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
        "session_id": session.session_id,
        "responses_served": len(answers),
        "tool_calls": sum(len(answer.tool_calls or ()) for answer in answers),
        "tokens_in_on_wire": (used.input_tokens or 0) + (used.cache_read_tokens or 0),
        "tokens_out_on_wire": used.output_tokens,
        "final_text": answers[-1].text or None,
        "version": session.agent_version,
    }

    assert found == {name: expected[name] for name in found}
    assert (session.kind, session.named_after_id) == (SessionKind.MAIN, True)
    assert session.ending == Ending(SessionState.COMPLETE, "status=completed")
    assert session.cost_usd is None


@each_sample
def test_the_outcomes_of_a_sample_are_those_that_were_served(sample: tuple[dict[str, Any], Session]) -> None:
    expected, session = sample
    truth = {call["id"]: call["truth"] for call in expected["calls"]}
    for place, message in enumerate(session.messages):
        if message.role == TOOL:
            assert session.reported[place].status is OUTCOMES[truth.pop(message.tool_call_id)]

    assert truth == {}
