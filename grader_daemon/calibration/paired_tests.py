"""Compare two judges of sessions by the same labels: gains, each with its standard error.

Sessions of one task are one piece of evidence: what is summed, left out or drawn are tasks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from grader_daemon.calibration.agreement import matthews
from grader_daemon.calibration.samples import Sample

_RESAMPLES = 200
_SEED = 1

Gain = tuple[float, float]
"""A gain, and its standard error."""


def brier_gain(labelled: Sequence[Sample], new: Sequence[float], old: Sequence[float]) -> Gain:
    """Return by how much the mean squared error of new probabilities is smaller."""
    gains: dict[str, float] = {}
    for sample, ours, theirs in zip(labelled, new, old, strict=True):
        gain = (theirs - sample.completed) ** 2 - (ours - sample.completed) ** 2
        gains[sample.task] = gains.get(sample.task, 0.0) + gain
    total = sum(gains.values())
    centre = total / len(gains)
    spread = sum([(gain - centre) ** 2 for gain in gains.values()])
    few = len(gains) / max(1, len(gains) - 1)
    return total / len(labelled), math.sqrt(spread * few) / len(labelled)


def ranking_gain(
    labelled: Sequence[Sample], new: Sequence[float], old: Sequence[float], parts: Iterable[Sequence[int]]
) -> Gain:
    """Return by how much more often new probabilities put a completed session above a failed one, of the same part.

    Each part of a cross-validation has a model of its own, and probabilities of two models say nothing of a ranking.
    The standard error is that of the jackknife over tasks (Efron and Stein, Annals of Statistics 9, 1981).
    """
    total, pairs = 0.0, 0
    by_task: dict[str, tuple[float, int]] = {}
    for part in parts:
        completed = [index for index in part if labelled[index].completed]
        failed = [index for index in part if not labelled[index].completed]
        for one in completed:
            for other in failed:
                gain = _order(new[one], new[other]) - _order(old[one], old[other])
                total, pairs = total + gain, pairs + 1
                for task in {labelled[one].task, labelled[other].task}:
                    so_far, count = by_task.get(task, (0.0, 0))
                    by_task[task] = so_far + gain, count + 1
    if not pairs:
        return 0.0, 0.0
    without = [(total - gain) / max(1, pairs - count) for gain, count in by_task.values()]
    centre = sum(without) / len(without)
    spread = sum([(each - centre) ** 2 for each in without])
    return total / pairs, math.sqrt(spread * (len(without) - 1) / len(without))


def matthews_gain(labelled: Sequence[Sample], new: Sequence[bool], old: Sequence[bool]) -> Gain:
    """Return by how much better new verdicts agree, by drawing tasks again and again."""
    tasks: dict[str, list[int]] = {}
    for index, sample in enumerate(labelled):
        tasks.setdefault(sample.task, []).append(index)
    groups = list(tasks.values())
    chance = random.Random(_SEED)  # noqa: S311  a bootstrap keeps no secrets

    def gain(places: Sequence[int]) -> float:
        outcomes = [labelled[index].completed for index in places]
        return matthews(outcomes, [new[index] for index in places]) - matthews(
            outcomes, [old[index] for index in places]
        )

    drawn = [
        gain([index for group in chance.choices(groups, k=len(groups)) for index in group]) for _ in range(_RESAMPLES)
    ]
    centre = sum(drawn) / _RESAMPLES
    error = math.sqrt(sum([(each - centre) ** 2 for each in drawn]) / (_RESAMPLES - 1))
    return gain(range(len(labelled))), error


def _order(upper: float, lower: float) -> float:
    return 0.5 if upper == lower else float(upper > lower)
