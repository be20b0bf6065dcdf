from __future__ import annotations

import json
import math
from datetime import UTC, timedelta
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import Analysis, Category, SessionState
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Ending, FunctionCall, Message, Session, ToolCall
from grader_daemon.domain.session_features import NO_FEATURES
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.domain.verdict import CompletionPolicy, Outcome, VerdictBy
from grader_daemon.grading import Grader
from grader_daemon.grading.grade_session import _OF_ANALYSIS, _OF_SESSION
from grader_daemon.rules import load_rules
from grader_daemon.rules.loader import _OF_VERDICTS
from tests.priors import any_model
from tests.strategies import (
    BROKE,
    NOW,
    WORKED,
    answer,
    call,
    model,
    rounds,
    session,
    sessions,
    tool_outcomes,
    user,
)

REQUEST = user("Fix it")
WRITTEN = NOW - timedelta(minutes=3)
WITHOUT_IDEA = model(names=("never seen",), means=(0.0,), weights=(1.0,))


class Bench:
    """Analyzer and grader in a row."""

    def __init__(self, policy: CompletionPolicy | None = None, rules: Rules | None = None) -> None:
        rules = rules or load_rules()
        self._analyzer = Analyzer(rules)
        self._grader = Grader(rules, policy or CompletionPolicy(), zone=UTC)
        self.version = self._grader.version

    def grade(self, graded: Session, *, idle: bool = False) -> Grade:
        """Grade one session."""
        return self._grader.grade(graded, self._analyzer.analyze(graded, idle=idle), now=NOW, written_at=WRITTEN)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def test_what_a_grade_takes_over_by_its_name_means_the_same_in_both() -> None:
    fact = {"state", "tool_calls", "total_errors", "error_rate", "claims", "had_user_refusal"}
    assert fact <= set(_OF_ANALYSIS)
    assert {"session_id", "model", "platform", "format", "project", "unit_key"} <= set(_OF_SESSION)
    types = get_type_hints(Grade)
    for names, source in ((_OF_SESSION, Session), (_OF_ANALYSIS, Analysis)):
        known = get_type_hints(source) | {
            name: get_type_hints(value.fget)["return"]
            for name, value in vars(source).items()
            if isinstance(value, property)
        }
        assert {name: known[name] for name in names} == {name: types[name] for name in names}


def scores(grade: Grade) -> tuple[int, int, bool, bool]:
    """Everything in a grade that is better when it is more."""
    return (
        grade.tool_calls_efficient,
        grade.response_quality,
        grade.task_completed,
        grade.errors_recovered,
    )


def test_a_grade_says_what_it_was_made_of(bench: Bench) -> None:
    graded = bench.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works."), model="m", platform="cli"))
    assert (graded.graded_at, graded.rules_version, graded.model, graded.platform) == (NOW, bench.version, "m", "cli")


def test_error_types_and_tools_are_distinct_in_order_of_appearance(bench: Bench) -> None:
    missing = '{"error": "File not found: x"}'
    graded = bench.grade(session(REQUEST, *rounds(BROKE, missing, BROKE, missing)))
    assert (graded.error_types, graded.tools_with_errors) == (
        (Category.COMMAND_FAILED, Category.FILE_NOT_FOUND),
        ("terminal",),
    )


@pytest.mark.parametrize(
    ("by", "threshold", "said", "completed"),
    [
        pytest.param(VerdictBy.RULES, 0.9, VerdictBy.RULES, True, id="rules-decide-and-the-model-is-told"),
        pytest.param(VerdictBy.MODEL, 0.7, VerdictBy.MODEL, True, id="model-decides-from-its-threshold-on"),
        pytest.param(VerdictBy.MODEL, 0.9, VerdictBy.MODEL, False, id="model-decides-against-the-rules"),
    ],
)
def test_the_policy_decides_whose_verdict_counts(
    by: VerdictBy, threshold: float, said: VerdictBy, completed: bool
) -> None:
    done = session(REQUEST, *rounds(WORKED), answer("Done, it works."))
    graded = Bench(CompletionPolicy(by=by, model=any_model(threshold=threshold, intercept=math.log(3)))).grade(done)
    assert (graded.verdict_by, graded.task_completed, graded.rules_completed) == (said, completed, True)
    assert graded.p_completed == pytest.approx(0.75)


def test_where_the_model_has_no_idea_the_verdict_is_unsure_and_counts_as_the_rules_say() -> None:
    graded = Bench(CompletionPolicy(by=VerdictBy.MODEL, model=WITHOUT_IDEA))
    done = graded.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works.")))
    assert (done.verdict_by, done.task_completed, done.p_completed) == (VerdictBy.RULES, True, None)
    assert done.outcome is Outcome.UNSURE


def test_a_grade_of_which_another_model_has_no_idea_becomes_unsure() -> None:
    sure = Bench(CompletionPolicy(measured=True))
    graded = sure.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works.")))
    policy = CompletionPolicy(by=VerdictBy.MODEL, model=WITHOUT_IDEA)
    assert (graded.outcome, Grader(load_rules(), policy, zone=UTC).redecide(graded).outcome) == (
        Outcome.DONE,
        Outcome.UNSURE,
    )


def test_the_model_abstains_where_nothing_was_done_and_nothing_said() -> None:
    graded = Bench(CompletionPolicy(by=VerdictBy.MODEL, model=any_model())).grade(session(REQUEST))
    assert (graded.verdict_by, graded.p_completed, graded.unsure) == (VerdictBy.RULES, None, False)
    assert graded.outcome is Outcome.NO_ANSWER


def test_the_model_has_no_word_on_a_session_that_goes_on() -> None:
    policy = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(intercept=3.0))
    graded = Bench(policy).grade(session(REQUEST, *rounds(WORKED)))
    assert (graded.state, graded.features, graded.p_completed) == (SessionState.OPEN, NO_FEATURES, None)
    assert (graded.verdict_by, graded.task_completed, graded.unsure) == (VerdictBy.RULES, False, False)
    assert Grader(load_rules(), policy, zone=UTC).redecide(graded) == graded


INTERRUPTED = SessionState.INTERRUPTED
SURE_OF_ALL = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(intercept=3.0), measured=True)


@pytest.mark.parametrize(
    ("messages", "ending", "outcome"),
    [
        pytest.param((*rounds(WORKED), answer("(empty)")), None, Outcome.NOT_DONE, id="the-model-said-nothing"),
        pytest.param((*rounds(WORKED), answer("The f", "length")), None, Outcome.NOT_DONE, id="output-limit"),
        pytest.param(rounds(WORKED), Ending(INTERRUPTED, "API error"), Outcome.NOT_DONE, id="api-error"),
        pytest.param(rounds(WORKED, BROKE), None, Outcome.NOT_DONE, id="left-at-an-error"),
        pytest.param(rounds(WORKED), None, Outcome.UNSURE, id="left-in-the-middle"),
        pytest.param((*rounds(WORKED), call("terminal")), None, Outcome.UNSURE, id="left-at-an-open-call"),
        pytest.param(
            rounds(WORKED), Ending(INTERRUPTED, "aborted", kind=EndingKind.PERSON), Outcome.UNSURE, id="stopped"
        ),
        pytest.param((), Ending(INTERRUPTED, "API error"), Outcome.NO_ANSWER, id="without-an-answer-or-a-call"),
    ],
)
def test_no_model_calls_an_interrupted_session_done(
    messages: tuple[Message, ...], ending: Ending | None, outcome: Outcome
) -> None:
    graded = Bench(SURE_OF_ALL).grade(session(REQUEST, *messages, ending=ending), idle=True)
    assert (graded.state, graded.outcome, graded.task_completed) == (INTERRUPTED, outcome, False)
    assert (graded.efficiency, graded.quality, graded.recovered, graded.score) == (None, None, None, None)
    assert graded.completed is (False if outcome is Outcome.NOT_DONE else None)
    assert (graded.p_completed is None) == (outcome is not Outcome.UNSURE)
    assert Grader(load_rules(), SURE_OF_ALL, zone=UTC).redecide(graded) == graded


def test_an_interrupted_session_of_an_earlier_version_that_counted_as_done_is_unsure() -> None:
    left = Bench(SURE_OF_ALL).grade(session(REQUEST, *rounds(WORKED)), idle=True)
    reasons = (
        Reason("task_completed", "completion.interrupted", None),
        Reason("task_completed", "completion.model", None),
    )
    old = msgspec.structs.replace(left, task_completed=True, unsure=False, verdict_by=VerdictBy.MODEL, reasons=reasons)
    redecided = Grader(load_rules(), SURE_OF_ALL, zone=UTC).redecide(old)
    assert (old.outcome, old.completed) == (Outcome.UNSURE, None)
    assert (redecided.outcome, redecided.task_completed, redecided.verdict_by) == (
        Outcome.UNSURE,
        False,
        VerdictBy.RULES,
    )


@pytest.mark.parametrize("by", list(VerdictBy)[:2])
@pytest.mark.parametrize("intercept", [pytest.param(-3.0, id="unlikely"), pytest.param(3.0, id="likely")])
def test_without_measured_labels_a_verdict_is_sure_by_proof_alone(by: VerdictBy, intercept: float) -> None:
    bench = Bench(CompletionPolicy(by=by, model=any_model(intercept=intercept)))
    done = bench.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works.")))
    cut = bench.grade(session(REQUEST, *rounds(WORKED), answer("(empty)")))
    assert (done.outcome, cut.outcome) == (Outcome.UNSURE, Outcome.NOT_DONE)


def _called(tool: str, said: str, **arguments: str) -> tuple[Message, Message]:
    function = FunctionCall(name=tool, arguments=json.dumps(arguments))
    made = Message(role="assistant", content="", tool_calls=(ToolCall(id=tool, function=function),))
    return made, Message(role="tool", content=said, tool_call_id=tool)


def _tested(passed: bool) -> tuple[Message, ...]:
    """A file that is written, and tests of it."""
    said = {"output": "4 passed in 0.2s" if passed else "4 failed in 0.2s", "exit_code": int(not passed), "error": None}
    write = _called("write_file", '{"bytes_written": 5}', path="a.py", content="x = 1")
    return *write, *_called("terminal", json.dumps(said), command="pytest -q")


def test_a_check_that_failed_after_the_last_write_is_not_done() -> None:
    failed = _tested(False)
    write = failed[:2]
    bench = Bench(SURE_OF_ALL)
    assert bench.grade(session(REQUEST, *failed, answer("Have a look."))).outcome is Outcome.NOT_DONE
    assert bench.grade(session(REQUEST, *failed, *write, answer("Have a look."))).outcome is Outcome.DONE


def test_the_version_of_a_grade_names_rules_model_and_who_decided() -> None:
    rules, policy = load_rules(), CompletionPolicy(by=VerdictBy.MODEL, model=model())
    assert Bench(policy).version == f"{rules.version}+m1.model"


@pytest.mark.parametrize("by", [VerdictBy.RULES, VerdictBy.MODEL])
def test_a_grade_that_is_judged_anew_is_what_grading_gives(bench: Bench, by: VerdictBy) -> None:
    done = session(REQUEST, *rounds(WORKED), answer("Done, it works."))
    policy = CompletionPolicy(by=by, model=any_model(intercept=-1.0))
    redecide = Grader(load_rules(), policy, zone=UTC).redecide
    expected = Bench(policy).grade(done)
    assert redecide(bench.grade(done)) == redecide(redecide(bench.grade(done))) == expected
    assert Grader(load_rules(), CompletionPolicy(), zone=UTC).redecide(expected) == bench.grade(done)


def test_a_grade_of_before_there_were_models_keeps_the_verdict_of_its_rules(bench: Bench) -> None:
    old = msgspec.structs.replace(
        bench.grade(session(REQUEST, answer("I failed."))), rules_completed=None, task_completed=True, rules_version="r"
    )
    redecided = Grader(load_rules(), CompletionPolicy(model=any_model()), zone=UTC).redecide(old)
    assert (redecided.task_completed, redecided.p_completed, redecided.rules_version) == (True, 0.5, "r+m1.rules")


OTHER_VERDICTS = """
[efficiency]
otherwise = 2
levels = [{ score = 4, error_rate = 0.2, tool_calls = 3 }]
[quality]
base = 2.0
long_effect = 0.5
longer_effect = 1.5
code_effect = 2.0
link_effect = -0.5
repeated_errors_effect = -0.5
many_errors = 1
many_errors_effect = 1.0
loop_risk_effect = 0.0
[completion]
low_error_rate = 0.5
high_error_rate = 0.2
verified_claim_effect = 2
contradicted_claim_effect = 0
"""
"""Another value for each rule that a stored grade is enough to follow."""
LONG_ANSWER = "Fixed it, see https://a.b and ```x = 1```. All tests pass. " * 20


@pytest.fixture(scope="module")
def other_verdicts(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    path.write_text(OTHER_VERDICTS, "utf-8")
    return load_rules(path)


def test_each_rule_of_verdicts_has_another_value(rules: Rules, other_verdicts: Rules) -> None:
    """What the tests below compare is all that can change without another look at a session."""
    for table, keys in _OF_VERDICTS.items():
        before, after = getattr(rules, table), getattr(other_verdicts, table)
        assert [key for key in keys if getattr(before, key) == getattr(after, key)] == []


@given(drawn=sessions(), outcomes=tool_outcomes, last=st.sampled_from(["Done.", "I failed.", "", LONG_ANSWER]))
def test_other_rules_of_verdicts_give_by_a_stored_grade_what_grading_gives(
    bench: Bench, other_verdicts: Rules, drawn: Session, outcomes: list[bool], last: str
) -> None:
    policy = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(intercept=-1.0))
    others = Grader(other_verdicts, policy, zone=UTC)
    for each in (
        drawn,
        session(*_ending(outcomes, last)),
        session(REQUEST, *_tested(any(outcomes)), answer(LONG_ANSWER)),
    ):
        assert others.redecide(bench.grade(each)) == Bench(policy, other_verdicts).grade(each)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"rules_version": "of-other-facts-0+none.rules"}, id="read-by-other-rules"),
        pytest.param({"total_errors": 3}, id="not-all-failures-are-kept"),
    ],
)
def test_what_other_rules_read_keeps_its_scores(
    bench: Bench, other_verdicts: Rules, changed: dict[str, object]
) -> None:
    kept = msgspec.structs.replace(bench.grade(session(*_ending([True, False], "Done."))), **changed)
    redecided = Grader(other_verdicts, CompletionPolicy(), zone=UTC).redecide(kept)
    assert redecided == kept


def test_a_persons_word_stands_above_other_rules_of_verdicts(bench: Bench, other_verdicts: Rules) -> None:
    done = session(*_ending([True, False, False], "Done."))
    said = msgspec.structs.replace(
        bench.grade(done), response_quality=5, automatic_quality=bench.grade(done).response_quality
    )
    redecided = Grader(other_verdicts, CompletionPolicy(), zone=UTC).redecide(said)
    assert redecided.response_quality == 5
    assert redecided.automatic_quality == Bench(rules=other_verdicts).grade(done).response_quality


def test_a_persons_word_stands_above_another_policy(bench: Bench) -> None:
    graded = bench.grade(session(REQUEST, *rounds(WORKED), answer("Done, it works.")))
    said = msgspec.structs.replace(
        graded,
        task_completed=True,
        verdict_by=VerdictBy.PERSON,
        automatic_completed=True,
        automatic_by=VerdictBy.RULES,
        response_quality=5,
        automatic_quality=graded.response_quality,
    )
    doubter = CompletionPolicy(by=VerdictBy.MODEL, model=any_model(intercept=-1.0))
    redecided = Grader(load_rules(), doubter, zone=UTC).redecide(said)
    assert (redecided.task_completed, redecided.verdict_by, redecided.response_quality) == (True, VerdictBy.PERSON, 5)
    assert (redecided.automatic_completed, redecided.automatic_by) == (False, VerdictBy.MODEL)
    assert redecided.automatic_quality == graded.response_quality


def test_the_model_is_named_as_the_reason_of_its_verdict() -> None:
    graded = Bench(CompletionPolicy(by=VerdictBy.MODEL, model=any_model())).grade(
        session(REQUEST, answer("Done, it works."))
    )
    said = [reason.rule for reason in graded.reasons if reason.score == "task_completed"]
    assert said[0] == "completion.phrase"
    assert said[-1] == "completion.model"


@pytest.mark.parametrize(
    ("updated", "ended"),
    [pytest.param(NOW, NOW, id="last-update"), pytest.param(None, WRITTEN, id="else-when-the-file-was-written")],
)
def test_a_session_ended_at_its_last_update(bench: Bench, updated: object, ended: object) -> None:
    assert bench.grade(session(REQUEST, updated_at=updated)).ended_at == ended


def test_every_score_has_a_reason(bench: Bench) -> None:
    graded = bench.grade(session(REQUEST, *rounds(BROKE, WORKED), answer("Done, it works.")))
    assert {reason.score for reason in graded.reasons} == {
        "task_completed",
        "tool_calls_efficient",
        "response_quality",
        "errors_recovered",
        "ending",
        "standing",
    }


@pytest.mark.parametrize(
    ("messages", "scored"),
    [
        pytest.param((), False, id="neither-a-call-nor-an-answer"),
        pytest.param(rounds(WORKED), True, id="one-call"),
        pytest.param((answer("It is green."),), True, id="an-answer"),
        pytest.param((answer("It is green."), user("Thanks")), True, id="an-answer-before-a-persons-last-word"),
        pytest.param((answer("(empty)"), user("Hello?")), False, id="an-empty-answer-before-a-persons-last-word"),
    ],
)
def test_a_session_with_a_call_or_an_answer_has_scores(
    bench: Bench, messages: tuple[Message, ...], scored: bool
) -> None:
    assert bench.grade(session(REQUEST, *messages)).scored is scored


@given(graded_session=sessions())
def test_any_session_has_a_grade_within_the_scale(bench: Bench, graded_session: Session) -> None:
    graded = bench.grade(graded_session)
    assert 1 <= graded.tool_calls_efficient <= 5
    assert 1 <= graded.response_quality <= 5
    assert 1 <= graded.score <= 5 if graded.score is not None else not graded.has_scores
    assert all(0 <= index < len(graded_session.messages) for reason in graded.reasons for index in reason.messages)


@given(graded_session=sessions())
def test_grading_twice_gives_the_same(bench: Bench, graded_session: Session) -> None:
    assert bench.grade(graded_session) == bench.grade(graded_session)


def _ending(outcomes: list[bool], last: str) -> tuple[Message, ...]:
    contents = [WORKED if worked else BROKE for worked in outcomes]
    return (REQUEST, *rounds(*contents), answer(last))


@given(outcomes=tool_outcomes.filter(any))
def test_a_call_that_fails_instead_never_raises_a_score(bench: Bench, outcomes: list[bool]) -> None:
    place = outcomes.index(True)
    worse = [*outcomes[:place], False, *outcomes[place + 1 :]]
    before = scores(bench.grade(session(*_ending(outcomes, "Done, all is fixed now."))))
    after = scores(bench.grade(session(*_ending(worse, "Done, all is fixed now."))))
    assert all(then >= now for then, now in zip(before, after, strict=True))


@given(outcomes=tool_outcomes)
def test_one_more_failing_call_never_raises_a_score(bench: Bench, outcomes: list[bool]) -> None:
    before = scores(bench.grade(session(*_ending(outcomes, "Done, all is fixed now."))))
    after = scores(bench.grade(session(*_ending([*outcomes, False], "Done, all is fixed now."))))
    assert all(then >= now for then, now in zip(before, after, strict=True))
