from __future__ import annotations

import json

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ASSISTANT, TOOL, USER, FunctionCall, Message, ReportedOutcome, ToolCall
from grader_daemon.sources.codex.taken_apart import Apart, Ran, take_apart
from tests.timing import is_done_within

SUCCESS = ReportedOutcome(CallStatus.SUCCESS)
FAILURE = ReportedOutcome(CallStatus.FAILURE)
PENDING = ReportedOutcome(CallStatus.PENDING)
LS = 'tools.exec_command({cmd: "ls"});'
PATCH = 'tools.apply_patch("x");'
RUNNING = "Script running with cell ID 7\nWall time 1 seconds\nOutput:\n"


def called(call_id: str | None, tool: str = "exec", **arguments: object) -> Message:
    return Message(ASSISTANT, None, (ToolCall(call_id, FunctionCall(tool, arguments)),))


def answered(call_id: str, text: str) -> Message:
    return Message(TOOL, text, tool_call_id=call_id)


def printed(*texts: str) -> str:
    return repr([{"type": "input_text", "text": text} for text in ("Script completed\nOutput:\n", *texts)])


def apart(*messages: Message, **reported: ReportedOutcome) -> Apart:
    return take_apart(messages, {int(place[1:]): outcome for place, outcome in reported.items()})


def results(made: Apart) -> list[tuple[str, ReportedOutcome | None]]:
    return [(each.text, made.reported.get(at)) for at, each in enumerate(made.messages) if each.role == TOOL]


def names(made: Apart) -> list[tuple[str | None, str | None]]:
    return [(call.id, call.tool) for message in made.messages for call in message.tool_calls or ()]


def test_a_session_without_code_stays_as_it_is() -> None:
    messages = [Message(USER, "Go"), called("a", "look"), answered("a", "x"), Message(ASSISTANT, "Done.")]

    assert take_apart(messages, {2: FAILURE}) == Apart(messages, {2: FAILURE}, [0, 1, 2, 3])


def test_each_call_in_code_is_a_call_with_its_result() -> None:
    made = apart(called("a", input=PATCH + LS), answered("a", printed("{}", "b.py")), answered("a", "again"))

    assert names(made) == [("a", "apply_patch"), ("a/1", "exec_command")]
    assert results(made) == [("{}", SUCCESS), ("b.py", None), ("again", None)]
    assert [message.tool_call_id for message in made.messages] == [None, "a", "a/1", "a"]
    assert made.origins == [0, 1, 1, 2]


def test_code_that_calls_nothing_that_is_known_stays_a_call() -> None:
    made = apart(called("a", input="text(1)"), answered("a", printed("1")), called(None, input=LS), called("b", x=1))

    assert names(made) == [("a", "exec"), (None, "exec"), ("b", "exec")]
    assert results(made) == [("1", None)]


def test_a_result_that_is_none_of_code_is_that_of_each_call_and_a_failure_that_of_the_last() -> None:
    both = apart(called("a", input=PATCH + LS), answered("a", "aborted"))
    failed = apart(called("a", input=PATCH + LS), answered("a", "unsupported call: exec"), _1=FAILURE)

    assert results(both) == [("aborted", None), ("aborted", None)]
    assert results(failed) == [("", SUCCESS), ("unsupported call: exec", FAILURE)]


def test_what_is_waited_for_belongs_to_the_code_that_went_on() -> None:
    begun = [called("a", input=LS), answered("a", RUNNING + "one")]
    waited = [called("b", "wait", cell_id="7"), answered("b", RUNNING + "two")]
    ended = [called("c", "wait", cell_id="7"), answered("c", "Script failed\nOutput:\nthree")]

    assert results(apart(*begun)) == [("one", PENDING)]
    assert results(apart(*begun, *waited))[0] == ("one\ntwo", PENDING)
    assert results(apart(*begun, *waited, *ended)) == [
        ("one\ntwo\nthree", FAILURE),
        ("two", SUCCESS),
        ("three", SUCCESS),
    ]


def test_a_wait_for_code_that_is_not_known_has_its_own_result() -> None:
    assert results(apart(called("b", "wait", cell_id=3), answered("b", printed("x")))) == [("x", None)]


def test_the_exit_code_of_a_process_belongs_to_the_command_that_began_it() -> None:
    begun = [called("a", input=LS), answered("a", printed(json.dumps({"output": "", "session_id": 5})))]
    asked = called("b", input='tools.write_stdin({session_id: 5, chars: ""})')

    goes_on = apart(*begun, asked, answered("b", printed(json.dumps({"output": "x", "session_id": 5}))))
    ended = apart(*begun, asked, answered("b", printed(json.dumps({"output": "x", "exit_code": 2}))))

    assert results(goes_on) == [("", PENDING), ("x", PENDING)]
    assert results(ended) == [("", ReportedOutcome(CallStatus.FAILURE, 2)), ("x", SUCCESS)]


def test_arguments_may_be_json_in_a_text_or_none_at_all() -> None:
    waits = ToolCall("b", FunctionCall("wait", '{"cell_id": "7"}'))
    begun = [called("a", input=LS), answered("a", RUNNING + "one")]
    ended = answered("b", printed("two"))

    made = apart(*begun, Message(ASSISTANT, None, (waits,)), ended)
    broken = apart(Message(ASSISTANT, None, (ToolCall("a", FunctionCall("exec", "{no json")),)), answered("a", "x"))

    assert results(made) == [("one\ntwo", None), ("two", SUCCESS)]
    assert results(broken) == [("x", None)]


def test_what_code_lets_a_model_know_before_its_end_does_not_stand_for_its_result() -> None:
    made = apart(called("a", input=PATCH + LS), answered("a", "half"), answered("a", printed("{}", "b.py")))

    assert results(made) == [("{}", SUCCESS), ("b.py", None)]


def test_how_a_command_ended_is_taken_from_what_is_noted_of_it() -> None:
    code = LS + 'tools.exec_command({cmd: "pwd"}); tools.exec_command({cmd: "id"}); tools.exec_command({cmd: "ls"});'
    ran = [Ran("ls", SUCCESS), Ran("pwd", FAILURE), Ran("ls", FAILURE), Ran("other", FAILURE)]

    made = take_apart([called("a", input=code), answered("a", printed("1", "2", "3", "4"))], {}, ran)

    assert results(made) == [("1", SUCCESS), ("2", FAILURE), ("3", None), ("4", FAILURE)]


def test_a_command_that_never_ran_is_not_told_by_what_is_noted() -> None:
    messages = [
        called("a", input=PATCH + LS),
        answered("a", "Script failed\nOutput:\napply_patch verification failed: x"),
    ]

    made = take_apart(messages, {}, [Ran("ls", SUCCESS)])

    assert results(made)[1] == ("", ReportedOutcome(CallStatus.NOT_EXECUTED))


def test_very_many_waits_take_bounded_time() -> None:
    messages = [called("a", input=LS), answered("a", RUNNING)]
    for number in range(2_000):
        messages += [called(f"w{number}", "wait", cell_id="7"), answered(f"w{number}", RUNNING + "x" * 1_000)]

    assert is_done_within(2.0, lambda: take_apart(messages, {}))
