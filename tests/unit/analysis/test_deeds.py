from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.deeds import Act, Deed, act_of, writes_in_shell
from grader_daemon.domain.session import FunctionCall, ToolCall

Arguments = str | dict[str, object] | None


def call(tool: str, arguments: Arguments) -> ToolCall:
    return ToolCall(id="1", function=FunctionCall(name=tool, arguments=arguments))


@pytest.mark.parametrize(
    ("tool", "arguments", "act"),
    [
        pytest.param(
            "terminal", {"command": "git push -q"}, Act(Deed("terminal", "git push"), "git push"), id="command"
        ),
        pytest.param(
            "write_file",
            {"path": "/srv/a.py", "content": "x"},
            Act(Deed("edit", None, "a.py"), None, "edit", "/srv/a.py"),
            id="edit",
        ),
        pytest.param(
            "read_file",
            {"file_path": "C:\\a\\b.txt"},
            Act(Deed("read", None, "b.txt"), None, "read", "C:\\a\\b.txt"),
            id="read",
        ),
        pytest.param(
            "editor",
            {"command": "view", "path": "/srv/a.py"},
            Act(Deed("read", None, "a.py"), "view", "read", "/srv/a.py"),
            id="verb-in-the-command",
        ),
        pytest.param("lint", {"path": "a.py"}, Act(Deed("lint"), None, None, "a.py"), id="neither-read-nor-written"),
        pytest.param("search_files", {"query": "x"}, Act(Deed("search_files"), None, "search"), id="search"),
        pytest.param("get_order", {"order_id": "#W1"}, Act(Deed("get_order")), id="tool-of-ones-own"),
        pytest.param("get_order", {}, Act(Deed("get_order")), id="no-arguments"),
        pytest.param("get_order", '{"path": "a', Act(Deed("get_order")), id="broken-arguments"),
        pytest.param("get_order", "[1]", Act(Deed("get_order")), id="no-object"),
        pytest.param("get_order", {"path": 7}, Act(Deed("get_order")), id="path-is-no-text"),
    ],
)
def test_a_call_is_known_by_what_it_does(tool: str, arguments: Arguments, act: Act) -> None:
    written = json.dumps(arguments) if isinstance(arguments, dict) else arguments
    assert act_of(tool, call(tool, written)) == act
    assert act_of(tool, call(tool, arguments)) == act


def test_a_call_that_is_not_there_is_known_by_its_tool() -> None:
    assert act_of("terminal", None) == Act(Deed("terminal"))
    assert act_of("terminal", ToolCall(id="1")) == Act(Deed("terminal"))


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        pytest.param("echo x > a.txt", True, id="into-a-file"),
        pytest.param("cat >> src/a.py <<'EOF'", True, id="at-the-end-of-a-file"),
        pytest.param("sed -i 's/a/b/' a.py", True, id="in-place"),
        pytest.param("echo x | tee a.txt", True, id="tee"),
        pytest.param("git apply fix.diff", True, id="patch"),
        pytest.param("make 2>&1", False, id="one-stream-into-another"),
        pytest.param("make > /dev/null", False, id="into-nothing"),
        pytest.param("make 2>/dev/null", False, id="errors-into-nothing"),
        pytest.param("sed -n 1,5p a.py", False, id="only-shown"),
        pytest.param("test 3 -gt 2 && echo '->'", False, id="arrow"),
    ],
)
def test_a_command_that_writes_a_file_is_known(command: str, writes: bool) -> None:
    assert writes_in_shell(json.dumps({"command": command})) is writes
    assert writes_in_shell({"command": command}) is writes
