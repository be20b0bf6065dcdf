from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.cline.operation_results import read_operations

SUCCESS, FAILURE = ReportedOutcome(CallStatus.SUCCESS), ReportedOutcome(CallStatus.FAILURE)
REFUSED, INTERRUPTED = ReportedOutcome(CallStatus.REFUSED), ReportedOutcome(CallStatus.INTERRUPTED)
COMMANDS, FILES = "run_commands", "read_files"


def read(content: Any, *, tool: str = FILES, is_error: bool = False) -> tuple[str, ReportedOutcome]:
    return read_operations(msgspec.Raw(msgspec.json.encode(content)), tool=tool, is_error=is_error)


def worked(query: str, result: Any = "fine") -> dict[str, Any]:
    return {"query": query, "result": result, "success": True}


def failed(query: str, error: str, result: str = "") -> dict[str, Any]:
    return {"query": query, "result": result, "error": error, "success": False}


def test_a_command_that_ended_with_a_code_failed() -> None:
    result = "[Command exited with code 1]\n\n[stderr]\ncat: x: No such file\n"

    assert read([failed("cat x", "Command exited with code 1", result)], tool=COMMANDS) == (
        "[stderr]\ncat: x: No such file\n",
        ReportedOutcome(CallStatus.FAILURE, 1),
    )
    assert read([worked("ls", "a.py\n")], tool=COMMANDS) == ("a.py\n", ReportedOutcome(CallStatus.SUCCESS, 0))
    assert read([failed("cat x", "Command failed: Command exited with code 3")], tool=COMMANDS) == (
        "",
        ReportedOutcome(CallStatus.FAILURE, 3),
    )


def test_of_a_call_that_half_worked_each_half_is_told() -> None:
    content = [
        worked("ls", "a.py"),
        failed("npm test", "Command exited with code 2", "[Command exited with code 2]\n1 failed"),
    ]

    assert read(content, tool=COMMANDS) == (
        "1 of 2 failed.\n> ls\na.py\n> npm test [failed]\n1 failed",
        ReportedOutcome(CallStatus.FAILURE, 2),
    )


def test_of_a_call_of_several_all_of_which_ended_alike_none_is_counted() -> None:
    gone = [failed("/a", "Error reading file: ENOENT"), failed("/b", "Error reading file: EACCES")]

    assert read([worked("/a", "1"), worked("/b", "2")]) == ("> /a\n1\n> /b\n2", SUCCESS)
    assert read(gone) == (
        "> /a [failed]\nError reading file: ENOENT\n> /b [failed]\nError reading file: EACCES",
        FAILURE,
    )


def test_commands_that_failed_with_different_codes_have_none_together() -> None:
    content = [failed("a", "Command exited with code 1"), failed("b", "Command exited with code 2")]

    assert read(content, tool=COMMANDS)[1] == FAILURE


def test_a_command_may_go_on() -> None:
    going = "[Command is still running. Output will continue in /tmp/x/output.log]\nstarted"

    assert read([worked("npm start", going)], tool=COMMANDS)[1] == ReportedOutcome(CallStatus.PENDING)


def test_to_find_nothing_is_no_failure() -> None:
    assert read([{"query": "x", "result": "No results found", "success": False}], tool="search_codebase") == (
        "No results found",
        SUCCESS,
    )
    assert read([failed("[", "Search failed: no regex")], tool="search_codebase") == (
        "Search failed: no regex",
        FAILURE,
    )


@pytest.mark.parametrize(
    ("content", "text", "outcome"),
    [
        pytest.param("It did.", "It did.", SUCCESS, id="a-text"),
        pytest.param('{"query":"edit:/a","result":"Edited","success":true}', "Edited", SUCCESS, id="one-as-text"),
        pytest.param('{"error":"AI_NoSuchToolError: dig"}', "AI_NoSuchToolError: dig", FAILURE, id="an-unknown-tool"),
        pytest.param('{"text":"Ten.","iterations":2}', "Ten.", SUCCESS, id="what-a-sub-agent-said"),
        pytest.param('{"team":"a","done":3}', '{"team":"a","done":3}', SUCCESS, id="an-object-of-another-shape"),
        pytest.param('{"success":"yes"}', '{"success":"yes"}', SUCCESS, id="an-object-of-another-type"),
        pytest.param("{broken", "{broken", SUCCESS, id="no-json"),
        pytest.param([7], "7", SUCCESS, id="a-number"),
        pytest.param(None, "", SUCCESS, id="nothing"),
        pytest.param(
            [{"type": "text", "text": "a"}, {"type": "image", "data": "QQ"}, "b"], "a\nb", SUCCESS, id="parts"
        ),
        pytest.param(
            [worked("/a.png", [{"type": "text", "text": "a picture"}, {"type": "image"}, 1])],
            "a picture",
            SUCCESS,
            id="picture",
        ),
    ],
)
def test_a_result_may_have_any_shape(content: Any, text: str, outcome: ReportedOutcome) -> None:
    assert read(content) == (text, outcome)


def test_a_result_that_is_not_there_says_nothing() -> None:
    assert read_operations(msgspec.Raw(), tool=FILES, is_error=False) == ("", SUCCESS)


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        pytest.param('{"error":"Tool \\"editor\\" was not approved"}', REFUSED, id="not-approved"),
        pytest.param('{"error":"Tool \\"editor\\" is disabled by policy"}', REFUSED, id="by-a-policy"),
        pytest.param("Tool execution was denied by user", REFUSED, id="denied"),
        pytest.param([failed("sleep 9", "Command failed: Command was aborted")], INTERRUPTED, id="aborted"),
        pytest.param([failed("sleep 9", "Command timed out after 30000ms")], FAILURE, id="timeout"),
        pytest.param([failed("a", "Command was aborted"), failed("b", "No such file")], FAILURE, id="aborted-in-part"),
        pytest.param("It broke.", FAILURE, id="by-its-block-alone"),
    ],
)
def test_a_call_that_did_not_work_failed_was_refused_or_stopped(content: Any, outcome: ReportedOutcome) -> None:
    assert read(content, is_error=True)[1] == outcome
