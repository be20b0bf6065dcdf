"""Cross-validation of a model: leaving out sources, and within one place leaving out tasks.

Families of sources are left out together; those that share tasks are relatives. The same task is never on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from grader_daemon.calibration.agreement import matthews, ranking
from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.prior import Validity
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import Sample, by_source, families, places
from grader_daemon.calibration.update import levelled

_FOLDS = 5

Split = tuple[list[Sample], list[Sample]]
"""Samples to train on, and those to test on."""


def folds(samples: Sequence[Sample], count: int = _FOLDS) -> list[list[int]]:
    """Return the places of the samples in `count` parts about equally large; a task lies in one of them."""
    tasks: dict[str, list[int]] = {}
    for index, sample in enumerate(samples):
        tasks.setdefault(sample.task, []).append(index)
    parts: list[list[int]] = [[] for _ in range(count)]
    for task in sorted(tasks, key=lambda name: (-len(tasks[name]), name)):
        min(parts, key=len).extend(tasks[task])
    return [sorted(part) for part in parts if part]


def leave_out(samples: Sequence[Sample]) -> Iterator[Split]:
    """Yield every family of sources against all others; where there is only one, parts of its tasks."""
    found = [[sample for each in sources.values() for sample in each] for sources in families(samples).values()]
    if len(found) > 1:
        for index, tested in enumerate(found):
            yield [sample for other in (*found[:index], *found[index + 1 :]) for sample in other], tested
        return
    for part in folds(samples):
        inside = set(part)
        training = [sample for index, sample in enumerate(samples) if index not in inside]
        yield training, [samples[index] for index in part]


class Prediction(msgspec.Struct, frozen=True):
    """A prediction for a session that the model had not seen, nor any of its source."""

    sample: Sample
    likely: float
    completed: bool


def predictions(samples: Sequence[Sample], directions: Mapping[str, float]) -> dict[str, list[Prediction]]:
    """Train priors without what they are tested on; gives what they say, by source, at the level of its sessions.

    Sources in which all were completed, or none, say nothing and are left out.
    """
    found: dict[str, list[Prediction]] = {}
    for training, tested in leave_out(samples):
        if not has_both(training):
            continue
        prior = train_prior(training, directions, version="", features_version=0)
        for source, each in by_source(tested).items():
            model = levelled(prior, [sample.features for sample in each], version="")
            likely = [model.predict(sample.features) or 0.0 for sample in each]
            found.setdefault(source, []).extend(
                [Prediction(sample, p, p >= model.threshold) for sample, p in zip(each, likely, strict=True)]
            )
    return {
        source: each for source, each in found.items() if 0 < sum([one.sample.completed for one in each]) < len(each)
    }


def validity(predicted: Mapping[str, Sequence[Prediction]]) -> Validity:
    """Return what priors are worth where they were not trained: means over the sources."""
    rankings, by_model, by_rules = [], [], []
    for each in predicted.values():
        outcomes = [prediction.sample.completed for prediction in each]
        rankings.append(ranking(outcomes, [prediction.likely for prediction in each]))
        by_model.append(matthews(outcomes, [prediction.completed for prediction in each]))
        by_rules.append(matthews(outcomes, [prediction.sample.by_rules for prediction in each]))
    return Validity(
        sources=len(rankings),
        ranking=_mean([area for area in rankings if area is not None]),
        model_matthews=_mean(by_model),
        rules_matthews=_mean(by_rules),
    )


def doubtful_elsewhere(predicted: Mapping[str, Sequence[Prediction]]) -> tuple[float, float]:
    """Return the probabilities between which a prior's verdicts are little better than a guess, by these sources."""
    return doubtful([[(one.likely, one.sample.completed) for one in each] for each in predicted.values()])


def has_both(samples: Sequence[Sample]) -> bool:
    """Return whether in any source some tasks were completed and others were not."""
    return bool(places(samples))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
