"""Recommend a model for each type of task.

How well each model does each type is estimated by `routing.model`, from the votes that `patterns.votes` makes of
sessions, since the last turn of the model (`routing.change_points`). The best model overall is preferred, but for one
that is surely better at the type: types tell models apart less than chance does, and the best of many cells is often
only the luckiest.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Final, TypeVar

import msgspec

from grader_daemon.domain.feedback import FEWEST_DRAWN, Label
from grader_daemon.domain.routing import (
    Cell,
    FinishedSession,
    KnownBy,
    ModelDifference,
    ModelScore,
    RouteReason,
    TaskRoute,
    UnseenModel,
)
from grader_daemon.patterns.votes import Correction, counts_of, votes_of, without_chosen_labels
from grader_daemon.routing.change_points import since_change_points
from grader_daemon.routing.model import ModelScores

FEWEST_VOTES: Final = 20
"""Fewest votes, of all types and models together, with which anything is recommended."""

LEAST_GAIN: Final = 0.02
"""A model that is less better than the default is not worth a change.

Chosen on two benchmarks that routing is not measured by: with 30 sessions it gains more than 0 does.
"""

FEWEST_SESSIONS: Final = 10
"""Fewest sessions of a type by which a model is known there, and of all types by which it is known at all.

With fewer of a type it takes a default's place only if there are some, and it surely beats it.
"""

EXPLORED_BEHIND: Final = 0.1
"""A model that is surely behind the preferred one by more is not worth a task to learn how it does today."""

_COULD_BE_BETTER: Final = 0.1
"""Upper end of a difference's interval from which more sessions may show what these do not."""

_STALE_DAYS: Final = 30
"""Age of its last session from which a model takes no default's place.

Without a default it may be the best all the same: the others are hardly used, where tasks go to one.
"""
_SURELY: Final = 1.0
"""Standard deviations by which a model must be better at a type than the best overall to be preferred."""

_PROBABLY: Final = 0.52
"""Standard deviations by which a model must be better than the default to take its place: a probability of 70 %.

Chosen on `tests.benchmarks.routing_labels`, where equal models should not, and `routing_loop`, where waiting costs.
"""

_CLEARLY: Final = 1.2816
"""Standard deviations by which a model must be better before a person is told to prefer it: a probability of 90 %."""

_STAYS: Final = frozenset({RouteReason.NOT_BETTER, RouteReason.UNCALIBRATED})
"""Reasons to stay with the default: much is known, and nothing better."""

_PASSED_OVER: Final = frozenset({RouteReason.STALE, RouteReason.TOO_DEAR})
"""Reasons why a model is not preferred, whatever it is expected to do."""

_MENDABLE: Final = (RouteReason.UNCALIBRATED, RouteReason.TOO_FEW, RouteReason.STALE, RouteReason.TOO_DEAR)
"""Reasons why no model can be preferred that labels, sessions or money would end, the first that holds is told."""

MOST_NAMES: Final = 40
"""Most models and types of tasks compared, those with most sessions: of a hundred the fit takes seconds."""

_DAY_SECONDS: Final = 86400.0
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_Group = TypeVar("_Group")


class Router:
    """Router from the sessions of models; asked for one type of task at a time."""

    def __init__(self, sessions: Sequence[FinishedSession], labels: Iterable[Label], *, now: datetime) -> None:
        """`sessions` are those of the window, `labels` any that stand."""
        self._now = now
        labels = list(labels)
        sessions = _of_the_most_used(without_chosen_labels(sessions, labels))
        correction = Correction(sessions, labels)
        votes = since_change_points(votes_of(sessions, correction, now=now))
        self._weights = {cell: sum(vote.weight for vote in each) for cell, each in votes.items()}
        self._is_enough = sum(map(len, votes.values())) >= FEWEST_VOTES
        self._scores = ModelScores(counts_of(votes, correction)) if sessions else None
        self._overall = {} if self._scores is None else {m: self._scores.overall(m).value for m in self._scores.models}
        self._facts = _facts_by(sessions, lambda session: (session.task_type, session.model))
        self._of_all_types = _facts_by(sessions, lambda session: session.model)

    @property
    def task_types(self) -> list[str]:
        """The types of which there are sessions."""
        return [] if self._scores is None else self._scores.types

    def route(
        self,
        task_type: str,
        *,
        models: Collection[str] | None = None,
        default: str | None = None,
        most_usd: float | None = None,
    ) -> TaskRoute:
        """Choose the model to prefer for a type of task; none for one that was never seen.

        Args:
            task_type: its name.
            models: those to choose from; without them all that are known.
            default: the one to stay with where none is better; without one the best is preferred.
            most_usd: a completed task may cost so much; a model whose price is not known is not preferred then.
        """
        choice = [model for model in self._overall if models is None or model in models]
        stays = None if default is None or self._is_too_dear(task_type, default, most_usd) else default
        each = [
            self._judged(task_type, score, stays=stays, most_usd=most_usd)
            for score in self._each(task_type, choice, default)
        ]
        scores = _with_efficiency(self._ranked(task_type, each))
        best = _best_of(scores, stays)
        reason = self._why_not(scores, best, stays)
        chosen = best if reason is None else None
        recommended = None if chosen is None else chosen.model
        prefer = stays if reason in _STAYS else recommended
        return TaskRoute(
            known=reason is None,
            known_by=None if chosen is None else chosen.known_by,
            reason=reason,
            recommended=recommended,
            difference_shown=chosen is not None and self._is_shown(task_type, chosen, scores, stays),
            default=default,
            prefer=prefer,
            models=tuple(self._explorable(task_type, score, prefer) for score in scores),
            unseen=self._unseen(task_type) if most_usd is None else None,
        )

    def _ranked(self, task_type: str, scores: list[ModelScore]) -> list[ModelScore]:
        """Order by the overall score, but those first that differ; equals by chance, the same all week."""
        random.Random(f"{self._now:%G-%V} {task_type}").shuffle(scores)  # noqa: S311  it hides no secret
        return sorted(scores, key=lambda each: (each.differs, each.score if each.differs else each.overall))[::-1]

    def _each(self, task_type: str, models: Sequence[str], default: str | None) -> list[ModelScore]:
        if self._scores is None or not models:
            return []
        best = max(models, key=self._overall.__getitem__)
        return [self._score(self._scores, (task_type, model), best=best, default=default) for model in models]

    def _score(self, scores: ModelScores, cell: Cell, *, best: str, default: str | None) -> ModelScore:
        """Gather the figures of a model at a type; `best` is the best of the choice overall."""
        task_type, model = cell
        scored = scores.score(task_type, model)
        facts = self._facts.get(cell, _NO_FACTS)
        last = self._of_all_types[model].last_session
        compared = None
        if default in self._overall:
            gap = scores.gap(task_type, model, default)
            compared = ModelDifference(difference=gap.value, low=gap.low, high=gap.high)
        return ModelScore(
            model=model,
            score=scored.value,
            low=scored.low,
            high=scored.high,
            overall=self._overall[model],
            differs=scores.gap(task_type, model, best).sure > _SURELY,
            n=facts.sessions,
            n_effective=self._weights.get(cell, 0.0),
            raw=facts.raw,
            last_session=last,
            age_days=max(0.0, (self._now - last).total_seconds() / _DAY_SECONDS),
            labels=facts.labels,
            versus_default=compared,
            known=False,
            reason=None,
            known_by=None,
            may_explore=False,
            cost_usd=facts.cost_usd,
            usd_per_completed=None if facts.cost_usd is None else facts.cost_usd / scored.value,
            efficient=False,
        )

    def _judged(self, task_type: str, score: ModelScore, *, stays: str | None, most_usd: float | None) -> ModelScore:
        """Return a score with whether it is to be preferred, and by which sessions; `stays` is the default to keep."""
        known_by = self._known_by(score, stays)
        reason = self._reason(task_type, score, stays, is_tried=known_by is not None)
        if self._is_too_dear(task_type, score.model, most_usd):
            reason = RouteReason.TOO_DEAR
        if reason in _PASSED_OVER or not self._is_enough or task_type not in self.task_types:
            known_by = None
        return msgspec.structs.replace(score, known=reason is None, reason=reason, known_by=known_by)

    def _known_by(self, score: ModelScore, stays: str | None) -> KnownBy | None:
        """Return by which sessions a model is known, None where they are too few to leave the default to keep."""
        if score.n >= FEWEST_SESSIONS:
            return KnownBy.TYPE
        if stays is None:
            return KnownBy.OVERALL if self._of_all_types[score.model].sessions >= FEWEST_SESSIONS else None
        is_sure = score.n > 0 and score.versus_default is not None and score.versus_default.low > 0
        return KnownBy.OVERALL if is_sure else None

    def _reason(self, task_type: str, score: ModelScore, stays: str | None, *, is_tried: bool) -> RouteReason | None:
        """Return why a model is not to be preferred, to the default if there is one to keep."""
        compared = None if stays is None else score.versus_default
        if not self._is_enough or task_type not in self.task_types or (stays is not None and compared is None):
            return RouteReason.TOO_FEW
        if compared is not None and score.age_days > _STALE_DAYS:
            return RouteReason.STALE
        if compared is None or self._is_better(task_type, score.model, stays):
            return None if is_tried else RouteReason.TOO_FEW
        if compared.high >= _COULD_BE_BETTER:
            return RouteReason.TOO_FEW
        is_known = compared.high <= 0 or self._is_judged(task_type)
        return RouteReason.NOT_BETTER if is_known else RouteReason.UNCALIBRATED

    def _is_better(self, task_type: str, model: str, default: str | None) -> bool:
        """Return whether a model is probably better than the default, and by enough."""
        gap = None if self._scores is None or default is None else self._scores.gap(task_type, model, default)
        return gap is not None and gap.value >= LEAST_GAIN and gap.sure > _PROBABLY

    def _is_shown(self, task_type: str, chosen: ModelScore, scores: Sequence[ModelScore], stays: str | None) -> bool:
        """Return whether chance hardly explains that a model is better than the default to keep, or than the others."""
        known = (score.model for score in scores if score.known_by is not None and score != chosen)
        others = list(known) if stays is None else [stays]
        gaps = [] if self._scores is None else [self._scores.gap(task_type, chosen.model, other) for other in others]
        return bool(gaps) and all(gap.sure > _CLEARLY for gap in gaps)

    def _why_not(self, scores: Sequence[ModelScore], best: ModelScore | None, stays: str | None) -> RouteReason | None:
        """Return why to recommend none; None where `best` is, the first that is known and not the default to keep."""
        if not scores or not self._is_enough:
            return RouteReason.TOO_FEW
        if len(scores) == 1 and stays in {None, scores[0].model}:
            return RouteReason.ONE_MODEL
        if best is None:
            reasons = {score.reason for score in scores if score.model != stays}
            return next((reason for reason in _MENDABLE if reason in reasons), RouteReason.NOT_BETTER)
        first = next(score for score in scores if score.model in {best.model, stays})
        return RouteReason.NOT_BETTER if best.reason is None and first != best else best.reason

    def _is_judged(self, task_type: str) -> bool:
        """Return whether labels enough stand behind a type: where facts alone are alike, models may differ."""
        return sum(facts.labels for (of, _), facts in self._facts.items() if of == task_type) >= FEWEST_DRAWN

    def _is_too_dear(self, task_type: str, model: str, most_usd: float | None) -> bool:
        """Return whether a completed task costs more than it may, or nobody knows; of a model without sessions not."""
        if most_usd is None or self._scores is None or model not in self._overall:
            return False
        own = self._facts.get((task_type, model), _NO_FACTS).cost_usd
        usd = self._of_all_types[model].cost_usd if own is None else own
        return usd is None or usd / self._scores.score(task_type, model).value > most_usd

    def _explorable(self, task_type: str, score: ModelScore, prefer: str | None) -> ModelScore:
        """Return a score with whether it is worth a task to learn how the model does today."""
        if self._scores is None or prefer not in self._overall or score.reason is RouteReason.TOO_DEAR:
            return score
        is_worth = self._scores.gap(task_type, score.model, prefer).high >= -EXPLORED_BEHIND
        return msgspec.structs.replace(score, may_explore=is_worth)

    def _unseen(self, task_type: str) -> UnseenModel | None:
        if self._scores is None:
            return None
        scored = self._scores.score(task_type, None)
        return UnseenModel(score=scored.value, low=scored.low, high=scored.high)


def _best_of(scores: Sequence[ModelScore], stays: str | None) -> ModelScore | None:
    """Return the model to prefer, if it is known well enough; `stays` is the default to keep.

    Without one the best must be known itself: if it was hardly tried, none is preferred before it was.
    """
    others = [score for score in scores if score.reason not in _PASSED_OVER and score.model != stays]
    known = [score for score in others if score.known_by is not None]
    return next(iter(known), None) if stays is not None or known[:1] == others[:1] else None


def _of_the_most_used(sessions: Sequence[FinishedSession]) -> list[FinishedSession]:
    """Return the sessions of the models and types that have most."""
    models = Counter(session.model for session in sessions)
    types = Counter(session.task_type for session in sessions)
    kept = {name for name, _ in models.most_common(MOST_NAMES)}, {name for name, _ in types.most_common(MOST_NAMES)}
    return [session for session in sessions if session.model in kept[0] and session.task_type in kept[1]]


def _with_efficiency(scores: Sequence[ModelScore]) -> list[ModelScore]:
    """Mark the models with a price of which none other is cheaper and as good, or better and as cheap."""
    priced = [(score.usd_per_completed, -score.score) for score in scores if score.usd_per_completed is not None]
    return [
        msgspec.structs.replace(score, efficient=price is not None and not _is_beaten((price, -score.score), priced))
        for score in scores
        for price in (score.usd_per_completed,)
    ]


def _is_beaten(one: tuple[float, float], others: Iterable[tuple[float, float]]) -> bool:
    return any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in others)


class _Facts:
    """Counts of the sessions of a model at a type of task."""

    def __init__(self, sessions: Sequence[FinishedSession]) -> None:
        prices = [session.cost_usd for session in sessions if session.cost_usd is not None]
        self.sessions = len(sessions)
        self.labels = sum(session.judged for session in sessions)
        self.raw = fmean([not session.failed for session in sessions]) if sessions else None
        self.cost_usd = fmean(prices) if prices else None
        self.last_session = max([session.ended_at for session in sessions], default=_NEVER)


_NO_FACTS: Final = _Facts(())


def _facts_by(sessions: Iterable[FinishedSession], group: Callable[[FinishedSession], _Group]) -> dict[_Group, _Facts]:
    found: dict[_Group, list[FinishedSession]] = {}
    for session in sessions:
        found.setdefault(group(session), []).append(session)
    return {of: _Facts(each) for of, each in found.items()}
