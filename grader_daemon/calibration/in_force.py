"""Select the active model and the verdict policy."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.calibration import FEWEST_LABELS, Calibration, Trust
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictSetting


def policy_in_force(
    setting: VerdictSetting, adopted: Calibration | None, *, prior: CompletionModel, prior_better: VerdictBy
) -> CompletionPolicy:
    """Return the policy under a setting.

    Args:
        setting: what is set.
        adopted: what was learned last from the user's labels.
        prior: the model that ships with the program, or that is set in its place.
        prior_better: whose verdict was the better one on sources that the prior had not seen.
    """
    model, better = prior, prior_better
    if adopted is not None and is_of(adopted, prior):
        model, better = adopted.model, adopted.evidence.better
    # Only labels of this home move the probabilities of doubt: what was measured elsewhere does not hold here.
    return CompletionPolicy(by=setting.decider(better), model=model, measured=model.doubtful != prior.doubtful)


def is_of(adopted: Calibration, prior: CompletionModel) -> bool:
    """Return whether it was learned from this prior, for its features. Else it says nothing of today's grades."""
    return adopted.evidence.prior == prior.version and adopted.model.features_version == prior.features_version


def trust_in(policy: CompletionPolicy, look: Calibration | None) -> Trust:
    """Return how far the policy in force can be trusted: by labels, if the last `look` was with it."""
    is_model = policy.by is VerdictBy.MODEL
    known = Trust(
        version=policy.version,
        by=policy.by,
        threshold=policy.model.threshold if is_model and policy.model is not None else None,
    )
    if look is None or look.model != policy.model or look.evidence.counts.total < FEWEST_LABELS:
        return known
    agreement = look.evidence.model if is_model else look.evidence.rules
    if agreement is None or (is_model and look.evidence.gain.value is None):
        return known
    return msgspec.structs.replace(known, labels=look.evidence.counts.total, agreement=agreement.mcc.value)
