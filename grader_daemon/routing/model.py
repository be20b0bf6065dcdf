"""Probabilities that each model completes each type of task, from few sessions.

The logit of the probability is a level, a part of the task type, a part of the model, and a part of the two together.
Each kind of part is drawn towards nothing as far as the data say that such parts are small: their variances maximise
the marginal likelihood, approximated by Laplace's method (Breslow and Clayton, JASA 88, 1993), with a weak prior that
keeps them off 0 where few groups tell of them (Chung and others, Psychometrika 78, 2013). So a model with three
sessions of a type is judged mostly by what it does elsewhere, and one with a hundred by these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from grader_daemon.domain.algebra import Matrix, cholesky, dot, solve
from grader_daemon.domain.routing import Cell, Count

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_LEVEL_VARIANCE: Final = 4.0
_EXPECTED: Final = (0.5, 0.25, 0.1)
"""Variances of the parts of types, of models and of both together, as they are taken to be before any session."""
_WORTH: Final = 4.0
"""Number of groups that the expectation is worth."""
_STEPS: Final = 100
_CLOSE: Final = 1e-3
_FARTHEST: Final = 6.0
"""Farthest that a logit lies from 0: beyond, a step of the method would be too long."""


class Scored(NamedTuple):
    """A probability, 0 to 1, with its 95 % interval, and its mean and standard deviation as a logit."""

    value: float
    low: float
    high: float
    logit: float
    deviation: float


class Gap(NamedTuple):
    """Difference in the probability of completion between two models, -1 to 1, with its 95 % interval.

    `sure` is by how many standard deviations.
    """

    value: float
    low: float
    high: float
    sure: float


class _Variances(NamedTuple):
    types: float
    models: float
    both: float


class ModelScores:
    """The probabilities of every model at every type of task, of those too that were never seen together."""

    def __init__(self, counts: Mapping[Cell, Count]) -> None:
        """`counts` are of cells with votes; at least one."""
        self.types = sorted({task_type for task_type, _ in counts})
        self.models = sorted({model for _, model in counts})
        self._columns = _columns(self.types, self.models)
        self._cells = [_Cell(self._place(*cell), count) for cell, count in sorted(counts.items()) if count.votes > 0]
        self._by_place = {cell.place: cell for cell in self._cells}
        self._mix = _mix(self.types, counts)
        self._variances = _Variances(*_EXPECTED)
        self._fit()

    def score(self, task_type: str, model: str | None) -> Scored:
        """Estimate the probability of one cell; without a model that of one that was never seen."""
        place = self._place(task_type, model)
        own = self._own(place)
        gradient = dict.fromkeys(place, own.open)
        unseen = 0.0 if task_type in self.types else self._variances.types
        unseen += self._variances.models if model is None else 0.0
        return _scored(own.logit, self._variance(gradient) + own.left + unseen)

    def overall(self, model: str) -> Scored:
        """Estimate the probability of a model over all sessions, as if it had the types of all models together."""
        cells = [(share, self.score(task_type, model)) for task_type, share in self._mix.items()]
        value = sum(share * scored.value for share, scored in cells)
        gradient: dict[int, float] = {}
        apart = 0.0
        for (task_type, share), (_, scored) in zip(self._mix.items(), cells, strict=True):
            place = self._place(task_type, model)
            own = self._own(place)
            slope = share * scored.value * (1 - scored.value)
            apart += slope * slope * own.left
            for column in place:
                gradient[column] = gradient.get(column, 0.0) + slope * own.open
        steepness = max(value * (1 - value), 1e-9)
        return _scored(math.log(value / (1 - value)), (self._variance(gradient) + apart) / steepness**2)

    def gap(self, task_type: str, model: str, other: str) -> Gap:
        """Compare two models at one type of task."""
        if model == other:
            return Gap(0.0, 0.0, 0.0, 0.0)
        places = self._place(task_type, model), self._place(task_type, other)
        mine, theirs = self._own(places[0]), self._own(places[1])
        gradient = dict.fromkeys(places[0], mine.open)
        for column in places[1]:
            gradient[column] = gradient.get(column, 0.0) - theirs.open
        deviation = math.sqrt(self._variance(gradient) + mine.left + theirs.left)
        apart = mine.logit - theirs.logit
        middle = (mine.logit + theirs.logit) / 2
        value, low, high = (
            _probability(middle + far / 2) - _probability(middle - far / 2)
            for far in (apart, apart - _Z * deviation, apart + _Z * deviation)
        )
        return Gap(value, low, high, apart / deviation)

    # -- the fit -------------------------------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Repeat the working regression of the cells, each time with the variances that its result makes likely."""
        for _ in range(_STEPS):
            before = self._variances
            self._regress()
            self._variances = self._likelier()
            moved = max(abs(math.log(new / old)) for new, old in zip(self._variances, before, strict=True))
            if moved < _CLOSE:
                break
        self._regress()

    def _regress(self) -> None:
        """Solve the linear equations for level, types and models around the present logits of the cells."""
        size = len(self._columns)
        matrix: Matrix = [[0.0] * size for _ in range(size)]
        right = [0.0] * size
        for cell in self._cells:
            cell.look(self._variances.both)
            for column in cell.place:
                right[column] += cell.precision * cell.working
                for other in cell.place:
                    matrix[column][other] += cell.precision
        for column, kind in enumerate(self._columns.values()):
            matrix[column][column] += 1 / (self._variances[kind] if kind >= 0 else _LEVEL_VARIANCE)
        lower = cholesky(matrix)
        self._parts = solve(lower, right)
        self._covariance = [solve(lower, [float(row == column) for row in range(size)]) for column in range(size)]
        for cell in self._cells:
            cell.settle(sum(self._parts[column] for column in cell.place))

    def _likelier(self) -> _Variances:
        """Return the variances that maximise the expected likelihood of the parts, with their prior."""
        squares, groups = [0.0, 0.0, 0.0], [0, 0, 0]
        for column, kind in enumerate(self._columns.values()):
            if kind >= 0:
                squares[kind] += self._parts[column] ** 2 + self._covariance[column][column]
                groups[kind] += 1
        for cell in self._cells:
            spread = self._variance(dict.fromkeys(cell.place, 1.0))
            squares[2] += cell.own**2 + cell.left + (1 - cell.open) ** 2 * spread
            groups[2] += 1
        return _Variances(
            *(
                (square + _WORTH * expected) / (count + _WORTH)
                for square, count, expected in zip(squares, groups, _EXPECTED, strict=True)
            )
        )

    def _variance(self, gradient: Mapping[int, float]) -> float:
        columns = list(gradient)
        weights = list(gradient.values())
        rows = ([self._covariance[column][other] for other in columns] for column in columns)
        return max(0.0, dot(weights, [dot(row, weights) for row in rows]))

    def _own(self, place: tuple[int, ...]) -> _Cell:
        """Return a cell; of one without votes, what level, type and model say."""
        cell = self._by_place.get(place)
        if cell is None:
            cell = _Cell(place, Count(0.0, 0.0))
            cell.look(self._variances.both)
            cell.settle(sum(self._parts[column] for column in place))
        return cell

    def _place(self, task_type: str, model: str | None) -> tuple[int, ...]:
        """Return the unknowns that a cell is the sum of; a type or a model that was never seen has none."""
        of_type = [1 + self.types.index(task_type)] if task_type in self.types else []
        of_model = [] if model is None else [1 + len(self.types) + self.models.index(model)]
        return 0, *of_type, *of_model


class _Cell:
    """The votes of one cell, and its part of the fit.

    Its logit is what level, type and model say, and `own` beside; `open` is the share of the former in its posterior,
    `left` the variance of what is its own, given the others.
    """

    def __init__(self, place: tuple[int, ...], count: Count) -> None:
        self.place = place
        self._votes, self._completed = count
        self.logit = 0.0
        self.own = 0.0

    def look(self, both: float) -> None:
        """Linearise the likelihood around the present logit, where `both` is the variance of what is its own."""
        chance = _probability(self.logit)
        weight = self._votes * chance * (1 - chance)
        self.working = self.logit + (self._completed - self._votes * chance) / weight if weight else 0.0
        self.precision = weight / (1 + both * weight)
        self.open = 1 / (1 + both * weight)
        self.left = both * self.open

    def settle(self, shared: float) -> None:
        """Find what is its own beside the sum of level, type and model."""
        self.own = (1 - self.open) * (self.working - shared)
        self.logit = max(-_FARTHEST, min(_FARTHEST, shared + self.own))


def _columns(types: Sequence[str], models: Sequence[str]) -> dict[int, int]:
    """Return the kind of part of each unknown: -1 for the level, else a place in the variances."""
    return dict(enumerate([-1, *[0] * len(types), *[1] * len(models)]))


def _mix(types: Sequence[str], counts: Mapping[Cell, Count]) -> dict[str, float]:
    whole = sum(count.votes for count in counts.values())
    sums = dict.fromkeys(types, 0.0)
    for (task_type, _), count in counts.items():
        sums[task_type] += count.votes / whole
    return sums


def _scored(logit: float, variance: float) -> Scored:
    deviation = math.sqrt(variance)
    low, high = _probability(logit - _Z * deviation), _probability(logit + _Z * deviation)
    return Scored(_probability(logit), low, high, logit, deviation)


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
