"""An evaluation of what labels teach: weights, the base rate alone, or nothing, each on labels that it has not seen.

What is tried has to be better than the prior at the level of a person's sessions, which needs no labels.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Final

import msgspec
import xxhash

from grader_daemon.calibration.agreement import matthews
from grader_daemon.calibration.crossvalidation import folds
from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.samples import Sample
from grader_daemon.calibration.update import levelled, update
from grader_daemon.domain.calibration import FEWEST_LABELS
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.verdict import learned_version, level_version

_FEWEST_FOR_RATE: Final = 20
_FEWEST_TASKS: Final = 5
_SURE: Final = 1e-12
_RESAMPLES: Final = 200
_SEED: Final = 1
_Z: Final = 1.959963984540054


class CrossValidation(msgspec.Struct, frozen=True, kw_only=True):
    """A new model beside the one that is in use, on labels that it was not fitted to.

    `probabilities` are the new model's, one for each label. `brier_gain` is by how much its squared error is smaller
    than that of the model in use; it is better if that is more than its standard error.
    """

    probabilities: tuple[float, ...]
    verdicts: tuple[bool, ...]
    brier_gain: Estimate
    is_better: bool


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What labels were shown to teach.

    `teacher` is the prior to learn from, as far as it may be left; None: nothing is better than the prior itself, at
    the level of a person's sessions: `untaught`. `likely` and `verdicts` are of the best model, one for each label and
    by a model that has not seen it; `gain` is how much lower its Brier score is than the prior's.
    """

    name: str
    teacher: Prior | None
    untaught: CompletionModel
    likely: tuple[float, ...]
    verdicts: tuple[bool, ...]
    gain: Estimate


def evaluate(prior: Prior, samples: Sequence[Sample], history: Sequence[tuple[float, ...]]) -> Evaluation:
    """See by cross-validation whether labels teach anything: weights if there are enough, else the base rate alone."""
    untaught = _level_of(prior, history)
    tasks = len({sample.task for sample in samples})
    for name, fewest, teacher in (
        ("base rate and weights", FEWEST_LABELS, prior),
        ("the base rate", _FEWEST_FOR_RATE, _unmoved(prior)),
    ):
        if len(samples) >= fewest and tasks >= _FEWEST_TASKS:
            found = cross_validate(teacher, samples, history=history, current=untaught)
            if found.is_better:
                likely, verdicts = found.probabilities, found.verdicts
                return Evaluation(
                    name=name,
                    teacher=teacher,
                    untaught=untaught,
                    likely=likely,
                    verdicts=verdicts,
                    gain=found.brier_gain,
                )
    predictions = [predict(untaught, sample) for sample in samples]
    return Evaluation(
        name="",
        teacher=None,
        untaught=untaught,
        likely=tuple([p for p, _ in predictions]),
        verdicts=tuple([verdict for _, verdict in predictions]),
        gain=Estimate(sample=len(samples)),
    )


def trained(evaluation: Evaluation, samples: Sequence[Sample], history: Sequence[tuple[float, ...]]) -> CompletionModel:
    """Return the model of all labels, if they teach anything; its version is a digest of what it says.

    With `FEWEST_LABELS` it is the labels that say at which probabilities a verdict is little better than a guess.
    """
    if evaluation.teacher is None:
        return evaluation.untaught
    made = update(evaluation.teacher, samples, history=history, version="")
    if len(samples) >= FEWEST_LABELS:
        made = msgspec.structs.replace(made, doubtful=_doubtful(evaluation, samples))
    return msgspec.structs.replace(made, version=learned_version(evaluation.teacher.version, _digest(made)))


def cross_validate(
    prior: Prior, labelled: Sequence[Sample], *, history: Sequence[tuple[float, ...]], current: CompletionModel
) -> CrossValidation:
    """Whether learning from these labels is better than the model in use.

    The model in use may have seen some of the labels, which speaks for it and not for the new one.
    """
    likely, verdicts = [0.0] * len(labelled), [False] * len(labelled)
    for part in folds(labelled):
        inside = set(part)
        training = [sample for index, sample in enumerate(labelled) if index not in inside]
        model = update(prior, training, history=history, version="")
        for index in part:
            likely[index], verdicts[index] = predict(model, labelled[index])
    gain, error = _brier_gain(labelled, likely, [predict(current, sample)[0] for sample in labelled])
    return CrossValidation(
        probabilities=tuple(likely),
        verdicts=tuple(verdicts),
        brier_gain=Estimate(value=gain, low=gain - _Z * error, high=gain + _Z * error, sample=len(labelled)),
        is_better=gain > error,
    )


def predict(model: CompletionModel, sample: Sample) -> tuple[float, bool]:
    """Return what a model says of a session: the probability, and the verdict; 0 where it has no idea."""
    likely = model.predict(sample.features) or 0.0
    return likely, likely >= model.threshold


def matthews_gain(labelled: Sequence[Sample], verdicts: Sequence[bool]) -> tuple[float, float]:
    """Return the gain over the rules and its standard error, by drawing tasks again and again."""
    tasks: dict[str, list[int]] = {}
    for index, sample in enumerate(labelled):
        tasks.setdefault(sample.task, []).append(index)
    groups = list(tasks.values())
    chance = random.Random(_SEED)  # noqa: S311  a bootstrap keeps no secrets
    drawn = []
    for _ in range(_RESAMPLES):
        places = [index for group in chance.choices(groups, k=len(groups)) for index in group]
        drawn.append(_gain(labelled, verdicts, places))
    centre = sum(drawn) / _RESAMPLES
    error = math.sqrt(sum([(gain - centre) ** 2 for gain in drawn]) / (_RESAMPLES - 1))
    return _gain(labelled, verdicts, range(len(labelled))), error


def _doubtful(evaluation: Evaluation, samples: Sequence[Sample]) -> tuple[float, float]:
    """See where verdicts are little better than a guess, by labels that the probabilities have not seen."""
    both = zip(evaluation.likely, samples, strict=True)
    return doubtful([[(likely, sample.completed) for likely, sample in both]])


def _unmoved(prior: Prior) -> Prior:
    """Return a prior so sure of its weights that labels teach the base rate alone."""
    return msgspec.structs.replace(prior, variances=(_SURE,) * len(prior.names))


def _level_of(prior: Prior, history: Sequence[tuple[float, ...]]) -> CompletionModel:
    """Return the prior's model at the level of these sessions; as it is if they are too few."""
    made = levelled(prior, history, version="")
    if made.version:
        return made
    return msgspec.structs.replace(made, version=level_version(prior.version, _digest(made)))


def _digest(model: CompletionModel) -> str:
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(model))[:8]


def _brier_gain(labelled: Sequence[Sample], new: Sequence[float], old: Sequence[float]) -> tuple[float, float]:
    """Return the gain and its standard error; sessions of one task are one piece of evidence."""
    gains: dict[str, float] = {}
    for sample, ours, theirs in zip(labelled, new, old, strict=True):
        gain = (theirs - sample.completed) ** 2 - (ours - sample.completed) ** 2
        gains[sample.task] = gains.get(sample.task, 0.0) + gain
    total = sum(gains.values())
    centre = total / len(gains)
    spread = sum([(gain - centre) ** 2 for gain in gains.values()])
    few = len(gains) / max(1, len(gains) - 1)
    return total / len(labelled), math.sqrt(spread * few) / len(labelled)


def _gain(labelled: Sequence[Sample], verdicts: Sequence[bool], places: Sequence[int]) -> float:
    outcomes = [labelled[index].completed for index in places]
    by_rules = [labelled[index].by_rules for index in places]
    return matthews(outcomes, [verdicts[index] for index in places]) - matthews(outcomes, by_rules)
