from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.failure_trail import OpenErrors
from grader_daemon.domain.analysis import Analysis, Category, Step, ToolUse
from grader_daemon.domain.session import FunctionCall, Message, Session, ToolCall
from grader_daemon.rules import load_rules
from tests.calls import call
from tests.strategies import BROKE, WORKED, answer, result, rounds, session, sessions, user
from tests.timing import is_done_within

REQUEST = user("Run it")
NOT_EXECUTED = "[Tool execution skipped — terminal was not started. User sent a new message]"
REFUSED = '{"output": "", "exit_code": -1, "error": "BLOCKED: User denied.", "status": "blocked"}'
INTERRUPTED = '{"output": "[Command interrupted]", "exit_code": 130, "error": null}'
PENDING = '{"status": "dispatched"}'


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def one_call(tool: str | None, command: str | None = None, *, call_id: str | None = None) -> ToolCall:
    arguments = "{}" if command is None else json.dumps({"command": command})
    return ToolCall(id=call_id, function=FunctionCall(name=tool, arguments=arguments))


def calling(*calls: ToolCall) -> Message:
    return Message(role="assistant", content="", tool_calls=calls, finish_reason="tool_calls")


def result_of(call_id: str | None, content: str, tool: str | None = None) -> Message:
    return Message(role="tool", content=content, name=tool, tool_call_id=call_id)


def ran(call_id: str, command: str, content: str, *, tool: str = "terminal") -> tuple[Message, Message]:
    """A call of a shell with its result."""
    return calling(one_call(tool, command, call_id=call_id)), result_of(call_id, content)


def broke(said: str, code: int = 1) -> str:
    return json.dumps({"output": said, "exit_code": code, "error": None})


def steps(found: Analysis) -> list[Step | None]:
    return [failure.next_step for failure in found.failures]


# -- secrets in commands -------------------------------------------------------------------------------------------


SECRET_COMMANDS = [
    "amqp://guest:Zugvogel17@rabbit/",
    "postgres://app:Zugvogel17@db/shop --list",
    "cd /srv && amqp://guest:Zugvogel17@rabbit/",
    "PGPASSWORD=x9Z3k2L1 amqp://guest:Zugvogel17@rabbit/ --once",
]


@pytest.mark.parametrize("command", SECRET_COMMANDS)
def test_a_secret_that_is_the_command_is_in_no_failure_and_no_step(analyzer: Analyzer, command: str) -> None:
    found = analyzer.analyze(session(REQUEST, *ran("a", command, broke("no")), *ran("b", command, WORKED)))

    assert "Zugvogel17" not in repr(found.failures)
    assert "Zugvogel17" not in repr(found.signs)
    assert steps(found) != [None]


def test_a_command_beside_a_secret_keeps_its_name(analyzer: Analyzer) -> None:
    command = "PGPASSWORD=x9Z3k2L1 apt-get install -y psql"

    found = analyzer.analyze(session(REQUEST, *ran("a", command, broke("no"))))

    assert [failure.command for failure in found.failures] == ["apt install"]


@pytest.mark.parametrize(
    "command", ["ghp_EAKjEchm\u200bGMD9LejSfT8jdtvSJWAMjZBf7iru run", '{"auth":"ZXZhOlJlZ2VkZTkwIWJha3VrdTg="}']
)
def test_a_secret_that_lost_characters_on_the_way_to_a_name_is_none(analyzer: Analyzer, command: str) -> None:
    found = analyzer.analyze(session(REQUEST, *ran("a", command, broke("no"))))

    assert not any(part in repr(found.failures) for part in ("GMD9", "ZXZh"))


@pytest.mark.parametrize("kept", range(0, 60, 3))
def test_a_tool_name_is_redacted_before_it_is_cut(analyzer: Analyzer, kept: int) -> None:
    tool = "x" * (256 - kept) + " mysql://app:Zugvogel17Zugvogel17@db/shop"

    found = analyzer.analyze(session(REQUEST, calling(one_call(tool, call_id="a")), result_of("a", BROKE)))

    assert "Zug" not in repr(found.tools)


# -- what was done next --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "worked"),
    [
        pytest.param(WORKED, True, id="worked"),
        pytest.param(BROKE, False, id="failed"),
        pytest.param(REFUSED, None, id="refused"),
        pytest.param(INTERRUPTED, None, id="interrupted"),
        pytest.param(NOT_EXECUTED, None, id="not-executed"),
    ],
)
def test_the_next_call_is_the_step_and_its_result_says_whether_it_worked(
    analyzer: Analyzer, content: str, worked: bool | None
) -> None:
    found = analyzer.analyze(session(REQUEST, *ran("1", "git push", BROKE), *ran("2", "git pull", content)))
    assert steps(found)[0] == Step("terminal", "git pull", worked)


def test_a_step_that_goes_on_in_the_background_is_not_known(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, *ran("1", "git push", BROKE), *ran("2", "git pull", PENDING)))
    assert steps(found) == [Step("terminal", "git pull", None)]


def test_a_step_that_is_never_answered_is_not_known(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(REQUEST, *ran("1", "git push", BROKE), calling(one_call("terminal", "git pull", call_id="2")))
    )
    assert steps(found) == [Step("terminal", "git pull", None)]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param((), id="end-of-the-session"),
        pytest.param((answer("It broke."),), id="answer"),
        pytest.param((answer("It broke."), user("Leave it"), answer("Done.")), id="talk"),
    ],
)
def test_without_another_call_there_is_no_step(analyzer: Analyzer, messages: tuple[Message, ...]) -> None:
    assert steps(analyzer.analyze(session(REQUEST, *ran("1", "git push", BROKE), *messages))) == [None]


def test_words_between_a_failure_and_the_next_call_are_no_step(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(REQUEST, *ran("1", "git push", BROKE), answer("Hm?"), user("Pull"), *ran("2", "git pull", WORKED))
    )
    assert steps(found) == [Step("terminal", "git pull", True)]


def test_each_failure_has_the_step_after_it(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "git push", BROKE),
            *ran("2", "git pull", BROKE),
            *ran("3", "", WORKED, tool="read_file"),
            *ran("4", "make", WORKED),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", False), Step("read_file", None, True)]


def test_the_call_that_failed_is_the_step_when_it_is_tried_again(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, *ran("1", "git push", BROKE), *ran("2", "git push", WORKED)))
    assert (found.failures[0].tool, found.failures[0].command) == ("terminal", "git push")
    assert steps(found) == [Step("terminal", "git push", True)]


def test_parallel_failures_share_the_step_after_them(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            calling(one_call("terminal", "make", call_id="1"), one_call("read_file", call_id="2")),
            result_of("1", BROKE),
            result_of("2", BROKE),
            *ran("3", "git pull", WORKED),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", True)] * 2


@pytest.mark.parametrize(
    ("results", "worked"),
    [
        pytest.param((("a", WORKED), ("b", BROKE)), True, id="in-order"),
        pytest.param((("b", BROKE), ("a", WORKED)), True, id="the-other-way-round"),
        pytest.param((("b", WORKED), ("a", BROKE)), False, id="the-other-way-round-and-failed"),
        pytest.param((("b", WORKED),), None, id="only-the-other"),
        pytest.param((("c", WORKED),), None, id="of-no-call-that-was-made"),
    ],
)
def test_of_parallel_calls_the_first_is_the_step(
    analyzer: Analyzer, results: tuple[tuple[str, str], ...], worked: bool | None
) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "git push", BROKE),
            calling(one_call("terminal", "git pull", call_id="a"), one_call("read_file", call_id="b")),
            *(result_of(call_id, content) for call_id, content in results),
        )
    )
    assert steps(found)[0] == Step("terminal", "git pull", worked)


def test_a_failure_beside_the_step_waits_for_the_call_after_it(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "git push", BROKE),
            calling(one_call("terminal", "git pull", call_id="a"), one_call("read_file", call_id="b")),
            result_of("a", WORKED),
            result_of("b", BROKE),
            *ran("2", "make", WORKED),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", True), Step("terminal", "make", True)]


@pytest.mark.parametrize(
    ("results", "worked"),
    [
        pytest.param((("terminal", WORKED), ("read_file", BROKE)), True, id="in-order"),
        pytest.param((("read_file", BROKE), ("terminal", WORKED)), True, id="told-apart-by-the-tool"),
        pytest.param(((None, WORKED), (None, BROKE)), True, id="told-apart-by-nothing-but-the-order"),
    ],
)
def test_without_call_ids_the_result_of_the_step_is_found_as_far_as_it_can_be(
    analyzer: Analyzer, results: tuple[tuple[str | None, str], ...], worked: bool
) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *rounds(BROKE),
            calling(one_call("terminal", "git pull"), one_call("read_file")),
            *(result_of(None, content, tool) for tool, content in results),
        )
    )
    assert steps(found)[0] == Step("terminal", "git pull", worked)


@pytest.mark.parametrize(
    ("call_id", "result_id"),
    [
        pytest.param(None, "x", id="of-the-call"),
        pytest.param("x", None, id="of-the-result"),
        pytest.param("", "x", id="that-is-empty"),
        pytest.param(None, None, id="of-both"),
    ],
)
def test_a_missing_call_id_hides_no_result(analyzer: Analyzer, call_id: str | None, result_id: str | None) -> None:
    following = calling(one_call("terminal", "git pull", call_id=call_id))
    found = analyzer.analyze(
        session(REQUEST, *ran("1", "git push", BROKE), following, result_of(result_id, WORKED, "terminal"))
    )
    assert steps(found) == [Step("terminal", "git pull", True)]


def test_call_ids_may_be_used_again(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(REQUEST, *ran("1", "git push", BROKE), *ran("1", "git pull", BROKE), *ran("1", "make", WORKED))
    )
    assert [failure.command for failure in found.failures] == ["git push", "git pull"]
    assert steps(found) == [Step("terminal", "git pull", False), Step("terminal", "make", True)]


@pytest.mark.parametrize(
    "unnamed",
    [
        pytest.param(ToolCall(id="2"), id="without-a-function"),
        pytest.param(one_call(None, call_id="2"), id="without-a-name"),
        pytest.param(one_call("", call_id="2"), id="with-an-empty-name"),
    ],
)
def test_a_call_that_names_no_tool_is_no_step(analyzer: Analyzer, unnamed: ToolCall) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "git push", BROKE),
            calling(unnamed),
            result_of("2", WORKED),
            *ran("3", "git pull", WORKED),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", True)]


def test_a_call_before_the_failure_was_seen_is_no_step(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            calling(one_call("terminal", "git push", call_id="1")),
            calling(one_call("terminal", "make", call_id="2")),
            result_of("1", BROKE),
            result_of("2", WORKED),
            *ran("3", "git pull", WORKED),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", True)]


def test_the_result_of_an_abandoned_step_is_not_taken_for_that_of_a_later_call(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "git push", BROKE),
            calling(one_call("terminal", "git pull", call_id="2")),
            *ran("3", "make", BROKE),
        )
    )
    assert steps(found) == [Step("terminal", "git pull", None), None]


# -- signs ---------------------------------------------------------------------------------------------------------


def test_failures_of_one_cause_share_a_sign(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "rm /srv/a.txt", broke("rm: /srv/a.txt: No such file or directory")),
            *ran("2", "rm /home/b.txt", broke("rm: /home/b.txt: No such file or directory")),
            *ran("3", "git push", broke("fatal: Authentication failed", 128)),
        )
    )
    prints = [failure.fingerprint for failure in found.failures]
    assert prints[0] == prints[1] != prints[2]
    assert [sign.fingerprint for sign in found.signs] == [prints[0], prints[2]]
    assert (found.signs[0].tool, found.signs[0].command) == ("terminal", "rm")
    assert found.signs[0].category is Category.FILE_NOT_FOUND
    assert "a.txt" in found.signs[0].example


def test_the_command_of_a_result_without_a_call_is_not_known(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, result(BROKE)))
    assert (found.failures[0].tool, found.failures[0].command) == ("terminal", None)
    assert found.signs[0].command is None


def test_a_session_without_failures_has_no_signs(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(REQUEST, *rounds(WORKED, REFUSED, INTERRUPTED))).signs == ()


@given(given_session=sessions())
def test_signs_are_those_of_the_failures_each_once(analyzer: Analyzer, given_session: Session) -> None:
    found = analyzer.analyze(given_session)
    assert [sign.fingerprint for sign in found.signs] == list(
        dict.fromkeys(each.fingerprint for each in found.failures)
    )
    assert all((step is None or step.worked is None or step.tool) for step in steps(found))


# -- tools ---------------------------------------------------------------------------------------------------------


def test_tools_come_in_the_order_of_their_first_call(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            REQUEST,
            *ran("1", "", WORKED, tool="read_file"),
            *ran("2", "make", BROKE),
            *ran("3", "", WORKED, tool="read_file"),
            *ran("4", "", BROKE, tool="browser"),
        )
    )
    assert found.tools == (ToolUse("read_file", 2, 0), ToolUse("terminal", 1, 1), ToolUse("browser", 1, 1))


@pytest.mark.parametrize(
    ("messages", "tools"),
    [
        pytest.param((), (), id="none"),
        pytest.param((result(WORKED),), (), id="result-without-a-call"),
        pytest.param((result(BROKE),), (ToolUse("terminal", 1, 1),), id="failure-without-a-call"),
        pytest.param((result(BROKE, None),), (ToolUse("unknown", 1, 1),), id="failure-of-a-tool-without-a-name"),
        pytest.param(
            (calling(one_call("bash", call_id="1")), result_of("1", BROKE, "terminal")),
            (ToolUse("bash", 1, 0), ToolUse("terminal", 1, 1)),
            id="result-that-names-another-tool",
        ),
        pytest.param(
            (calling(one_call("terminal", call_id="1")), result_of("1", BROKE), result_of("1", BROKE)),
            (ToolUse("terminal", 2, 2),),
            id="more-failures-than-calls",
        ),
        pytest.param((calling(one_call("terminal", call_id="1")),), (ToolUse("terminal", 1, 0),), id="unanswered"),
    ],
)
def test_calls_and_failures_of_each_tool(
    analyzer: Analyzer, messages: tuple[Message, ...], tools: tuple[ToolUse, ...]
) -> None:
    assert analyzer.analyze(session(REQUEST, *messages)).tools == tools


@given(given_session=sessions())
def test_the_failures_of_the_tools_are_those_of_the_session(analyzer: Analyzer, given_session: Session) -> None:
    found = analyzer.analyze(given_session)
    by_tool = Counter(failure.tool or "unknown" for failure in found.failures)
    assert {use.tool: use.failures for use in found.tools if use.failures} == by_tool
    assert all(0 <= use.failures <= use.calls for use in found.tools)
    assert len({use.tool for use in found.tools}) == len(found.tools)


def opened(*calls: CallView) -> OpenErrors:
    errors = OpenErrors()
    for position, made in enumerate(calls):
        errors.add(made.tool or "", made, position)
    return errors


def run(command: str) -> CallView:
    return call("terminal", command=command)


def test_the_same_command_closes_all_its_errors_once() -> None:
    errors = opened(run("git push"), run("git push -f"), run("make"))

    assert errors.close("terminal", run("git push origin main")) == [0, 1]
    assert errors.close("terminal", run("git push")) == []
    assert errors.close("terminal", run("make -j2")) == [2]


def test_the_same_command_of_another_tool_closes_nothing() -> None:
    assert opened(run("git push")).close("shell", call("shell", command="git push")) == []


def test_a_call_without_arguments_is_made_good_by_its_tool() -> None:
    assert opened(call("terminal")).close("terminal", run("ls")) == [0]


def test_a_file_is_written_by_any_tool_and_in_the_shell() -> None:
    assert opened(call("patch", path="src/a.py")).close("write", call("write", path="/srv/src/a.py")) == [0]
    assert opened(call("patch", path="src/a.py")).close("terminal", run("cat > src/a.py <<E\nE")) == [0]
    assert opened(call("patch", path="src/a.py")).close("terminal", run("cat src/a.py")) == []
    assert opened(call("patch", path="src/a.py")).close("write", call("write", path="src/b.py")) == []


def test_nothing_is_closed_without_a_tool_or_an_error() -> None:
    assert OpenErrors().close("terminal", run("ls")) == []
    assert opened(run("ls /x")).close(None, run("ls")) == []


def test_words_that_differ_in_case_are_found() -> None:
    assert opened(call("sql", command="SELECT a")).close("sql", call("sql", command="SELECT b")) == [0]


def test_many_open_errors_take_linear_time() -> None:
    errors = opened(*[run(f"program{number} x") for number in range(2_000)])
    fine = run("other " + "x" * 1_000)

    def close_often() -> None:
        for _ in range(2_000):
            assert errors.close("terminal", fine) == []

    assert is_done_within(2, close_often)
    assert errors.close("terminal", run("program1999 y")) == [1999]
