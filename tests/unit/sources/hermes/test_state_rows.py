"""What rows of a database mean: which count, who began a session, how it ended, what it cost."""

from __future__ import annotations

import json

import msgspec
import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.session import Ending, ReportedOutcome, Session, SessionKind, Usage
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.sources.hermes.state_records import Delegation, MessageRow, SessionRow, Stored, UsageRow, Value
from grader_daemon.sources.hermes.state_rows import joined, tell, to_session

START = 1_795_360_000.0


def row(**columns: Value) -> SessionRow:
    return msgspec.structs.replace(SessionRow(id="a", source="cli", started_at=START), **columns)


def message(number: int, role: str, content: Value = "x", **columns: Value) -> MessageRow:
    empty: dict[str, Value] = dict.fromkeys(MessageRow._fields[3:])
    return MessageRow(number, role, content, **{**empty, "active": 1, "compacted": 0, **columns})


def used(task_tokens: int, *, status: str | None = None, estimated: float = 0.0, actual: float = 0.0) -> UsageRow:
    return UsageRow("a", "m", task_tokens, 0, 0, 1, 0, estimated, actual, status)


def session(stored: Stored) -> Session:
    return to_session(stored, "/home/state.db")


def test_rows_that_a_person_took_back_are_left_out_and_their_places_noted() -> None:
    rows = [
        message(1, "user", "one"),
        message(2, "user", "two", active=0),
        message(3, "assistant", "2", active=0),
        message(4, "user", "three"),
        message(5, "user", "four", active=0),
    ]
    telling = tell(rows)
    assert [each.text for each in telling.messages] == ["one", "three"]
    assert telling.taken_back == (1, 2)


def test_rows_that_a_compaction_replaced_count_and_its_summary_does_not() -> None:
    rows = [
        message(1, "user", "one", active=0, compacted=1),
        message(2, "assistant", "1", active=0, compacted=1),
        message(3, "user", "[CONTEXT COMPACTION — REFERENCE ONLY] one was said"),
        message(4, "user", "a summary too", summary=1),
        message(5, "user", "two"),
    ]
    read = session(Stored(row=row(), messages=tuple(rows)))
    assert [each.text for each in read.messages] == ["one", "1", "two"]
    assert not read.compacted
    assert read.taken_back == ()


def test_a_summary_of_rows_that_are_gone_stays() -> None:
    rows = (message(1, "user", "[CONTEXT COMPACTION — REFERENCE ONLY] one was said"), message(2, "user", "two"))
    read = session(Stored(row=row(), messages=rows))
    assert read.compacted
    assert len(read.messages) == 2


def test_what_no_person_said_is_left_out() -> None:
    rows = [
        message(1, "user", "one"),
        message(2, "assistant", "1"),
        message(3, "user", "Review the conversation above and update the skill library"),
        message(4, "assistant", "updated"),
        message(5, "user", "two"),
        message(6, "user", "scaffolding", display_kind="hidden"),
    ]
    assert [each.text for each in tell(rows).messages] == ["one", "1", "two"]


def test_parts_of_a_message_are_read() -> None:
    content = "\0json:" + json.dumps([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}])
    assert tell([message(1, "user", content)]).messages[0].text == "look\n"


@pytest.mark.parametrize(
    ("columns", "parent", "marked", "kind"),
    [
        pytest.param({}, None, True, SessionKind.MAIN, id="nobody-before-it"),
        pytest.param({"source": "cron"}, None, True, SessionKind.CRON, id="a-timer"),
        pytest.param({"source": "tool"}, None, True, SessionKind.SUB_AGENT, id="a-program"),
        pytest.param(
            {"source": "subagent", "parent_session_id": "p"}, None, True, SessionKind.SUB_AGENT, id="named-so"
        ),
        pytest.param(
            {"parent_session_id": "p", "model_config": '{"_delegate_from": "p"}'},
            None,
            True,
            SessionKind.SUB_AGENT,
            id="sent-off",
        ),
        pytest.param(
            {"parent_session_id": "p", "model_config": '{"_delegate_from": "q"}'},
            None,
            True,
            SessionKind.MAIN,
            id="a-marker-that-is-inherited",
        ),
        pytest.param(
            {"parent_session_id": "p", "model_config": '{"_branched_from": "p"}'},
            SessionRow(id="p", started_at=START - 60),
            False,
            SessionKind.MAIN,
            id="a-branch",
        ),
        pytest.param(
            {"parent_session_id": "p", "model_config": "{"},
            SessionRow(id="p", started_at=START - 60, ended_at=START + 60),
            False,
            SessionKind.SUB_AGENT,
            id="begun-while-its-parent-ran",
        ),
        pytest.param(
            {"parent_session_id": "p"},
            SessionRow(id="p", started_at=START - 60, ended_at=START - 1),
            False,
            SessionKind.MAIN,
            id="begun-after-its-parent",
        ),
        pytest.param({"parent_session_id": "p"}, None, False, None, id="a-parent-that-is-gone"),
    ],
)
def test_who_began_a_session(
    columns: dict[str, Value], parent: SessionRow | None, *, marked: bool, kind: SessionKind | None
) -> None:
    assert session(Stored(row=row(**columns), parent=parent, marked=marked)).kind is kind


ANSWERED = (message(1, "user"), message(2, "assistant", "done", finish_reason="stop"))


@pytest.mark.parametrize(
    ("stored", "ending"),
    [
        pytest.param(Stored(row=row(), messages=ANSWERED), None, id="its-last-messages-say"),
        pytest.param(
            Stored(row=row(ended_at=START + 9, end_reason="cli_close"), messages=ANSWERED),
            Ending(SessionState.COMPLETE, "cli_close"),
            id="a-person-ended-it",
        ),
        pytest.param(
            Stored(row=row(ended_at=START + 9, end_reason="idle_timeout"), messages=ANSWERED), None, id="cleaned-up"
        ),
        pytest.param(
            Stored(row=row(), messages=ANSWERED, leased=True),
            Ending(SessionState.OPEN, "session_turn_leases"),
            id="a-turn-runs",
        ),
        pytest.param(
            Stored(row=row(input_tokens=7)), Ending(SessionState.OPEN, "no message was recorded"), id="only-tokens"
        ),
        pytest.param(
            Stored(row=row(ended_at=START + 9, end_reason="cli_close")),
            Ending(SessionState.INTERRUPTED, "no message was recorded", EndingKind.NO_ANSWER),
            id="ended-without-messages",
        ),
        pytest.param(Stored(row=row()), None, id="nothing-at-all"),
    ],
)
def test_how_a_session_ended(stored: Stored, ending: Ending | None) -> None:
    assert session(stored).ending == ending


@pytest.mark.parametrize(
    ("state", "result", "status"),
    [
        pytest.param("completed", '{"results": [{"status": "completed"}]}', CallStatus.SUCCESS, id="done"),
        pytest.param("completed", '{"results": [{"status": "error"}]}', CallStatus.FAILURE, id="one-failed"),
        pytest.param("completed", "{", CallStatus.SUCCESS, id="a-result-that-is-no-json"),
        pytest.param("failed", None, CallStatus.FAILURE, id="failed"),
        pytest.param("running", None, CallStatus.PENDING, id="runs"),
    ],
)
def test_what_became_of_a_sub_agent_that_was_sent_off(state: str, result: str | None, status: CallStatus) -> None:
    sent = json.dumps({"status": "dispatched", "delegation_id": "d1"})
    rows = (message(1, "user"), message(2, "tool", "not JSON"), message(3, "tool", sent))
    read = session(Stored(row=row(), messages=rows, delegations=(Delegation("d1", state, result),)))
    assert read.reported == {2: ReportedOutcome(status)}


def test_tokens_are_those_of_all_tasks_and_counters_of_nothing_are_unknown() -> None:
    stored = Stored(row=row(model="m", input_tokens=10, output_tokens=1), usage=(used(10), used(5)))
    assert session(stored).usage == (
        Usage(
            model="m", input_tokens=15, cache_read_tokens=0, cache_write_tokens=0, output_tokens=2, reasoning_tokens=0
        ),
    )
    assert session(Stored(row=row(model="m", input_tokens=0, output_tokens=0))).usage == ()


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        pytest.param((used(1, status="unknown"),), None, id="zero-that-is-not-free"),
        pytest.param((used(1, status="estimated", estimated=0.25),), 0.25, id="estimated"),
        pytest.param((used(1, status="actual", estimated=0.25, actual=0.5),), 0.5, id="actual"),
        pytest.param((used(1, status="included"),), 0.0, id="in-a-subscription"),
        pytest.param((used(1, status="estimated", estimated=0.25), used(1)), None, id="one-task-without-a-price"),
        pytest.param((used(1, status="estimated", estimated=float("nan")),), None, id="no-number"),
        pytest.param((), None, id="no-tokens"),
    ],
)
def test_a_price_is_known_where_that_of_each_task_is(usage: tuple[UsageRow, ...], cost: float | None) -> None:
    assert session(Stored(row=row(), usage=usage)).cost_usd == cost


def test_the_folder_is_that_of_the_row_or_of_the_prompt() -> None:
    prompt = "Hi.\nUser home directory: /home/kim\nCurrent working directory: /work\nMore."
    assert session(Stored(row=row(cwd="/here"))).project == "/here"
    assert session(Stored(row=row(), prompt=prompt)).project == "/work"


def test_a_longer_snapshot_takes_the_place_of_messages_that_were_not_kept() -> None:
    stored = session(Stored(row=row(input_tokens=7)))
    snapshot = session(Stored(row=row(), messages=ANSWERED))
    both = joined(stored, snapshot)
    assert both.messages == snapshot.messages
    assert both.ending is None
    assert both.usage == stored.usage
    assert joined(snapshot, stored) == snapshot
