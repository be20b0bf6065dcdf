"""Files that real pis wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.identity import Identities, Identity, calls_of, decide
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SkipReason, total_usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.pi.pi_files import PiSessions

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources"
SAMPLES = sorted((SHARED / "pi").glob("*/*/EXPECTED.json"))

pytestmark = pytest.mark.skipif(
    not SAMPLES and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

OUTCOMES: dict[str, set[CallStatus]] = {
    "ok": {CallStatus.SUCCESS},
    "failed": {CallStatus.FAILURE},
    "probe(exit 1, no harm)": {CallStatus.FAILURE},  # which exit codes do no harm is judged later
    "unknown_tool": {CallStatus.FAILURE},
    "timeout": {CallStatus.FAILURE},
}
"""By what the server noted of a call. A call that was killed has no result."""


def file_beside(expected_file: Path) -> Path:
    (file,) = expected_file.parent.glob(".pi/agent/sessions/*/*.jsonl")
    return file


def sample(expected_file: Path) -> tuple[dict[str, Any], Session]:
    path = file_beside(expected_file)
    session = PiSessions(limits=Limits()).parse(path.read_bytes(), Unit("pi", str(path))).session
    assert isinstance(session, Session)
    return json.loads(expected_file.read_text()), session


def name_of(expected_file: Path) -> str:
    return "-".join(expected_file.parts[-3:-1])


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_a_sample_has_the_answers_calls_words_and_tokens_that_were_served(expected_file: Path) -> None:
    expected, session = sample(expected_file)
    answers = [message for message in session.messages if message.role == ASSISTANT]
    calls = [call.id for answer in answers for call in answer.tool_calls or ()]
    used = total_usage(session.usage)

    assert session.session_id == expected["session_id"]
    assert session.named_after_id
    assert session.project == "/tmp/proj"
    assert len(answers) == expected["responses_served"]
    assert calls == [call["id"] for call in expected["calls"]]
    assert (answers[-1].text if answers else "") == (expected["final_text"] or "")
    assert (used.input_tokens or 0) + (used.cache_read_tokens or 0) == expected["tokens_in_on_wire"]
    assert used.output_tokens == expected["tokens_out_on_wire"]


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_the_outcomes_of_a_sample_are_those_that_were_served(expected_file: Path) -> None:
    expected, session = sample(expected_file)
    results = {message.tool_call_id: index for index, message in enumerate(session.messages) if message.tool_call_id}

    for call in expected["calls"]:
        assert (call["id"] in results) is call["answered"]
        if call["answered"]:
            assert session.reported[results[call["id"]]].status in OUTCOMES[call["truth"]], call


@pytest.mark.parametrize("expected_file", SAMPLES, ids=name_of)
def test_a_sample_is_known_by_its_name_and_by_how_it_begins(expected_file: Path) -> None:
    path, source = file_beside(expected_file), PiSessions(limits=Limits())

    assert source.claims(str(path))
    assert source.recognizes("/x", path.read_bytes()[:4_096])


def test_of_a_session_and_its_fork_only_the_longer_one_stands() -> None:
    of = {path.parts[-2]: sample(path)[1] for path in SAMPLES}
    assert of["fork3"].parent == of["success"].session_id
    standing = Identities()
    standing.add(_identity(of["success"]))

    fallen = decide(_identity(of["fork3"]), None, standing.rivals(_identity(of["fork3"]))).fallen
    assert [(each.session_id, each.reason) for each in fallen] == [(of["success"].session_id, SkipReason.SUPERSEDED)]


def _identity(session: Session) -> Identity:
    first_call, calls = calls_of(session)
    return Identity(
        session_id=session.session_id,
        unit=session.unit,
        written_ns=0,
        state=SessionState.COMPLETE,
        messages=len(session.messages),
        started_at=session.started_at,
        updated_at=session.updated_at,
        lineage=None,
        opening=None,
        conversation=None,
        compacted=False,
        named_after_id=True,
        first_call=first_call,
        calls=calls,
    )
