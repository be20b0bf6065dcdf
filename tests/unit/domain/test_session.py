from __future__ import annotations

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import FunctionCall, Message, ReportedOutcome, ToolCall, with_tools
from grader_daemon.domain.unit import Unit
from tests.strategies import session


def test_a_call_that_names_no_function_has_no_arguments() -> None:
    assert [call.arguments for call in (ToolCall(), ToolCall(function=FunctionCall(arguments="{}")))] == [None, "{}"]


def test_results_are_of_the_tool_that_they_name_or_whose_call_they_answer() -> None:
    called = Message(role="assistant", tool_calls=(ToolCall(id="c1", function=FunctionCall(name="terminal")),))
    results = [Message(tool_call_id="c1"), Message(name="web", tool_call_id="c1"), Message(tool_call_id="c2")]
    assert [tool for _, tool in with_tools([called, *results])] == [None, "terminal", "web", None]


def test_a_session_knows_its_unit() -> None:
    assert session(format="codex", file="/s/a", unit_key="k").unit == Unit("codex", "/s/a", "k")


def test_a_command_worked_if_its_exit_code_is_0() -> None:
    assert ReportedOutcome.exited(0) == ReportedOutcome(CallStatus.SUCCESS, 0)
    assert ReportedOutcome.exited(2) == ReportedOutcome(CallStatus.FAILURE, 2)


def test_refused_are_the_results_of_calls_that_were_not_allowed() -> None:
    told = {3: ReportedOutcome(CallStatus.REFUSED), 5: ReportedOutcome.exited(1)}
    assert session(reported=told).refused == (3,)
