from __future__ import annotations

import pytest

from grader_daemon.calibration.judging import judge_in_force
from grader_daemon.domain.verdict import Judge, Policy, VerdictBy
from tests.strategies import calibration, evidence, model

PRIOR = model(version="prior-1")
LEARNED = calibration(model=model(version="prior-1-a"), evidence=evidence(prior="prior-1", better=VerdictBy.MODEL))


@pytest.mark.parametrize(
    ("policy", "prior_better", "by"),
    [
        pytest.param(Policy.AUTO, VerdictBy.RULES, VerdictBy.RULES, id="auto-asks-the-prior-rules"),
        pytest.param(Policy.AUTO, VerdictBy.MODEL, VerdictBy.MODEL, id="auto-asks-the-prior-model"),
        pytest.param(Policy.RULES, VerdictBy.MODEL, VerdictBy.RULES, id="rules-are-set"),
        pytest.param(Policy.MODEL, VerdictBy.RULES, VerdictBy.MODEL, id="the-model-is-set"),
    ],
)
def test_without_labels_the_prior_is_in_force(policy: Policy, prior_better: VerdictBy, by: VerdictBy) -> None:
    assert judge_in_force(policy, None, prior=PRIOR, prior_better=prior_better) == Judge(by=by, model=PRIOR)


@pytest.mark.parametrize(
    ("policy", "by"),
    [(Policy.AUTO, VerdictBy.MODEL), (Policy.RULES, VerdictBy.RULES), (Policy.MODEL, VerdictBy.MODEL)],
)
def test_what_was_learned_stands_above_the_prior(policy: Policy, by: VerdictBy) -> None:
    judge = judge_in_force(policy, LEARNED, prior=PRIOR, prior_better=VerdictBy.RULES)
    assert judge == Judge(by=by, model=LEARNED.model)


@pytest.mark.parametrize(
    "prior",
    [
        pytest.param(model(version="prior-2"), id="another-prior"),
        pytest.param(model(version="prior-1", features_version=2), id="other-features"),
    ],
)
def test_what_was_learned_from_another_prior_is_not_used(prior: object) -> None:
    assert judge_in_force(Policy.AUTO, LEARNED, prior=prior, prior_better=VerdictBy.RULES).model == prior  # type: ignore[arg-type]
