"""What is read of runs of mini-SWE-agent; the messages are as 2.4.6 wrote them against a scripted model."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Ending, FunctionCall, Session, Skipped, SkipReason, Usage
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.mini_swe_agent.run_files import MiniSweAgentRuns
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import Parsed
from tests.timing import is_done_within

TASK = "django__django-1"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt"
PROMPT = {"role": "user", "content": "Fix it"}
PATCH = "diff --git a/x b/x\n"


def parsed(*messages: dict[str, Any], version: str = "mini-swe-agent-1.1", **info: Any) -> Parsed:
    whole = {"info": {"mini_version": "2.4.6", **info}, "messages": messages, "trajectory_format": version}
    source = MiniSweAgentRuns(limits=Limits())
    return source.parse(json.dumps(whole).encode(), Unit(source.name, f"/runs/{TASK}/{TASK}.traj.json"))


def run(*messages: dict[str, Any], version: str = "mini-swe-agent-1.1", **info: Any) -> Session:
    session = parsed(*messages, version=version, **info).session
    assert isinstance(session, Session)
    return session


def called(command: str, call_id: str = "call_1", text: str | None = None, **extra: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": calls, "extra": {"timestamp": 1795702055.0, **extra}}


def shown(output: str, code: int = 0, call_id: str = "call_1", **extra: Any) -> dict[str, Any]:
    notes = {"raw_output": output, "returncode": code, "timestamp": 1795702056.5, "exception_info": "", **extra}
    text = f"<returncode>{code}</returncode>\n<output>\n{output[:3]}…</output>"
    return {"role": "tool", "content": text, "tool_call_id": call_id, "extra": notes}


def left(status: str, submission: str = "") -> dict[str, Any]:
    return {"role": "exit", "content": submission, "extra": {"exit_status": status, "submission": submission}}


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages]


def statuses(session: Session) -> list[tuple[CallStatus, int | None]]:
    return [(outcome.status, outcome.exit_code) for outcome in session.reported.values()]


def test_a_run_is_read_with_what_its_commands_printed_and_how_they_ended() -> None:
    session = run(PROMPT, called("ls /none", text="I look"), shown("ls: cannot access '/none'\n", 2))

    assert said(session) == [("user", "Fix it"), ("assistant", "I look"), ("tool", "ls: cannot access '/none'\n")]
    assert statuses(session) == [(CallStatus.FAILURE, 2)]
    assert session.messages[2].tool_call_id == "call_1"
    assert session.message_times == (
        None,
        datetime(2026, 11, 26, 14, 7, 35, tzinfo=UTC),
        datetime(2026, 11, 26, 14, 7, 36, 500000, tzinfo=UTC),
    )
    assert session.ending is None


def test_what_is_said_with_the_command_that_hands_in_is_the_answer() -> None:
    messages = (PROMPT, called(SUBMIT, text="Fixed the parser."), left("Submitted", PATCH))
    session = run(*messages, exit_status="Submitted", submission=PATCH)

    assert said(session)[1:] == [("assistant", ""), ("tool", PATCH), ("assistant", "Fixed the parser.")]
    assert statuses(session) == [(CallStatus.SUCCESS, 0)]
    assert session.ending == Ending(SessionState.COMPLETE, "Submitted")


def test_without_a_word_what_was_handed_in_is_the_answer() -> None:
    messages = (PROMPT, called("true", "a"), called(SUBMIT, "b"), left("Submitted", PATCH))
    session = run(*messages, exit_status="Submitted", submission=PATCH)

    assert said(session)[-1] == ("assistant", PATCH.strip())


def test_of_several_commands_that_one_handed_in_which_says_so() -> None:
    answer = called("true", "a")
    answer["tool_calls"] += called(SUBMIT, "b")["tool_calls"]
    session = run(PROMPT, answer, left("Submitted"), exit_status="Submitted", submission="")

    assert [message.tool_call_id for message in session.messages if message.role == "tool"] == ["b"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("LimitsExceeded", EndingKind.LIMIT),
        ("TimeExceeded", EndingKind.LIMIT),
        ("ContextWindowExceededError", EndingKind.LIMIT),
        ("UserInterruption", EndingKind.PERSON),
        ("RepeatedFormatError", EndingKind.ERROR),
        ("AuthenticationError", EndingKind.ERROR),
    ],
)
def test_a_run_that_did_not_hand_in_was_cut_short(status: str, kind: EndingKind) -> None:
    session = run(PROMPT, called("true"), shown(""), left(status), exit_status=status)

    assert session.ending == Ending(SessionState.INTERRUPTED, status, kind)


def test_a_run_that_ended_before_the_first_answer_is_one_and_one_that_has_just_begun_is_none_yet() -> None:
    failed = run(PROMPT, left("AuthenticationError"), exit_status="AuthenticationError")

    assert said(failed) == [("user", "Fix it")]
    begun = parsed(PROMPT, exit_status="").session
    assert isinstance(begun, Skipped)
    assert begun.reason is SkipReason.NOT_A_SESSION


@pytest.mark.parametrize(
    ("notes", "status"),
    [
        ({"exception_info": "Command 'sleep 9' timed out after 1 seconds"}, CallStatus.FAILURE),
        ({"exception_info": "action was not executed"}, CallStatus.NOT_EXECUTED),
    ],
)
def test_a_command_that_was_not_run_to_its_end_has_no_exit_code(notes: dict[str, str], status: CallStatus) -> None:
    session = run(PROMPT, called("sleep 9"), shown("so far\n", -1, **notes))

    assert statuses(session) == [(status, None)]
    assert said(session)[-1] == ("tool", f"{notes['exception_info']}\nso far")


def test_the_words_of_the_responses_api_are_read() -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}
    spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "look"}]}
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    usage = {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}}
    more = {"usage": usage, "output_tokens_details": {"reasoning_tokens": 2}}
    answer = {"object": "response", "id": "resp_1", "model": "m", "output": [thought, spoken, call], **more}
    result = {"type": "function_call_output", "call_id": "c1", "output": "x", "extra": {"returncode": 0}}
    session = run(PROMPT, answer, result)

    assert said(session)[1:] == [("assistant", "look"), ("tool", "x")]
    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].function == FunctionCall("bash", '{"command": "ls"}')
    assert session.model == "m"
    assert session.usage == (
        Usage(model="m", input_tokens=40, cache_read_tokens=60, cache_write_tokens=0, output_tokens=7),
    )


def test_tokens_price_model_and_why_an_answer_ended_are_what_the_api_said() -> None:
    noted = {"prompt_tokens": 1563, "completion_tokens": 112, "prompt_tokens_details": {"cached_tokens": 320}}
    response = {"id": "x", "model": "deepseek-chat", "usage": noted, "choices": [{"finish_reason": "tool_calls"}]}
    config = {"model": {"model_name": "deepseek/deepseek-chat"}}
    plain = {"prompt_tokens": 10, "completion_tokens": 1}
    second = called("true", "b", response={"model": "other", "usage": plain})
    session = run(PROMPT, called("ls", response=response), second, config=config, model_stats={"instance_cost": 0.03})

    assert session.cost_usd == 0.03
    assert session.model == "other"
    assert session.messages[1].finish_reason == "tool_calls"
    assert session.usage == (
        Usage(
            model="deepseek-chat",
            input_tokens=1243,
            cache_read_tokens=320,
            cache_write_tokens=0,
            output_tokens=112,
        ),
        Usage(model="other", input_tokens=10, output_tokens=1),
    )


@pytest.mark.parametrize("cost", [0, 0.0, -1, "much", None, 1e12])
def test_a_price_of_nothing_is_not_known(cost: object) -> None:
    assert run(PROMPT, called("ls"), model_stats={"instance_cost": cost}).cost_usd is None


def test_what_the_api_gave_may_be_anything() -> None:
    session = run(PROMPT, called("ls", response="Response(...)"), config={"model": {"model_name": "m"}})

    assert session.model == "m"
    assert session.usage == ()


@pytest.mark.parametrize(
    ("config", "project"),
    [
        ({"environment": {"cwd": "/src"}, "environment_type": "x.local.LocalEnvironment"}, "/src"),
        ({"environment": {"cwd": ""}, "environment_type": "x.local.LocalEnvironment"}, None),
        ({"environment": {"cwd": "/testbed"}, "environment_type": "x.docker.DockerEnvironment"}, None),
    ],
)
def test_a_folder_in_a_container_is_none_of_this_machine(config: dict[str, Any], project: str | None) -> None:
    assert run(PROMPT, called("ls"), config=config).project == project


def test_reminders_are_no_words_of_a_person_and_what_one_says_is() -> None:
    reminder = {"role": "user", "content": "Tool call error", "extra": {"interrupt_type": "FormatError"}}
    refusal = {"role": "user", "content": "Not that", "extra": {"interrupt_type": "UserRejection"}}
    own = {"role": "user", "content": "User command: ls", "extra": {"actions": [{"command": "ls"}]}}
    printed = {"role": "user", "content": "x", "extra": {"returncode": 0, "raw_output": "x"}}
    session = run(PROMPT, reminder, called("rm -r /"), refusal, own, printed)

    assert said(session)[2:] == [("tool", "Not that"), ("user", "Not that"), ("user", "User command: ls")]
    assert statuses(session) == [(CallStatus.REFUSED, None)]


def spoken(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


@pytest.mark.parametrize(
    ("template", "task"),
    [
        pytest.param("Solve this: {{task}}\n\nYou can edit files.\n{{extra}}", "Fix it", id="between-instructions"),
        pytest.param("Solve this: {{ task }}", "Fix it\n\nYou can edit files.", id="at-the-end"),
        pytest.param("Solve this: {{task}}\n\nRun commands.", None, id="others-behind"),
        pytest.param("Please solve: {{task}}", None, id="others-before"),
        pytest.param("{% if x %}Solve this: {{task}}", None, id="something-filled-in-before"),
        pytest.param("Solve this: Fix it{{task}}\n\nYou can edit files.", None, id="an-empty-task"),
        pytest.param("No task", None, id="none"),
        pytest.param(None, None, id="not-there"),
    ],
)
def test_the_task_is_what_was_asked_for_without_the_instructions_around_it(
    template: str | None, task: str | None
) -> None:
    prompt = "Solve this: Fix it\n\nYou can edit files."
    session = run({"role": "user", "content": prompt}, called("ls"), config={"agent": {"instance_template": template}})

    assert said(session)[0] == ("user", task or prompt)


def test_a_run_that_nobody_asked_for_begins_with_the_answer() -> None:
    assert said(run(called("ls", text="I look"))) == [("assistant", "I look")]


def test_commands_in_the_text_are_calls() -> None:
    answer = spoken(
        "THOUGHT: look\n\n```mswea_bash_command\nls /none\n```", extra={"actions": [{"command": "ls /none"}]}
    )
    result = {"role": "user", "content": "…", "extra": {"returncode": 2, "raw_output": "ls: no\n"}}
    session = run(PROMPT, answer, result)

    assert said(session)[1:] == [("assistant", "THOUGHT: look"), ("tool", "ls: no\n")]
    assert session.messages[1].tool_calls is not None
    assert session.messages[1].tool_calls[0].function == FunctionCall("bash", {"command": "ls /none"})
    assert session.messages[1].tool_calls[0].id == session.messages[2].tool_call_id


FIRST = "mini-swe-agent-1"


def test_the_frame_of_a_long_output_has_its_exit_code() -> None:
    text = "<returncode>1</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
    session = run(PROMPT, spoken("```bash\nls\n```"), {"role": "user", "content": text}, version=FIRST)

    assert said(session)[-1] == ("tool", "<warning>\nThe output of your last command was too long.\n</warning>")
    assert statuses(session) == [(CallStatus.FAILURE, 1)]


def test_the_first_format_is_read_by_what_follows_an_answer() -> None:
    timeout = "The last command <command>sleep 9</command> timed out and has been killed.\nThe output…"
    session = run(
        PROMPT,
        spoken("Look\n\n```bash\nls\n```", timestamp=1795702055.0),
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\nx.py\n</output>"},
        spoken("```bash\nls\n```\nor\n```bash\npwd\n```"),
        {"role": "user", "content": "Please always provide EXACTLY ONE action in triple backticks."},
        spoken("```bash\nsleep 9\n```"),
        {"role": "user", "content": timeout},
        spoken(f"Done: it works.\n```bash\n{SUBMIT}\n```"),
        {"role": "user", "content": PATCH},
        version=FIRST,
        exit_status="Submitted",
        submission=PATCH,
    )

    assert said(session) == [
        ("user", "Fix it"),
        ("assistant", "Look"),
        ("tool", "x.py\n"),
        ("assistant", "```bash\nls\n```\nor\n```bash\npwd\n```"),
        ("assistant", ""),
        ("tool", timeout),
        ("assistant", ""),
        ("tool", PATCH),
        ("assistant", "Done: it works."),
    ]
    assert statuses(session) == [(CallStatus.SUCCESS, 0), (CallStatus.FAILURE, None), (CallStatus.SUCCESS, 0)]


def test_in_the_first_format_the_last_message_of_a_run_that_was_cut_short_says_why() -> None:
    session = run(
        PROMPT,
        spoken("```bash\nls\n```"),
        {"role": "user", "content": "Observation: x"},
        {"role": "user", "content": ""},
        version=FIRST,
        exit_status="LimitsExceeded",
    )

    assert said(session) == [("user", "Fix it"), ("assistant", ""), ("tool", "Observation: x")]
    assert session.reported == {}


@pytest.mark.parametrize(
    "text",
    ["```bash", "```bash\nls", "```bash ls\n```", "no command at all"],
    ids=["open", "no-end", "no-line", "none"],
)
def test_a_text_without_a_whole_command_has_no_call(text: str) -> None:
    assert run(PROMPT, spoken(text), version=FIRST).messages[1].tool_calls is None


def test_runs_of_one_task_have_ids_of_their_own_which_stay_while_they_grow() -> None:
    first = run(PROMPT, called("ls", response={"id": "r1"}))
    grown = run(PROMPT, called("ls", response={"id": "r1"}), shown("x"), called("pwd", "b", response={"id": "r2"}))
    other = run(PROMPT, called("ls", response={"id": "r9"}))

    assert first.session_id == grown.session_id != other.session_id
    assert first.session_id.startswith(f"{TASK}-")


def test_many_calls_of_one_answer_are_read_in_linear_time() -> None:
    answer = called("ls")
    answer["tool_calls"] = [{"id": f"c{number}", "function": {"name": "bash"}} for number in range(5_000)]
    results = [{"role": "tool", "tool_call_id": f"c{number}", "content": "x"} for number in reversed(range(5_000))]

    assert is_done_within(1, lambda: run(PROMPT, answer, *results))


def test_a_time_that_cannot_be_is_none() -> None:
    assert run(PROMPT, called("ls", timestamp=1e300)).started_at is None


def test_a_system_prompt_has_a_digest() -> None:
    one = run({"role": "system", "content": "You are one."}, PROMPT, called("ls"))
    other = run({"role": "system", "content": "You are another."}, PROMPT, called("ls"))

    assert None is not one.system_prompt_digest != other.system_prompt_digest
    assert run(PROMPT, called("ls")).system_prompt_digest is None


def test_a_later_format_is_told_and_another_document_is_none_of_its_own() -> None:
    later = parsed(PROMPT, version="mini-swe-agent-2")

    assert later.session == Skipped(SkipReason.UNREADABLE_VERSION)
    assert later.unknown == UnknownKinds("2.4.6", ())
    assert parsed(PROMPT, version="other").session == Skipped(SkipReason.NOT_A_SESSION)
