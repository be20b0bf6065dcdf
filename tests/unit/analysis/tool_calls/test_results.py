from __future__ import annotations

from itertools import combinations

import msgspec
import pytest
from hypothesis import given

from grader_daemon.analysis.tool_calls.results import ResultReader
from grader_daemon.domain.analysis import CallStatus, Category
from grader_daemon.domain.rules import Rules
from grader_daemon.rules import load_rules
from tests.strategies import texts, tool_results
from tests.tables import for_each
from tests.timing import is_done_within

WORKED = CallStatus.SUCCESS
FAILED = CallStatus.FAILURE
LOOP_WARNING = (
    "\n\n[Tool loop warning: same_tool_failure_warning; count=3; terminal has failed 3 times this turn."
    " This looks like a loop; change approach before retrying.]"
)
SAYS = {
    Category.TOOL_NOT_FOUND: "Unknown tool",
    Category.PERMISSION_DENIED: "Permission denied",
    Category.TIMEOUT: "Request timed out",
    Category.FILE_NOT_FOUND: "No such file or directory",
    Category.NETWORK_ERROR: "Connection refused",
    Category.API_ERROR: "Rate limit exceeded",
    Category.SYNTAX_ERROR: "SyntaxError: invalid syntax",
    Category.COMMAND_FAILED: "command not found",
}


@pytest.fixture(scope="module")
def reader() -> ResultReader:
    return ResultReader(load_rules().failures)


def terminal(output: str, code: int) -> str:
    return f'{{"output": "{output}", "exit_code": {code}, "error": null}}'


@for_each(
    ("tool", "content"),
    [
        pytest.param("terminal", terminal("hi", 0), id="terminal-ok"),
        pytest.param("terminal", terminal("", 0), id="terminal-ok-without-output"),
        pytest.param("terminal", '{"exit_code": 0, "error": null, "output": "x"}', id="keys-in-another-order"),
        pytest.param(
            "terminal",
            '{"output": "", "exit_code": 1, "error": null, "exit_code_meaning": "No matches found (not an error)"}',
            id="grep-found-nothing",
        ),
        pytest.param(
            "terminal",
            '{"output": "a", "exit_code": 1, "error": null,'
            ' "exit_code_meaning": "Condition evaluated to false (expected, not an error)"}',
            id="test-is-false",
        ),
        pytest.param(
            "terminal",
            '{"output": "", "exit_code": 1, "error": null, "exit_code_meaning": "No matches found (not an error)"}'
            + LOOP_WARNING,
            id="grep-found-nothing-and-a-warning-follows",
        ),
        pytest.param(
            "terminal",
            '{"output": "Background process started", "session_id": "proc_1", "pid": 7, "exit_code": 0, "error": null}',
            id="terminal-background",
        ),
        pytest.param("terminal", terminal("Error: 0 failed, no exception traceback", 0), id="word-error-in-the-output"),
        pytest.param(
            "terminal", terminal("Traceback (most recent call last):\\nValueError", 0), id="traceback-in-the-output"
        ),
        pytest.param("terminal", terminal("[Command interrupted]", 0), id="interruption-quoted-in-the-output"),
        pytest.param(
            "terminal", terminal('{\\"exit_code\\": 1, \\"error\\": \\"x\\"}', 0), id="a-failed-result-in-the-output"
        ),
        pytest.param(
            "read_file",
            '{"content": "     1|Permission denied", "total_lines": 1, "file_size": 9, "truncated": false,'
            ' "is_binary": false, "is_image": false}',
            id="read-file-ok",
        ),
        pytest.param(
            "read_file", '{"status": "unchanged", "message": "File unchanged", "dedup": true}', id="unchanged"
        ),
        pytest.param(
            "write_file",
            '{"bytes_written": 5, "dirs_created": true, "lint": {"status": "error", "output": "E1"}}',
            id="write-file-ok-though-the-linter-complains",
        ),
        pytest.param("patch", '{"success": true, "diff": "-error", "files_modified": ["a"]}', id="patch-ok"),
        pytest.param("search_files", '{"total_count": 0}', id="search-found-nothing"),
        pytest.param("search_files", '{"total_count": 1, "matches": [{"content": "error: x"}]}', id="search-ok"),
        pytest.param("execute_code", '{"status": "success", "output": "failed"}', id="execute-code-ok"),
        pytest.param("process", '{"processes": []}', id="no-processes"),
        pytest.param("process", '{"status": "exited", "exit_code": 0, "output": ""}', id="process-ended-well"),
        pytest.param("memory", '{"success": true, "message": "Entry added."}', id="memory-ok"),
        pytest.param("todo", '{"todos": [{"status": "cancelled"}], "summary": {"total": 1}}', id="todo"),
        pytest.param("delegate_task", '{"results": [{"task_index": 0, "status": "completed"}]}', id="child-completed"),
        pytest.param(
            "clarify",
            '{"question": "Which?", "choices_offered": [], "user_response": "The user did not provide a response"}',
            id="clarify-without-an-answer",
        ),
        pytest.param("mcp", '{"error": null}', id="error-null"),
        pytest.param("mcp", '{"error": ""}', id="error-empty"),
        pytest.param("mcp", '{"error": false, "isError": false}', id="error-false"),
        pytest.param("web", "<html>404 Error: not found</html>", id="plain-text"),
        pytest.param("web", "The build failed yesterday. Error: it was fixed.", id="plain-text-that-tells-of-an-error"),
        pytest.param("web", "", id="nothing-at-all"),
        pytest.param("web", '["Error:"]', id="a-json-list"),
        pytest.param("web", "exit code: 0\nError: quoted", id="stated-exit-code-zero"),
        pytest.param("web", '{"value": NaN}', id="json-of-python-with-nan"),
        pytest.param("terminal", '{"output": "\\ud83d", "exit_code": 0, "error": null }', id="half-a-surrogate-pair"),
        pytest.param("terminal", '{"output": "KEY=*** "exit_code": 0, "error": null}', id="broken-by-redaction"),
        pytest.param("web", '{"text": "KEY=***', id="broken-without-any-sign"),
        pytest.param(
            "web_search",
            '<untrusted_tool_result source="web_search">\n{"results": ["Error"]}\n</untrusted_tool_result>',
            id="untrusted-wrapper",
        ),
        pytest.param(
            "terminal",
            "<persisted-output>\nToo large (90 KB). Full output: /tmp/x\nPreview: Error: a</persisted-output>",
            id="persisted-output",
        ),
        pytest.param("terminal", terminal("hi", 0) + "\n\nUser guidance: Error: stop this", id="steered-by-the-user"),
        pytest.param("terminal", "  \n" + terminal("hi", 0), id="leading-white-space"),
        pytest.param("shell", '{"output": "x", "metadata": {"exit_code": 0}}', id="exit-code-in-the-metadata"),
        pytest.param("shell", '{"output": "x", "metadata": ["exit_code"]}', id="metadata-of-another-kind"),
    ],
)
def test_successful_results_are_no_failures(reader: ResultReader, tool: str, content: str) -> None:
    assert reader.read(tool, content)[:2] == (WORKED, None)


@for_each(
    ("tool", "content", "category"),
    [
        pytest.param("terminal", terminal("", 1), Category.COMMAND_FAILED, id="exit-code-beside-error-null"),
        pytest.param(
            "shell", '{"output": "", "metadata": {"exit_code": 1}}', Category.COMMAND_FAILED, id="code-in-the-metadata"
        ),
        pytest.param(
            "terminal", terminal("cat: x: No such file or directory", 1), Category.FILE_NOT_FOUND, id="missing-file"
        ),
        pytest.param("terminal", terminal("cat: x: Permission denied", 1), Category.PERMISSION_DENIED, id="permission"),
        pytest.param("terminal", terminal("bash: x: command not found", 127), Category.COMMAND_FAILED, id="not-found"),
        pytest.param(
            "terminal", terminal("bash: cd: /x: No such file or directory", 126), Category.FILE_NOT_FOUND, id="workdir"
        ),
        pytest.param("terminal", terminal("[Command timed out after 2s]", 124), Category.TIMEOUT, id="timeout"),
        pytest.param(
            "terminal",
            '{"output": "", "exit_code": -1, "error": "Invalid command: expected string, got NoneType",'
            ' "status": "error"}',
            Category.COMMAND_FAILED,
            id="bad-arguments",
        ),
        pytest.param(
            "terminal",
            '{"output": "", "exit_code": 2, "error": null, "exit_code_meaning": "Misuse of the command"}',
            Category.COMMAND_FAILED,
            id="meaning-that-is-no-excuse",
        ),
        pytest.param(
            "read_file",
            '{"content": "", "total_lines": 0, "error": "File not found: /x", "similar_files": ["/y"]}',
            Category.FILE_NOT_FOUND,
            id="read-file-missing",
        ),
        pytest.param("read_file", '{"error": "Cannot read binary file"}', Category.UNKNOWN, id="read-file-refused"),
        pytest.param(
            "write_file",
            '{"bytes_written": 0, "error": "Failed to write file: /proc/x: No such file or directory\\n"}',
            Category.FILE_NOT_FOUND,
            id="write-file-failed",
        ),
        pytest.param(
            "write_file",
            '{"error": "Refusing to write to sensitive system path: /etc/shadow"}',
            Category.PERMISSION_DENIED,
            id="write-file-refused",
        ),
        pytest.param(
            "patch",
            '{"success": false, "error": "Could not find a match for old_string in the file"}',
            Category.UNKNOWN,
            id="patch-without-a-match",
        ),
        pytest.param("patch", '{"success": false}', Category.UNKNOWN, id="success-false-alone"),
        pytest.param(
            "execute_code",
            '{"status": "error", "output": "", "error": "Traceback (most recent call last):\\nValueError: boom"}',
            Category.COMMAND_FAILED,
            id="execute-code-raised",
        ),
        pytest.param("execute_code", '{"status": "timeout", "output": ""}', Category.UNKNOWN, id="status-alone"),
        pytest.param("x", '{"status": "ERROR"}', Category.UNKNOWN, id="status-in-capitals"),
        pytest.param(
            "process", '{"status": "not_found", "error": "No process with ID 1"}', Category.UNKNOWN, id="process"
        ),
        pytest.param(
            "process", '{"status": "exited", "exit_code": 2}', Category.COMMAND_FAILED, id="process-ended-badly"
        ),
        pytest.param(
            "delegate_task",
            '{"results": [{"status": "completed"}, {"status": "error"}]}',
            Category.UNKNOWN,
            id="a-child-failed",
        ),
        pytest.param(
            "frob", "Tool 'frob' does not exist. Available tools: a, b", Category.TOOL_NOT_FOUND, id="no-such-tool"
        ),
        pytest.param(
            "x", "Error: Invalid JSON arguments. Expecting ','", Category.SYNTAX_ERROR, id="bad-json-arguments"
        ),
        pytest.param("x", "Error executing tool: boom", Category.UNKNOWN, id="crash-of-the-tool"),
        pytest.param("x", "Traceback (most recent call last):\n  x", Category.COMMAND_FAILED, id="plain-traceback"),
        pytest.param("x", "exit code: 2\nls: cannot access", Category.COMMAND_FAILED, id="plain-stated-exit-code"),
        pytest.param("x", '{"isError": true, "content": "Connection refused"}', Category.NETWORK_ERROR, id="mcp-error"),
        pytest.param(
            "x", '{"returncode": 1, "stderr": "Permission denied"}', Category.PERMISSION_DENIED, id="returncode"
        ),
        pytest.param("x", '{"exit_code": "1", "output": ""}', Category.COMMAND_FAILED, id="exit-code-as-text"),
        pytest.param("x", '{"exit_code": 1.0, "output": ""}', Category.COMMAND_FAILED, id="exit-code-as-float"),
        pytest.param("x", '{"error": {"message": "Rate limit exceeded"}}', Category.API_ERROR, id="error-object"),
        pytest.param(
            "terminal",
            terminal("x: Permission denied", 1) + LOOP_WARNING,
            Category.PERMISSION_DENIED,
            id="loop-warning-follows",
        ),
        pytest.param(
            "terminal",
            terminal("", 3) + LOOP_WARNING,
            Category.COMMAND_FAILED,
            id="loop-warning-is-not-searched-for-the-category",
        ),
        pytest.param(
            "terminal",
            terminal("", 3) + '\n\n[Hint: "No such file or directory"]',
            Category.COMMAND_FAILED,
            id="text-after-the-object-is-kept-apart",
        ),
        pytest.param(
            "web",
            '<untrusted_tool_result source="w">\n{"error": "Request timed out"}\n</untrusted_tool_result>',
            Category.TIMEOUT,
            id="untrusted-wrapper",
        ),
        pytest.param(
            "web",
            '<untrusted_tool_result source="w">\nError: Connection refused\n</untrusted_tool_result>',
            Category.NETWORK_ERROR,
            id="untrusted-wrapper-around-text",
        ),
        pytest.param(
            "terminal",
            '{"output": "KEY=*** "exit_code": 1, "error": null}',
            Category.COMMAND_FAILED,
            id="exit-code-in-json-broken-by-redaction",
        ),
        pytest.param(
            "x",
            '{"output": "KEY=*** "error": "Permission denied"}',
            Category.PERMISSION_DENIED,
            id="error-in-json-broken-by-redaction",
        ),
        pytest.param(
            "x", '{"output": "KEY=*** "success": false}', Category.UNKNOWN, id="success-in-json-broken-by-redaction"
        ),
        pytest.param("x", '{"value": NaN, "exit_code": 1}', Category.COMMAND_FAILED, id="json-of-python-with-nan"),
        pytest.param(
            "x", f'{{"value": 1{"0" * 5_000}, "exit_code": 1}} x', Category.COMMAND_FAILED, id="a-number-of-any-length"
        ),
    ],
)
def test_failed_results_are_failures_of_a_category(
    reader: ResultReader, tool: str, content: str, category: Category
) -> None:
    assert reader.read(tool, content)[:2] == (FAILED, category)


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        pytest.param(terminal("[Command interrupted]", 130), CallStatus.INTERRUPTED, id="interrupted-command"),
        pytest.param(
            "[Tool execution cancelled — x was skipped due to user interrupt]", CallStatus.INTERRUPTED, id="cancelled"
        ),
        pytest.param(
            "[Tool execution skipped — x was not started. User sent a new message]",
            CallStatus.NOT_EXECUTED,
            id="skipped",
        ),
        pytest.param(
            "Skipped: other tool call in this response had invalid JSON.",
            CallStatus.NOT_EXECUTED,
            id="sibling-was-broken",
        ),
        pytest.param(
            '{"error": "Blocked terminal: the same tool call failed 5 times",'
            ' "guardrail": {"action": "block", "code": "repeated_exact_failure_block"}}',
            CallStatus.GUARDED,
            id="guardrail",
        ),
        pytest.param(
            '{"error": "BLOCKED: You have called read_file on this exact region 4 times and the file has NOT changed.'
            ' STOP calling read_file for this path", "path": "/w/data.txt", "already_read": 4}',
            CallStatus.GUARDED,
            id="the-same-region-was-read-again-and-again",
        ),
        pytest.param(
            '{"error": "BLOCKED: You have read this exact file region 4 times in a row. The content has NOT changed."}',
            CallStatus.GUARDED,
            id="the-same-region-was-read-in-a-row",
        ),
        pytest.param(
            "BLOCKED: You have run this exact search 4 times in a row.", CallStatus.GUARDED, id="in-plain-text"
        ),
        pytest.param(
            '{"output": "", "exit_code": -1, "error": "BLOCKED: User denied. Do NOT retry.", "status": "blocked"}'
            + LOOP_WARNING,
            CallStatus.REFUSED,
            id="the-user-said-no",
        ),
        pytest.param(
            "Error: the request was rejected by the user", CallStatus.REFUSED, id="the-user-said-no-in-plain-text"
        ),
        pytest.param(
            '{"status": "dispatched", "mode": "background"}', CallStatus.PENDING, id="delegated-to-the-background"
        ),
    ],
)
def test_what_is_no_failure_of_the_agent_has_an_outcome_of_its_own(
    reader: ResultReader, content: str, outcome: CallStatus
) -> None:
    assert reader.read("terminal", content)[:2] == (outcome, None)


@for_each(
    ("earlier", "later"),
    [pytest.param(first, second, id=f"{first}-before-{second}") for first, second in combinations(SAYS, 2)],
)
def test_the_first_category_that_matches_wins(reader: ResultReader, earlier: Category, later: Category) -> None:
    assert reader.read("x", terminal(f"{SAYS[later]}; {SAYS[earlier]}", 1))[:2] == (FAILED, earlier)


def test_categories_stand_in_the_order_of_the_contract() -> None:
    assert [*SAYS, Category.UNKNOWN] == list(Category)


@pytest.mark.parametrize(
    ("code", "category"),
    [
        pytest.param(124, Category.TIMEOUT, id="124-is-a-timeout"),
        pytest.param(126, Category.PERMISSION_DENIED, id="126-is-not-executable"),
        pytest.param(127, Category.COMMAND_FAILED, id="127-is-any-failure"),
        pytest.param(1, Category.COMMAND_FAILED, id="1-is-any-failure"),
        pytest.param(-1, Category.COMMAND_FAILED, id="minus-1-is-any-failure"),
        pytest.param(255, Category.COMMAND_FAILED, id="255-is-any-failure"),
    ],
)
def test_exit_code_speaks_where_the_text_says_nothing(reader: ResultReader, code: int, category: Category) -> None:
    assert reader.read("terminal", terminal("oops", code))[:2] == (FAILED, category)


def test_text_speaks_before_the_exit_code(reader: ResultReader) -> None:
    assert reader.read("terminal", terminal("mkdir: Permission denied", 124))[:2] == (
        FAILED,
        Category.PERMISSION_DENIED,
    )


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("the timeouts table", id="plural"),
        pytest.param("mytimeout", id="prefixed"),
        pytest.param("ENOENTRY", id="longer-name"),
    ],
)
def test_category_words_are_whole_words(reader: ResultReader, said: str) -> None:
    assert reader.read("terminal", terminal(said, 1))[:2] == (FAILED, Category.COMMAND_FAILED)


@pytest.mark.parametrize(
    ("output", "category"),
    [
        pytest.param("Permission denied" + " x" * 50_000, Category.PERMISSION_DENIED, id="at-the-beginning"),
        pytest.param("x " * 50_000 + "Permission denied", Category.PERMISSION_DENIED, id="at-the-end"),
        pytest.param("x " * 50_000 + "Permission denied" + " x" * 50_000, Category.COMMAND_FAILED, id="in-the-middle"),
    ],
)
def test_only_the_ends_of_a_long_output_are_searched(reader: ResultReader, output: str, category: Category) -> None:
    assert reader.read("terminal", terminal(output, 1))[:2] == (FAILED, category)


def test_rules_of_a_user_decide_what_fails(rules: Rules) -> None:
    own = ResultReader(msgspec.structs.replace(rules.failures, failing_statuses=frozenset({"sad"})))
    assert (own.read("x", '{"status": "sad"}')[0], own.read("x", '{"status": "error"}')[0]) == (FAILED, WORKED)


@given(content=tool_results)
def test_any_result_has_an_outcome_and_only_failures_a_category(reader: ResultReader, content: str) -> None:
    outcome, category, output, code = reader.read("terminal", content)
    assert (category is not None) == (outcome is FAILED)
    assert (output, code) == (reader.output_and_code(content) if outcome is FAILED else ("", None))


@given(suffix=texts)
def test_text_after_the_object_changes_nothing(reader: ResultReader, suffix: str) -> None:
    content = terminal("mkdir: Permission denied", 1)
    assert reader.read("terminal", f"{content}\n\n[{suffix}]") == reader.read("terminal", content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"a":' * 100_000, id="nested"),
        pytest.param('{"error": "' + "tool '" * 100_000, id="wildcards"),
        pytest.param("Error: " + "tool '" * 100_000, id="wildcards-in-plain-text"),
        pytest.param('{"exit_code": 1, "output": "' + "connection " * 100_000, id="half-phrases"),
        pytest.param("<untrusted_tool_result " * 50_000, id="wrappers"),
        pytest.param("{" + '"error":   ' * 100_000, id="broken-fields"),
    ],
)
def test_hostile_results_take_bounded_time(reader: ResultReader, content: str) -> None:
    assert is_done_within(1.0, lambda: reader.read("terminal", content))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("[Command interrupted]", id="a-plain-mark"),
        pytest.param("exitcode: 130 (execution stopped)", id="a-plain-exit-code"),
    ],
)
def test_plain_text_can_tell_an_interrupt(reader: ResultReader, content: str) -> None:
    assert reader.read("terminal", content)[:2] == (CallStatus.INTERRUPTED, None)


@pytest.mark.parametrize("results", ['"none"', "[1]", "{}"])
def test_a_delegation_whose_report_has_another_shape_is_taken_as_success(reader: ResultReader, results: str) -> None:
    assert reader.read("delegate_task", f'{{"results": {results}}}')[:2] == (CallStatus.SUCCESS, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("Error: it broke", "Error: it broke", id="plain-text"),
        pytest.param("  \n Error: it broke", "Error: it broke", id="plain-text-after-space"),
        pytest.param(terminal("make: *** [all]", 2), "make: *** [all]", id="output"),
        pytest.param('{"output": "out", "exit_code": 1, "error": "why"}', "why\nout", id="message-before-output"),
        pytest.param('{"stderr": "e", "message": "m", "content": "c"}', "m\ne\nc", id="other-fields"),
        pytest.param(terminal("", 3), "exit code 3", id="nothing-but-an-exit-code"),
        pytest.param('{"returncode": "4"}', "exit code 4", id="nothing-but-a-return-code"),
        pytest.param('{"success": false}', "", id="nothing-at-all"),
        pytest.param('{"error": {"code": 5}}', '{"code":5}', id="structured-message"),
        pytest.param(f"{terminal('why', 1)}{LOOP_WARNING}", "why", id="without-the-warning-after-it"),
        pytest.param('{"error": "cut off, "exit', '{"error": "cut off, "exit', id="broken-object-as-it-is"),
        pytest.param("<untrusted_tool_result>\nError: x\n</untrusted_tool_result>", "Error: x", id="wrapped-text"),
        pytest.param(
            f"<untrusted_tool_result a='b'>{terminal('why', 1)}</untrusted_tool_result>", "why", id="wrapped-object"
        ),
    ],
)
def test_what_a_failed_call_says(reader: ResultReader, content: str, said: str) -> None:
    assert reader.output_and_code(content)[0] == said


@given(content=tool_results)
def test_any_result_says_something_or_nothing(reader: ResultReader, content: str) -> None:
    assert isinstance(reader.output_and_code(content)[0], str)
