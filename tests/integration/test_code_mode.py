"""One made-up run of Codex in code mode, as it lies in ATIF and in a rollout: both tell the same."""

from __future__ import annotations

import json
from typing import Any

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.atif.trajectory import read_run
from grader_daemon.sources.codex.rollout_files import CodexRollouts

ASKED = "Add a --json option to the report command; all tests must pass."
ANSWERED = "The option is there. Verification: `pnpm test` passed."
DONE = "Script completed\nWall time 0.4 seconds\nOutput:\n"
FAILED = "Script failed\nWall time 0.0 seconds\nOutput:\n"
RUNNING = "Script running with cell ID 7\nWall time 10.0 seconds\nOutput:\n"


def shell(command: str, tail: str = "text(r.output);\n") -> str:
    given = json.dumps({"cmd": command, "workdir": "/app", "yield_time_ms": 300_000})
    return f"const r = await tools.exec_command({given});\n{tail}"


def patch(file: str, old: str, new: str) -> str:
    text = json.dumps(f"*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch")
    call = f"const patch = {text};\nconst r = await tools.apply_patch(patch);\n"
    return call + 'text(typeof r === "string" ? r : JSON.stringify(r));'


def returned(code: int, output: str) -> str:
    return json.dumps({"chunk_id": "a1", "wall_time_seconds": 2.1, "exit_code": code, "output": output})


RED = " FAIL  test/report.test.ts\nTests  1 failed | 4 passed (5)\n ELIFECYCLE  Command failed with exit code 1.\n"
UNFIT = (
    "Script error:\napply_patch verification failed: Failed to find expected lines in /app/src/cli.ts:\nno such line"
)
ALL = "text(JSON.stringify(r));\n"
TWO = """const [a, b] = await Promise.all([
  tools.exec_command({"cmd":"pnpm lint"}),
  tools.exec_command({"cmd":"pnpm test"})
]);
text(a.output);
text(b.output);
"""
ASKS = 'const r = await tools.write_stdin({"session_id":4711,"chars":"y\\n"});\ntext(JSON.stringify(r));\n'
STEPS: list[tuple[str, str | dict[str, Any], list[str]]] = [
    ("exec", shell("cat /app/src/report.ts && git status --short"), [DONE, "export function report() {}\n"]),
    (
        "exec",
        patch("/app/src/report.ts", "export function report() {}", "export function report(json) {}"),
        [DONE, "{}"],
    ),
    (
        "exec",
        patch("/app/src/cli.ts", "no such line", "x"),
        [FAILED, UNFIT],
    ),
    ("exec", shell("pnpm test"), [RUNNING]),
    ("wait", {"cell_id": "7", "yield_time_ms": 300_000}, [DONE, RED]),
    (
        "exec",
        shell("npx tsc --noEmit", ALL),
        [DONE, returned(2, "src/cli.ts(3,7): error TS2304: Cannot find name 'o'.\n")],
    ),
    ("exec", ASKS, [DONE, returned(127, "sh: 1: vitestx: not found\n")]),
    ("exec", TWO, [DONE, "no problems\n", "Tests  5 passed (5)\n"]),
]


def as_atif() -> Session:
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": ASKED}]
    for number, (tool, given, printed) in enumerate(STEPS):
        content = printed[0]
        if len(printed) > 1:
            content = repr([{"type": "input_text", "text": text} for text in printed])
        call = {
            "tool_call_id": f"call_{number}",
            "function_name": tool,
            "arguments": {"input": given} if tool == "exec" else given,
        }
        observed = {"results": [{"source_call_id": f"call_{number}", "content": content}]}
        steps.append({"step_id": number + 2, "source": "agent", "tool_calls": [call], "observation": observed})
    steps.append({"step_id": 99, "source": "agent", "message": ANSWERED})
    whole = {"schema_version": "ATIF-v1.7", "agent": {"name": "codex", "version": "0.144.1"}, "steps": steps}
    return read_run([json.dumps(whole).encode()], path="/t/trajectory.json", named="trial", passed_over={})[""]


def as_rollout(*noted: dict[str, Any], back: bool = False) -> Session:
    def item(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-22T15:22:54.825Z", "type": "response_item", "payload": {"type": kind, **payload}}

    def said(role: str, text: str) -> dict[str, Any]:
        return item("message", role=role, content=[{"type": "input_text", "text": text}])

    rows = [{"timestamp": "", "type": "session_meta", "payload": {"id": "thread", "cwd": "/app", "source": "exec"}}]
    rows.append(said("user", ASKED))
    for number, (tool, given, printed) in enumerate(STEPS):
        named = {"call_id": f"call_{number}", "name": tool}
        parts = [{"type": "input_text", "text": text} for text in printed]
        if tool == "exec":
            rows.append(item("custom_tool_call", **named, input=given))
            rows.append(item("custom_tool_call_output", call_id=named["call_id"], output=parts))
        else:
            rows.append(item("function_call", **named, arguments=json.dumps(given)))
            rows.append(item("function_call_output", call_id=named["call_id"], output=parts))
    rows += [
        {"timestamp": "", "type": "event_msg", "payload": {"type": "item_completed", "item": each}} for each in noted
    ]
    rows.append(said("assistant", ANSWERED))
    if back:
        rows.append(said("user", "And now?"))
        rows.append({"timestamp": "", "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}})
        rows.append(said("user", "Or so?"))
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    session = CodexRollouts(limits=Limits()).parse(content, Unit("codex", "/s/rollout.jsonl")).session
    assert isinstance(session, Session)
    return session


def facts(session: Session, rules: Rules) -> dict[str, Any]:
    analysis = Analyzer(rules).analyze(session)
    return {
        "calls": {use.tool: use.calls for use in analysis.tools},
        "failures": [(failure.tool, failure.subcategory) for failure in analysis.failures],
        "claims": [(claim.kind.value, claim.support.value) for claim in analysis.claims],
    }


def test_calls_in_code_are_calls_with_results_of_their_own(rules: Rules) -> None:
    session = as_atif()

    assert facts(session, rules) == {
        "calls": {"exec_command": 5, "apply_patch": 2, "wait": 1, "write_stdin": 1},
        "failures": [
            ("apply_patch", "edit_not_applied"),
            ("exec_command", "check_failed"),
            ("exec_command", "check_failed"),
            ("write_stdin", "command_not_found"),
        ],
        "claims": [("tests_passed", "verified")],
    }
    assert len(session.message_times) == 0


def test_a_rollout_tells_the_same(rules: Rules) -> None:
    assert facts(as_rollout(), rules) == facts(as_atif(), rules)


def test_a_rollout_notes_how_the_commands_of_code_ended(rules: Rules) -> None:
    lint = {"type": "CommandExecution", "id": "exec-1", "command": ["/bin/bash", "-lc", "pnpm lint"], "exit_code": 2}
    other = {"type": "CommandExecution", "id": "exec-2", "command": "pnpm lint", "exit_code": 3}

    failures = facts(as_rollout(lint, other), rules)["failures"]

    assert len(failures) == 5
    assert failures[4][0] == "exec_command"


def test_a_turn_that_was_taken_back_keeps_its_place_behind_calls_in_code() -> None:
    begun = as_rollout()
    session = as_rollout(back=True)

    assert begun.taken_back == ()
    assert session.taken_back == (len(begun.messages),)
