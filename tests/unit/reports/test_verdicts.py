from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import AnswerEffect
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.verdict import Outcome, VerdictBy, VerdictCounts
from grader_daemon.reports.verdicts import (
    brief_verdict,
    effect_of_answer,
    grader_words,
    likely_done,
    rate_words,
    shares_words,
    told_of,
    trust_words,
    verdict_words,
)
from tests.reports_examples import TRUST
from tests.strategies import NOW, grade

MODEL = {"verdict_by": VerdictBy.MODEL, "rules_version": "r1+m1.model"}
NOT_CALIBRATED = "not yet checked: label 50 sessions"
BY_RULES = Trust(version="m1.rules", by=VerdictBy.RULES, agreement=-0.02)


@pytest.mark.parametrize(
    ("changes", "trust", "expected"),
    [
        pytest.param(
            {**MODEL, "p_completed": 0.81},
            TRUST,
            f"done (81 % likely done); {NOT_CALIBRATED}",
            id="done-by-the-model",
        ),
        pytest.param(
            {**MODEL, "p_completed": 0.35, "unsure": True},
            TRUST,
            f"unsure (35 % likely done); {NOT_CALIBRATED}",
            id="unsure-but-done",
        ),
        pytest.param(
            {**MODEL, "p_completed": 0.3, "unsure": True, "task_completed": False},
            msgspec.structs.replace(TRUST, labels=120, agreement=0.456),
            "unsure (30 % likely done);"
            " calibrated on your 120 labels; verdicts agree with them fairly well (correlation 0.46 of 1)",
            id="unsure-and-not-done-calibrated",
        ),
        pytest.param(
            {**MODEL, "state": SessionState.INTERRUPTED, "p_completed": 0.6, "unsure": True},
            TRUST,
            f"unsure: the session was stopped, or ends in the middle; {NOT_CALIBRATED}",
            id="left-in-the-middle",
        ),
        pytest.param(
            {"unsure": True, "rules_version": "r1+m1.model"},
            TRUST,
            "unsure: the grader has no probability",
            id="a-model-without-an-idea",
        ),
        pytest.param(
            {"verdict_by": VerdictBy.MODEL, "p_completed": 0.81, "rules_version": "r1+m0.model"},
            TRUST,
            "done (81 % likely done)",
            id="by-another-model-of-which-nothing-is-known",
        ),
        pytest.param(
            {"task_completed": False, "p_completed": 0.46, "rules_version": "r1+m1.rules"},
            BY_RULES,
            "not done, by the rules; not yet checked: label 50 sessions",
            id="by-the-rules-beside-a-model",
        ),
        pytest.param(
            {"rules_version": "r1+m1.rules"},
            msgspec.structs.replace(BY_RULES, labels=60, agreement=None),
            "done, by the rules; checked by your 60 labels",
            id="by-the-rules",
        ),
        pytest.param({"rules_version": "r1"}, BY_RULES, "done, by the rules", id="by-rules-of-long-ago"),
        pytest.param(
            {"scored": False}, TRUST, "no answer: there is neither an answer nor a tool call to judge", id="no-answer"
        ),
        pytest.param(
            {
                **MODEL,
                "task_completed": False,
                "p_completed": 0.6,
                "reasons": (Reason("task_completed", "completion.check_failed", -1.0),),
            },
            TRUST,
            f"not done: the last check failed; {NOT_CALIBRATED}",
            id="with-a-proof",
        ),
        pytest.param(
            {**MODEL, "state": SessionState.OPEN, "p_completed": 0.6, "unsure": True},
            TRUST,
            f"unsure: the session is still open; {NOT_CALIBRATED}",
            id="a-session-that-goes-on",
        ),
        pytest.param(
            {
                **MODEL,
                "task_completed": False,
                "p_completed": 0.81,
                "verdict_by": VerdictBy.PERSON,
                "automatic_completed": True,
                "automatic_by": VerdictBy.MODEL,
            },
            TRUST,
            "not done (labelled by a person). The grader said: done (81 % likely done)",
            id="a-person",
        ),
    ],
)
def test_a_verdict_says_all_in_one_sentence(changes: dict[str, object], trust: Trust, expected: str) -> None:
    assert verdict_words(grade(**changes), trust) == expected


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param(
            {"labels": 60}, "2026-11-21 (by 60 labels). Verdicts on the 7 days before, then: 1", id="by-labels"
        ),
        pytest.param({}, "2026-11-21 (other rules are in force). Verdicts on the 7 days", id="by-rules"),
        pytest.param({"now": VerdictCounts(done=3)}, "2 unsure; now: 3 done, 0 not done, 0 unsure", id="seen-today"),
    ],
)
def test_a_change_of_the_grader_is_told_with_what_it_changed(changed: dict[str, Any], words: str) -> None:
    base = GraderChange(at=NOW, labels=0, why="other rules are in force", before=VerdictCounts(done=1, unsure=2))

    assert words in grader_words(msgspec.structs.replace(base, **changed))


def test_what_a_person_said_is_told_with_by_whom() -> None:
    told = verdict_words(grade(verdict_by=VerdictBy.PERSON, automatic_completed=False), TRUST, said="labelled by timmy")
    assert told == "done (labelled by timmy). The grader said: not done, by the rules"


def test_where_nothing_was_measured_that_is_said() -> None:
    unknown = Trust(version="m1.model", by=VerdictBy.MODEL)
    assert trust_words(unknown) == "not yet checked: label 50 sessions"


def test_the_three_shares_come_before_any_rate() -> None:
    assert shares_words(VerdictCounts(7, 42, 1210, 9)) == "7 done, 42 not done, 1,210 unsure"


@pytest.mark.parametrize(
    ("checked", "words"),
    [
        pytest.param(
            Estimate(value=0.58, low=0.49, high=0.67, sample=23),
            "58 % (49–67 %) done, by 23 random labels",
            id="put-right",
        ),
        pytest.param(
            Estimate(sample=19),
            "unknown: 19 of 20 random sessions labelled; next: grader-daemon label (4 minutes)",
            id="too-few-labels",
        ),
        pytest.param(
            Estimate(value=0.7, low=0.31, high=0.92),
            "70 % (31–92 %) done, from your guess; next: grader-daemon label",
            id="a-guess",
        ),
        pytest.param(
            Estimate(value=0.6, low=0.4, high=0.77, sample=7),
            "60 % (40–77 %) done, from your guess and 7 random labels; next: grader-daemon label",
            id="a-guess-and-a-few-labels",
        ),
    ],
)
def test_a_rate_is_told_where_labels_put_it_right(checked: Estimate, words: str) -> None:
    assert rate_words(checked) == words


def test_a_table_has_the_verdict_alone() -> None:
    assert brief_verdict(grade(state=SessionState.OPEN)) == "unsure"
    assert brief_verdict(grade(verdict_by=VerdictBy.PERSON, task_completed=False)) == "not done*"


def test_how_far_verdicts_of_a_fleet_can_be_trusted_is_known_elsewhere() -> None:
    assert trust_words(Trust(version="", by=VerdictBy.MODEL, of_fleet=True)) == (
        "given by each machine, which shows how reliable they are"
    )


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        pytest.param(
            (Outcome.UNSURE, Estimate(value=0.33, low=0.27, high=0.4, sample=80)),
            (Outcome.DONE, Estimate(value=0.34, low=0.28, high=0.41, sample=81)),
            (
                "1 verdict moved, this one: unsure \N{RIGHTWARDS ARROW} done.",
                (
                    "Last 28 days: 34 % (28\N{EN DASH}41 %) done, by 81 random labels;"
                    " without your answer 33 % (27\N{EN DASH}40 %)."
                ),
            ),
            id="both",
        ),
        pytest.param(
            (Outcome.NOT_DONE, Estimate(sample=3)),
            (Outcome.NOT_DONE, Estimate(sample=4)),
            (
                "This verdict stays not done.",
                "Last 28 days: unknown: 4 of 20 random sessions labelled.",
            ),
            id="nothing-yet",
        ),
    ],
)
def test_an_answer_is_told_by_what_it_changed(
    before: tuple[Outcome, Estimate], now: tuple[Outcome, Estimate], told: tuple[str, str]
) -> None:
    effect = AnswerEffect(verdict_before=before[0], rate_before=before[1], verdict=now[0], rate=now[1], days=28)

    assert effect_of_answer(effect) == told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "46 %"),
        ({"p_completed": None}, None),
        ({"verdict_by": VerdictBy.PERSON}, None),
        ({"verdict_by": VerdictBy.REVERT}, None),
        ({"reasons": (Reason("task_completed", "completion.check_failed", None, (3,)),)}, None),
    ],
    ids=["estimated", "unknown", "labelled", "taken-back-in-git", "proven"],
)
def test_a_probability_is_shown_only_where_nothing_better_is_known(changes: dict[str, Any], words: str | None) -> None:
    assert likely_done(grade(**{**MODEL, "p_completed": 0.46, **changes})) == words


def test_grades_that_are_told_alike_have_the_same_key() -> None:
    assert told_of(0.61, ["unknown_rule"]) == told_of(0.612, [])
    assert told_of(0.61, []) != told_of(0.66, [])
    assert told_of(None, []) == (None, None)
