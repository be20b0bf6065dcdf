"""Calibration by people's labels, and the reliability of verdicts."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictCounts, VerdictSetting

FEWEST_LABELS = 50
"""Fewest labels of one's own for a calibration; with fewer, users are told that verdicts are not calibrated for them
yet.
"""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of verdicts with people, on sessions not used for training; each with its 95 % range.

    `brier` (0 is best) and `ece`, the expected calibration error (0 to 1), are of probabilities; a verdict without one
    counts as certain. `mcc` (Matthews correlation, -1 to 1), `kappa` (Cohen's) and `auc` (0 to 1) are best at 1.
    """

    brier: Estimate
    ece: Estimate
    mcc: Estimate
    kappa: Estimate
    auc: Estimate


class ReliabilityBin(msgspec.Struct, frozen=True):
    """Sessions of about the same probability: its mean, and the rate at which people call them done."""

    likely: float
    completed: Estimate


class LevelGuess(msgspec.Struct, frozen=True, kw_only=True):
    """A person's guess of the share of done tasks, 0 to 1, and its time."""

    rate: float
    given_at: datetime


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """Reliability of the verdicts of the active policy.

    Attributes:
        version: version of the policy.
        by: the grader: the rules or the trained model.
        labels: number of labels here that measure it; 0 while there are fewer than `FEWEST_LABELS`.
        agreement: Matthews correlation of its verdicts with these labels, -1 to 1; None without them.
        threshold: lowest probability at which the model says done.
        of_fleet: whether the verdicts come from other machines, where their reliability is known, but not here.
    """

    version: str
    by: VerdictBy
    labels: int = 0
    agreement: float | None = None
    threshold: float | None = None
    of_fleet: bool = False


class WeightChange(msgspec.Struct, frozen=True):
    """Weight of a feature before and now, in log-odds for one standard deviation."""

    name: str
    before: float
    after: float


class LabelCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Number of labels to learn from, by origin.

    Attributes:
        random: labels on sessions that `label` chose at random.
        uncertain: labels on sessions that `label` chose because their verdict was uncertain.
        given: labels that people gave without being asked.
        rewards: rewards from verifiers.
        left_out: other valid labels on completion: too old, or on sessions that continued later, are open, are side
        sessions, or have nothing to learn from.
    """

    random: int = 0
    uncertain: int = 0
    given: int = 0
    rewards: int = 0
    left_out: int = 0

    @property
    def total(self) -> int:
        """All that are learned from."""
        return self.random + self.uncertain + self.given + self.rewards


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Basis and effect of a calibration.

    Attributes:
        prior: version of the prior that it started with.
        better: the grader that is known to be better: the rules or the trained model.
        by_labels: whether labels show that; if not, sources that the prior was not trained on do.
        why: the decision in a sentence.
        before: version of the previous policy.
        seen: id of the newest feedback used; 0 if none was used, then the following keys are empty.
        sessions: number of finished sessions that show which values are usual here; 0 if none were used.
        counts: the labels by origin.
        gain: reduction of the Brier score compared with the prior, on sessions not used for training.
        shift: mean change in the probability of labelled sessions.
        turned: number of labelled sessions whose verdict by the model changes.
        weights: the weights that change most.
        rules: agreement of the rules with people.
        model: agreement of the model with people.
        reliability: for sessions of about the same probability, how often they are done.
        rules_version: version of the rules then.
        verdicts: the previous grader's verdicts on the last seven days; None if the grader did not change.
    """

    prior: str
    better: VerdictBy
    by_labels: bool = False
    why: str
    before: str | None = None
    seen: int = 0
    sessions: int = 0
    counts: LabelCounts = LabelCounts()
    gain: Estimate = Estimate()
    shift: float = 0.0
    turned: int = 0
    weights: tuple[WeightChange, ...] = ()
    rules: Agreement | None = None
    model: Agreement | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    rules_version: str = ""
    verdicts: VerdictCounts | None = None


class GraderChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the active grader, by other labels, rules, prior or setting; everything was graded again then.

    `labels` is the number of labels it learned from, `why` explains the decision in a sentence. `before` counts the
    previous grader's verdicts on the seven days before, `now` today's verdicts on the same days, None if not compared.
    """

    at: datetime
    labels: int
    why: str
    before: VerdictCounts
    now: VerdictCounts | None = None

    @property
    def moved_verdicts(self) -> bool:
        """True unless the verdicts on these days are known to be as before."""
        return self.now != self.before


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """One calibration run, or one change of the setting.

    `model` is the one active then, the new one if `adopted`. `verdict_by` is its source of verdicts. `number` is None
    until it is stored.
    """

    number: int | None = None
    made_at: datetime
    adopted: bool
    verdict_by: VerdictBy
    policy: VerdictSetting
    labels: int
    model: CompletionModel
    evidence: Evidence

    @property
    def completion_policy(self) -> CompletionPolicy:
        """The policy that gave verdicts from then on, if it was adopted."""
        return CompletionPolicy(by=self.verdict_by, model=self.model)

    @property
    def grader_change(self) -> GraderChange | None:
        """The change of grader that came into force with it; None if there was none."""
        before = self.evidence.verdicts
        if before is None:
            return None
        return GraderChange(at=self.made_at, labels=self.labels, why=self.evidence.why, before=before)
