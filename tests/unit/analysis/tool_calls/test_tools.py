from __future__ import annotations

import pytest

from grader_daemon.analysis.tool_calls import Purpose, shared_name, tool_of


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        pytest.param("bash", Purpose.RUN, id="a-noun"),
        pytest.param("swebench__swebench_execute_bash", Purpose.RUN, id="behind-the-name-of-a-server"),
        pytest.param("get_edit_history", Purpose.READ, id="the-verb-comes-first"),
        pytest.param("update_status", Purpose.CHANGE, id="a-verb-before-a-noun"),
        pytest.param("search_code", Purpose.SEARCH, id="a-verb-of-searching-before-a-noun"),
        pytest.param("code_search", Purpose.SEARCH, id="a-noun-before-a-verb"),
        pytest.param("search_and_replace", Purpose.WRITE, id="what-is-found-is-replaced"),
        pytest.param("str_replace_editor", Purpose.WRITE, id="a-verb-in-the-middle"),
        pytest.param("getApiOverview", Purpose.READ, id="words-by-capitals"),
        pytest.param("finish", Purpose.HAND_IN, id="handing-in"),
        pytest.param("reboot_device", Purpose.CHANGE, id="a-change-of-something-else"),
        pytest.param("todo", Purpose.READ, id="a-list-of-ones-own"),
        pytest.param("TodoWrite", Purpose.READ, id="a-plan-is-no-file"),
        pytest.param("update_plan", Purpose.READ, id="nor-by-another-name"),
        pytest.param("write_stdin", Purpose.UNKNOWN, id="what-is-typed-into-a-program"),
        pytest.param("BashOutput", Purpose.READ, id="the-output-of-a-command"),
        pytest.param("Task", Purpose.UNKNOWN, id="a-sub-agent-may-do-anything"),
        pytest.param("apply_patch", Purpose.WRITE, id="a-patch"),
        pytest.param("geocode", Purpose.UNKNOWN, id="only-a-part-of-a-word"),
        pytest.param("frobnicate_database", Purpose.UNKNOWN, id="unknown"),
        pytest.param("", Purpose.UNKNOWN, id="nameless"),
    ],
)
def test_a_tool_is_for_what_its_name_says(name: str, purpose: Purpose) -> None:
    assert tool_of(name).purpose is purpose


def test_the_words_of_a_name_leave_out_its_server() -> None:
    assert tool_of("mcp__mail__sendMessage").words == {"send", "message"}


def test_of_a_long_name_only_the_end_is_read() -> None:
    assert tool_of("write_" * 1_000_000 + "x" * 300).purpose is Purpose.UNKNOWN


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        pytest.param("terminal Bash bash exec_command shell_command run_shell_command", "terminal", id="shell"),
        pytest.param("read_file Read read", "read_file", id="read"),
        pytest.param("patch Edit edit replace apply_patch", "patch", id="edit"),
        pytest.param("delegate_task Task Agent task spawn_agent invoke_agent", "delegate_task", id="sub-agent"),
        pytest.param("todo TodoWrite todowrite update_plan write_todos", "todo", id="plan"),
        pytest.param("frobnicate", "frobnicate", id="a-name-of-its-own"),
    ],
)
def test_tools_of_several_agents_that_do_the_same_share_a_name(names: str, shared: str) -> None:
    assert {shared_name(name) for name in names.split()} == {shared}
