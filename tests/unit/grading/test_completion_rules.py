from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session_result import Check, CheckKind, CheckResult, EndingKind
from grader_daemon.domain.verdict import Shown
from grader_daemon.grading.completion_rules import SENTENCES, RuleClassifier, shown_by
from grader_daemon.rules import load_rules
from tests.strategies import analysis, failures, texts
from tests.timing import is_done_within

PHRASE = "completion.phrase"
OUTPUT = "completion.output_reference"
LOW = "completion.low_error_rate"
FAILURE = "completion.failure_phrase"
HIGH = "completion.high_error_rate"
SHORT = "completion.short_answer"


@pytest.fixture(scope="module")
def classifier() -> RuleClassifier:
    return RuleClassifier(load_rules().completion)


def signs(classifier: RuleClassifier, answer: str) -> set[str]:
    """The signs that the words of an answer give."""
    _, reasons = classifier.classify(analysis(final_answer=answer))
    return {reason.rule for reason in reasons} & {PHRASE, OUTPUT, FAILURE}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param("The work is done.", {PHRASE}, id="done"),
        pytest.param("DONE!", {PHRASE}, id="in-capitals"),
        pytest.param("The task was completed", {PHRASE}, id="completed"),
        pytest.param("It was a success.", {PHRASE}, id="success"),
        pytest.param("All is finished", {PHRASE}, id="finished"),
        pytest.param("It is undone by abandoned heroes", set(), id="not-inside-of-words"),
        pytest.param("A successor is unfinished", set(), id="not-at-the-beginning-or-end-of-words"),
        pytest.param("The report was saved to out.txt", {OUTPUT}, id="saved-to"),
        pytest.param("Here is the table", {OUTPUT}, id="here-is"),
        pytest.param("Here's the table", {OUTPUT}, id="heres"),
        pytest.param("Here’s the table", {OUTPUT}, id="heres-with-a-curly-apostrophe"),
        pytest.param("Output: 42", {OUTPUT}, id="output"),
        pytest.param("The output is 42", set(), id="output-without-a-colon"),
        pytest.param("The build failed", {FAILURE}, id="failed"),
        pytest.param("I was unable  to read it", {FAILURE}, id="unable-to-over-two-spaces"),
        pytest.param("I could not read it", {FAILURE}, id="could-not"),
        pytest.param("I couldn't read it", {FAILURE}, id="couldnt"),
        pytest.param("I couldn’t read it", {FAILURE}, id="couldnt-with-a-curly-apostrophe"),
        pytest.param("The failing tests are listed", set(), id="failing-is-another-word"),
        pytest.param("Done, but the upload failed", {PHRASE, FAILURE}, id="both"),
        pytest.param("Nothing of the kind", set(), id="neither"),
    ],
)
def test_phrases_are_whole_words_in_any_case(classifier: RuleClassifier, answer: str, expected: set[str]) -> None:
    assert signs(classifier, answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("It is not done", id="not-done"),
        pytest.param("It is not yet done", id="not-yet-done"),
        pytest.param("It isn't done", id="isnt-done"),
        pytest.param("It isn’t finished", id="isnt-finished-with-a-curly-apostrophe"),
        pytest.param("It was never completed", id="never-completed"),
        pytest.param("That cannot be done", id="cannot-be-done"),
        pytest.param("That can't be done", id="cant-be-done"),
        pytest.param("We ended without success", id="without-success"),
        pytest.param("12 passed, 0 failed", id="0-failed"),
        pytest.param("Zero tests failed", id="zero-tests-failed"),
        pytest.param("No tests failed", id="no-tests-failed"),
        pytest.param("The build no longer failed", id="no-longer-failed"),
        pytest.param("Nothing failed", id="nothing-failed"),
        pytest.param("None of the tests failed", id="none-of-the-tests-failed"),
        pytest.param("Neither build failed", id="neither-build-failed"),
        pytest.param("No output: it was silent", id="no-output"),
    ],
)
def test_a_negated_phrase_does_not_count(classifier: RuleClassifier, answer: str) -> None:
    assert signs(classifier, answer) == set()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param("10 failed", {FAILURE}, id="10-is-not-0"),
        pytest.param("No problem, it is done", {PHRASE}, id="a-comma-ends-the-reach"),
        pytest.param("There is no error. Done", {PHRASE}, id="a-full-stop-ends-the-reach"),
        pytest.param("There is no error\nDone", {PHRASE}, id="a-line-end-ends-the-reach"),
        pytest.param("There were no errors — all done", {PHRASE}, id="a-dash-ends-the-reach"),
        pytest.param("There is no reason to doubt that it is done", {PHRASE}, id="too-far-before"),
        pytest.param("Done, not tested", {PHRASE}, id="after-the-phrase"),
        pytest.param("It is not done. Now it is done.", {PHRASE}, id="said-again-without"),
        pytest.param("It could not be completed", {FAILURE}, id="a-failure-phrase-negates-the-completion"),
        pytest.param("The notary is done", {PHRASE}, id="not-inside-of-a-word"),
    ],
)
def test_a_negation_reaches_a_few_words_of_its_clause(
    classifier: RuleClassifier, answer: str, expected: set[str]
) -> None:
    assert signs(classifier, answer) == expected


@pytest.mark.parametrize(
    ("answer", "errors", "api_calls", "completed"),
    [
        pytest.param("The colour is green, as I said.", 0, 1, True, id="one-for-none-against"),
        pytest.param("It is done, all of it.", 2, 5, False, id="one-for-one-against"),
        pytest.param("The colour is green, as I said.", 1, 5, False, id="none-for-none-against"),
        pytest.param("Done.", 0, 1, True, id="two-for-one-against"),
        pytest.param("Green.", 0, 1, False, id="short-answer"),
        pytest.param("", 0, 1, False, id="empty-answer"),
        pytest.param("x" * 19, 0, 1, False, id="nineteen-characters-are-short"),
        pytest.param("x" * 20, 0, 1, True, id="twenty-characters-are-not"),
        pytest.param("It is done and saved to a.txt", 1, 2, True, id="two-for-one-against-with-errors"),
        pytest.param("I could not finish the job.", 0, 1, False, id="failure-phrase-against-low-rate"),
        pytest.param("The colour is green, as I said.", 1, 10, True, id="rate-0.1-is-low"),
        pytest.param("The colour is green, as I said.", 2, 19, False, id="rate-above-0.1-is-not"),
        pytest.param("It is done, all of it.", 3, 10, True, id="rate-0.3-is-not-high"),
        pytest.param("It is done, all of it.", 4, 13, False, id="rate-above-0.3-is"),
    ],
)
def test_completed_when_the_signs_for_outnumber_those_against(
    classifier: RuleClassifier, answer: str, errors: int, api_calls: int, completed: bool
) -> None:
    found = analysis(final_answer=answer, failures=failures(errors), total_api_calls=api_calls)
    assert classifier.classify(found)[0] is completed


@pytest.mark.parametrize(
    ("changes", "rule", "messages", "shown"),
    [
        pytest.param({"cut_short": True}, "completion.cut_short", (7,), Shown.NOT_DONE, id="by-an-error-or-a-limit"),
        pytest.param({}, "completion.left", (7,), Shown.NOTHING, id="by-a-person-or-by-nobody"),
        pytest.param(
            {"error_last": True, "failures": failures(1)},
            "completion.error_last",
            (2,),
            Shown.NOT_DONE,
            id="error-last",
        ),
    ],
)
def test_an_interrupted_session_is_never_completed(
    classifier: RuleClassifier, changes: dict[str, Any], rule: str, messages: tuple[int, ...], shown: Shown
) -> None:
    found = analysis(final_answer="Done and saved to a.txt", state=SessionState.INTERRUPTED, final_index=7, **changes)
    completed, reasons = classifier.classify(found)
    assert not completed
    assert (reasons[-1].rule, reasons[-1].effect, reasons[-1].messages) == (rule, None, messages)
    assert shown_by(reasons) is shown


def test_a_failed_check_at_the_end_is_proof_whatever_the_answer_says(classifier: RuleClassifier) -> None:
    completed, reasons = classifier.classify(
        analysis(final_answer="Done and saved to a.txt", check=Check(CheckKind.TESTS, CheckResult.ALL_FAILED, 4))
    )
    assert not completed
    assert (reasons[-1].rule, reasons[-1].messages) == ("completion.check_failed", (4,))
    assert shown_by(reasons) is Shown.NOT_DONE


def test_a_check_that_failed_in_part_proves_nothing(classifier: RuleClassifier) -> None:
    found = analysis(final_answer="Done and saved to a.txt", check=Check(CheckKind.TESTS, CheckResult.SOME_FAILED, 4))
    assert shown_by(classifier.classify(found)[1]) is Shown.UNDECIDED


def test_an_answer_that_gives_up_is_proof(classifier: RuleClassifier) -> None:
    found = analysis(final_answer="I was unable to do it.", ending=EndingKind.GAVE_UP, final_index=7)
    completed, reasons = classifier.classify(found)
    assert not completed
    assert (reasons[-1].rule, reasons[-1].messages) == ("completion.gave_up", (7,))
    assert shown_by(reasons) is Shown.NOT_DONE


def test_an_answer_alone_proves_nothing(classifier: RuleClassifier) -> None:
    assert shown_by(classifier.classify(analysis(final_answer="I failed."))[1]) is Shown.UNDECIDED


def test_one_error_in_three_messages_is_a_high_share_and_not_called_many(classifier: RuleClassifier) -> None:
    found = analysis(final_answer="It ended.", final_index=9, failures=failures(1), total_api_calls=3)
    [reason] = [each for each in classifier.classify(found)[1] if each.rule == HIGH]
    assert (SENTENCES[reason.rule], reason.messages) == ("errors are a high share of the agent's messages", (2,))


def test_reasons_point_at_the_answer_and_the_failures(classifier: RuleClassifier) -> None:
    found = analysis(final_answer="Done: failed.", final_index=9, failures=failures(3), total_api_calls=4)
    reasons = classifier.classify(found)[1]
    assert [(reason.score, reason.rule, reason.effect, reason.messages) for reason in reasons] == [
        ("task_completed", PHRASE, 1, (9,)),
        ("task_completed", FAILURE, -1, (9,)),
        ("task_completed", HIGH, -1, (2, 4, 6)),
        ("task_completed", SHORT, -1, (9,)),
    ]


def test_every_sign_for_has_its_reason(classifier: RuleClassifier) -> None:
    reasons = classifier.classify(analysis(final_answer="Done, saved to a.txt", final_index=3))[1]
    assert [(reason.rule, reason.effect, reason.messages) for reason in reasons] == [
        (PHRASE, 1, (3,)),
        (OUTPUT, 1, (3,)),
        (LOW, 1, ()),
    ]


def test_rules_without_phrases_find_none(rules: Rules) -> None:
    bare = msgspec.structs.replace(rules.completion, completion_phrases=(), output_phrases=(), failure_phrases=())
    assert signs(RuleClassifier(bare), "Done, saved to a.txt, failed") == set()


def test_without_reach_a_negation_is_ignored(rules: Rules) -> None:
    strict = msgspec.structs.replace(rules.completion, negation_reach_words=0)
    assert signs(RuleClassifier(strict), "It is not done") == {PHRASE}


@given(answer=texts)
def test_one_more_failure_never_completes_a_task(classifier: RuleClassifier, answer: str) -> None:
    verdicts = [
        classifier.classify(analysis(final_answer=answer, failures=failures(errors), total_api_calls=10))[0]
        for errors in range(12)
    ]
    assert verdicts == sorted(verdicts, reverse=True)


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("not done ", id="negations"),
        pytest.param("could ", id="half-phrases"),
        pytest.param(" ", id="space"),
    ],
)
def test_a_long_answer_takes_bounded_time(classifier: RuleClassifier, unit: str) -> None:
    hostile = analysis(final_answer=unit * 50_000)
    assert is_done_within(2.0, lambda: classifier.classify(hostile))


VERIFIED = Claim(ClaimKind.BUG_FIXED, Support.VERIFIED, None, 7, (3,))
CONTRADICTED = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 7, (5, 6))
UNSUPPORTED = Claim(ClaimKind.SENT, Support.UNSUPPORTED, None, 7)


def test_a_contradicted_claim_weighs_more_than_all_good_words(classifier: RuleClassifier) -> None:
    said = analysis(final_answer="Done, it is saved to a.py", claims=(VERIFIED, CONTRADICTED), final_index=7)
    completed, reasons = classifier.classify(said)
    assert not completed
    assert [(reason.rule, reason.effect, reason.messages) for reason in reasons if reason.rule.endswith("_claim")] == [
        ("completion.verified_claim", 1, (3, 7)),
        ("completion.contradicted_claim", -4, (5, 6, 7)),
    ]


def test_a_verdict_on_claims_counts_once(classifier: RuleClassifier) -> None:
    _, reasons = classifier.classify(analysis(claims=(VERIFIED, VERIFIED)))
    assert [reason.rule for reason in reasons].count("completion.verified_claim") == 1


def test_a_verified_claim_tips_the_scales(classifier: RuleClassifier) -> None:
    wordless = {"failures": failures(1), "total_api_calls": 5}
    assert not classifier.classify(analysis(**wordless))[0]
    assert classifier.classify(analysis(**wordless, claims=(VERIFIED,)))[0]


def test_an_unsupported_claim_says_nothing(classifier: RuleClassifier) -> None:
    assert classifier.classify(analysis(claims=(UNSUPPORTED,))) == classifier.classify(analysis())


def test_a_file_that_was_written_says_nothing_of_the_task(classifier: RuleClassifier) -> None:
    written = Claim(ClaimKind.FILE_WRITTEN, Support.VERIFIED, "a.py", 7, (3,))
    assert classifier.classify(analysis(claims=(written,))) == classifier.classify(analysis())


def test_a_claim_without_effect_is_no_reason() -> None:
    rules = msgspec.structs.replace(load_rules().completion, verified_claim_effect=0.0)
    _, reasons = RuleClassifier(rules).classify(analysis(claims=(VERIFIED,)))
    assert "completion.verified_claim" not in [reason.rule for reason in reasons]


# -- what people say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "rule", "effect"),
    [
        pytest.param([SignalKind.COMPLAINT], "completion.complaint", -1, id="complaint"),
        pytest.param([SignalKind.CORRECTION], "completion.complaint", -1, id="correction"),
        pytest.param([SignalKind.GAVE_UP], "completion.complaint", -1, id="giving-up"),
        pytest.param([SignalKind.UNDONE], "completion.complaint", -1, id="taking-back"),
        pytest.param([SignalKind.ACCEPTANCE], "completion.accepted", 1, id="acceptance"),
        pytest.param([SignalKind.THANKS], "completion.accepted", 1, id="thanks"),
        pytest.param([SignalKind.COMPLAINT, SignalKind.THANKS], "completion.accepted", 1, id="the-last-counts"),
        pytest.param([SignalKind.THANKS, SignalKind.COMPLAINT], "completion.complaint", -1, id="for-or-against"),
    ],
)
def test_the_last_word_of_a_person_counts(
    classifier: RuleClassifier, kinds: list[SignalKind], rule: str, effect: int
) -> None:
    signals = tuple(PersonSignal(kind, 2 + index) for index, kind in enumerate(kinds))
    _, reasons = classifier.classify(analysis(final_answer="Whatever it was.", signals_from_people=signals))
    said = [reason for reason in reasons if reason.rule in ("completion.accepted", "completion.complaint")]
    assert said == [Reason("task_completed", rule, effect, (1 + len(kinds),))]


def test_the_same_request_again_says_nothing_of_the_end(classifier: RuleClassifier) -> None:
    heard = analysis(final_answer="Whatever it was.", signals_from_people=(PersonSignal(SignalKind.REPEATED, 2),))
    assert classifier.classify(heard) == classifier.classify(analysis(final_answer="Whatever it was."))
