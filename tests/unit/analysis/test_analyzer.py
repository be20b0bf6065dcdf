from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import Category, SessionState, ToolUse
from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.rules import RedactionRules
from grader_daemon.domain.session import FunctionCall, Message, Session, SessionKind, ToolCall
from grader_daemon.redaction import MARK
from grader_daemon.rules import load_rules
from tests.strategies import BROKE, NOW, WORKED, answer, call, result, rounds, session, sessions, user

REQUEST = user("Run it")
INJECTED = user("[System: Continue now. Execute the required tool calls]")
NOT_EXECUTED = "[Tool execution skipped — terminal was not started. User sent a new message]"
GUARDED = '{"error": "BLOCKED: You have called read_file on this exact region 4 times"}'
REFUSED = '{"output": "", "exit_code": -1, "error": "BLOCKED: User denied.", "status": "blocked"}'
INTERRUPTED = '{"output": "[Command interrupted]", "exit_code": 130, "error": null}'


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def test_messages_calls_and_failures_are_counted(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(REQUEST, call("terminal", "read_file"), result(BROKE), result(WORKED, "read_file"), answer("It broke."))
    )
    assert (found.total_api_calls, found.tool_calls, found.total_errors, found.error_rate) == (2, 2, 1, 0.5)


def test_a_talk_that_a_harness_ends_ends_in_what_came_before(analyzer: Analyzer) -> None:
    said = (REQUEST, answer("Booked."), user("###STOP###"), user("reward: 1"))
    found = analyzer.analyze(session(*said))
    assert (found.state, found.final_answer, found.final_index) == (SessionState.COMPLETE, "Booked.", 1)
    assert found.features == analyzer.analyze(session(*said[:2])).features


@pytest.mark.parametrize(
    ("results", "errors"),
    [
        pytest.param((BROKE,) * 2 + (WORKED,) * 7, None, id="fewer-than-ten"),
        pytest.param((BROKE,) * 2 + (WORKED,) * 8, 2, id="ten"),
        pytest.param((WORKED,) * 9 + (BROKE,) * 3, 1, id="later-ones-do-not-count"),
    ],
)
def test_errors_in_the_first_ten_calls_are_counted(
    analyzer: Analyzer, results: tuple[str, ...], errors: int | None
) -> None:
    assert analyzer.analyze(session(REQUEST, *rounds(*results), answer("Done."))).early_errors == errors


def test_a_failure_knows_its_message_tool_and_category(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(WORKED, BROKE), answer("It broke.")))
    assert [(each.index, each.tool, each.category) for each in found.failures] == [
        (4, "terminal", Category.COMMAND_FAILED)
    ]


_DIGESTS = {"system_prompt_digest", "tools_digest"}
_TEXTS = [
    field.name
    for field in msgspec.structs.fields(Session)
    if field.type in (str, str | None) and field.default is None and field.name not in _DIGESTS
]


@pytest.mark.parametrize("name", _TEXTS)
def test_no_text_that_a_session_says_of_itself_keeps_a_secret(analyzer: Analyzer, name: str) -> None:
    secret = "sk-" + "A1b2C3d4" * 6
    kept = getattr(analyzer.without_secrets(msgspec.structs.replace(session(REQUEST), **{name: f"a {secret}"})), name)
    assert kept.startswith(f"a {MARK}")
    assert secret not in kept


def test_names_are_cut_and_unknown_ones_stay_unknown(analyzer: Analyzer) -> None:
    kept = analyzer.without_secrets(msgspec.structs.replace(session(REQUEST), model="m" * 5_000, agent=None))
    assert (kept.model, kept.agent) == ("m" * LONGEST_NAME, None)


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\N{NO-BREAK SPACE}"])
def test_a_blank_name_is_unknown(analyzer: Analyzer, blank: str) -> None:
    kept = analyzer.without_secrets(msgspec.structs.replace(session(REQUEST), model=blank, platform=blank))
    assert (kept.model, kept.platform) == (None, None)


def test_error_rate_without_calls_is_zero(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(REQUEST)).error_rate == 0


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        pytest.param(Message(role="tool", content=BROKE, name="patch"), "patch", id="name"),
        pytest.param(Message(role="tool", content=BROKE, tool_name="patch"), "patch", id="tool-name"),
        pytest.param(Message(role="tool", content=BROKE, tool_call_id="c1"), "terminal", id="by-call-id"),
        pytest.param(Message(role="tool", content=BROKE, tool_call_id="c2"), None, id="unknown-call-id"),
        pytest.param(Message(role="tool", content=BROKE), None, id="nothing"),
    ],
)
def test_the_tool_of_a_result_is_looked_up(analyzer: Analyzer, message: Message, tool: str | None) -> None:
    calling = Message(
        role="assistant", tool_calls=(ToolCall(id="c1", function=FunctionCall(name="terminal", arguments="{}")),)
    )
    assert analyzer.analyze(session(REQUEST, calling, message)).failures[0].tool == tool


@pytest.mark.parametrize(
    ("contents", "repeated", "loop"),
    [
        pytest.param((BROKE,) * 2, False, False, id="two-in-a-row"),
        pytest.param((BROKE,) * 3, True, False, id="three-in-a-row"),
        pytest.param((BROKE,) * 4, True, False, id="four-in-a-row"),
        pytest.param((BROKE,) * 5, True, True, id="five-in-a-row"),
        pytest.param((BROKE, BROKE, WORKED, BROKE, BROKE), False, False, id="a-success-ends-the-row"),
        pytest.param((BROKE, BROKE, NOT_EXECUTED, BROKE), True, False, id="what-was-not-executed-does-not-end-it"),
        pytest.param((BROKE, BROKE, NOT_EXECUTED), False, False, id="nor-lengthen-it"),
        pytest.param((BROKE, BROKE, REFUSED), False, False, id="a-refusal-does-not-lengthen-it"),
        pytest.param((GUARDED,) * 4, False, False, id="four-calls-that-a-guard-refused"),
        pytest.param((GUARDED,) * 5, False, True, id="five-are-no-errors-but-look-like-a-loop"),
        pytest.param((BROKE, BROKE, *[GUARDED] * 3), False, True, id="together-with-failures"),
        pytest.param((*[GUARDED] * 4, WORKED, GUARDED), False, False, id="a-success-ends-that-too"),
    ],
)
def test_failures_in_a_row(analyzer: Analyzer, contents: tuple[str, ...], repeated: bool, loop: bool) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(*contents), answer("That was it.")))
    assert (found.had_repeated_errors, found.had_infinite_loop_risk) == (repeated, loop)


def test_failures_of_one_message_are_a_row_too(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, call("a", "b", "c"), *[result(BROKE)] * 3))
    assert found.had_repeated_errors


@pytest.mark.parametrize(
    ("api_calls", "risk", "index"),
    [pytest.param(50, False, None, id="fifty-calls"), pytest.param(51, True, 101, id="fifty-one-calls")],
)
def test_many_calls_look_like_a_loop(analyzer: Analyzer, api_calls: int, risk: bool, index: int | None) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(*[WORKED] * (api_calls - 1)), answer("Done with it.")))
    assert (found.total_api_calls, found.had_infinite_loop_risk, found.loop_index) == (api_calls, risk, index)


def test_loop_index_is_the_fifth_failure(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(REQUEST, *rounds(*[BROKE] * 7))).loop_index == 10


@pytest.mark.parametrize(
    ("messages", "recovered"),
    [
        pytest.param((*rounds(WORKED), answer("Fine.")), True, id="no-failures"),
        pytest.param((*rounds(BROKE, WORKED), answer("Fine.")), True, id="a-success-after-the-last"),
        pytest.param((*rounds(WORKED, BROKE), answer("Hm.")), False, id="no-success-after-the-last"),
        pytest.param((*rounds(BROKE, WORKED, BROKE), answer("Hm.")), False, id="failed-again"),
        pytest.param(rounds(BROKE, WORKED), False, id="no-answer-at-the-end"),
        pytest.param((*rounds(BROKE, WORKED), answer("cut", "length")), False, id="answer-cut-short"),
        pytest.param((*rounds(BROKE, NOT_EXECUTED), answer("Hm.")), False, id="not-executed-is-no-success"),
        pytest.param((*rounds(BROKE, REFUSED), answer("Hm.")), False, id="a-refusal-is-no-success"),
        pytest.param((*rounds(REFUSED), answer("As you like.")), True, id="a-refusal-is-no-failure"),
    ],
)
def test_recovery(analyzer: Analyzer, messages: tuple[Message, ...], recovered: bool) -> None:
    assert analyzer.analyze(session(REQUEST, *messages)).errors_recovered is recovered


def test_recovery_index_is_the_first_success_after_the_last_failure(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(BROKE, WORKED, BROKE, WORKED, WORKED), answer("Fine.")))
    assert found.recovery_index == 8


@pytest.mark.parametrize(
    ("messages", "asked"),
    [
        pytest.param((answer("Which folder?"), user("src"), answer("Done.")), True, id="question-with-an-answer"),
        pytest.param((answer("Which folder?"),), False, id="question-without-an-answer"),
        pytest.param((answer("Which folder?"), INJECTED, answer("x")), False, id="answered-by-the-machinery-only"),
        pytest.param((answer("I used src."), user("Good")), False, id="no-question"),
        pytest.param((answer("Which? I chose src."), user("Good")), False, id="question-in-the-middle"),
        pytest.param((answer('Shall I use **"src"?**\n'), user("Yes")), True, id="question-in-decoration"),
        pytest.param((answer("どのフォルダですか？"), user("src")), True, id="full-width-question-mark"),
        pytest.param((call("clarify"), result('{"user_response": "src"}', "clarify")), True, id="clarify-tool"),
        pytest.param((call("terminal"), user("Stop")), False, id="message-in-the-middle-of-a-call"),
        pytest.param(
            (
                Message(
                    role="assistant",
                    content="Shall I?",
                    tool_calls=(ToolCall(id="c", function=FunctionCall(name="terminal", arguments="{}")),),
                ),
                result(WORKED),
                user("Yes"),
            ),
            False,
            id="question-beside-a-tool-call",
        ),
    ],
)
def test_clarification(analyzer: Analyzer, messages: tuple[Message, ...], asked: bool) -> None:
    assert analyzer.analyze(session(REQUEST, *messages)).had_user_clarification is asked


@pytest.mark.parametrize(
    ("content", "refusal", "interruption"),
    [
        pytest.param(REFUSED, True, False, id="refusal"),
        pytest.param(INTERRUPTED, False, True, id="interruption"),
        pytest.param(BROKE, False, False, id="failure"),
    ],
)
def test_what_people_stopped_has_its_own_flag(
    analyzer: Analyzer, content: str, refusal: bool, interruption: bool
) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(content), answer("That was it.")))
    assert (found.had_user_refusal, found.had_user_interruption) == (refusal, interruption)


@pytest.mark.parametrize("content", [pytest.param(REFUSED, id="refusal"), pytest.param(INTERRUPTED, id="interruption")])
def test_what_people_stopped_is_no_failure(analyzer: Analyzer, content: str) -> None:
    assert analyzer.analyze(session(REQUEST, *rounds(content), answer("That was it."))).failures == ()


def test_task_is_what_a_person_asked_first(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(INJECTED, user("Deploy it"), answer("Deployed."), user("Now write tests")))
    assert (found.task_type, found.task_summary) == ("deployment", "Deploy it")


def test_without_a_person_there_is_no_summary(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(INJECTED, answer("It is 4."))).task_summary is None


@pytest.mark.parametrize(
    ("started", "updated", "seconds"),
    [
        pytest.param(NOW, NOW + timedelta(seconds=90.5), 90.5, id="difference"),
        pytest.param(NOW, NOW, 0.0, id="at-once"),
        pytest.param(datetime(2026, 11, 21, 23, tzinfo=UTC), NOW, None, id="negative"),
        pytest.param(None, NOW, None, id="no-start"),
        pytest.param(NOW, None, None, id="no-end"),
    ],
)
def test_duration(
    analyzer: Analyzer, started: datetime | None, updated: datetime | None, seconds: float | None
) -> None:
    found = analyzer.analyze(session(REQUEST, started_at=started, updated_at=updated))
    assert found.duration_seconds == seconds


@pytest.mark.parametrize(
    ("messages", "text", "index"),
    [
        pytest.param((REQUEST, answer(" It is 4.\n")), "It is 4.", 1, id="last-answer"),
        pytest.param((REQUEST, answer("One."), user("And?"), answer("Two.")), "Two.", 3, id="of-the-last-turn"),
        pytest.param((REQUEST, answer("One."), user("And?")), "", None, id="not-of-a-turn-before"),
        pytest.param((REQUEST, call("terminal")), "", None, id="a-call-is-no-answer"),
        pytest.param((), "", None, id="no-messages"),
    ],
)
def test_final_answer(analyzer: Analyzer, messages: tuple[Message, ...], text: str, index: int | None) -> None:
    found = analyzer.analyze(session(*messages))
    assert (found.final_answer, found.final_index) == (text, index)


def test_idleness_interrupts_an_open_session(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(REQUEST), idle=True).state is SessionState.INTERRUPTED


@given(given_session=sessions())
def test_any_session_has_consistent_facts(analyzer: Analyzer, given_session: Session) -> None:
    found = analyzer.analyze(given_session)
    roles = [given_session.messages[failure.index].role for failure in found.failures]
    assert set(roles) <= {"tool"}
    assert found.total_api_calls == sum(message.role == "assistant" for message in given_session.messages)
    assert found.had_infinite_loop_risk == (found.loop_index is not None)
    assert found.errors_recovered or found.failures


@given(given_session=sessions())
def test_an_injected_message_at_the_front_changes_no_count(analyzer: Analyzer, given_session: Session) -> None:
    longer = msgspec.structs.replace(given_session, messages=(INJECTED, *given_session.messages))
    plain, prefixed = analyzer.analyze(given_session), analyzer.analyze(longer)
    assert (plain.total_errors, plain.tool_calls, plain.task_summary) == (
        prefixed.total_errors,
        prefixed.tool_calls,
        prefixed.task_summary,
    )


@pytest.mark.parametrize(
    "calling",
    [
        pytest.param(ToolCall(id="c1"), id="that-names-no-function"),
        pytest.param(ToolCall(function=FunctionCall(name="terminal")), id="that-has-no-id"),
    ],
)
def test_a_call_counts_though_parts_of_it_are_missing(analyzer: Analyzer, calling: ToolCall) -> None:
    found = analyzer.analyze(session(REQUEST, Message(role="assistant", tool_calls=(calling,))))

    assert found.tool_calls == 1


def test_the_first_sign_of_a_loop_is_kept(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, *rounds(*[BROKE] * 60)))

    assert found.loop_index == 10


def test_tools_without_end_are_counted_as_one(analyzer: Analyzer) -> None:
    messages = [message for number in range(300) for message in (call(f"tool_{number}"), result(WORKED, None))]
    found = analyzer.analyze(session(user("go"), *messages))
    assert len(found.tools) == 201
    assert found.tools[-1] == ToolUse("other", 100, 0)
    assert found.tool_calls == 300


def test_a_tool_called_by_a_page_of_text_is_known_by_its_beginning(analyzer: Analyzer) -> None:
    name = "print(" + "x" * 1000
    found = analyzer.analyze(session(user("go"), call(name), result(BROKE, name), answer("Done.")))
    assert found.tools == (ToolUse(name[:256], 1, 1),)
    assert found.failures[0].tool == name[:256]


def test_causes_without_end_have_no_fingerprint(analyzer: Analyzer) -> None:
    words = [f"{first}{second}" for first in "abcdefghijklmnop" for second in "abcdefghijklmnop"]
    contents = [f'{{"output": "zzz{word}zzz is broken", "exit_code": 1}}' for word in words]
    found = analyzer.analyze(session(user("go"), *rounds(*contents)))
    assert len(found.failures) == 256
    assert len(found.signs) == 200
    assert sum(failure.fingerprint is None for failure in found.failures) == 56


@pytest.mark.parametrize(
    ("emails", "shown"), [pytest.param(False, True, id="stay"), pytest.param(True, False, id="go")]
)
def test_addresses_are_redacted_if_the_rules_ask_for_it(emails: bool, shown: bool) -> None:
    rules = msgspec.structs.replace(load_rules(), redaction=RedactionRules(emails=emails))
    failed = '{"output": "Error: kim@example.org may not send mail", "exit_code": 1}'
    found = Analyzer(rules).analyze(session(user("Write to kim@example.org"), *rounds(failed)))
    assert ("kim@example.org" in str(found.task_summary)) is shown
    assert ("kim@example.org" in found.signs[0].example) is shown


@pytest.mark.parametrize("before", range(200, 256, 5))
def test_the_name_of_a_model_is_redacted_before_it_is_cut(before: int) -> None:
    given = session(model="m" * before + " mysql://app:Zugvogel17Zugvogel17@db/shop " + "m" * 300)

    model = Analyzer(load_rules()).without_secrets(given).model

    assert model is not None
    assert len(model) == 256
    assert "Zug" not in model


@pytest.mark.parametrize(
    ("places", "signals"),
    [
        pytest.param((), [], id="nothing"),
        pytest.param((2,), [("undone", 2)], id="before-the-next-message"),
        pytest.param((3,), [("undone", 2)], id="at-the-end-of-all"),
        pytest.param((2, 2), [("undone", 2), ("undone", 2)], id="twice"),
    ],
)
def test_what_a_person_took_back_is_a_signal(
    analyzer: Analyzer, places: tuple[int, ...], signals: list[tuple[str, int]]
) -> None:
    found = analyzer.analyze(session(REQUEST, answer("Done."), user("Once more"), taken_back=places))
    assert [(signal.kind.value, signal.index) for signal in found.signals_from_people] == signals


def test_what_was_said_after_it_counts_as_the_last_word(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(REQUEST, answer("Done."), user("Works now, thanks"), taken_back=(2,)))
    assert [signal.kind.value for signal in found.signals_from_people] == ["undone", "acceptance"]


def test_nothing_can_be_taken_back_from_nothing(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(taken_back=(0,))).signals_from_people == ()


@pytest.mark.parametrize(
    ("kind", "asked"),
    [(SessionKind.MAIN, True), (None, True), (SessionKind.SUB_AGENT, False), (SessionKind.CRON, False)],
)
def test_only_what_a_person_began_can_be_asked_again(analyzer: Analyzer, kind: SessionKind | None, asked: bool) -> None:
    found = analyzer.analyze(session(user("Sort the files by date"), answer("Done."), kind=kind))
    assert (found.request is not None) is asked


@pytest.mark.parametrize("tool", ["clarify", "AskUserQuestion", "ask_user", "question"])
def test_a_question_to_a_person_counts_whatever_the_tool_is_called(analyzer: Analyzer, tool: str) -> None:
    found = analyzer.analyze(session(REQUEST, call(tool), result("Blue", tool), answer("Done.")))
    assert found.had_user_clarification


DONE = answer("Done, all tests pass now.")
THANKED = [
    pytest.param((DONE, user("Thank you!")), 3, id="thanks-at-the-end"),
    pytest.param((DONE, user("Perfect, thanks."), answer("You're welcome!")), 3, id="a-goodbye-at-the-end"),
    pytest.param(
        (DONE, user("Thanks!"), answer("You're welcome!"), user("Thanks, bye!")), 3, id="thanks-for-a-goodbye"
    ),
    pytest.param((DONE, user("Thanks!"), answer("I fixed the bug.")), 5, id="a-claim-at-the-end"),
    pytest.param((DONE, user("That is wrong!"), answer("You are right.")), None, id="what-was-taken-back"),
    pytest.param((DONE, user("Thanks!"), call("terminal"), result(WORKED), answer("Hm.")), None, id="a-call-since"),
    pytest.param((user("Thanks!"),), None, id="no-answer-before"),
]


@pytest.mark.parametrize(("said", "place"), THANKED)
def test_claims_are_those_that_a_person_thanked_for(
    analyzer: Analyzer, said: tuple[Message, ...], place: int | None
) -> None:
    found = analyzer.analyze(session(REQUEST, call("terminal"), result(BROKE), *said))
    assert {claim.index for claim in found.claims} == ({place} - {None})


def test_claims_alone_are_those_of_the_analysis(analyzer: Analyzer) -> None:
    claiming = session(REQUEST, call("terminal"), result(BROKE), answer("Done, all tests pass now."))
    assert analyzer.claims(claiming) == analyzer.analyze(claiming).claims != ()
