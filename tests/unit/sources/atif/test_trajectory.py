from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome, Session, SessionKind, Usage
from grader_daemon.sources.atif.trajectory import read_run

SUCCESS = ReportedOutcome(CallStatus.SUCCESS)
FAILURE = ReportedOutcome(CallStatus.FAILURE)
ASKED = {"source": "user", "message": "Go"}


def agent_step(text: str = "", **more: Any) -> dict[str, Any]:
    return {"source": "agent", "message": text, **more}


def called(result: dict[str, Any], **more: Any) -> dict[str, Any]:
    call = {"tool_call_id": "a", "function_name": "bash", "arguments": {"command": "ls"}}
    return agent_step(tool_calls=[call], observation={"results": [{"source_call_id": "a", **result}]}, **more)


def document(*steps: dict[str, Any], agent: str = "terminus-2", **more: Any) -> bytes:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    whole = {"schema_version": "ATIF-v1.7", "session_id": "run", "steps": numbered, **more}
    return json.dumps({"agent": {"name": agent, "version": "2.0", "model_name": "m"}, **whole}).encode()


def read_all(*documents: bytes) -> dict[str, Session]:
    return read_run(documents, path="/t/agent/trajectory.json", named="trial", passed_over={})


def read(*steps: dict[str, Any], **more: Any) -> Session:
    return read_all(document(*steps, **more))[""]


def shape(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages]


def test_steps_are_messages() -> None:
    session = read(
        {"source": "system", "message": "Be brief"}, ASKED, called({"content": "a.txt"}), agent_step("Done.")
    )

    assert shape(session) == [("user", "Go"), ("assistant", ""), ("tool", "a.txt"), ("assistant", "Done.")]
    assert [call.tool for call in session.messages[1].tool_calls or ()] == ["bash"]
    assert session.messages[2].tool_call_id == "a"
    assert (session.session_id, session.agent, session.agent_version, session.model) == (
        "run",
        "terminus-2",
        "2.0",
        "m",
    )
    assert session.kind is SessionKind.MAIN
    assert session.ending is not None


@pytest.mark.parametrize(
    ("names", "session_id"),
    [
        pytest.param({"session_id": None, "trajectory_id": "t"}, "t", id="trajectory"),
        pytest.param({"session_id": None}, "trial", id="trial"),
    ],
)
def test_a_run_that_names_none_is_called_by_what_there_is(names: dict[str, Any], session_id: str) -> None:
    assert read(ASKED, **names).session_id == session_id


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "See"}, {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]

    session = read({"source": "user", "message": parts}, called({"content": parts}))

    assert shape(session) == [("user", "See"), ("assistant", ""), ("tool", "See")]


def test_steps_that_repeat_an_earlier_document_are_passed_over() -> None:
    session = read_all(
        document(ASKED, agent_step("One.")),
        document({**ASKED, "is_copied_context": True}, agent_step("Two.")),
    )[""]

    assert shape(session) == [("user", "Go"), ("assistant", "One."), ("assistant", "Two.")]


def test_sub_agents_inside_are_sessions_of_their_own() -> None:
    grandchild = json.loads(document(agent_step("Deep."), trajectory_id="deep"))
    child = json.loads(document(agent_step("Child."), trajectory_id="c1", subagent_trajectories=[grandchild]))

    sessions = read_all(document(ASKED, agent_step("Parent."), subagent_trajectories=[child]))

    assert {key: session.session_id for key, session in sessions.items()} == {
        "": "run",
        "c1": "run/c1",
        "c1/deep": "run/c1/deep",
    }
    assert [(session.kind, session.parent) for key, session in sessions.items() if key] == [
        (SessionKind.SUB_AGENT, "run"),
        (SessionKind.SUB_AGENT, "run"),
    ]


def test_sub_agents_of_one_name_are_told_apart() -> None:
    children = [json.loads(document(agent_step(text), trajectory_id="c" * 250)) for text in ("One.", "Two.")]
    again = json.loads(document(agent_step("Three."), trajectory_id="c" * 250))

    sessions = read_all(
        document(ASKED, agent_step("Parent."), subagent_trajectories=children),
        document(agent_step("On."), subagent_trajectories=[again]),
    )

    said = {key: [text for _, text in shape(session)] for key, session in sessions.items() if key}
    assert said == {"c" * 250: ["One.", "Three."], "c" * 250 + ".1": ["Two."]}
    assert len({session.session_id for session in sessions.values()}) == 3


def test_a_step_that_no_model_gave_is_no_answer() -> None:
    error = agent_step("API Error: 400 invalid request", model_name="<synthetic>")

    ended = read(ASKED, agent_step("I look.", model_name="m2"), error)
    went_on = read(ASKED, error, agent_step("Done.", model_name="m2"))

    assert [shape(session) for session in (ended, went_on)] == [
        [("user", "Go"), ("assistant", "I look.")],
        [("user", "Go"), ("assistant", "Done.")],
    ]
    assert (ended.model, [each.model for each in ended.usage]) == ("m2", [])
    assert [session.ending.state for session in (ended, went_on) if session.ending] == ["interrupted", "complete"]


def test_a_run_that_names_no_model_but_that_of_an_error_has_none() -> None:
    whole = json.loads(document(ASKED, agent_step("Hello")))
    whole["agent"]["model_name"] = "<synthetic>"

    assert read_all(json.dumps(whole).encode())[""].model is None


def test_steps_of_sub_agents_among_those_of_the_run_are_told_apart_by_their_mark() -> None:
    sessions = read_all(
        document(ASKED, agent_step("Child.", extra={"is_sidechain": True, "agent_id": "x"}), agent_step("Parent."))
    )

    assert shape(sessions[""]) == [("user", "Go"), ("assistant", "Parent.")]
    assert shape(sessions["x"]) == [("assistant", "Child.")]


@pytest.mark.parametrize(
    ("agent", "result", "text", "outcome"),
    [
        pytest.param(
            "any",
            {"content": "Exit code 2\nno\n\n[error] tool reported failure", "extra": {"tool_result_is_error": True}},
            "Exit code 2\nno",
            ReportedOutcome(CallStatus.FAILURE, 2),
            id="flagged",
        ),
        pytest.param("any", {"content": "x", "extra": {"tool_result_is_error": False}}, "x", SUCCESS, id="not-flagged"),
        pytest.param("claude-code", {"content": "x"}, "x", SUCCESS, id="claude-flags-failures-only"),
        pytest.param(
            "claude-code",
            {"content": "Exit code 128\nfatal: invalid reference: main\n\n[error] tool reported failure"},
            "Exit code 128\nfatal: invalid reference: main",
            ReportedOutcome(CallStatus.FAILURE, 128),
            id="flagged-in-the-text-alone",
        ),
        pytest.param(
            "claude-code",
            {"content": "<tool_use_error>String not found.</tool_use_error>\n\n[error] tool reported failure"},
            "<tool_use_error>String not found.</tool_use_error>",
            FAILURE,
            id="an-editor-flagged-in-the-text-alone",
        ),
        pytest.param(
            "claude-code",
            {"content": 'a.py\n\n[stdout]\na.py\n[metadata] {"noOutputExpected": false}'},
            "a.py",
            SUCCESS,
            id="the-streams-again-with-notes",
        ),
        pytest.param(
            "claude-code", {"content": "a\n\n[stdout]\nb"}, "a\n\n[stdout]\nb", SUCCESS, id="such-words-without-notes"
        ),
        pytest.param("codex", {"content": "unsupported call: x"}, "unsupported call: x", FAILURE, id="codex"),
        pytest.param("any", {"content": "unsupported call: x"}, "unsupported call: x", None, id="words-of-another"),
    ],
)
def test_outcomes_are_read_as_the_converter_of_each_agent_notes_them(
    agent: str, result: dict[str, Any], text: str, outcome: ReportedOutcome | None
) -> None:
    session = read(called(result), agent=agent)

    assert session.messages[1].text == text
    assert session.reported.get(1) == outcome


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (1, ReportedOutcome(CallStatus.FAILURE, 1)),
        (0, ReportedOutcome(CallStatus.SUCCESS, 0)),
        ("1", None),
    ],
)
def test_exit_codes_of_codex_may_stand_in_notes_of_the_step(code: object, outcome: ReportedOutcome | None) -> None:
    notes = {"tool_call_details": {"a": {"metadata": {"exit_code": code}}}}

    session = read(called({"content": "x"}, extra=notes), agent="codex")

    assert session.reported.get(1) == outcome


@pytest.mark.parametrize(
    ("notes", "outcome"),
    [
        ({"is_error": True}, FAILURE),
        ({"is_error": False}, SUCCESS),
        ({"exit_code": 2}, ReportedOutcome(CallStatus.FAILURE, 2)),
        ({"exit_code": 0}, ReportedOutcome(CallStatus.SUCCESS, 0)),
        ({"is_error": False, "exit_code": 1}, ReportedOutcome(CallStatus.SUCCESS, 1)),
        ({"status": "completed", "exit_code": 1}, ReportedOutcome(CallStatus.FAILURE, 1)),
        ({"status": "error"}, FAILURE),
        ({"status": "denied", "is_error": True}, ReportedOutcome(CallStatus.REFUSED)),
        ({"status": "cancelled"}, ReportedOutcome(CallStatus.INTERRUPTED)),
        ({"status": "running"}, ReportedOutcome(CallStatus.PENDING)),
        ({"status": "fine"}, None),
        ({"is_error": "yes", "exit_code": True, "status": 4}, None),
        ({"exit_code": 10**30}, None),
        ({"exit_code": "1"}, None),
    ],
)
def test_plain_words_on_a_result_are_read_of_any_agent(notes: dict[str, Any], outcome: ReportedOutcome | None) -> None:
    of_nobody = read(called({"content": "x", "extra": notes}), agent="acme")
    beside = read(called({"content": "x", **notes}), agent="acme")

    assert [session.reported.get(1) for session in (of_nobody, beside)] == [outcome, outcome]


def test_the_line_of_a_failure_is_one_whoever_wrote_it() -> None:
    session = read(called({"content": "no\n\n[error] tool reported failure"}), agent="acme")

    assert (session.messages[1].text, session.reported[1]) == ("no", FAILURE)


@pytest.mark.parametrize(
    ("told", "state", "kind"),
    [
        ("complete", "complete", None),
        ("open", "open", None),
        ("cut_by_limit", "interrupted", "cut_by_limit"),
        ("cut_by_person", "interrupted", "cut_by_person"),
        ("answered", "complete", None),
        (["open"], "complete", None),
    ],
)
def test_how_a_run_ended_may_stand_in_its_notes(told: object, state: str, kind: str | None) -> None:
    ending = read(ASKED, agent_step("Done."), extra={"ending": told}).ending

    assert ending is not None
    assert ending.state == state
    assert kind is None or ending.kind == kind


def test_the_end_of_a_run_is_that_of_its_last_document() -> None:
    first = document(ASKED, agent_step("One."), extra={"ending": "open"})
    ending = read_all(first, document(agent_step("Two.")))[""].ending

    assert ending is not None
    assert ending.state == "complete"


def test_what_codex_adds_in_the_name_of_a_person_is_no_message() -> None:
    session = read({"source": "user", "message": "<environment_context>\n"}, ASKED, agent="codex")

    assert shape(session) == [("user", "Go")]


def test_tokens_are_summed_up_by_model_without_what_came_from_a_cache() -> None:
    notes = {"cache_creation_input_tokens": 10, "reasoning_output_tokens": 3}
    first = {"prompt_tokens": 100, "cached_tokens": 60, "completion_tokens": 7, "extra": notes}
    second = {"prompt_tokens": 5, "cached_tokens": 0, "completion_tokens": 1}

    session = read(agent_step("x", metrics=first), agent_step("y", metrics=second, model_name="n"))

    assert session.usage == (
        Usage(
            model="m",
            input_tokens=30,
            cache_read_tokens=60,
            cache_write_tokens=10,
            output_tokens=7,
            reasoning_tokens=3,
        ),
        Usage(model="n", input_tokens=5, cache_read_tokens=0, output_tokens=1),
    )


def test_a_number_of_tokens_that_cannot_be_is_not_known() -> None:
    odd = {"prompt_tokens": 5, "cached_tokens": -3, "completion_tokens": 1.5, "extra": {"reasoning_output_tokens": "2"}}

    assert read(agent_step("x", metrics=odd)).usage == (Usage(model="m"),)


@pytest.mark.parametrize(
    ("costs", "total", "cost"),
    [
        pytest.param([0.25, 0.5], 9.0, 0.75, id="of-the-steps"),
        pytest.param([0.25, None], 9.0, None, id="one-is-not-known"),
        pytest.param([None], 9.0, 9.0, id="of-the-run"),
        pytest.param([None], None, None, id="nowhere"),
    ],
)
def test_money_is_what_the_run_says(costs: list[float | None], total: float | None, cost: float | None) -> None:
    steps = [agent_step("x", metrics={"cost_usd": each}) for each in costs]

    assert read(*steps, final_metrics={"total_cost_usd": total}).cost_usd == cost


def test_facts_of_another_type_are_not_known() -> None:
    step = {"source": "agent", "message": "Done.", "timestamp": 7, "metrics": {"cost_usd": "much"}}
    agent = {"name": "acme", "version": 2.0, "model_name": 7}
    whole = json.loads(document(step, final_metrics={"total_cost_usd": []})) | {"agent": agent}

    session = read_all(json.dumps(whole).encode())[""]

    assert [message.text for message in session.messages] == ["Done."]
    assert (session.agent_version, session.model, session.cost_usd, session.message_times) == (None, None, None, ())


def test_times_without_a_zone_are_utc() -> None:
    session = read(
        {**ASKED, "timestamp": "2026-11-22T15:21:10"}, agent_step("x", timestamp="2026-11-22T16:21:11+01:00")
    )

    assert (session.started_at, session.updated_at) == (
        datetime(2026, 11, 22, 15, 21, 10, tzinfo=UTC),
        datetime(2026, 11, 22, 15, 21, 11, tzinfo=UTC),
    )
