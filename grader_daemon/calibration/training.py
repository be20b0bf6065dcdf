"""Learn from labels, and decide whether the result is adopted: a calibration as functions of values.

Without labels, or as long as they teach nothing, the prior is put at the level of a person's own sessions. What labels
teach has to be better than what is simpler on labels that it has not seen, see `evaluation`; and no worse than the
weights in force on the labels that came since those were made. Whose verdict counts under `auto` is decided by labels
when there are `FEWEST_LABELS`, enough of either outcome, and they show a difference of two standard errors; else the
sources that the prior had not seen say it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.calibration.agreement import bins, score_probabilities, score_verdicts
from grader_daemon.calibration.evaluation import Evaluation, evaluate, has_enough_of_each, predict
from grader_daemon.calibration.in_force import is_of, policy_in_force
from grader_daemon.calibration.paired_tests import matthews_gain
from grader_daemon.calibration.prior import Prior, is_free
from grader_daemon.calibration.samples import FEWEST_SESSIONS, Sample
from grader_daemon.calibration.update import MOST_LABELS
from grader_daemon.domain.algebra import dot
from grader_daemon.domain.calibration import (
    FEWEST_LABELS,
    Agreement,
    Calibration,
    Evidence,
    LabelCounts,
    ReliabilityBin,
    WeightChange,
)
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.feedback import FeedbackSource, Label, Sampling
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictSetting, is_untaught

_DAYS: Final = 7
"""Labels are looked at once in so many days; a look in the future was taken by a wrong clock."""
_DAYS_AFTER_DISPUTES: Final = 1
_FEWEST_DISPUTES: Final = 5
"""Fewest labels against a scorer's grades that bring the next look to the next day: a week of reviews."""
_LISTED_WEIGHTS: Final = 10
_SAME_LEVEL: Final = 0.2
"""Log-odds: where they moved by less in the mean, five hundredths of probability at most, it is not worth to grade all
again."""

_SURE: Final = 2.0
"""Standard errors by which verdicts have to agree better before others decide."""

_STAYS: Final = "the weights in force do better on the labels that came since they were made"


class TrainingContext(msgspec.Struct, frozen=True, kw_only=True):
    """Start of a calibration: the policy that is set, and the prior.

    `prior_better` is whose verdict was better on sources that the prior had not seen, `rules_version` names the rules.
    """

    setting: VerdictSetting
    prior: Prior
    prior_better: VerdictBy
    rules_version: str = ""

    def policy(self, standing: Calibration | None) -> CompletionPolicy:
        """Return the policy in force, where `standing` was adopted last."""
        return policy_in_force(self.setting, standing, prior=self.prior.model, prior_better=self.prior_better)

    def evidence(self, standing: Calibration | None) -> Evidence:
        """Return what is known of whose verdict is better, where `standing` was adopted last."""
        if standing is not None and is_of(standing, self.prior.model):
            return standing.evidence
        return Evidence(prior=self.prior.version, better=self.prior_better, why="nothing was learned yet")


def policy_record(standing: Calibration | None, context: TrainingContext, now: datetime) -> Calibration | None:
    """Return the record of the policy in force; None if the one adopted last tells of it already."""
    policy = context.policy(standing)
    carried = standing if standing is not None and is_of(standing, context.prior.model) else None
    if (
        carried is not None
        and carried.completion_policy.version == policy.version
        and carried.policy is context.setting
        and carried.evidence.rules_version == context.rules_version
    ):
        return None
    return Calibration(
        made_at=now,
        adopted=True,
        verdict_by=policy.by,
        policy=context.setting,
        labels=0 if carried is None else carried.labels,
        model=context.prior.model if carried is None else carried.model,
        evidence=Evidence(
            prior=context.prior.version,
            better=context.prior_better if carried is None else carried.evidence.better,
            by_labels=carried is not None and carried.evidence.by_labels,
            why=_why_noted(standing, context),
            before=None if standing is None else standing.completion_policy.version,
            rules_version=context.rules_version,
        ),
    )


def train(
    labels: Sequence[Label],
    standing: Calibration | None,
    context: TrainingContext,
    *,
    history: Sequence[tuple[float, ...]],
    now: datetime,
    seen: int,
) -> Calibration:
    """Return what labels teach, and whether that is to be adopted.

    Args:
        labels: all that stand, the newest last.
        standing: what was adopted last.
        context: setting and prior.
        history: the features of finished sessions, labelled or not.
        now: the time.
        seen: the id of the newest feedback among the labels.
    """
    fit = [label for label in labels if _is_fit(label, context.prior)][-MOST_LABELS:]
    samples = [_sample(label) for label in fit]
    known = [features for features in history if len(features) == len(context.prior.names)]
    evaluation = evaluate(context.prior, samples, known)
    before = context.policy(standing)
    in_force = before.model or context.prior.model
    why = _why(evaluation, context.prior, model := _of_all(evaluation, context.prior, in_force, known))
    fresh = [place for place, label in enumerate(fit) if standing is not None and label.given_at > standing.made_at]
    if model.version != in_force.version and _does_better(in_force, evaluation, samples, fresh):
        model, why = in_force, _STAYS
    shown = _better(evaluation, samples)
    better = shown or context.prior_better
    after = CompletionPolicy(by=context.setting.decider(better), model=model)
    known_before = context.evidence(standing)
    is_news = (better, shown is not None) != (known_before.better, known_before.by_labels)
    shift, turned = _shift(in_force, model, samples)
    return Calibration(
        made_at=now,
        adopted=after.version != before.version or is_news,
        verdict_by=after.by,
        policy=context.setting,
        labels=len(samples),
        model=model,
        evidence=Evidence(
            prior=context.prior.version,
            better=better,
            by_labels=shown is not None,
            why=why,
            before=before.version,
            seen=seen,
            sessions=len(history),
            counts=_counts(fit, left_out=sum(map(_teaches, labels)) - len(fit)),
            gain=evaluation.gain,
            shift=shift,
            turned=turned,
            weights=() if not evaluation.is_taught else _weight_changes(in_force, model, context.prior),
            rules=_agreement([float(sample.by_rules) for sample in samples], [s.by_rules for s in samples], samples),
            model=_agreement(evaluation.likely, evaluation.verdicts, samples),
            reliability=_reliability(evaluation, samples),
        ),
    )


def is_due(
    last: Calibration | None, *, newest: int, disputed: int, sessions: int, prior: Prior, age_days: float
) -> bool:
    """Return whether there is anything new to look at: a label, or twice as many sessions as before.

    Args:
        last: the last look.
        newest: numbers the feedback.
        disputed: how many sessions that a scorer had graded otherwise were judged since.
        sessions: counts the finished ones.
        prior: the one to learn from.
        age_days: how long ago the last look was.
    """
    if last is None:
        return newest > 0 or sessions >= FEWEST_SESSIONS
    if last.evidence.prior != prior.version:
        return True
    pause = _DAYS if disputed < _FEWEST_DISPUTES else _DAYS_AFTER_DISPUTES
    is_news = newest > last.evidence.seen or sessions >= max(FEWEST_SESSIONS, 2 * last.evidence.sessions)
    return is_news and not 0 <= age_days < pause


def _teaches(label: Label) -> bool:
    """Return whether a label says something of completion that can be learned from, in some session.

    A revert only ever says that a task was not done: who learns from those takes all that look alike for failed.
    """
    return label.completed is not None and label.source is not FeedbackSource.REVERT


def _is_fit(label: Label, prior: Prior) -> bool:
    """Return whether it can be learned from: not if its session went on since, nor without the prior's features.

    What is no task of a person is in no rates either.
    """
    known = _teaches(label) and label.is_finished and label.is_persons and not label.went_on
    return known and len(label.features) == len(prior.names)


def _sample(label: Label) -> Sample:
    by_rules = label.automatic_completed if label.rules_completed is None else label.rules_completed
    task = label.session_id if label.request is None else str(label.request)
    return Sample(features=label.features, completed=bool(label.completed), task=task, by_rules=by_rules)


def _of_all(
    evaluation: Evaluation, prior: Prior, in_force: CompletionModel, history: Sequence[tuple[float, ...]]
) -> CompletionModel:
    """Return the model of all labels; without any that teach, the one in force if it differs by next to nothing."""
    model = evaluation.model
    both_untaught = not evaluation.is_taught and is_untaught(in_force.version, prior.version)
    return in_force if both_untaught and _distance(in_force, model, history) < _SAME_LEVEL else model


def _distance(one: CompletionModel, other: CompletionModel, history: Sequence[tuple[float, ...]]) -> float:
    """Return by how much the log-odds of two models differ in a person's sessions, in the mean."""
    weights = [left - right for left, right in zip(one.weights, other.weights, strict=True)]
    while weights and not weights[-1]:  # words, which weigh nothing before labels do
        weights.pop()
    apart = one.intercept - other.intercept
    return math.fsum(abs(apart + dot(weights, features)) for features in history) / max(1, len(history))


def _agreement(likely: Sequence[float], verdicts: Sequence[bool], samples: Sequence[Sample]) -> Agreement | None:
    """Return how far probabilities and verdicts agree with people; None without labels."""
    if not samples:
        return None
    outcomes = [sample.completed for sample in samples]
    of_likely, of_verdicts = score_probabilities(outcomes, likely), score_verdicts(outcomes, verdicts)
    return Agreement(
        brier=of_likely.brier,
        ece=of_likely.error,
        mcc=of_verdicts.matthews,
        kappa=of_verdicts.kappa,
        auc=of_likely.ranking,
    )


def _reliability(evaluation: Evaluation, samples: Sequence[Sample]) -> tuple[ReliabilityBin, ...]:
    found = bins([sample.completed for sample in samples], evaluation.likely)
    return tuple(ReliabilityBin(each.predicted, each.completed) for each in found)


def _better(evaluation: Evaluation, samples: Sequence[Sample]) -> VerdictBy | None:
    """Return whose verdicts agree better with people; None when that may be chance, or labels are few."""
    if len(samples) < FEWEST_LABELS or not has_enough_of_each(samples):
        return None
    by_rules = [sample.by_rules for sample in samples]
    gain, error = matthews_gain(samples, evaluation.verdicts, by_rules)
    if abs(gain) <= _SURE * error or (gain < 0 and len(set(by_rules)) == 1):
        return None
    return VerdictBy.MODEL if gain > 0 else VerdictBy.RULES


def _does_better(
    standing: CompletionModel, evaluation: Evaluation, samples: Sequence[Sample], fresh: Sequence[int]
) -> bool:
    """Return whether the weights in force do better on later labels, which the new ones have not seen either."""

    def loss(likely: float, place: int) -> float:
        return (likely - samples[place].completed) ** 2

    ahead = [
        loss(evaluation.likely[place], place) - loss(predict(standing, samples[place])[0], place) for place in fresh
    ]
    return math.fsum(ahead) > 0


def _shift(before: CompletionModel, after: CompletionModel, samples: Sequence[Sample]) -> tuple[float, int]:
    """Return the mean change in probability on labelled sessions and the number of changed verdicts of the model."""
    if not samples:
        return 0.0, 0
    pairs = [(predict(before, sample), predict(after, sample)) for sample in samples]
    moves = math.fsum(abs(new[0] - old[0]) for old, new in pairs)
    return moves / len(pairs), sum(old[1] != new[1] for old, new in pairs)


def _weight_changes(before: CompletionModel, after: CompletionModel, prior: Prior) -> tuple[WeightChange, ...]:
    """Return the features with a meaning whose weights move most, none when they are the same."""
    changes = [
        WeightChange(name, old * scale, new * scale)
        for name, old, new, scale in zip(after.names, before.weights, after.weights, prior.scaling.scales, strict=True)
        if old != new and not is_free(name)
    ]
    return tuple(sorted(changes, key=lambda change: -abs(change.after - change.before))[:_LISTED_WEIGHTS])


def _counts(labels: Sequence[Label], *, left_out: int) -> LabelCounts:
    sampled = Counter(label.sampled for label in labels if label.source is not FeedbackSource.REWARD)
    return LabelCounts(
        random=sampled[Sampling.RANDOM],
        uncertain=sampled[Sampling.UNCERTAIN],
        given=sampled[None],
        rewards=len(labels) - sampled.total(),
        left_out=left_out,
    )


def _why(evaluation: Evaluation, prior: Prior, model: CompletionModel) -> str:
    """Return in a sentence what was decided of the weights; `model` is the one that results."""
    gain, is_levelled = evaluation.gain, model.version != prior.version
    if not gain.sample:
        levelled = "; probabilities are moved to the average of your sessions" if is_levelled else ""
        return f"there are no labels yet, so nothing is calibrated{levelled}"
    if gain.value is None or gain.low is None or gain.high is None:
        level = ", moved to the average of your sessions" if is_levelled else ""
        return f"no model trained on your labels is clearly better than the start model (prior){level}"
    return (
        f"{evaluation.name}: the Brier score falls by {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f})"
        " in cross-validation"
    )


def _why_noted(standing: Calibration | None, context: TrainingContext) -> str:
    if standing is None:
        return "the first record of this database"
    if not is_of(standing, context.prior.model):
        return f"another prior: {context.prior.version}"
    if standing.policy is not context.setting:
        return f"the setting verdict is {context.setting} now, it was {standing.policy}"
    if standing.evidence.rules_version != context.rules_version:
        return "other rules are in force"
    return "another policy is in force"
