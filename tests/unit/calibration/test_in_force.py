from __future__ import annotations

import pytest

from grader_daemon.calibration.in_force import policy_in_force, trust_in
from grader_daemon.calibration.prior import Validity
from grader_daemon.domain.calibration import Agreement, Calibration, LabelCounts, Trust
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictSetting
from tests.strategies import calibration, evidence, model

PRIOR = model(version="prior-1")
LEARNED = calibration(model=model(version="prior-1-a"), evidence=evidence(prior="prior-1", better=VerdictBy.MODEL))


@pytest.mark.parametrize(
    ("setting", "prior_better", "by"),
    [
        pytest.param(VerdictSetting.AUTO, VerdictBy.RULES, VerdictBy.RULES, id="auto-asks-the-prior-rules"),
        pytest.param(VerdictSetting.AUTO, VerdictBy.MODEL, VerdictBy.MODEL, id="auto-asks-the-prior-model"),
        pytest.param(VerdictSetting.RULES, VerdictBy.MODEL, VerdictBy.RULES, id="rules-are-set"),
        pytest.param(VerdictSetting.MODEL, VerdictBy.RULES, VerdictBy.MODEL, id="the-model-is-set"),
    ],
)
def test_without_labels_the_prior_is_in_force(setting: VerdictSetting, prior_better: VerdictBy, by: VerdictBy) -> None:
    assert policy_in_force(setting, None, prior=PRIOR, prior_better=prior_better) == CompletionPolicy(
        by=by, model=PRIOR
    )


@pytest.mark.parametrize(
    ("setting", "by"),
    [
        (VerdictSetting.AUTO, VerdictBy.MODEL),
        (VerdictSetting.RULES, VerdictBy.RULES),
        (VerdictSetting.MODEL, VerdictBy.MODEL),
    ],
)
def test_what_was_learned_stands_above_the_prior(setting: VerdictSetting, by: VerdictBy) -> None:
    policy = policy_in_force(setting, LEARNED, prior=PRIOR, prior_better=VerdictBy.RULES)
    assert policy == CompletionPolicy(by=by, model=LEARNED.model)


@pytest.mark.parametrize(
    "prior",
    [
        pytest.param(model(version="prior-2"), id="another-prior"),
        pytest.param(model(version="prior-1", features_version=2), id="other-features"),
    ],
)
def test_what_was_learned_from_another_prior_is_not_used(prior: object) -> None:
    assert policy_in_force(VerdictSetting.AUTO, LEARNED, prior=prior, prior_better=VerdictBy.RULES).model == prior  # type: ignore[arg-type]


VALIDITY = Validity(sources=6, ranking=0.7, model_matthews=0.33, rules_matthews=0.21)
BY_MODEL, BY_RULES = (
    CompletionPolicy(by=VerdictBy.MODEL, model=PRIOR),
    CompletionPolicy(by=VerdictBy.RULES, model=PRIOR),
)


def agreeing(mcc: float) -> Agreement:
    none = Estimate()
    return Agreement(brier=none, ece=none, mcc=Estimate(value=mcc, sample=60), kappa=none, auc=none)


def look(labels: int, *, gain: float | None = 0.1, version: str = "prior-1") -> Calibration:
    """A look at so many labels, by which the model agrees at 0.5 and the rules at 0.4."""
    found = evidence(
        counts=LabelCounts(given=labels), gain=Estimate(value=gain), model=agreeing(0.5), rules=agreeing(0.4)
    )
    return calibration(model=model(version=version), evidence=found)


@pytest.mark.parametrize(
    ("policy", "looked", "labels", "agreement"),
    [
        pytest.param(BY_MODEL, None, 0, None, id="the-model-without-labels"),
        pytest.param(BY_RULES, None, 0, None, id="the-rules-without-labels"),
        pytest.param(BY_MODEL, look(60), 60, 0.5, id="the-model-with-labels"),
        pytest.param(BY_RULES, look(60, gain=None), 60, 0.4, id="the-rules-with-labels"),
        pytest.param(BY_MODEL, look(49), 0, None, id="too-few-labels"),
        pytest.param(BY_MODEL, look(60, gain=None), 0, None, id="labels-that-taught-nothing"),
        pytest.param(BY_MODEL, look(60, version="prior-1-b"), 0, None, id="a-look-with-another-model"),
    ],
)
def test_how_far_a_policy_can_be_trusted(
    policy: CompletionPolicy, looked: Calibration | None, labels: int, agreement: float | None
) -> None:
    threshold = 0.5 if policy.by is VerdictBy.MODEL else None
    assert trust_in(policy, looked) == Trust(
        version=policy.version, by=policy.by, labels=labels, agreement=agreement, threshold=threshold
    )
