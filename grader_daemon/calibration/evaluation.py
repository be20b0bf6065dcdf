"""An evaluation of what labels teach: weights, level and slope alone, or nothing, each on labels that it has not seen.

What is simple has to be beaten by what is less so. Level and slope change no verdict; they have to do better than the
prior among a person's sessions, which needs no labels. Weights change verdicts. They have to do better than both, to
rank no worse, and to do better than saying the rate of completion of every session, by more than chance: without that,
labels that mean nothing would do for new weights wherever the prior is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import xxhash

from grader_daemon.calibration.crossvalidation import folds
from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.home import at_home
from grader_daemon.calibration.paired_tests import brier_gain, ranking_gain
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.samples import Sample
from grader_daemon.calibration.update import base_rate, levelled, relevelled, reweighted
from grader_daemon.domain.calibration import FEWEST_LABELS
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.verdict import learned_version, level_version

FEWEST_OF_EACH: Final = 10
"""Fewest labelled sessions, completed and failed each, before labels move a verdict that nobody gave."""

_FEWEST_FOR_LEVEL: Final = 20
_FEWEST_TASKS: Final = 5
_SURE: Final = 1.2815515655446004
"""Standard errors that a gain by chance passes one time in ten."""

_NO_WORSE: Final = 0.5
"""Standard errors by which a ranking may be worse before it counts as such."""

_Z: Final = 1.959963984540054

Teacher = Callable[[Sequence[Sample]], CompletionModel]


class CrossValidation(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions of a teacher's models for labels that they were not fitted to: for each a probability and verdict."""

    likely: tuple[float, ...]
    verdicts: tuple[bool, ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Evaluation of what labels taught.

    `model` is the best one, of all labels; `is_taught` says whether any of them is in it, else it is the prior among
    the person's sessions. `likely` and `verdicts` are those of such a model, one for each label and by one that has
    not seen it; `gain` is how much lower their Brier score is than the prior's.
    """

    name: str
    model: CompletionModel
    is_taught: bool
    likely: tuple[float, ...]
    verdicts: tuple[bool, ...]
    gain: Estimate


def evaluate(prior: Prior, samples: Sequence[Sample], history: Sequence[tuple[float, ...]]) -> Evaluation:
    """See by cross-validation what labels teach.

    Args:
        prior: where it starts.
        samples: sessions with labels, the newest last.
        history: the features of a person's finished sessions, labelled or not.
    """
    untaught = _level_of(prior, history)
    found = [predict(untaught, sample) for sample in samples]
    best = Evaluation(
        name="",
        model=untaught,
        is_taught=False,
        likely=tuple([likely for likely, _ in found]),
        verdicts=tuple([verdict for _, verdict in found]),
        gain=Estimate(sample=len(samples)),
    )
    if len(samples) < _FEWEST_FOR_LEVEL or len({sample.task for sample in samples}) < _FEWEST_TASKS:
        return best
    seen = history or [sample.features for sample in samples]
    home = at_home(prior, seen)
    untaught_likely = best.likely

    def taught(name: str, teacher: Teacher, tested: CrossValidation) -> Evaluation:
        gain, error = brier_gain(samples, tested.likely, untaught_likely)
        return Evaluation(
            name=name,
            model=_named(prior, _with_doubt(teacher(samples), tested, samples)),
            is_taught=True,
            likely=tested.likely,
            verdicts=tested.verdicts,
            gain=Estimate(value=gain, low=gain - _Z * error, high=gain + _Z * error, sample=len(samples)),
        )

    level = cross_validate(lambda some: relevelled(home, some).model, samples)
    if brier_gain(samples, level.likely, untaught_likely)[0] > 0:
        best = taught("level and slope", lambda some: relevelled(home, some).model, level)
    if len(samples) >= FEWEST_LABELS and has_enough_of_each(samples):
        weights = cross_validate(lambda some: reweighted(home, some, seen), samples)
        if _beats(weights.likely, samples, simple=best.likely, ranked=untaught_likely, rates=_rates(prior, samples)):
            best = taught("weights", lambda some: reweighted(home, some, seen), weights)
    return best


def has_enough_of_each(samples: Sequence[Sample]) -> bool:
    """Return whether there are enough completed and failed sessions to tell whose verdicts are better."""
    completed = sum([sample.completed for sample in samples])
    return min(completed, len(samples) - completed) >= FEWEST_OF_EACH


def cross_validate(teacher: Teacher, labelled: Sequence[Sample]) -> CrossValidation:
    """Ask for every label a model that was taught by labels of other tasks only."""
    likely, verdicts = [0.0] * len(labelled), [False] * len(labelled)
    for part in folds(labelled):
        model = teacher(_without(labelled, part))
        for index in part:
            likely[index], verdicts[index] = predict(model, labelled[index])
    return CrossValidation(likely=tuple(likely), verdicts=tuple(verdicts))


def predict(model: CompletionModel, sample: Sample) -> tuple[float, bool]:
    """Return what a model says of a session: the probability, and the verdict; 0 where it has no idea."""
    likely = model.predict(sample.features) or 0.0
    return likely, likely >= model.threshold


def _beats(
    likely: Sequence[float],
    samples: Sequence[Sample],
    *,
    simple: Sequence[float],
    ranked: Sequence[float],
    rates: Sequence[float],
) -> bool:
    """Return whether probabilities beat `simple` ones and `rates`, and rank no worse than those `ranked`."""
    over_rates, error = brier_gain(samples, likely, rates)
    if over_rates <= _SURE * error or brier_gain(samples, likely, simple)[0] <= 0:
        return False
    above, error = ranking_gain(samples, likely, ranked, folds(samples))
    return above + _NO_WORSE * error >= 0


def _rates(prior: Prior, samples: Sequence[Sample]) -> list[float]:
    """Return for every label the rate of completion that labels of other tasks say."""
    rates = [0.0] * len(samples)
    for part in folds(samples):
        rate = base_rate(prior, _without(samples, part))
        for index in part:
            rates[index] = rate
    return rates


def _without(samples: Sequence[Sample], part: Sequence[int]) -> list[Sample]:
    inside = set(part)
    return [sample for index, sample in enumerate(samples) if index not in inside]


def _with_doubt(model: CompletionModel, tested: CrossValidation, samples: Sequence[Sample]) -> CompletionModel:
    """See where verdicts are little better than a guess, by labels that the probabilities have not seen."""
    if len(samples) < FEWEST_LABELS:
        return model
    both = zip(tested.likely, samples, strict=True)
    return msgspec.structs.replace(model, doubtful=doubtful([[(likely, each.completed) for likely, each in both]]))


def _level_of(prior: Prior, history: Sequence[tuple[float, ...]]) -> CompletionModel:
    """Return the prior's model at the level of these sessions; as it is if they are too few."""
    made = levelled(prior, history, version="")
    if made.version:
        return made
    return msgspec.structs.replace(made, version=level_version(prior.version, _digest(made)))


def _named(prior: Prior, made: CompletionModel) -> CompletionModel:
    """Return the model with a version that is a digest of what it says."""
    made = msgspec.structs.replace(made, version="")
    return msgspec.structs.replace(made, version=learned_version(prior.version, _digest(made)))


def _digest(model: CompletionModel) -> str:
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(model))[:8]
