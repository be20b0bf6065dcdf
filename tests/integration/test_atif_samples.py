"""Documents that Harbor's converters made of real sessions, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, total_usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.atif.trial_files import AtifTrials

SAMPLES = sorted((Path(__file__).parents[3] / "shared" / "data" / "sources" / "atif").glob("*/EXPECTED.json"))

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

NOT_FLAGGED = "claude_long30"
OTHER_RUN = {"codex_long30": 346_632, "codex_recover": 48_787}
"""Tokens; the server's notes are of 0.110, these documents of 0.169."""

OUTCOMES = {
    "ok": CallStatus.SUCCESS,
    "failed": CallStatus.FAILURE,
    "probe(exit 1, no harm)": CallStatus.FAILURE,
    "unknown_tool": CallStatus.FAILURE,
    "refused": CallStatus.REFUSED,
    "timeout": CallStatus.PENDING,
}


def sample(expected_file: Path) -> tuple[str, dict[str, Any], Session, list[Session]]:
    source = AtifTrials(limits=Limits())
    read = source.read(source.look(Unit("atif", str(expected_file.with_name("trajectory.json")))))
    inside = [source.read(source.look(unit)).session for unit in read.inside]
    assert isinstance(read.session, Session)
    return (
        expected_file.parent.name,
        json.loads(expected_file.read_text()),
        read.session,
        [session for session in inside if isinstance(session, Session)],
    )


@pytest.mark.parametrize("expected_file", SAMPLES, ids=lambda path: path.parent.name)
def test_a_sample_has_the_answers_calls_words_and_tokens_that_were_served(expected_file: Path) -> None:
    name, expected, session, inside = sample(expected_file)
    answers = [message for message in session.messages if message.role == ASSISTANT]
    used = total_usage(session.usage)

    assert (session.session_id == expected["session_id"]) is (name not in OTHER_RUN)
    assert len(answers) == expected["responses_served"]
    assert sum(len(answer.tool_calls or ()) for answer in answers) == expected["tool_calls"]
    assert answers[-1].text.startswith(expected["final_text"] or "")
    read = (used.input_tokens or 0) + (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0)
    assert read == OTHER_RUN.get(name, expected["tokens_in_on_wire"])
    assert used.output_tokens == expected["tokens_out_on_wire"]
    assert len(inside) == len(expected.get("subagents", ()))


@pytest.mark.parametrize("expected_file", SAMPLES, ids=lambda path: path.parent.name)
def test_the_outcomes_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    name, expected, session, _ = sample(expected_file)
    results = {message.tool_call_id: index for index, message in enumerate(session.messages) if message.tool_call_id}

    for call in expected["calls"]:
        if call["id"] in results:
            outcome = session.reported.get(results[call["id"]])
            status = None if outcome is None else outcome.status
            wanted = CallStatus.SUCCESS if name == NOT_FLAGGED else OUTCOMES[call["designed"]]
            assert status is wanted or (status is None and call["designed"] == "ok"), call
