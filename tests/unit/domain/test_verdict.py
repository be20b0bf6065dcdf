from __future__ import annotations

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.verdict import (
    CompletionPolicy,
    Decision,
    GradeVersion,
    Outcome,
    VerdictBy,
    is_of_same_facts,
)
from tests.strategies import grade, model

LIKELY = model(names=("a",), means=(0.0,), weights=(0.0,))
FEATURES = (1.0,)


@pytest.mark.parametrize(
    ("policy", "decision"),
    [
        pytest.param(
            CompletionPolicy(), Decision(False, VerdictBy.RULES, None, unsure=True), id="without-a-model-the-rules"
        ),
        pytest.param(
            CompletionPolicy(measured=True), Decision(False, VerdictBy.RULES, None), id="the-rules-held-against-labels"
        ),
        pytest.param(
            CompletionPolicy(model=LIKELY), Decision(False, VerdictBy.RULES, 0.5, unsure=True), id="rules-beside-it"
        ),
        pytest.param(
            CompletionPolicy(by=VerdictBy.MODEL, model=LIKELY, measured=True),
            Decision(True, VerdictBy.MODEL, 0.5, unsure=True),
            id="the-model-in-doubt",
        ),
        pytest.param(
            CompletionPolicy(
                by=VerdictBy.MODEL, model=msgspec.structs.replace(LIKELY, doubtful=(0.4, 0.5)), measured=True
            ),
            Decision(True, VerdictBy.MODEL, 0.5),
            id="the-model",
        ),
        pytest.param(
            CompletionPolicy(by=VerdictBy.MODEL, model=msgspec.structs.replace(LIKELY, doubtful=(0.4, 0.5))),
            Decision(True, VerdictBy.MODEL, 0.5, unsure=True),
            id="the-model-that-no-labels-measured",
        ),
        pytest.param(
            CompletionPolicy(by=VerdictBy.MODEL, model=model(names=("a", "b"), means=(0.0, 0.0), weights=(1.0, 1.0))),
            Decision(False, VerdictBy.RULES, None, unsure=True),
            id="a-model-without-an-idea",
        ),
    ],
)
def test_a_policy_decides(policy: CompletionPolicy, decision: Decision) -> None:
    assert policy.decide(FEATURES, by_rules=False) == decision


@pytest.mark.parametrize(
    ("likely", "threshold", "unsure"),
    [
        pytest.param(0.39, 0.5, False, id="surely-not"),
        pytest.param(0.4, 0.5, True, id="from-two-in-five"),
        pytest.param(0.59, 0.5, True, id="done-by-less-than-three-in-five"),
        pytest.param(0.6, 0.5, False, id="surely-done"),
        pytest.param(0.3, 0.3, True, id="done-by-a-low-threshold"),
        pytest.param(0.29, 0.3, False, id="below-a-low-threshold"),
        pytest.param(0.69, 0.7, True, id="not-done-by-a-high-threshold"),
        pytest.param(0.7, 0.7, False, id="above-a-high-threshold"),
    ],
)
def test_a_verdict_that_may_as_well_be_wrong_is_unsure(likely: float, threshold: float, unsure: bool) -> None:
    assert model(threshold=threshold).is_unsure(likely) is unsure


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        pytest.param({}, Outcome.DONE, id="done"),
        pytest.param({"task_completed": False}, Outcome.NOT_DONE, id="not-done"),
        pytest.param({"unsure": True}, Outcome.UNSURE, id="unsure"),
        pytest.param({"unsure": True, "verdict_by": VerdictBy.PERSON}, Outcome.DONE, id="a-person-is-sure"),
        pytest.param({"scored": False}, Outcome.NO_ANSWER, id="no-answer"),
        pytest.param({"state": SessionState.INTERRUPTED, "task_completed": False}, Outcome.NOT_DONE, id="cut-short"),
        pytest.param({"state": SessionState.INTERRUPTED}, Outcome.UNSURE, id="interrupted-and-said-to-be-done"),
        pytest.param(
            {"state": SessionState.INTERRUPTED, "verdict_by": VerdictBy.PERSON}, Outcome.DONE, id="interrupted-by-label"
        ),
        pytest.param(
            {"scored": False, "task_completed": False, "verdict_by": VerdictBy.PERSON},
            Outcome.NOT_DONE,
            id="a-person-judged-a-session-without-an-answer",
        ),
    ],
)
def test_the_outcome_that_people_are_told(changes: dict[str, object], outcome: Outcome) -> None:
    assert grade(**changes).outcome is outcome


@pytest.mark.parametrize(
    ("text", "read", "said"),
    [
        pytest.param(
            "9ca1+prior-1.model",
            GradeVersion("9ca1", "prior-1", VerdictBy.MODEL),
            "rules 9ca1, trained model prior-1, verdict by the model",
            id="all",
        ),
        pytest.param(
            "9ca1+a.b.rules",
            GradeVersion("9ca1", "a.b", VerdictBy.RULES),
            "rules 9ca1, trained model a.b, verdict by the rules",
            id="a-dot-in-the-name-of-the-model",
        ),
        pytest.param(
            "9ca1+none.rules",
            GradeVersion("9ca1", None, VerdictBy.RULES),
            "rules 9ca1, no trained model, verdict by the rules",
            id="no-model",
        ),
        pytest.param("9ca1", GradeVersion("9ca1", None, None), "rules 9ca1", id="of-before-there-were-models"),
        pytest.param("a+b", GradeVersion("a+b", None, None), "rules a+b", id="anything"),
    ],
)
def test_a_version_says_what_made_a_grade(text: str, read: GradeVersion, said: str) -> None:
    assert GradeVersion.read(text) == read
    assert str(read) == said


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("9ca1-e0+m1.rules", "9ca1-e0+m1.model", True, id="another-decides"),
        pytest.param("9ca1-e0+m1.model", "9ca1-e0+m1~ab.model", True, id="the-level"),
        pytest.param("9ca1-e0+m1~ab.model", "9ca1-e0+m1-cd.model", True, id="labels"),
        pytest.param("9ca1-e0+m1.model", "9ca1-e0+m2.model", True, id="another-prior"),
        pytest.param("9ca1-e0+none.rules", "9ca1-e0+m1.rules", True, id="none-before"),
        pytest.param("9ca1-e0+m1.model", "9ca1-f1+m1.model", True, id="other-rules-of-verdicts"),
        pytest.param("9ca1-e0+m1.model", "9ca2-e0+m1.model", False, id="other-rules-of-reading"),
        pytest.param("9ca1+m1.model", "9ca1+m1.rules", False, id="of-before-rules-were-divided"),
        pytest.param("", "9ca1-e0+m1.rules", False, id="unknown"),
    ],
)
def test_a_session_is_not_read_again_for_another_policy_or_other_rules_of_verdicts(
    one: str, other: str, same: bool
) -> None:
    assert is_of_same_facts(one, other) is same
