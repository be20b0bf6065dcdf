from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.tool_calls import CallView, Operation, Purpose, view_of
from grader_daemon.domain.session import ToolCall
from tests.calls import Arguments, call_of


@pytest.mark.parametrize(
    ("tool", "arguments", "operation", "purpose"),
    [
        pytest.param(
            "terminal", {"command": "git push -q"}, Operation("terminal", "git push"), Purpose.RUN, id="command"
        ),
        pytest.param(
            "write_file",
            {"path": "/srv/a.py", "content": "x"},
            Operation("edit", None, "a.py"),
            Purpose.WRITE,
            id="edit",
        ),
        pytest.param(
            "read_file",
            {"file_path": "C:\\a\\b.txt"},
            Operation("read", None, "b.txt"),
            Purpose.READ,
            id="read-by-a-drive",
        ),
        pytest.param(
            "editor",
            {"command": "view", "path": "/srv/a.py"},
            Operation("read", None, "a.py"),
            Purpose.READ,
            id="an-editor-that-views",
        ),
        pytest.param(
            "editor",
            {"command": "create", "path": "/srv/a.py"},
            Operation("edit", None, "a.py"),
            Purpose.WRITE,
            id="an-editor-that-creates",
        ),
        pytest.param(
            "create", {"file": "a.py"}, Operation("edit", None, "a.py"), Purpose.WRITE, id="a-change-of-a-file"
        ),
        pytest.param(
            "create_order", {"item": "a.py"}, Operation("create_order"), Purpose.CHANGE, id="a-change-of-something-else"
        ),
        pytest.param(
            "bash",
            {"command": "git add .", "directory": "/srv"},
            Operation("bash", "git add"),
            Purpose.RUN,
            id="a-command-in-a-folder",
        ),
        pytest.param("lint", {"path": "a.py"}, Operation("lint"), Purpose.UNKNOWN, id="neither-read-nor-written"),
        pytest.param(
            "run_commands", {"commands": ["git push -q"]}, Operation("run_commands", "git push"), Purpose.RUN, id="list"
        ),
        pytest.param(
            "read_files",
            {"files": [{"path": "/srv/a.py", "start_line": 1}, "/srv/b.py"]},
            Operation("read", None, "a.py"),
            Purpose.READ,
            id="files",
        ),
        pytest.param("search_files", {"query": "x"}, Operation("search_files"), Purpose.SEARCH, id="search"),
        pytest.param("get_order", {"order_id": "#W1"}, Operation("get_order"), Purpose.READ, id="tool-of-ones-own"),
        pytest.param("get_order", {}, Operation("get_order"), Purpose.READ, id="no-arguments"),
        pytest.param("get_order", '{"path": "a', Operation("get_order"), Purpose.READ, id="broken-arguments"),
        pytest.param("get_order", "[1]", Operation("get_order"), Purpose.READ, id="no-object"),
        pytest.param("get_order", {"path": 7}, Operation("get_order"), Purpose.READ, id="path-is-no-text"),
    ],
)
def test_a_call_is_known_by_what_it_does(
    tool: str, arguments: Arguments, operation: Operation, purpose: Purpose
) -> None:
    written = json.dumps(arguments) if isinstance(arguments, dict) else arguments
    for call in (call_of(tool, written), call_of(tool, arguments)):
        assert call.operation(tool) == operation
        assert call.purpose is purpose


@pytest.mark.parametrize(
    ("tool", "arguments", "effect"),
    [
        pytest.param("submit", "{}", Purpose.HAND_IN, id="handing-in"),
        pytest.param("write_file", '{"path": "a"}', Purpose.WRITE, id="writing-by-the-name-of-the-tool"),
        pytest.param("kaleidoscope", '{"content": "x"}', Purpose.WRITE, id="an-argument-with-text"),
        pytest.param("str_replace_editor", '{"command": "view"}', Purpose.READ, id="an-editor-that-only-views"),
        pytest.param("kaleidoscope", '{"command": "ls"}', Purpose.RUN, id="a-command"),
        pytest.param("bash", '{"command": "echo x > a.txt"}', Purpose.WRITE, id="a-command-into-a-file"),
        pytest.param("bash", '{"commands": "cat > /a/b <<EOF"}', Purpose.WRITE, id="commands-into-a-file"),
        pytest.param("bash", '{"command": "sed -i s/a/b/ c"}', Purpose.WRITE, id="a-command-that-edits"),
        pytest.param("bash", '{"command": "ls 2>/dev/null"}', Purpose.RUN, id="a-command-into-nothing"),
        pytest.param("python", '{"code": "if a > b: print(a)"}', Purpose.RUN, id="code-that-compares"),
        pytest.param("python", '{"code": "open(p, 1).write(a)"}', Purpose.WRITE, id="code-that-writes"),
        pytest.param("execute", '{"command": "SELECT a WHERE T1.a > T2.b"}', Purpose.RUN, id="a-query"),
        pytest.param("execute", '{"content": "!python train.py"}', Purpose.RUN, id="text-that-is-run"),
        pytest.param("run_tests", None, Purpose.RUN, id="a-command-by-the-name-of-the-tool"),
        pytest.param("get_user_details", {"id": 1}, Purpose.READ, id="looking-up"),
        pytest.param("search_files", None, Purpose.READ, id="searching"),
        pytest.param("cancel_order", '{"id": 1}', Purpose.CHANGE, id="a-change-of-something-else"),
        pytest.param("kaleidoscope", "broken {", Purpose.READ, id="an-unknown-tool"),
    ],
)
def test_the_names_of_arguments_say_better_than_the_tool_what_a_call_does(
    tool: str, arguments: Arguments, effect: Purpose
) -> None:
    assert call_of(tool, arguments).effect is effect


@pytest.mark.parametrize(
    ("arguments", "command", "is_code"),
    [
        pytest.param('{"command": "ls"}', "ls", False, id="shell"),
        pytest.param('{"cmd": ["ls", "a b"]}', "ls 'a b'", False, id="list-of-words"),
        pytest.param('{"code": "print(1)"}', "print(1)", True, id="code"),
        pytest.param('{"commands": "ls"}', "ls", False, id="commands-that-are-one-line"),
        pytest.param('{"commands": ["cd a; ls", "git diff"]}', "cd a; ls && git diff", False, id="list-of-lines"),
        pytest.param(
            '{"commands": [{"command": "git", "args": ["add", "a b"]}, {"command": "ls -l"}, {"args": ["x"]}, 7]}',
            "git add 'a b' && ls -l",
            False,
            id="list-of-programs-with-their-words",
        ),
        pytest.param('{"cmd": "ls", "commands": ["x"]}', "ls", False, id="a-command-beside-a-list"),
        pytest.param('{"command": "ls", "code": "x"}', "ls", False, id="both"),
        pytest.param('{"command": "ls", ', "", False, id="broken"),
        pytest.param('{"command": 3}', "", False, id="number"),
        pytest.param(None, "", False, id="nothing"),
    ],
)
def test_a_command_is_given_whole_or_not_at_all(arguments: Arguments, command: str, is_code: bool) -> None:
    call = call_of("t", arguments)
    assert (call.command, call.is_code) == (command, is_code)


def test_a_call_that_is_not_there_is_known_by_its_tool() -> None:
    call = CallView("terminal", None)
    assert call.operation("terminal") == Operation("terminal")
    assert (call.text, call.shell, call.path) == ("", None, None)


def test_a_call_without_a_function_has_no_tool() -> None:
    call = view_of(ToolCall(id="1"))
    assert (call.tool, call.text) == (None, "")


@pytest.mark.parametrize(
    ("arguments", "shell"),
    [
        pytest.param('{"content": "!pip install x"}', "pip install x", id="a-cell-that-begins-with-a-command"),
        pytest.param('{"content": "!pip install x", ', None, id="broken"),
        pytest.param('{"content": "!pip install x", "path": "a"}', None, id="something-else-as-well"),
    ],
)
def test_the_command_of_a_notebook_cell_is_one_of_a_shell(arguments: str, shell: str | None) -> None:
    assert (call_of("execute", arguments).shell, call_of("execute", arguments).command) == (shell, shell or "")


def test_the_text_of_arguments_is_json_in_both_forms() -> None:
    assert call_of("t", {"a": "b"}).text == '{"a":"b"}'
    assert call_of("t", '{"a": "b"}').text == '{"a": "b"}'


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
    assert call_of("t", json.dumps({"command": command})).writes_in_shell is writes
    assert call_of("t", {"command": command}).writes_in_shell is writes


def test_no_command_writes_nothing() -> None:
    assert not call_of("t", '{"query": "a > b"}').writes_in_shell


PATCH = """*** Begin Patch
*** Add File: src/new.py
+print("command")
*** Update File: notes.md
*** Move to: docs/notes.md
@@
-a {"command": "rm -rf /"}
+b
*** Delete File: old.py
*** End Patch"""


def test_a_patch_names_its_files_and_is_no_command() -> None:
    patched = call_of("apply_patch", PATCH)
    assert patched.paths == ("src/new.py", "notes.md", "docs/notes.md", "old.py")
    assert (patched.path, patched.shell, patched.effect) == ("src/new.py", None, Purpose.WRITE)


@pytest.mark.parametrize("name", ["file_path", "filePath", "absolute_path", "dir_path", "notebook_path", "path"])
def test_a_file_is_known_by_whatever_name_an_agent_gives_its_argument(name: str) -> None:
    assert call_of("read", {name: "/tmp/a.py"}).path == "/tmp/a.py"


@pytest.mark.parametrize(
    ("given", "command"),
    [
        pytest.param(["bash", "-lc", "cd x && pytest -q"], "cd x && pytest -q", id="a-line-for-a-shell"),
        pytest.param(["/bin/sh", "-c", "ls"], "ls", id="by-its-path"),
        pytest.param(["git", "commit", "-m", "a b"], "git commit -m 'a b'", id="a-program"),
        pytest.param(["bash", "run.sh", "-c"], "bash run.sh -c", id="a-script"),
        pytest.param(["bash", "-lc", 1, "ls"], "bash -lc ls", id="no-words"),
    ],
)
def test_a_command_given_as_words_is_a_line(given: list[object], command: str) -> None:
    assert call_of("shell", {"command": given}).shell == command


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        pytest.param({"files": ["a.py", {"path": "b.py"}, {"path": 7}, 7, ""]}, ("a.py", "b.py"), id="of-two-kinds"),
        pytest.param({"file_paths": ["a.py"]}, ("a.py",), id="paths-of-files"),
        pytest.param({"files": [], "paths": ["a.py"]}, ("a.py",), id="the-second-where-the-first-is-empty"),
        pytest.param({"paths": {"path": "a.py"}}, (), id="no-list"),
    ],
)
def test_a_list_names_all_its_files(arguments: Arguments, paths: tuple[str, ...]) -> None:
    assert call_of("read_files", arguments).paths == paths


def test_a_cell_with_half_a_character_has_no_command() -> None:
    assert CallView("python", '{"code": "!ls \ud800"}').command == ""
