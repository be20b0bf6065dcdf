"""What a model is worth where it was not trained: by leaving out sources, and within one place by leaving out tasks.

Sources that share tasks are relatives and are left out together. The same task is never on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from grader_daemon.calibration.agreement import matthews, ranking
from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.prior import Prior, Validity, train_prior
from grader_daemon.calibration.samples import Sample, by_source

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
    families = _families(samples)
    if len(families) > 1:
        for family in families:
            tested = [sample for sample in samples if sample.source in family]
            yield [sample for sample in samples if sample.source not in family], tested
        return
    for part in folds(samples):
        inside = set(part)
        training = [sample for index, sample in enumerate(samples) if index not in inside]
        yield training, [samples[index] for index in part]


class Prediction(msgspec.Struct, frozen=True):
    """What a model said of a session that it had not seen, nor any of its source."""

    sample: Sample
    likely: float
    completed: bool


def predictions(samples: Sequence[Sample], directions: Mapping[str, float]) -> dict[str, list[Prediction]]:
    """Train priors without what they are tested on; gives what they say, by source.

    Sources in which all were completed, or none, say nothing and are left out.
    """
    found: dict[str, list[Prediction]] = {}
    for training, tested in leave_out(samples):
        if not has_both(training):
            continue
        model = train_prior(training, directions, version="", features_version=0).model
        for sample in tested:
            likely = model.predict(sample.features) or 0.0
            found.setdefault(sample.source, []).append(Prediction(sample, likely, likely >= model.threshold))
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


def doubtful_elsewhere(predicted: Mapping[str, Sequence[Prediction]], prior: Prior) -> tuple[float, float]:
    """Return the probabilities between which a prior's verdicts are little better than a guess, by these sources.

    Sessions that were cut off are judged by that alone.
    """
    return doubtful(
        [
            [
                (prediction.likely, prediction.sample.completed)
                for prediction in each
                if not prior.is_cut_off(prediction.sample.features)
            ]
            for each in predicted.values()
        ]
    )


def has_both(samples: Sequence[Sample]) -> bool:
    """Is there a source in which some tasks were completed and others were not?"""
    return any(0 < sum([sample.completed for sample in each]) < len(each) for each in by_source(samples).values())


def _families(samples: Sequence[Sample]) -> list[set[str]]:
    """Return the sources, those together that share tasks."""
    tasks: dict[str, set[str]] = {}
    for sample in samples:
        tasks.setdefault(sample.source, set()).add(sample.task)
    families: list[tuple[set[str], set[str]]] = []
    for source in sorted(tasks):
        related = [family for family in families if not family[1].isdisjoint(tasks[source])]
        families = [family for family in families if family not in related]
        names = {source}.union(*[family[0] for family in related])
        families.append((names, tasks[source].union(*[family[1] for family in related])))
    return [names for names, _ in families]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
