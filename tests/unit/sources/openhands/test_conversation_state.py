"""What is read of conversations of OpenHands; state and events have the shapes of its SDK 1.58."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import Ending, Session, Skipped, SkipReason, Usage
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.openhands.conversation_state import read_conversation

UNIT = Unit("openhands", "/c/base_state.json")


def spoken(number: int, source: str, text: str, parent: str | None = None) -> dict[str, Any]:
    said = {"role": source, "content": [{"type": "text", "text": text}]}
    return {"kind": "MessageEvent", "id": f"e{number}", "source": source, "llm_message": said, "parent_id": parent}


ASKED, ANSWERED = spoken(0, "user", "Fix it"), spoken(1, "agent", "Done.")


def run(*events: dict[str, Any], **state: Any) -> Session:
    read = read_conversation(
        json.dumps({"id": "c1", **state}).encode(), [json.dumps(event).encode() for event in events], UNIT, zone=None
    )
    assert isinstance(read.session, Session)
    return read.session


def said(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def test_a_conversation_is_told_by_its_events_and_known_by_its_state() -> None:
    metrics = {"accumulated_cost": 0.5, "accumulated_token_usage": {"model": "m", "prompt_tokens": 10}}
    session = run(
        ASKED,
        ANSWERED,
        agent={"llm": {"model": "anthropic/m"}},
        workspace={"kind": "LocalWorkspace", "working_dir": "/src"},
        stats={"usage_to_metrics": {"agent": metrics, "condenser": metrics, "none": {}}},
    )

    assert (session.session_id, session.model, session.project) == ("c1", "anthropic/m", "/src")
    assert said(session) == ["Fix it", "Done."]
    assert session.cost_usd == 1.0
    assert session.usage == (Usage(model="m", input_tokens=20),)


def test_what_nobody_says_is_not_known() -> None:
    session = run(ASKED, workspace={"kind": "RemoteWorkspace", "working_dir": "/workspace"})

    assert (session.project, session.cost_usd, session.usage, session.ending) == (None, None, (), None)
    prompt = {"kind": "SystemPromptEvent", "id": "s", "system_prompt": {"text": "You are"}}
    assert run(prompt, ASKED).system_prompt_digest is not None


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        ("finished", Ending(SessionState.COMPLETE, "finished")),
        ("stuck", Ending(SessionState.INTERRUPTED, "stuck")),
        ("error", Ending(SessionState.INTERRUPTED, "error")),
        ("running", None),
        ("paused", None),
        (None, None),
    ],
)
def test_its_state_says_how_it_stands(status: str | None, ending: Ending | None) -> None:
    assert run(ASKED, ANSWERED, execution_status=status).ending == ending


def test_an_error_says_which_and_counts_no_more_where_it_went_on() -> None:
    limit = {"kind": "ConversationErrorEvent", "id": "x", "code": "MaxIterationsReached"}

    ending = run(ASKED, limit, execution_status="error").ending
    assert ending == Ending(SessionState.INTERRUPTED, "limit", EndingKind.LIMIT)
    assert run(ASKED, limit, ANSWERED, execution_status="running").ending is None


def test_the_branch_that_ends_where_it_stands_is_told() -> None:
    events = (
        spoken(0, "user", "Fix it"),
        spoken(1, "agent", "Wrong.", "e0"),
        spoken(2, "agent", "Right.", "e0"),
        spoken(3, "user", "Other", "__root__"),
    )

    assert said(run(*events, leaf_event_id="e2")) == ["Fix it", "Right."]
    assert said(run(*events, leaf_event_id="e3")) == ["Other"]
    assert said(run(*events, leaf_event_id="gone")) == ["Fix it", "Wrong.", "Right.", "Other"]


@pytest.mark.parametrize(
    ("leaf", "status", "told"),
    [
        pytest.param("e1", "running", ["Fix it", "So.", "And?", "Now."], id="killed-in-a-step-that-the-state-has-not"),
        pytest.param("e3", "running", ["Fix it", "So.", "And?", "Now."], id="the-state-has-all"),
        pytest.param("e1", "finished", ["Fix it", "So."], id="somebody-went-back"),
        pytest.param("other", "running", ["Fix it", "Other."], id="the-newest-is-of-a-branch-that-was-left"),
    ],
)
def test_the_newest_event_counts_while_the_agent_is_running(leaf: str, status: str, told: list[str]) -> None:
    events = (
        spoken(0, "user", "Fix it"),
        {**spoken(1, "agent", "Other.", "e0"), "id": "other"},
        spoken(1, "agent", "So.", "e0"),
        spoken(2, "user", "And?", "e1"),
        spoken(3, "agent", "Now.", "e2"),
    )

    assert said(run(*events, leaf_event_id=leaf, execution_status=status)) == told


def test_events_from_before_there_was_a_tree_follow_each_other() -> None:
    events = (spoken(0, "user", "Fix it"), spoken(1, "agent", "So."), spoken(2, "user", "And?", "e1"))

    assert said(run(*events, leaf_event_id="e2")) == ["Fix it", "So.", "And?"]
    assert said(run(*events[:2], leaf_event_id="e1")) == ["Fix it", "So."]


def test_a_tree_that_leads_back_is_told_whole() -> None:
    events = (spoken(0, "user", "Fix it", "e1"), spoken(1, "agent", "So.", "e0"))

    assert said(run(*events, leaf_event_id="e1")) == ["Fix it", "So."]


def test_a_conversation_in_which_nothing_was_said_is_none() -> None:
    read = read_conversation(b'{"id": "c1"}', [b'{"kind": "News"}'], UNIT, zone=None)

    assert (read.session, read.kinds) == (Skipped(SkipReason.NOT_A_SESSION, "c1"), ("News",))


def test_an_event_that_is_not_whole_is_told() -> None:
    with pytest.raises(msgspec.DecodeError):
        read_conversation(b'{"id": "c1"}', [b'{"kind": "Mess'], UNIT, zone=None)
