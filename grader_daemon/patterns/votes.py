"""Sessions as votes on models: one for each request and week, put right by labels, and counts that a fit can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Final, NamedTuple, TypeVar

from grader_daemon.domain.algebra import Matrix, cholesky, dot, solve
from grader_daemon.domain.feedback import FEWEST_REVIEWS, NOBODYS_WORD, FeedbackSource, Label
from grader_daemon.domain.routing import HALF_LIFE_DAYS, Cell, Count, FinishedSession

_Error = tuple[FinishedSession, float]
_Group = TypeVar("_Group")
_DAY_SECONDS: Final = 86400.0
_WEEK_SECONDS: Final = 7 * _DAY_SECONDS
_DISPERSION_WORTH: Final = 2.0
"""Variance of coin flips that is taken to be seen before any vote: eight even ones."""
_NEARLY_ALL: Final = 0.9
_COMMON_DOUBTS: Final = 2
"""Labels without an error that are added to those of all, and to those of a type.

To those of a model as many are added as are needed at all: what its types explain is not its own.
"""


class Vote(NamedTuple):
    """A week's result of a model at a request: from 0, not completed, to 1, and how much that counts today.

    `corrected` is the part of its sessions that nobody judged, whose value is put right by labels of others.
    """

    value: float
    weight: float
    corrected: float = 0.0


def without_chosen_labels(sessions: Sequence[FinishedSession], labels: Sequence[Label]) -> list[FinishedSession]:
    """Return sessions as if nobody had judged those that people chose to judge, unless the others are judged as well.

    Who labels what failed, of the model used most, would make that look worse than models that nobody labels. So such
    labels count where nearly all sessions have one, or enough that nobody chose put right the others of a model.
    """
    if sum(session.judged for session in sessions) >= _NEARLY_ALL * len(sessions):
        return list(sessions)
    models = {session.session_id: session.model for session in sessions}
    fair = Counter(
        models.get(label.session_id) for label in labels if label.completed is not None and _was_not_chosen(label)
    )
    chosen = {label.session_id: label for label in labels if _was_chosen_by_a_person(label)}
    bare = (
        session if fair[session.model] >= FEWEST_REVIEWS else _without(session, chosen.get(session.session_id))
        for session in sessions
    )
    return [session for session in bare if session is not None]


def _was_chosen_by_a_person(label: Label) -> bool:
    return label.completed is not None and not label.drawn_at_random and label.source not in NOBODYS_WORD


def _without(session: FinishedSession, label: Label | None) -> FinishedSession | None:
    """Return a session without its label; None where nothing else is known of it."""
    if label is None:
        return session
    if session.unsure and not label.has_scores and not session.ended_badly:
        return None
    return session._replace(completed=label.automatic_completed, judged=False)


class Correction:
    """Distance of what is known to have failed from what people and rewards say, where enough of them do.

    A session that is not known to have failed counts as one that did not: a probability follows how an answer sounds.
    What is known misses more of the failures of hard types. So the distance is a sum of a part of all, one of the type
    and one of the model, each drawn towards nothing: a model is not blamed for the types that it is given.

    Of labels only those count that were not chosen: drawn at random by a review, or a reward, which every run has.
    """

    def __init__(self, sessions: Sequence[FinishedSession], labels: Iterable[Label]) -> None:
        types = Counter(session.task_type for session in sessions)
        models = dict.fromkeys(session.model for session in sessions)
        self._types = {name: column for column, name in enumerate(types, 1)}
        self._models = {name: column for column, name in enumerate(models, 1 + len(types))}
        self._shares = [number / len(sessions) for number in types.values()]
        errors = list(_errors(sessions, labels))
        self._is_known = len(errors) >= FEWEST_REVIEWS
        if self._is_known:
            self._fit(errors)

    def variance(self, model: str) -> float:
        """Return the variance by which what puts a model right misses, at the types of all models together.

        Types on which it has no label are in doubt, too: there it is compared with models that have some.
        """
        if not self._is_known:
            return 0.0
        weights = [1.0, *self._shares, *[0.0] * len(self._models)]
        weights[self._models[model]] = 1.0
        return self._spread * dot(weights, solve(self._lower, weights))

    def value(self, session: FinishedSession) -> float:
        """Return the vote of a session, 0 to 1."""
        if session.judged:
            return float(session.completed)
        known = _not_failed(session, completed=session.completed)
        return min(1.0, max(0.0, known + self._distance(session)))

    def _fit(self, errors: Sequence[_Error]) -> None:
        """Find the parts that make the squares of what is left least, each with its doubts (a ridge regression)."""
        doubts = [*[_COMMON_DOUBTS] * (1 + len(self._types)), *[FEWEST_REVIEWS] * len(self._models)]
        matrix: Matrix = [[0.0] * len(doubts) for _ in doubts]
        for column, doubt in enumerate(doubts):
            matrix[column][column] = doubt
        right = [0.0] * len(doubts)
        for session, error in errors:
            place = self._place(session)
            for row in place:
                right[row] += error
                for column in place:
                    matrix[row][column] += 1
        self._lower = cholesky(matrix)
        self._parts = solve(self._lower, right)
        self._spread = _spread([error - self._distance(session) for session, error in errors])

    def _distance(self, session: FinishedSession) -> float:
        return sum(self._parts[column] for column in self._place(session)) if self._is_known else 0.0

    def _place(self, session: FinishedSession) -> tuple[int, int, int]:
        return 0, self._types[session.task_type], self._models[session.model]


def _errors(sessions: Iterable[FinishedSession], labels: Iterable[Label]) -> Iterator[_Error]:
    """Yield the sessions with a label that nobody chose to give, and how far it is from what is known without it."""
    known = {session.session_id: session for session in sessions}
    for label in labels:
        session = known.get(label.session_id)
        if label.completed is not None and session is not None and _was_not_chosen(label):
            yield session, label.completed - _not_failed(session, completed=label.automatic_completed)


def _spread(errors: Sequence[float]) -> float:
    """Return the variance of errors, as if two even flips of a coin were among them."""
    return (sum(error**2 for error in errors) + 0.5) / (len(errors) + 2)


def _not_failed(session: FinishedSession, *, completed: bool) -> float:
    """Return 0 for a session that is known to have failed, whatever a person says of it, else 1."""
    return float(not session._replace(completed=completed, judged=False).failed)


def comparable_value(
    sessions: Sequence[FinishedSession], judged_fairly: Collection[str]
) -> Callable[[FinishedSession], float]:
    """Return what each session says, 0: it failed, or 1, where some are compared with others of them.

    That is what its record shows. A word counts in its place only where nearly all sessions have one that nobody chose
    to give, by `judged_fairly`: words on failed ones alone look like an effect. A probability counts nowhere.
    """
    is_judged = nearly_all_judged(sessions, judged_fairly)

    def value(session: FinishedSession) -> float:
        if is_judged and session.session_id in judged_fairly:
            return float(session.completed)
        return float(not session.ended_badly)

    return value


def nearly_all_judged(sessions: Sequence[FinishedSession], judged_fairly: Collection[str]) -> bool:
    """Return whether so many have a word that nobody chose to give, by `judged_fairly`, that words are compared."""
    return sum(session.session_id in judged_fairly for session in sessions) >= _NEARLY_ALL * len(sessions)


def fairly_judged(labels: Iterable[Label]) -> frozenset[str]:
    """Return the sessions with a word on completion that nobody chose to give."""
    return frozenset(label.session_id for label in labels if label.completed is not None and _was_not_chosen(label))


def _was_not_chosen(label: Label) -> bool:
    is_fair = label.drawn_at_random or label.source is FeedbackSource.REWARD
    return is_fair and label.is_finished and label.is_persons and not label.went_on


def by_request(
    sessions: Iterable[FinishedSession], group: Callable[[FinishedSession], _Group]
) -> Iterator[tuple[_Group, list[FinishedSession]]]:
    """Yield the sessions of one group, request and week together: they are one vote."""
    same: dict[tuple[_Group, object, int], list[FinishedSession]] = {}
    for session in sessions:
        week = int(session.ended_at.timestamp() // _WEEK_SECONDS)
        asked = session.session_id if session.request is None else session.request
        same.setdefault((group(session), asked, week), []).append(session)
    return ((of, each) for (of, _, _), each in same.items())


def votes_of(sessions: Iterable[FinishedSession], correction: Correction, *, now: datetime) -> dict[Cell, list[Vote]]:
    """Return the votes on each model at each type; sessions of one request are one vote a week, their mean."""
    votes: dict[Cell, list[Vote]] = {}
    for cell, each in by_request(sessions, lambda session: (session.task_type, session.model)):
        last = max([session.ended_at for session in each])
        age_days = max(0.0, (now - last).total_seconds() / _DAY_SECONDS)
        value = fmean([correction.value(session) for session in each])
        corrected = fmean([not session.judged for session in each])
        votes.setdefault(cell, []).append(Vote(value, 0.5 ** (age_days / HALF_LIFE_DAYS), corrected))
    return votes


def counts_of(votes: Mapping[Cell, Sequence[Vote]], correction: Correction) -> dict[Cell, Count]:
    """Return votes as counts of yes and no that are as sure as they are.

    Votes that spread less than the outcomes of coin flips are worth more than these. What puts a model right is one
    guess for all of its sessions, so that more of these make it no surer.
    """
    found, possible = _DISPERSION_WORTH, _DISPERSION_WORTH
    for each in filter(None, votes.values()):
        middle = fmean([vote.value for vote in each])
        found += sum((vote.value - middle) ** 2 for vote in each)
        possible += (len(each) - 1) * middle * (1 - middle)
    worth = max(1.0, possible / found)
    of_model: dict[str, list[Vote]] = {}
    for (_, model), each in votes.items():
        of_model.setdefault(model, []).extend(each)
    worths = {model: _worth(each, worth, correction.variance(model)) for model, each in of_model.items()}
    return {
        cell: Count(
            worths[cell[1]] * sum(vote.weight for vote in each),
            worths[cell[1]] * sum(vote.weight * vote.value for vote in each),
        )
        for cell, each in votes.items()
    }


def _worth(votes: Sequence[Vote], worth: float, variance: float) -> float:
    """Return how many coin flips a vote on a model is worth, `worth` if nothing had to be put right; of one or more."""
    weight = sum(vote.weight for vote in votes)
    mean = sum(vote.weight * vote.value for vote in votes) / weight
    corrected = sum(vote.weight * vote.corrected for vote in votes) / weight
    even = min(max(mean, 0.05), 0.95)
    return worth / (1 + worth * weight * corrected**2 * variance / (even * (1 - even)))
