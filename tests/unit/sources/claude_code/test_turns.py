from __future__ import annotations

from datetime import UTC, datetime

import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import Ending, Usage
from grader_daemon.domain.session_result import EndingKind
from tests.transcripts import Transcript, call

COMPLETE = SessionState.COMPLETE
INTERRUPTED = SessionState.INTERRUPTED


def test_lines_of_one_answer_are_one_message_whatever_stands_between_them() -> None:
    transcript = Transcript()
    transcript.prompt("do it")
    transcript.answer("I look.", answer="m1", stop=None)
    transcript.answer(call("a", command="ls"), answer="m1", stop=None)
    transcript.result("a", "x")
    transcript.answer(call("b", command="pwd"), answer="m1", stop="tool_use")
    transcript.result("b", "y")
    transcript.answer("Done.")
    session = transcript.session()
    assert [message.role for message in session.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    merged = session.messages[1]
    assert (merged.text, merged.finish_reason) == ("I look.", "tool_use")
    calls = [(made.id, made.tool, made.arguments) for made in merged.tool_calls or ()]
    assert calls == [("a", "Bash", '{"command":"ls"}'), ("b", "Bash", '{"command":"pwd"}')]
    assert [message.tool_call_id for message in session.messages[2:4]] == ["a", "b"]


def test_usage_counts_once_for_each_answer_with_its_largest_numbers() -> None:
    """By hand: two answers of 10 + 5 + 100 read; 2 written by the first, 9 by the second, whose first line says 2."""
    transcript = Transcript()
    transcript.prompt("do it")
    transcript.answer("one", answer="m1")
    transcript.answer("two", answer="m1")
    transcript.answer("half", answer="m2")
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 9}
    transcript.answer("whole", answer="m2", usage=usage)
    assert transcript.session().usage == (
        Usage(model="opus", input_tokens=20, cache_read_tokens=200, cache_write_tokens=10, output_tokens=11),
    )


def test_usage_of_which_one_answer_says_nothing_is_unknown() -> None:
    transcript = Transcript()
    transcript.answer("one")
    transcript.answer("two", usage={"output_tokens": 3})
    assert transcript.session().usage == (Usage(model="opus", output_tokens=5),)


def test_usage_stands_for_each_model_and_the_model_is_the_last() -> None:
    transcript = Transcript()
    transcript.answer("one", model="opus")
    transcript.answer("two", model="haiku")
    session = transcript.session()
    assert [usage.model for usage in session.usage] == ["opus", "haiku"]
    assert session.model == "haiku"


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        pytest.param("Continue from where you left off.", {"isMeta": True}, id="meta"),
        pytest.param("This session is being continued", {"isCompactSummary": True}, id="summary-of-a-compaction"),
        pytest.param("<command-name>/clear</command-name>", {}, id="command-of-the-program"),
        pytest.param("<local-command-stdout>ok</local-command-stdout>", {}, id="output-of-one"),
        pytest.param("Caveat: The messages below", {}, id="caveat"),
        pytest.param("<task-notification>\n<task-id>x</task-id>", {}, id="notification"),
        pytest.param("[SYSTEM NOTIFICATION - NOT USER INPUT] done", {}, id="system-notification"),
        pytest.param("a task ended", {"origin": {"kind": "task-notification"}}, id="not-of-human-origin"),
    ],
)
def test_what_the_machinery_says_is_no_message(content: str, keys: dict[str, object]) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.prompt(content, **keys)
    assert [message.text for message in transcript.session().messages] == ["hello"]


def test_a_command_that_is_a_prompt_is_what_a_person_typed() -> None:
    transcript = Transcript()
    transcript.prompt(
        "<command-message>review is running</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>the last commit</command-args>"
    )
    assert transcript.session().messages[0].text == "/review the last commit"


def test_a_prompt_that_was_typed_while_the_agent_worked_is_a_message() -> None:
    transcript = Transcript()
    transcript.prompt("do it")
    transcript.add(
        attachment={"type": "queued_command", "prompt": "not so", "commandMode": "prompt"}, type="attachment"
    )
    assert [message.text for message in transcript.session().messages] == ["do it", "not so"]


def test_pictures_are_passed_over() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
    transcript = Transcript()
    transcript.prompt([{"type": "text", "text": "look"}, picture])
    transcript.answer(call("a", "Read"), stop="tool_use")
    transcript.result("a", [picture, {"type": "text", "text": "a picture"}])
    assert [message.text for message in transcript.session().messages] == ["look", "", "a picture"]


def test_the_times_of_messages_and_of_the_session_are_those_of_the_lines() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("one", answer="m")
    transcript.answer("two", answer="m")
    session = transcript.session()
    first = datetime(2026, 11, 22, 15, 0, 0, tzinfo=UTC)
    assert session.message_times == (first, first.replace(second=1))
    assert (session.started_at, session.updated_at) == (first, first.replace(second=2))


@pytest.mark.parametrize("stamp", ["2026-11-22T15:00:00", "soon", "9999-99-99T00:00:00Z", ""])
def test_a_time_that_says_no_moment_is_unknown(stamp: str) -> None:
    transcript = Transcript()
    transcript.prompt("hello", timestamp=stamp)
    assert transcript.session().message_times == ()


@pytest.mark.parametrize("number", [-1, 1 << 60, 2.5, "many", None, [1]])
def test_a_number_of_tokens_that_can_be_none_is_unknown(number: object) -> None:
    transcript = Transcript()
    transcript.answer("one", usage={"input_tokens": number, "output_tokens": 3})
    assert transcript.session().usage == (Usage(model="opus", output_tokens=3),)


# -- endings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "ending"),
    [
        pytest.param("end_turn", Ending(COMPLETE, "stop_reason=end_turn"), id="in-order"),
        pytest.param("max_tokens", Ending(INTERRUPTED, "stop_reason=max_tokens", EndingKind.LIMIT), id="cut-off"),
        pytest.param("refusal", Ending(INTERRUPTED, "stop_reason=refusal"), id="refused-by-the-model"),
        pytest.param("tool_use", Ending(SessionState.OPEN, "stop_reason=tool_use"), id="its-call-comes-next"),
        pytest.param(None, None, id="old-versions-say-nothing"),
    ],
)
def test_the_last_answer_says_how_a_session_stands(stop: str | None, ending: Ending | None) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("an answer", stop=stop)
    assert transcript.session().ending == ending


def test_an_error_of_the_api_is_no_answer_and_an_interruption() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    error = {
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error: 529"}],
        "stop_reason": "stop_sequence",
    }
    transcript.add(type="assistant", message=error, isApiErrorMessage=True, error="server_error")
    session = transcript.session()
    assert [message.role for message in session.messages] == ["user"]
    assert session.ending == Ending(INTERRUPTED, "API error: server_error")
    assert session.usage == ()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        pytest.param("API Error: too long", {"error": "max_output_tokens"}, id="2.1.330"),
        pytest.param("API Error: Claude's response exceeded the 32000 output token maximum. To", {}, id="2.0.50"),
    ],
)
def test_an_answer_over_the_limit_of_output_is_cut_by_the_limit(text: str, keys: dict[str, str]) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("a part of an answer", stop="max_tokens")
    error = {"model": "<synthetic>", "content": [{"type": "text", "text": text}], "stop_reason": "stop_sequence"}
    transcript.add(type="assistant", message=error, isApiErrorMessage=True, **keys)
    assert transcript.session().ending == Ending(INTERRUPTED, "max_output_tokens", EndingKind.LIMIT)


def test_of_why_it_ended_nothing_but_a_word_is_told() -> None:
    stopped, failed = Transcript(), Transcript()
    stopped.answer("one", stop="sk-ant-api03-secret")
    failed.prompt("hello")
    failed.add(type="assistant", message={"content": ""}, isApiErrorMessage=True, error="Bearer sk-ant-api03-secret")
    reasons = [(each.session().ending or Ending(COMPLETE, "")).reason for each in (stopped, failed)]
    assert reasons == ["stop_reason=other", "API error: other"]


@pytest.mark.parametrize("words", ["[Request interrupted by user]", "[Request interrupted by user for tool use]"])
def test_an_interruption_by_a_person_is_no_message(words: str) -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("I beg")
    transcript.prompt([{"type": "text", "text": words}])
    session = transcript.session()
    assert len(session.messages) == 2
    assert session.ending == Ending(INTERRUPTED, "interrupted by a person", kind=EndingKind.PERSON)


def test_after_an_interruption_a_session_goes_on() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.prompt("[Request interrupted by user]")
    transcript.prompt("go on")
    assert transcript.session().ending is None


def test_too_many_turns_are_an_interruption() -> None:
    transcript = Transcript()
    transcript.answer(call("a"), stop="tool_use")
    transcript.result("a", "x")
    transcript.add(attachment={"type": "max_turns_reached", "maxTurns": 3}, type="attachment")
    assert transcript.session().ending == Ending(INTERRUPTED, "max_turns_reached", EndingKind.LIMIT)


def test_a_process_that_ended_before_an_answer_was_interrupted() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.note(type="cost-state", sessionId="s", totalCostUSD=0.0, hasUnknownModelCost=False)
    assert transcript.session().ending == Ending(INTERRUPTED, "its process ended", EndingKind.PROCESS)


# -- money -------------------------------------------------------------------------------------------------------------


def test_the_cost_is_what_the_agent_noted_last() -> None:
    transcript = Transcript()
    transcript.answer("one")
    transcript.note(type="cost-state", totalCostUSD=0.25)
    transcript.prompt("more")
    transcript.answer("two")
    transcript.note(type="cost-state", totalCostUSD=0.75)
    assert transcript.session().cost_usd == 0.75


def test_a_cost_that_is_not_all_or_not_its_own_is_unknown() -> None:
    unknown_price, went_on, delegated = Transcript(), Transcript(), Transcript()
    unknown_price.answer("one")
    unknown_price.note(type="cost-state", totalCostUSD=0.25, hasUnknownModelCost=True)
    went_on.answer("one")
    went_on.note(type="cost-state", totalCostUSD=0.25)
    went_on.prompt("more")
    delegated.answer(call("a", "Agent"), stop="tool_use")
    delegated.note(type="cost-state", totalCostUSD=0.25)
    assert [each.session().cost_usd for each in (unknown_price, went_on, delegated)] == [None] * 3


# -- what was taken back -----------------------------------------------------------------------------------------------


def test_a_prompt_in_the_place_of_an_earlier_one_takes_back_what_came_since() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    before = transcript.answer("what shall I do?")
    transcript.prompt("drop the table")
    transcript.answer(call("a"), answer="taken-back", stop="tool_use")
    transcript.result("a", "no", error=True)
    transcript.answer("Dropped.")
    transcript.prompt("make a backup", parentUuid=before)
    transcript.answer(call("b"), stop="tool_use")
    transcript.result("b", "ok")
    transcript.answer("Made.")
    session = transcript.session()
    said = [message.text for message in session.messages if message.role != "tool" and message.text]
    assert said == ["hello", "what shall I do?", "make a backup", "Made."]
    assert session.taken_back == (2,)
    assert list(session.reported) == [4]
    assert session.usage[0].output_tokens == 10, "the work was done all the same"


def test_a_prompt_that_was_written_anew_before_any_answer_takes_nothing_back() -> None:
    transcript = Transcript()
    before = transcript.answer("yes?")
    transcript.prompt("do ti")
    transcript.prompt("[Request interrupted by user]")
    transcript.prompt("do it", parentUuid=before)
    session = transcript.session()
    assert [message.text for message in session.messages] == ["yes?", "do it"]
    assert session.taken_back == ()


def test_what_was_taken_back_more_than_once_counts_each_time() -> None:
    transcript = Transcript()
    before = transcript.answer("yes?")
    for number in range(3):
        transcript.prompt(f"try {number}", parentUuid=before)
        transcript.answer(f"answer {number}")
    session = transcript.session()
    assert [message.text for message in session.messages] == ["yes?", "try 2", "answer 2"]
    assert session.taken_back == (1, 1)


def test_results_of_parallel_calls_and_missing_parents_take_nothing_back() -> None:
    transcript = Transcript()
    transcript.prompt("hello", parentUuid="not-in-this-file")
    asked = transcript.answer(call("a"), call("b"), stop="tool_use")
    transcript.result("b", "two", parentUuid=asked)
    transcript.result("a", "one", parentUuid=asked)
    transcript.answer("Both.")
    transcript.prompt("more", parentUuid=None)
    transcript.prompt("and more", parentUuid=None)
    session = transcript.session()
    assert len(session.messages) == 7
    assert session.taken_back == ()


def test_another_first_prompt_takes_all_back() -> None:
    """2.1.330 gives it no parent, as the first one has none."""
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("What?")
    transcript.prompt("good morning", parentUuid=None)
    transcript.answer("Good morning.")
    session = transcript.session()
    assert [message.text for message in session.messages] == ["good morning", "Good morning."]
    assert session.taken_back == (0,)


def test_where_parents_are_missing_nothing_is_taken_back() -> None:
    transcript = Transcript()
    for number in range(3):
        transcript.prompt(f"prompt {number}", parentUuid=None)
        transcript.add(type="assistant", message={"content": f"answer {number}"}, parentUuid=None)
    session = transcript.session()
    assert (len(session.messages), session.taken_back) == (6, ())


def test_a_line_that_stands_twice_counts_once() -> None:
    transcript = Transcript()
    transcript.prompt("hello")
    transcript.answer("once", answer="m")
    transcript.lines.append(transcript.lines[-1])
    assert [message.text for message in transcript.session().messages] == ["hello", "once"]
