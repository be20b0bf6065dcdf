from __future__ import annotations

import json

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import Part, ReportedOutcome
from grader_daemon.sources.codex.call_results import Result
from grader_daemon.sources.codex.script_results import Script, read_script, told_of
from tests.tables import for_each
from tests.timing import is_done_within

SUCCESS = ReportedOutcome(CallStatus.SUCCESS)
FAILURE = ReportedOutcome(CallStatus.FAILURE)
PENDING = ReportedOutcome(CallStatus.PENDING)
NOT_REACHED = ReportedOutcome(CallStatus.NOT_EXECUTED)
EXITED = ReportedOutcome(CallStatus.FAILURE, 2)
CUT = "Warning: truncated output (original token count: 99)\nTotal output lines: 3\n\n"
JSON_CUT = r'{"chunk_id":"a1","wall_time_seconds":2.1,"exit_code":2,"original_token_count":20,"output":"a\n\"…9 tokens'
FRAMED = "Wall time: 0.0 seconds\nProcess exited with code 2\nOutput:\n"
REJECTED = '[{"output": "x"}, {"status": "rejected"}]'
HEADER = "Script completed\nWall time 0.4 seconds\nOutput:\n"


def pieces(*texts: str) -> str:
    return repr([{"type": "input_text", "text": text} for text in texts])


@pytest.mark.parametrize(
    ("text", "script"),
    [
        pytest.param(pieces(HEADER, "a'b\n", 'c"d'), Script(("a'b\n", 'c"d')), id="pieces"),
        pytest.param(HEADER + "a\nb", Script(("a\nb",)), id="plain"),
        pytest.param(
            "Script running with cell ID 7\nWall time 1 seconds\nOutput:\n", Script((), cell="7"), id="goes-on"
        ),
        pytest.param("Script terminated\nOutput:\nx", Script(("x",), stopped=True), id="stopped"),
        pytest.param(pieces("Script failed\nOutput:\n", "x"), Script(("x",), failed=True), id="failed"),
        pytest.param(
            repr([{"type": "input_text", "text": HEADER}, {"type": "input_image", "image_url": "data:x"}]),
            Script(()),
            id="picture",
        ),
        pytest.param("no result of code", None, id="other"),
        pytest.param(pieces(HEADER)[:-1] + ", 1]", None, id="no-list-of-texts"),
        pytest.param("[{'type': 'input_image', 'image_url': 'x'}]", None, id="nothing-but-a-picture"),
    ],
)
def test_a_result_is_a_header_and_what_was_printed(text: str, script: Script | None) -> None:
    assert read_script(text) == script


def test_parts_are_what_was_printed() -> None:
    parts = (Part("input_text", HEADER), Part("input_image"), "a", Part("input_text", "b"))

    assert read_script(parts) == Script(("a", "b"))
    assert read_script(None) is None
    assert read_script(Part("input_text", HEADER)) == Script(())


@for_each(
    ("tools", "script", "told"),
    [
        pytest.param(["exec_command"], Script(("a",)), [Result("a")], id="command-without-a-code"),
        pytest.param(["apply_patch"], Script(("{}",)), [Result("{}", SUCCESS)], id="patch"),
        pytest.param(
            ["exec_command"],
            Script((json.dumps({"output": "a", "exit_code": 2}),)),
            [Result("a", ReportedOutcome(CallStatus.FAILURE, 2))],
            id="exit-code",
        ),
        pytest.param(
            ["exec_command"],
            Script((json.dumps({"output": "a", "session_id": 9}),)),
            [Result("a", PENDING, "9")],
            id="process",
        ),
        pytest.param(["exec_command"], Script(('{"output": "a"}',)), [Result("a")], id="output-alone"),
        pytest.param(["exec_command"], Script(('{"output": 1}',)), [Result('{"output": 1}')], id="json-of-another"),
        pytest.param(["exec_command"], Script((FRAMED + "x",)), [Result("x", EXITED)], id="frame-of-a-command"),
        pytest.param(["exec_command"], Script((f"{CUT}x",)), [Result("x")], id="cut"),
        pytest.param(["exec_command"], Script((f"{CUT}{JSON_CUT}",)), [Result('a\n"…9 tokens', EXITED)], id="json-cut"),
        pytest.param(
            ["exec_command"], Script(('{"a": 1, "output": "…',)), [Result('{"a": 1, "output": "…')], id="json-cut-early"
        ),
        pytest.param(
            ["mcp__a__b"], Script(('{"isError": true}',)), [Result('{"isError": true}', FAILURE)], id="of-a-server"
        ),
        pytest.param(["mcp__a__b"], Script(('{"isError": 1}',)), [Result('{"isError": 1}')], id="of-a-server-unknown"),
        pytest.param(["a", "b"], Script(("x", "y")), [Result("x"), Result("y")], id="each-its-own"),
        pytest.param(["a", "b"], Script(("x",)), [Result("x")] * 2, id="shared"),
        pytest.param(["a", "b"], Script(("x", "y", "z")), [Result("x\ny\nz")] * 2, id="more-texts-than-calls"),
        pytest.param(
            ["a", "b"],
            Script(("x" * 600_000,)),
            [Result(""), Result("x" * 600_000)],
            id="long-and-shared-is-the-last-ones",
        ),
        pytest.param(
            ["apply_patch", "a", "update_plan", "b"],
            Script(("x", "y")),
            [Result("", SUCCESS), Result("x"), Result("", SUCCESS), Result("y")],
            id="texts-belong-to-what-prints",
        ),
        pytest.param(["apply_patch"] * 2, Script(("x",)), [Result("x", SUCCESS)] * 2, id="nothing-prints"),
        pytest.param(
            ["a", "b"],
            Script((json.dumps([{"output": "x", "exit_code": 0}, {"output": "y", "exit_code": 2}]),)),
            [Result("x", ReportedOutcome(CallStatus.SUCCESS, 0)), Result("y", EXITED)],
            id="several-as-one-list",
        ),
        pytest.param(
            ["a", "b"],
            Script((json.dumps([{"value": {"output": "x"}}, {"value": {"output": "y", "exit_code": 2}}]),)),
            [Result("x"), Result("y", EXITED)],
            id="several-settled",
        ),
        pytest.param(["a", "b"], Script((REJECTED,)), [Result(REJECTED)] * 2, id="several-one-rejected"),
        pytest.param(["a", "b"], Script(('[{"output": 1}]',)), [Result('[{"output": 1}]')] * 2, id="list-of-others"),
        pytest.param(["a"], Script(("x",), cell="1"), [Result("x", PENDING)], id="goes-on"),
        pytest.param(["a"], Script(("x",), stopped=True), [Result("x", PENDING)], id="stopped"),
        pytest.param(
            ["a", "apply_patch", "b"],
            Script(("x", "Script error:\napply_patch verification failed: y"), failed=True),
            [Result("x"), Result("apply_patch verification failed: y", FAILURE), Result("", NOT_REACHED)],
            id="error-of-the-patch",
        ),
        pytest.param(
            ["apply_patch", "apply_patch"],
            Script(("{}", "Script error:\napply_patch verification failed: y"), failed=True),
            [Result("{}", SUCCESS), Result("apply_patch verification failed: y", FAILURE)],
            id="error-of-the-second-patch",
        ),
        pytest.param(
            ["a", "b"], Script(("Script error:\ny",), failed=True), [Result(""), Result("y", FAILURE)], id="error"
        ),
        pytest.param(
            ["a"],
            Script(("x", "Script error:\ny"), failed=True),
            [Result("x\ny", FAILURE)],
            id="what-was-printed-before-an-error-is-kept",
        ),
        pytest.param(
            ["apply_patch", "a"],
            Script(("Script error:\nSyntaxError: y",), failed=True),
            [Result("SyntaxError: y", FAILURE), Result("", NOT_REACHED)],
            id="code-that-is-no-code",
        ),
        pytest.param(["a"], Script((), failed=True), [Result("", FAILURE)], id="error-without-words"),
    ],
)
def test_each_call_is_told_what_is_known_of_it(tools: list[str], script: Script, told: list[Result]) -> None:
    assert told_of(tools, script) == told


@pytest.mark.parametrize("piece", ["[{'type': 'a', 'text': '", "\\'", "{'type': 'a', 'text': 'b'}, "])
def test_hostile_results_take_bounded_time(piece: str) -> None:
    assert is_done_within(1.0, lambda: read_script("[{'type': 'a', 'text': 'b'}, " + piece * 20_000))


@pytest.mark.parametrize("piece", ['{"output":', '{"a":1,', "[", '[{"output":'])
def test_hostile_texts_take_bounded_time(piece: str) -> None:
    assert is_done_within(1.0, lambda: told_of(["a"] * 100, Script((piece * 50_000,))))
