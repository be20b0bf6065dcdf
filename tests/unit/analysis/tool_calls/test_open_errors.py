from __future__ import annotations

from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.failure_trail import OpenErrors
from tests.calls import call
from tests.timing import is_done_within


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
