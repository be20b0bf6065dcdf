"""A database that a real OpenClaw wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SessionKind, total_usage
from grader_daemon.sources.openclaw.openclaw_source import OpenClaw

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources" / "openclaw"
HOMES = sorted(SHARED.glob("*/*/EXPECTED.json"))
EXPECTED: dict[str, tuple[Path, dict[str, Any]]] = {
    name: (home.parent, expected)
    for home in HOMES
    for name, expected in json.loads(home.read_text())["sessions"].items()
}

pytestmark = pytest.mark.skipif(
    not EXPECTED and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

OUTCOMES: dict[str, set[CallStatus]] = {
    "ok": {CallStatus.SUCCESS},
    "failed": {CallStatus.FAILURE},
    "probe(exit 1, no harm)": {CallStatus.FAILURE},  # which exit codes do no harm is judged later
    "unknown_tool": {CallStatus.FAILURE},
}
"""By what the server noted of a call; docs/agents.md says why what follows deviates."""

ANSWERS = {"errors-b": 10}
UNSEEN_CALLS = {"errors-b": {"call_e9647a6516d846dfaada"}}
TOKENS = {"errors-b": (170_076, 200)}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    read: dict[str, Session] = {}
    for home in HOMES:
        root = tmp_path_factory.mktemp("home") / "agents"
        shutil.copytree(home.parent / ".openclaw" / "agents", root)
        source = OpenClaw([str(root)], limits=Limits())
        for found in source.walk(str(root)):
            session = source.read(found).session
            assert isinstance(session, Session)
            read[session.session_id] = session
    return read


def test_all_sessions_that_began_are_there(sessions: dict[str, Session]) -> None:
    assert set(sessions) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_has_the_answers_calls_words_and_tokens_that_were_served(
    name: str, sessions: dict[str, Session]
) -> None:
    session, expected = sessions[name], EXPECTED[name][1]
    answers = [message for message in session.messages if message.role == ASSISTANT]
    calls = [call.id for answer in answers for call in answer.tool_calls or ()]
    used = total_usage(session.usage)
    served = (expected["tokens_in_on_wire"], expected["tokens_out_on_wire"])

    assert (session.kind, session.project, session.agent) == (SessionKind.MAIN, "/tmp/proj", "openclaw")
    assert session.named_after_id
    assert len(answers) == ANSWERS.get(name, expected["responses_served"])
    assert calls == [call["id"] for call in expected["calls"] if call["id"] not in UNSEEN_CALLS.get(name, set())]
    assert answers[-1].text == (expected["final_text"] or "")
    assert ((used.input_tokens or 0) + (used.cache_read_tokens or 0), used.output_tokens) == TOKENS.get(name, served)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_outcomes_of_a_sample_are_those_that_were_served(name: str, sessions: dict[str, Session]) -> None:
    session = sessions[name]
    results = {message.tool_call_id: index for index, message in enumerate(session.messages) if message.tool_call_id}

    for call in EXPECTED[name][1]["calls"]:
        if call["truth"] == "killed_or_open":
            assert call["id"] not in results
            assert session.ending is not None
            assert session.ending.state is SessionState.OPEN
        else:
            assert session.reported[results[call["id"]]].status in OUTCOMES[call["truth"]], call
