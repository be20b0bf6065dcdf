"""Probabilities of labelled sessions by weights that had not seen their family: what estimates over many are tried on.

The constants of the training are the middle ones and not chosen, which takes a minute where nested choices take an
hour; one slope for all places only stretches the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from grader_daemon.analysis.features import DIRECTIONS
from grader_daemon.calibration import prior_training as training
from grader_daemon.calibration.prior import is_free
from grader_daemon.calibration.samples import places, scaling_of
from grader_daemon.domain.completion_model import probability
from grader_daemon.domain.verdict import Shown
from tests.benchmarks.truth.cases import Case, read_cases

_MIDDLE: Final = training._Constants(4.0, 2.0, 0.25)


class Predicted(msgspec.Struct, frozen=True):
    """A session whose outcome is known: its probability in its home without labels, and what its record proves."""

    likely: float
    completed: bool
    is_proven: bool = False


Pools = dict[str, list[Predicted]]
"""Sessions by place."""


def read_pools(folders: Sequence[Path], *, jobs: int) -> Pools:
    """Return the sessions of every place that has both outcomes."""
    return pools_of(read_cases(folders, jobs=jobs))


def pools_of(cases: Sequence[Case]) -> Pools:
    """Predict every session by what the other families teach."""
    found = places([case.sample for case in cases])
    scaling = scaling_of(found)
    known = [index for index, name in enumerate(DIRECTIONS) if not is_free(name)]
    expected = [direction for name, direction in DIRECTIONS.items() if not is_free(name)]
    seen = [
        training._seen(place, scaling.adapted([sample.features for sample in place.samples]).apply, known)
        for place in found
    ]
    scores = [_left_out(seen, place, expected) for place in seen]
    slope = training._slope(scores)
    intercept = training._level(scores, slope, sum(place.say * place.rate for place in seen))
    shown = {id(case.sample): case.shown is Shown.NOT_DONE for case in cases}
    return {
        place.samples[0].source: [
            Predicted(probability(intercept + slope * score), sample.completed, shown[id(sample)])
            for score, sample in zip(of.values, place.samples, strict=True)
        ]
        for of, place in zip(scores, found, strict=True)
    }


def _left_out(seen: Sequence[training._Seen], place: training._Seen, expected: Sequence[float]) -> training._Scores:
    others = [other for other in seen if other.family != place.family]
    return training._scores([place], training._weights(others, expected, _MIDDLE), _MIDDLE.self_taught)[0]
