"""One session, and what a feature says about it; each group has a table of its own."""

from __future__ import annotations

import msgspec
import pytest

from grader_daemon.domain.session import TOOL, Message
from tests.feature_values import FAILED, calling, value_of
from tests.strategies import WORKED, answer, call, result, rounds, user
from tests.tables import for_each

ASK = user("What is it?")
WORK = user("Fix the script in the repository")
PROBED = (
    calling("terminal", '{"command": "which node"}'),
    msgspec.structs.replace(result('{"output": "", "exit_code": 1, "error": null}'), tool_call_id="1"),
)
"""A look at what may not be there."""

WRITE = calling("write_file", '{"path": "a.py", "content": "x"}')


def case(name: str, expected: float, *messages: Message, because: str) -> object:
    return pytest.param(name, messages, expected, id=f"{name}-{because}")


GOODBYE = user("That's all I needed, thank you. Have a great day!")
TRANSFER = calling("transfer_to_human_agents", '{"summary": "x"}')

ENDING = [
    case("answered", 1, ASK, answer("It."), because="text"),
    case("answered", 1, ASK, answer("It."), user("###STOP###"), because="a-harness-ends-the-talk"),
    case("answered", 0, ASK, answer(" "), because="blank"),
    case("answered", 0, ASK, answer("It i", "length"), because="cut"),
    case("answered", 0, because="no-messages"),
    case("unfinished", 0, ASK, answer("It."), because="answered"),
    case("unfinished", 0, ASK, answer("It."), GOODBYE, because="a-goodbye"),
    case("unfinished", 1, ASK, answer("It."), user("And why?"), because="an-unanswered-question"),
    case("unfinished", 1, ASK, call("t"), because="call-without-result"),
    case("unfinished", 1, ASK, calling("t"), result("x"), because="ends-in-a-result"),
    case("unfinished", 0, ASK, calling("submit"), result("x"), because="handed-in"),
    case("unfinished", 0, ASK, calling("attempt_completion"), because="handed-in-by-a-call-without-result"),
    case("unfinished", 1, ASK, answer("I have exceeded the limit"), because="at-a-limit"),
    case("unfinished", 1, ASK, answer('<tool_call>{"name": "t"}'), because="a-call-never-made"),
    case("says_nothing", 1, ASK, answer("(empty)"), because="said-to-be-empty"),
    case("says_nothing", 0, ASK, call("t"), because="a-call"),
    case("cut_short", 1, ASK, answer("It i", "length"), because="cut"),
    case("cut_short", 1, ASK, answer("I ran out of steps: step limit"), because="at-a-limit"),
    case("cut_short", 0, ASK, answer(""), because="empty-is-not-cut"),
    case("call_last", 1, ASK, calling("t"), because="no-result"),
    case("call_last", 0, ASK, *rounds(WORKED), because="a-result"),
    case("write_last", 1, ASK, WRITE, because="a-file-without-a-result"),
    case("write_last", 1, ASK, WRITE, result("ok"), because="a-file-with-its-result"),
    case("write_last", 1, ASK, calling("bash", '{"commands": "echo x > a.py"}'), because="a-file-in-a-shell"),
    case("write_last", 0, ASK, WRITE, answer("Written."), because="an-answer-follows"),
    case("write_last", 0, ASK, calling("read_file"), because="a-look"),
    case("failure_last", 1, ASK, *rounds(WORKED, FAILED), because="the-last-failed"),
    case("failure_last", 0, ASK, *rounds(FAILED, WORKED), because="the-last-worked"),
    case("failure_last", 0, ASK, *rounds(FAILED), answer("It failed."), because="an-answer-follows"),
    case("announced", 1, ASK, answer("Let me look."), because="a-next-step"),
    case("announced", 0, ASK, answer("It was this."), because="no-next-step"),
    case("unmade_call", 1, ASK, answer('<tool_call>{"name": "t"}'), because="markup-of-a-call"),
    case("closed", 1, ASK, calling("finish"), result("x"), answer("It."), because="handed-in-before-the-answer"),
    case("closed", 1, WORK, calling("bash", '{"command": "submit"}'), because="handed-in-by-a-shell"),
    case("closed", 0, WORK, calling("bash", '{"command": "git submit-patch"}'), because="another-command"),
    case("asks_back", 1, ASK, answer("Which *one?*"), because="a-question"),
    case("unanswered", 1, ASK, because="a-request"),
    case("unanswered", 1, ASK, answer("It."), user("Thanks! Could you book it?"), because="thanks-with-a-question"),
    case("unanswered", 1, ASK, answer("a"), user("Thank you"), answer("b"), user("Now book it"), because="another-one"),
    case("unanswered", 0, ASK, answer("It."), user("It works now"), because="acceptance"),
    case("unanswered", 0, ASK, answer("It."), GOODBYE, because="a-goodbye"),
    case("unanswered", 0, ASK, answer("No."), user("Transfer me to a human please"), because="a-hand-over"),
    case("handed_over", 1, ASK, TRANSFER, user("###TRANSFER###"), because="a-call"),
    case("handed_over", 1, ASK, answer("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT."), because="said"),
    case("handed_over", 0, ASK, answer("The file was transferred."), because="a-file"),
    case("handed_over", 0, ASK, TRANSFER, result("x"), calling("t"), because="it-goes-on"),
]

TROUBLE = [
    case("trouble_at_end", 0, ASK, *rounds(WORKED), answer("It."), because="all-well"),
    case(
        "trouble_at_end", 4, ASK, *rounds("", ""), answer("Wait, wrong."), because="empty-same-result-same-call-doubt"
    ),
    case("trouble_at_end", 1, ASK, answer("?"), user("I don't understand your input."), because="misread"),
    case("struggle", 0.333, ASK, because="nothing-was-tried"),
    case("struggle", 0.4, ASK, *rounds(FAILED, WORKED), because="one-error-in-two-steps"),
    case("struggle", 1, ASK, *rounds(*[FAILED] * 8), *[answer("Sorry")] * 5, because="never-more-than-one"),
    case("errors_at_end", 0.333, ASK, *rounds(FAILED, WORKED, "x"), because="one-in-three"),
    case("error_last", 1, ASK, *rounds("No such thing"), because="said-in-words"),
    case("error_last", 0, ASK, *rounds("It was found"), because="a-word-of-a-phrase"),
    case("error_last", 0, ASK, because="no-result"),
    case("failures", 0.5, ASK, *rounds(FAILED, WORKED), because="one-of-two"),
    case("overcome", 0.7, ASK, because="no-failure"),
    case("overcome", 0.5, ASK, *rounds(FAILED, FAILED, WORKED), because="the-second-of-two"),
    case("failures", 0, ASK, *PROBED, because="a-look-at-what-may-not-be-there"),
    case("left", 0.3, ASK, *rounds(WORKED), because="no-error"),
    case("left", 0.3, ASK, *PROBED, because="only-a-probe"),
    case("left", 1, ASK, *rounds(FAILED, FAILED), because="nothing-was-made-good"),
    case("left", 0, ASK, *rounds(FAILED, WORKED), because="made-good"),
    case("worse", 0.5, ASK, because="nothing-happened"),
    case("worse", 0.666, ASK, *rounds(WORKED, FAILED), because="error-in-the-later-half"),
    case("doubt", 1.099, ASK, answer("Hmm, that is wrong."), because="two-words"),
    case("form_complaints", 0.5, ASK, *rounds("Invalid format"), because="of-a-result-and-the-request"),
    case("empty_results", 0.5, ASK, *rounds("[]", "full"), because="one-of-two"),
    case("empty_results", 1, ASK, *rounds("(no output)"), because="said-to-be-empty"),
    case("negative_words", 1.099, ASK, *rounds("missing", "none"), because="two-words"),
    case("positive_words", 0.693, ASK, *rounds("saved"), because="one-word"),
    case("good_news", 1, ASK, *rounds("3 passed"), because="passed"),
]

REPETITION = [
    case("repeats", 0.5, ASK, *rounds("x", "x"), because="call-and-result-twice"),
    case("repeats", 0, ASK, answer("a"), because="nothing-twice"),
    case("same_calls", 0.5, ASK, *rounds("x", "y"), because="one-of-two"),
    case("same_results", 0.5, ASK, *rounds("x", "x"), because="one-of-two"),
    case("varied_calls", 1, ASK, calling("t", "a"), calling("t", "b"), because="two-beginnings"),
    case("same_words", 0.333, ASK, answer("one two"), answer("two three"), because="one-of-three"),
    case("same_words", 0, ASK, answer("one two"), because="nothing-to-compare"),
    case("alike_results", 1, ASK, *rounds("a b", "b a"), because="other-order"),
]


ACTIVITY = [
    case("little_done", 1, WORK, answer("Done."), because="one-turn"),
    case("little_done", 0, WORK, *[answer("a")] * 5, because="five-turns"),
    case("little_done", 0, ASK, answer("It."), because="only-a-question"),
    case("nothing_done", 1, WORK, answer("Done."), because="no-call"),
    case("nothing_done", 0, WORK, WRITE, because="a-call"),
    case("nothing_done", 0, ASK, answer("It."), because="only-a-question"),
    case("turns_for_answer", 0.693, ASK, answer("a"), because="a-question"),
    case("turns_for_answer", 0, WORK, answer("a"), because="files"),
    case("asked_length", 2.485, ASK, because="eleven-characters"),
    case("asked_length", 0, because="no-request"),
    case("said_length", 1.946, ASK, answer("One."), call("t"), answer("It"), because="six-characters-in-two-texts"),
    case("shown_length", 1.609, ASK, *rounds("abc", "d"), because="four-characters-in-two-results"),
    case("shown_length", 12, ASK, *rounds("x" * 200_000), because="no-more-than-the-highest"),
    case("exchanges", 1.946, ASK, *rounds("a", "b"), answer("It."), because="six-messages"),
    case("exchanges", 5.1, ASK, *rounds(*["a"] * 80), answer("It."), user("Thanks"), because="the-whole-session"),
    case("answered_calls", 1.099, ASK, *rounds("a", "b"), call("t"), because="two-of-three"),
    case("mishaps", 1.099, ASK, *rounds(FAILED, FAILED), because="nothing-was-made-good"),
    case("mishaps", 0, ASK, *rounds(FAILED, WORKED), because="made-good"),
    case("mishaps", 0, ASK, *PROBED, because="a-look-at-what-may-not-be-there"),
]


def step(tool: str, arguments: str, said: str) -> tuple[Message, Message]:
    """A call and its result."""
    return calling(tool, arguments), Message(role=TOOL, name=tool, tool_call_id="1", content=said)


RED = step("bash", '{"command": "pytest"}', FAILED)
GREEN = step("bash", '{"command": "pytest"}', "3 passed, 0 failed")
WROTE = step("write_file", '{"path": "a.py", "content": "x"}', "ok")
NOT_WRITTEN = step("write_file", '{"path": "a.py", "content": "x"}', "Error: permission denied")
SHOWN = step("bash", '{"command": "cat a.py"}', "x")
NAMES_FILES = user("Copy `red` and 'blue' from notes.txt to /srv/out")

CHANGES = [
    case("trial", 0.5, WORK, *WROTE, because="not-tried"),
    case("trial", 0.5, WORK, *GREEN, because="nothing-written"),
    case("trial", 0.5, WORK, *GREEN, *WROTE, because="run-before-it-was-written"),
    case("trial", 1, WORK, *WROTE, *GREEN, because="went-well"),
    case("trial", 0, WORK, *WROTE, *RED, because="failed"),
    case("trial", 0, WORK, *WROTE, *step("bash", "{}", "ValueError: an error"), because="says-error"),
    case("verdict", 1, WORK, *GREEN, because="none-failed"),
    case("verdict", 0, WORK, *step("bash", "{}", "2 failed"), because="failed"),
    case("verdict", 0.5, WORK, *step("bash", "{}", "2 failed, 3 passed"), because="both"),
    case("verdict", 0.5, WORK, *step("bash", "{}", "a b"), because="neither"),
    case("red_to_green", 1, WORK, *RED, *WROTE, *GREEN, because="mended"),
    case("red_to_green", 0, WORK, *RED, *GREEN, because="nothing-written"),
    case("red_to_green", 0, WORK, *WROTE, *GREEN, *RED, because="broken"),
    case("write_failed", 1, WORK, *WROTE, *NOT_WRITTEN, because="the-last"),
    case("write_failed", 0, WORK, *NOT_WRITTEN, *WROTE, because="only-the-first"),
    case("read_back", 1, WORK, *WROTE, *SHOWN, because="shown"),
    case("read_back", 0, WORK, *SHOWN, *WROTE, because="before"),
    case("rewrites", 1.099, WORK, *WROTE, *WROTE, because="twice"),
    case("rewrites", 0.693, WORK, *step("bash", '{"command": "ls > a.txt"}', ""), because="in-a-shell"),
    case("rewrites", 0, WORK, *GREEN, because="nothing-written"),
    case("timeouts", 0.5, WORK, *rounds("x", "Command timed out after 120.0s"), because="one-of-two"),
]

CANCEL = step("cancel_order", '{"id": 1}', "Cancelled")
SERVED = user("Cancel it and exchange the other")

SERVICES = [
    case("changes_made", 0.693, ASK, *CANCEL, because="one"),
    case("changes_made", 0, ASK, *step("cancel_order", "{}", FAILED), because="one-that-failed"),
    case("change_last", 1, ASK, *CANCEL, answer("Done."), because="nothing-after-it"),
    case("change_last", 0, ASK, *CANCEL, *step("get_order", "{}", "x"), because="a-look-after-it"),
    case("asked_made", 0.5, ASK, *CANCEL, because="no-change-named"),
    case("asked_made", 0.5, SERVED, *CANCEL, because="one-of-two"),
    case("asked_made", 1, user("Cancel it"), *CANCEL, because="done"),
    case("asked_made", 0, user("Cancel it"), *step("get_order", "{}", "x"), user("Well?"), because="not-done"),
    case("asked_made", 0.5, user("Return the file"), *CANCEL, because="no-service"),
    case("consented", 1, ASK, answer("Shall I?"), user("Yes"), because="yes"),
    case("consented", 0, user("Yes"), answer("Shall I?"), because="only-the-request"),
]

SPECIFICS = [
    case("specifics_called", 0.5, WORK, *rounds("x"), because="nothing-named"),
    case("specifics_called", 0.5, NAMES_FILES, because="nothing-done"),
    case("specifics_called", 0.25, NAMES_FILES, *step("bash", '{"command": "cat notes.txt"}', ""), because="one"),
    case("specifics_called", 0.5, user("Who said 'blue'?"), *step("search", "blue", ""), because="a-lookup"),
    case("specifics_shown", 0.5, NAMES_FILES, *step("bash", "{}", "red blue"), because="two-of-four"),
    case("specifics_answered", 0.75, NAMES_FILES, *rounds("x"), answer("red, blue: /srv/out"), because="three-of-four"),
]

STYLE = [
    case("rows_for_answer", 1.099, ASK, *rounds("a\nb\nc"), because="two-more"),
    case("rows_for_answer", 0.693, ASK, *rounds("[(1, 2), (3, 4)]"), because="tuples"),
    case("rows_for_answer", 0.693, ASK, *rounds('{"output": "a\\nb'), because="escaped-line-breaks"),
    case("rows_for_answer", 0, WORK, *rounds("a\nb"), because="files"),
    case("rows_for_answer", 0, ASK, because="no-result"),
    case("one_row", 1, ASK, *rounds("a"), because="one"),
    case("one_row", 0, ASK, *rounds("a\nb"), because="two"),
    case("one_row", 0, ASK, because="no-result"),
    case("hedges", 1.099, ASK, answer("However, it may."), because="two-words"),
    case("inability", 1, ASK, answer("I am unable to."), because="a-word"),
    case("inability", 1, ASK, answer("I could not."), because="two-words"),
    case("inability", 0, ASK, answer("Why not?"), because="only-not"),
]

CONVERSATION = [
    case("messages", 0.693, ASK, answer("a"), user("b"), because="one-more"),
    case("objected", 1, ASK, answer("a"), user("It was wrong of her"), because="wrong"),
    case("objected", 1, ASK, answer("a"), user("It doesn't work"), because="does-not-work"),
    case("objected", 1, ASK, answer("a"), user("Undo that"), answer("b"), user("Blue"), because="said-before"),
    case("objected", 0, ASK, answer("a"), user("Undo that"), answer("b"), user("Thank you"), because="content-now"),
    case("objected", 0, user("What is wrong?"), answer("a"), because="only-the-request"),
    case("complaints", 0.5, ASK, user("Wrong"), user("ok"), because="one-of-two"),
    case("complaints", 1, *[user("Wrong")] * 9, because="more-messages-than-are-looked-at"),
    case("took_leave", 1, ASK, answer("a"), user("Thank you"), because="thanks"),
    case("took_leave", 1, ASK, answer("a"), user("Thank you\n###STOP###"), because="behind-it-the-mark-of-a-harness"),
    case("took_leave", 1, ASK, answer("a"), user("Take care"), because="a-goodbye"),
    case("took_leave", 1, ASK, answer("a"), user("Vielen Dank"), because="a-signal-of-thanks"),
    case("accepted", 1, ASK, answer("a"), user("It works now"), answer("b"), user("Blue"), because="said-before"),
    case("took_leave", 0, ASK, answer("a"), user("It works now"), because="praise-is-no-goodbye"),
    case("accepted", 0, ASK, answer("a"), user("Thank you"), because="thanks-are-no-praise"),
    case("accepted", 0, ASK, answer("a"), user("It works now, but the colour is bad"), because="something-is-wrong"),
    case("took_leave", 0, ASK, answer("a"), user("Thanks, but it is wrong"), because="a-complaint-all-the-same"),
    case("took_leave", 0, ASK, answer("a"), user("Thanks, and the other one?"), because="a-question"),
    case("took_leave", 0, user("Thanks in advance"), answer("a"), because="only-the-request"),
    case("asked_last", 1, ASK, user("How so?"), because="how"),
    case("said_last", 1.099, ASK, user("one two"), because="two-words"),
]


@for_each(
    ("name", "messages", "expected"),
    [*ENDING, *TROUBLE, *REPETITION, *ACTIVITY, *CHANGES, *SERVICES, *SPECIFICS, *STYLE, *CONVERSATION],
)
def test_a_feature_says(name: str, messages: tuple[Message, ...], expected: float) -> None:
    assert value_of(name, *messages) == expected


@pytest.mark.parametrize(
    ("place", "one", "other"),
    [
        pytest.param("answer", (ASK, answer("red")), (ASK, answer("blue")), id="answer"),
        pytest.param("result", (ASK, *rounds("red")), (ASK, *rounds("blue")), id="result"),
        pytest.param("call", (ASK, calling("t", "red")), (ASK, calling("t", "blue")), id="call"),
    ],
)
def test_other_words_fall_into_other_buckets(place: str, one: tuple[Message, ...], other: tuple[Message, ...]) -> None:
    names = [f"hash:{place}:{bucket}" for bucket in range(256)]
    found = [tuple(value_of(name, *messages) for name in names) for messages in (one, other)]
    assert found[0] != found[1]
    assert all(0 < sum(bits) <= 2 for bits in found)
