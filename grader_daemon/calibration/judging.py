"""Which model is in force, and whose verdict it is."""

from __future__ import annotations

from grader_daemon.domain.calibration import Calibration
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.verdict import Judge, Policy, VerdictBy


def judge_in_force(
    policy: Policy, adopted: Calibration | None, *, prior: CompletionModel, prior_better: VerdictBy
) -> Judge:
    """Give the judge under a policy.

    Args:
        policy: what is set.
        adopted: what was learned last from the user's labels.
        prior: the model that ships with the program, or that is set in its place.
        prior_better: whose verdict was the better one on sources that the prior had not seen.
    """
    model, better = prior, prior_better
    if adopted is not None and is_of(adopted, prior):
        model, better = adopted.model, adopted.evidence.better
    return Judge(by=better if policy is Policy.AUTO else VerdictBy(policy.value), model=model)


def is_of(adopted: Calibration, prior: CompletionModel) -> bool:
    """Was it learned from this prior, for the features that it reads? Else it says nothing of today's grades."""
    return adopted.evidence.prior == prior.version and adopted.model.features_version == prior.features_version
