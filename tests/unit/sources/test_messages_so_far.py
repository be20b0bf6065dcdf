"""A conversation: what is noted of a result is found by the place of its message."""

from __future__ import annotations

from datetime import UTC, datetime

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import USER, Message, ReportedOutcome
from grader_daemon.sources.messages_so_far import Conversation

_AT = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


def test_the_outcome_of_a_result_stands_at_the_place_of_its_message() -> None:
    told = Conversation()
    told.append(Message(role=USER, content="run it"), _AT)
    told.append_result("nothing noted", None, None, call_id="a")
    told.append_result("done", ReportedOutcome(CallStatus.SUCCESS), _AT, call_id="b", tool="shell")
    assert told.reported == {2: ReportedOutcome(CallStatus.SUCCESS)}
    assert [(each.tool_call_id, each.tool_name) for each in told.messages[1:]] == [("a", None), ("b", "shell")]
    assert told.times == [_AT, None, _AT]
