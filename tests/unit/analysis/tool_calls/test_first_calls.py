from __future__ import annotations

from grader_daemon.analysis.tool_calls.first_calls import MOST, first_calls
from grader_daemon.domain.analysis import Called
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.redaction import SECRETS
from tests.strategies import answer, call, result, session, user

KEY = "sk-" + "A1b2C3d4" * 6


def test_the_first_calls_are_named_by_tool_and_family_of_the_command() -> None:
    push = ToolCall("a", FunctionCall("terminal", '{"command": "git push origin main"}'))
    bare = ToolCall("b")
    messages = user("Deploy"), Message("assistant", "", (push, bare)), result("ok"), call("read_file"), answer("Done")

    assert first_calls(session(*messages), SECRETS) == (Called("terminal", "git push"), Called("read_file", None))


def test_only_the_first_are_read_and_no_secret_is_shown() -> None:
    calls = [call("a"), call(KEY), *(call("b") for _ in range(MOST))]

    found = first_calls(session(*calls), SECRETS)

    assert len(found) == MOST
    assert KEY not in str(found)
