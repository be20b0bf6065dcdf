"""Recommend a model for each type of task.

What each model does at each type is estimated by `patterns.model_scores`, from the votes that `patterns.votes` makes of
sessions. The best model overall is preferred, but for one that is surely better at the type: types tell models apart
less than chance does, and the best of many cells is often only the luckiest.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Final

import msgspec

from grader_daemon.domain.feedback import FEWEST_DRAWN, Label
from grader_daemon.domain.routing import Cell, FinishedSession, ModelDifference, ModelScore, RouteReason, TaskRoute
from grader_daemon.patterns.votes import Correction, counts_of, votes_of
from grader_daemon.routing.model import ModelScores

FEWEST_VOTES: Final = 20
"""Fewest votes, of all types and models together, with which anything is recommended."""

LEAST_GAIN: Final = 0.02
"""A model that is less better than the default is not worth a change.

Chosen on two benchmarks that routing is not measured by: with 30 sessions it gains more than 0 does.
"""

FEWEST_AT_TYPE: Final = 10
"""Fewest sessions of a type; with fewer a model is preferred only if it has some and surely beats the default.

What it does elsewhere is only an expectation.
"""

_COULD_BE_BETTER: Final = 0.1
"""Upper end of a difference's interval from which more sessions may show what these do not."""

_STALE_DAYS: Final = 30
_SURELY: Final = 1.0
"""Standard deviations by which a model must be better at a type than the best overall to be preferred."""

_NO_NEED: Final = frozenset({RouteReason.NOT_BETTER, RouteReason.TOO_FEW})
"""Reasons to stay with the default that do not hold where it is too dear."""

_MENDABLE: Final = (RouteReason.UNCALIBRATED, RouteReason.TOO_FEW, RouteReason.STALE)
"""Reasons why no model can be preferred that more sessions or labels would end, the first that holds is told."""

MOST_NAMES: Final = 40
"""Most models and types of tasks compared, those with most sessions: of a hundred the fit takes seconds."""

_DAY_SECONDS: Final = 86400.0
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Router:
    """Router from the sessions of models; asked for one type of task at a time."""

    def __init__(self, sessions: Sequence[FinishedSession], labels: Iterable[Label], *, now: datetime) -> None:
        """`sessions` are those of the window, `labels` any that stand."""
        self._now = now
        sessions = _of_the_most_used(sessions)
        votes = votes_of(sessions, Correction(sessions, labels), now=now)
        self._weights = {cell: sum(vote.weight for vote in each) for cell, each in votes.items()}
        self._is_enough = sum(map(len, votes.values())) >= FEWEST_VOTES
        self._scores = ModelScores(counts_of(votes)) if sessions else None
        self._overall = {} if self._scores is None else {m: self._scores.overall(m).value for m in self._scores.models}
        self._facts = {cell: _Facts(each) for cell, each in _by_cell(sessions).items()}

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
            default: the one to compare with; without one that which is used most for this type.
            most_usd: a completed task may cost so much; a model whose price is not known is not preferred then.
        """
        choice = [model for model in self._overall if models is None or model in models]
        is_set = default is not None
        default = self._most_used(task_type, choice) if default is None else default
        scores = _with_efficiency(self._ranked(task_type, self._each(task_type, choice, default)))
        best = next((score for score in scores if _may_be_preferred(score, default, most_usd)), None)
        reason = self._why_not(scores, best, default, most_usd)
        recommended = best.model if best is not None and reason is None else None
        stays = reason is RouteReason.NOT_BETTER and not _is_too_dear(scores, default, most_usd)
        return TaskRoute(
            known=reason is None,
            reason=reason,
            recommended=recommended,
            default=default,
            default_set=is_set,
            prefer=default if stays else recommended,
            models=tuple(scores),
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
        """Gather what is known of a model at a type; `best` is the best of the choice overall."""
        task_type, model = cell
        scored = scores.score(task_type, model)
        facts = self._facts.get(cell, _NO_FACTS)
        last = max(each.last_session for (_, of), each in self._facts.items() if of == model)
        age_days = max(0.0, (self._now - last).total_seconds() / _DAY_SECONDS)
        compared = None
        if default in self._overall:
            gap = scores.gap(task_type, model, default)
            compared = ModelDifference(difference=gap.value, low=gap.low, high=gap.high)
        reason = self._reason(task_type, compared, sessions=facts.sessions, age_days=age_days)
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
            age_days=age_days,
            labels=facts.labels,
            versus_default=compared,
            known=reason is None,
            reason=reason,
            cost_usd=facts.cost_usd,
            usd_per_completed=None if facts.cost_usd is None else facts.cost_usd / scored.value,
            efficient=False,
        )

    def _reason(
        self, task_type: str, compared: ModelDifference | None, *, sessions: int, age_days: float
    ) -> RouteReason | None:
        """Return why a model with so many sessions of a type is not to be preferred to the default."""
        if compared is None or not self._is_enough or task_type not in self.task_types:
            return RouteReason.TOO_FEW
        if age_days > _STALE_DAYS:
            return RouteReason.STALE
        if compared.difference >= LEAST_GAIN:
            return None if _tells_enough(sessions, compared) else RouteReason.TOO_FEW
        if compared.high >= _COULD_BE_BETTER:
            return RouteReason.TOO_FEW
        is_known = compared.high <= 0 or self._is_judged(task_type)
        return RouteReason.NOT_BETTER if is_known else RouteReason.UNCALIBRATED

    def _why_not(
        self, scores: Sequence[ModelScore], best: ModelScore | None, default: str | None, most_usd: float | None
    ) -> RouteReason | None:
        """Return why to stay with the default; None where `best`, the first that may take its place, is preferred."""
        if not scores or not self._is_enough:
            return RouteReason.TOO_FEW
        if [score.model for score in scores] == [default]:
            return RouteReason.ONE_MODEL
        if best is None:
            reasons = {score.reason for score in scores if score.model != default}
            return next((reason for reason in _MENDABLE if reason in reasons), RouteReason.NOT_BETTER)
        if _is_too_dear(scores, default, most_usd):
            return None if best.reason in _NO_NEED else best.reason
        if best.reason is None and _first_in_use(scores, default) == default:
            return RouteReason.NOT_BETTER
        return best.reason

    def _is_judged(self, task_type: str) -> bool:
        """Return whether labels enough stand behind a type: where facts alone are alike, models may differ."""
        return sum(facts.labels for (of, _), facts in self._facts.items() if of == task_type) >= FEWEST_DRAWN

    def _most_used(self, task_type: str, models: Sequence[str]) -> str | None:
        """Return the model that is used most for a type, or if it was never seen for all; None without any."""
        of_all = dict.fromkeys(models, 0.0)
        for (_, model), weight in self._weights.items():
            if model in of_all:
                of_all[model] += weight
        used = {model: self._weights.get((task_type, model), 0.0) for model in models}
        return max(models, key=lambda model: (used[model], of_all[model]), default=None)


def _of_the_most_used(sessions: Sequence[FinishedSession]) -> list[FinishedSession]:
    """Return the sessions of the models and types that have most."""
    models = Counter(session.model for session in sessions)
    types = Counter(session.task_type for session in sessions)
    kept = {name for name, _ in models.most_common(MOST_NAMES)}, {name for name, _ in types.most_common(MOST_NAMES)}
    return [session for session in sessions if session.model in kept[0] and session.task_type in kept[1]]


def _tells_enough(sessions: int, compared: ModelDifference | None) -> bool:
    """Return whether so many sessions of a type, and a difference to the default, are more than an expectation."""
    return sessions >= FEWEST_AT_TYPE or (sessions > 0 and compared is not None and compared.low > 0)


def _is_tried(score: ModelScore) -> bool:
    return _tells_enough(score.n, score.versus_default) and score.reason is not RouteReason.STALE


def _first_in_use(scores: Iterable[ModelScore], default: str | None) -> str | None:
    """Return the first that is used and was tried at the type, as a default always was."""
    used = (score for score in scores if score.reason is not RouteReason.STALE)
    return next((score.model for score in used if score.model == default or _is_tried(score)), None)


def _may_be_preferred(score: ModelScore, default: str | None, most_usd: float | None) -> bool:
    if score.model == default or not _is_tried(score):
        return False
    return most_usd is None or (score.usd_per_completed is not None and score.usd_per_completed <= most_usd)


def _is_too_dear(scores: Iterable[ModelScore], default: str | None, most_usd: float | None) -> bool:
    prices = {score.model: score.usd_per_completed for score in scores}
    price = prices.get(default or "")
    return price is not None and most_usd is not None and price > most_usd


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
        self.raw = fmean(not session.failed for session in sessions) if sessions else None
        self.cost_usd = fmean(prices) if prices else None
        self.last_session = max((session.ended_at for session in sessions), default=_NEVER)


_NO_FACTS: Final = _Facts(())


def _by_cell(sessions: Iterable[FinishedSession]) -> dict[Cell, list[FinishedSession]]:
    found: dict[Cell, list[FinishedSession]] = {}
    for session in sessions:
        found.setdefault((session.task_type, session.model), []).append(session)
    return found
