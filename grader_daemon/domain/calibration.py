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
    """Sessions of about the same probability: its mean, and the rate of those that people call completed."""

    likely: float
    completed: Estimate


class LevelGuess(msgspec.Struct, frozen=True, kw_only=True):
    """A person's guess of the share of done tasks, 0 to 1, and its time."""

    rate: float
    given_at: datetime


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """Reliability of the verdicts of the policy `version`, now in force; `by` is who decides under it.

    `labels` are those of people here that say so, 0 as long as they are fewer than `FEWEST_LABELS`. `agreement` is the
    Matthews correlation of such verdicts, -1 to 1, with these labels; None where there are none, for what was measured
    elsewhere does not hold here. The model says done from a probability of `threshold` on. Of verdicts
    `of_fleet` nothing of this is known but on the machine that gave one.
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
    """Number of labels to learn from, by how they came: at random, as uncertain, or without being asked.

    `rewards` are those of verifiers. `left_out` are others on completion that stand: older ones, and those of
    sessions that went on, are open, are side sessions, or show nothing to learn from.
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

    `prior` is the version of the prior that it started from, `better` whose verdict is known to be the better one, by
    labels if `by_labels`, else by the sources that the prior had not seen. `why` says in a sentence what was decided,
    `before` is the version of the policy before. `seen` is the id of the newest feedback that was looked at, `sessions`
    how many finished sessions said what is ordinary; both are 0 where none was looked at: then the rest is empty.

    `rules_version` names the rules that were in force. `verdicts` are those of the grader before on the last seven
    days; None where no other grader came into force.

    `gain` is by how much the Brier score of sessions that were not learned from is lower than the prior's. `shift` is
    by how much the probability of labelled sessions moves in the mean, `turned` how many of the model's verdicts on
    them turn; `weights` are those that move most. `rules` and `model` say how far both agree with people,
    `reliability` how often what the model finds likely is completed.
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
