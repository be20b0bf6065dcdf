"""Calibration of grades: learning from labels, and what is known of how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.arguments import check_days
from grader_daemon.api.context import GraderPart
from grader_daemon.bootstrap import periodic
from grader_daemon.calibration.early_errors import early_worth
from grader_daemon.calibration.prior import Provenance, Validity, is_free
from grader_daemon.domain.calibration import Calibration, GraderChange, LevelGuess
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.early import EarlyWorth
from grader_daemon.domain.routing import MOST_SESSIONS, WINDOW_DAYS
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.errors import InputError
from grader_daemon.pipeline.grader_changes import grader_changes
from grader_daemon.reports.reliability import because_words

_HISTORY = 20


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """Weight of a feature: what one standard deviation adds to the log-odds of completion, and its meaning."""

    name: str
    weight: float
    meaning: str | None


class CalibrationState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the calibration: the source of automatic verdicts, and how far they can be trusted.

    `verdict_by` decides with the model `model`, which is the `prior` or was trained from it; `why` gives the reason.
    `provenance` says what the prior was trained on, `validity` how well it did on other data. `look` is the last
    calibration run (None if there was none), `new_labels` says whether there are labels since then. `weights` are the
    model's weights of named features, the largest first; `while_running` says whether open sessions get verdicts;
    `history` has the newest records, adopted or not, the newest first.
    """

    policy: VerdictSetting
    verdict_by: VerdictBy
    why: str
    model: str
    prior: str
    provenance: Provenance
    validity: Validity
    look: Calibration | None
    new_labels: bool
    weights: tuple[Weight, ...]
    while_running: EarlyWorth
    history: tuple[Calibration, ...]


class Calibrations(GraderPart):
    """Learns from labels, and knows how far verdicts can be trusted."""

    def learn(self) -> Calibration:
        """Learn from all current labels, and adopt the model that cross-validation shows to be better.

        A daemon that runs takes it up within a minute, and grades everything again. `adopted` says whether anything
        changed, `evidence.why` why, `evidence.weights` and `evidence.shift` what and by how much; `number` is None if
        another calibration was adopted at the same time, and this one given up.
        """
        return periodic.make_calibrator(self._context.settings, self._context.writable).calibrate(self._context.now())

    def try_out(self) -> Calibration:
        """Return the result of `learn` without writing anything."""
        return periodic.make_calibrator(self._context.settings, self._context.store).try_out(self._context.now())

    def state(self) -> CalibrationState:
        """Return the source of automatic verdicts, the reason for it, and how far they can be trusted."""
        calibrations = self._context.store.calibrations
        shipped = bootstrap.read_prior(self._context.settings)
        context = bootstrap.make_context(self._context.settings, shipped)
        adopted, look = calibrations.adopted(), calibrations.last_look()
        policy = context.policy(adopted)
        model = policy.model or context.prior.model
        since = self._context.now() - timedelta(days=WINDOW_DAYS)
        return CalibrationState(
            policy=context.setting,
            verdict_by=policy.by,
            why=because_words(context.setting, context.evidence(adopted)),
            model=model.version,
            prior=context.prior.version,
            provenance=shipped.provenance,
            validity=shipped.validity,
            look=look,
            new_labels=self._context.store.feedback.newest_number() > (0 if look is None else look.evidence.seen),
            weights=_weights(model, context.prior.scaling.scales),
            while_running=early_worth(self._context.store.grades.early_counts(since=since, limit=MOST_SESSIONS)),
            history=tuple(calibrations.latest(_HISTORY)),
        )

    def level(self) -> LevelGuess | None:
        """Return the person's guess of the share of done tasks; None without one."""
        return self._context.store.level_guesses.last()

    def guess_level(self, rate: float) -> None:
        """Store a guess of the share of done tasks, 0 to 1, in place of an earlier one.

        It stands in for the completion rate until there are labels, and changes no verdict.

        Raises:
            InputError: it is not between 0 and 1.
        """
        if not 0 <= rate <= 1:
            raise InputError(f"a level is a share from 0 to 1, not {rate:g}")
        with self._context.writable.transaction():
            self._context.writable.level_guesses.add(rate, self._context.now())

    def forget_level(self) -> None:
        """Withdraw the guess of the level, if there is one."""
        with self._context.writable.transaction():
            self._context.writable.level_guesses.add(None, self._context.now())

    def changes(self, *, days: float = 28) -> tuple[GraderChange, ...]:
        """Return the changes of the active grader in the last `days` days, the newest first."""
        since = self._context.now() - timedelta(days=check_days(days))
        return grader_changes(self._context.store, since=since, zone=self._context.settings.zone)

    def model(self, version: str | None) -> CompletionModel | None:
        """Return the model of a version, if it is the prior or was ever active here."""
        prior = bootstrap.read_prior(self._context.settings).prior.model
        if version is None or version == prior.version:
            return prior if version is not None else None
        return self._context.store.calibrations.model(version)


def meaning_of(feature: str) -> str | None:
    """Return what a feature is, or all words of a place; None for one of another version."""
    from grader_daemon.analysis.features import FEATURES, WORDS  # which only those who ask for models need

    return FEATURES.get(feature) or WORDS.get(feature)


def display_name(feature: str) -> str:
    """Return the name under which people are told of a feature: a single bucket of words is one of all of its place."""
    return feature.rpartition(":")[0] if is_free(feature) else feature


def _weights(model: CompletionModel, scales: Sequence[float]) -> tuple[Weight, ...]:
    weights = [
        Weight(name=name, weight=weight * scale, meaning=meaning_of(name))
        for name, weight, scale in zip(model.names, model.weights, scales, strict=True)
        if not is_free(name)
    ]
    return tuple(sorted(weights, key=lambda each: -abs(each.weight)))
