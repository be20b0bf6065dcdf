from __future__ import annotations

import pytest

from grader_daemon.domain.calibration import Agreement, LabelCounts, ReliabilityBin, WeightChange
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.reports.reliability import (
    agreement_table,
    agreement_words,
    because_words,
    calibration_lines,
    label_words,
    reliability_lines,
    trial_words,
)
from tests.strategies import calibration, evidence, model


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, sample=60)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        pytest.param(LabelCounts(), "No label is used yet; calibration needs 50", id="none"),
        pytest.param(
            LabelCounts(given=1),
            "1 of your 1 labels is used (1 chosen by you); calibration needs 50",
            id="one",
        ),
        pytest.param(
            LabelCounts(random=20, uncertain=30),
            "50 of your 50 labels are used (20 on random sessions, 30 on uncertain sessions)",
            id="enough",
        ),
        pytest.param(
            LabelCounts(given=40, rewards=30),
            "70 of your 70 labels are used (40 chosen by you, 30 from rewards)",
            id="rewards-that-no-person-gave",
        ),
        pytest.param(
            LabelCounts(given=60, left_out=2),
            ("60 of your 62 labels are used (60 chosen by you); 2 are too old or unfinished"),
            id="some-left-out",
        ),
    ],
)
def test_labels_are_counted_in_words(counts: LabelCounts, words: str) -> None:
    assert label_words(counts) == words


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        pytest.param(estimate(0.213, 0.18, 0.246), "0.21 (0.18–0.25)", id="with-its-interval"),
        pytest.param(estimate(-0.1, -0.2, 0.0), "−0.10 (−0.20–0.00)", id="below-nothing"),
        pytest.param(Estimate(value=0.5, sample=2), "0.50", id="without-an-interval"),
        pytest.param(Estimate(sample=2), "-", id="unknown"),
    ],
)
def test_agreement_stands_with_its_interval(shown: Estimate, words: str) -> None:
    assert agreement_words(shown) == words


@pytest.mark.parametrize(
    ("policy", "by_labels", "words"),
    [
        pytest.param(VerdictSetting.RULES, True, "the setting verdict says rules", id="a-setting"),
        pytest.param(
            VerdictSetting.AUTO,
            True,
            "by your labels, the trained model did better on sessions not used for training",
            id="by-labels",
        ),
        pytest.param(
            VerdictSetting.AUTO,
            False,
            "the trained model did better on public data that it was not trained on; only your labels can"
            " show whether it does better on your sessions",
            id="by-the-prior",
        ),
    ],
)
def test_it_is_said_why_who_decides(policy: VerdictSetting, by_labels: bool, words: str) -> None:
    assert because_words(policy, evidence(better=VerdictBy.MODEL, by_labels=by_labels)) == words


def test_what_was_adopted_is_told_with_what_changed() -> None:
    made = calibration(
        model=model(version="m2"),
        evidence=evidence(
            why="weights: better",
            before="m1.rules",
            seen=9,
            counts=LabelCounts(given=60),
            shift=0.1234,
            turned=3,
            weights=(WeightChange("failures", -0.25, 0.5),),
        ),
    )
    assert list(calibration_lines(made)) == [
        "60 of your 60 labels are used (60 chosen by you).",
        "Weights: better.",
        f"Verdicts by the rules: {because_words(made.policy, made.evidence)}.",
        "Adopted: m1.rules becomes m2.rules.",
        "The probability of labelled sessions changes by 0.123 on average, and 3 verdicts of the model change.",
        "  failures: −0.250 to +0.500",
    ]


def test_what_was_adopted_without_labels_is_a_level() -> None:
    made = calibration(model=model(version="m1~ab"), evidence=evidence(before="m1.rules", sessions=20))
    assert list(calibration_lines(made))[-2:] == [
        "Adopted: m1.rules becomes m1~ab.rules.",
        "The base rate comes from 20 finished sessions.",
    ]


def test_what_was_not_adopted_changes_nothing() -> None:
    assert list(calibration_lines(calibration(adopted=False)))[-1] == "Nothing changes."


def test_what_is_only_kept_in_mind_changes_no_verdict() -> None:
    made = calibration(evidence=evidence(before="m1.rules", seen=9))
    assert list(calibration_lines(made))[-1] == "The result is stored; weights and verdicts do not change."


def test_model_and_rules_stand_beside_each_other() -> None:
    one, other = (
        Agreement(**dict.fromkeys(("brier", "ece", "mcc", "kappa", "auc"), estimate(value, 0, 1)))
        for value in (0.25, 0.5)
    )
    table = agreement_table(rules=one, model=other)
    assert table[0] == ("Brier score (0 is best)", "0.50 (0.00–1.00)", "0.25 (0.00–1.00)", "60")
    assert len(table) == 5


@pytest.mark.parametrize(
    ("likely", "share", "bar"),
    [
        pytest.param(0.5, 0.25, "#" * 10 + " " * 10 + "|" + " " * 19, id="less-than-was-said"),
        pytest.param(0.25, 0.5, "#" * 10 + "|" + "#" * 9 + " " * 20, id="more-than-was-said"),
        pytest.param(1.0, 1.0, "#" * 39 + "|", id="all"),
        pytest.param(0.0, 0.0, "|" + " " * 39, id="nothing"),
    ],
)
def test_reliability_is_drawn(likely: float, share: float, bar: str) -> None:
    [(line, fits)] = reliability_lines([ReliabilityBin(likely, estimate(share, 0, 1))])
    assert line == f"  {likely:4.0%} said  {bar}  {share:.2f} (0.00–1.00) of 60"
    assert fits


def test_what_lies_outside_the_interval_does_not_fit() -> None:
    assert [fits for _, fits in reliability_lines([ReliabilityBin(0.9, estimate(0.5, 0.4, 0.6))])] == [False]


def _agreement(matthews: float) -> Agreement:
    unknown = Estimate()
    return Agreement(brier=unknown, ece=unknown, mcc=estimate(matthews, 0, 1), kappa=unknown, auc=unknown)


@pytest.mark.parametrize(
    ("before", "agreement"),
    [
        pytest.param(0.3, "Agreement with your labels: 0.30 \N{RIGHTWARDS ARROW} 0.31 (1 is best).", id="known-before"),
        pytest.param(None, "Agreement with your labels: 0.31 (1 is best).", id="not-known-before"),
    ],
)
def test_trial_of_labels_says_how_agreement_and_verdicts_would_change(before: float | None, agreement: str) -> None:
    known = evidence(before="m1.rules", rules=_agreement(0.2), model=_agreement(0.31), turned=14)
    made = calibration(model=model(version="m2"), verdict_by=VerdictBy.MODEL, evidence=known)

    assert trial_words(made, before) == (agreement, "14 verdicts on labelled sessions would change.")


def test_trial_of_too_few_labels_says_that_nothing_would_change() -> None:
    made = calibration(adopted=False, evidence=evidence(why="too few labels", counts=LabelCounts(random=5)))

    assert trial_words(made, 0.3) == (
        "5 of your 5 labels are used (5 on random sessions); calibration needs 50.",
        "Too few labels.",
        "No verdict would change.",
    )
