"""The models that complete a type of task best, as a router is told."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.installed import SkillUse

WINDOW_DAYS: Final = 90
"""Sessions that ended earlier say nothing of today's models."""

HALF_LIFE_DAYS: Final = 30
"""A session counts half after so long."""

MOST_SESSIONS: Final = 20_000
"""Most sessions looked at, the newest: with more, no figure here would change by a point."""


Cell = tuple[str, str]
"""A task type and a model."""


class Count(NamedTuple):
    """Votes on one model at one type of task, and the part of them that says completed; neither need be whole."""

    votes: float
    completed: float


class FinishedSession(NamedTuple):
    """A task of a person that is finished; `judged` says that its verdict is a person's, or a reward.

    `unsure` is of its automatic verdict, also where a person's stands above that.

    `ended_badly` is a fact of its record, see `session_result.ended_badly`; None where it is not known. The fields
    before it, from `agent` on, are how the agent was set up, and `job` is that of a scheduled run: see those of a grade
    of these names.
    """

    session_id: str
    ended_at: datetime
    task_type: str
    model: str
    completed: bool
    p_completed: float | None
    judged: bool
    unsure: bool
    request: int | None
    cost_usd: float | None
    agent: str | None = None
    platform: str | None = None
    project: str | None = None
    agent_version: str | None = None
    system_prompt_digest: str | None = None
    tools_digest: str | None = None
    job: str | None = None
    skills: tuple[SkillUse, ...] | None = None
    ended_badly: bool | None = None

    @property
    def failed(self) -> bool:
        """Return whether it is shown that the task was not done: by a word, a bad ending or a sure verdict."""
        if self.judged:
            return not self.completed
        return bool(self.ended_badly) or not (self.completed or self.unsure)


class RouteReason(StrEnum):
    """Reason to recommend no model.

    `too_few`: too few sessions. `not_better`: labels do not show that the model does better. `stale`: its last session
    is too long ago. `uncalibrated`: facts do not distinguish the models, and there are too few labels. `one_model`:
    there is no other model. `too_dear`: a task costs more than the limit, or its price is unknown.
    """

    TOO_FEW = "too_few"
    NOT_BETTER = "not_better"
    STALE = "stale"
    UNCALIBRATED = "uncalibrated"
    ONE_MODEL = "one_model"
    TOO_DEAR = "too_dear"


class KnownBy(StrEnum):
    """Sessions that show which model is better: those of the task type, or only those of all types together."""

    TYPE = "type"
    OVERALL = "overall"


class ModelDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Difference between a model's score and another model's, -1 to 1, with its 95 % range."""

    difference: float
    low: float
    high: float


class ModelScore(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one model at one task type; shares are 0 to 1.

    A session failed by a label, a reward, a bad ending or a contradicted claim. Other sessions count as not failed; 10
    or more random labels correct this rate. Probabilities are not used. Labels that are not random count only if the
    model has 10 random ones or more, or nearly all sessions have a label.

    Attributes:
        score: the share, shrunk towards the model's results at other tasks and other models' results at this one.
        low: lower end of the score's 95 % range.
        high: upper end of that range.
        overall: its score over the task types that all models have in common.
        differs: whether it is clearly better at this task type than the best model overall.
        n: number of its sessions of this task type.
        n_effective: the same, with older sessions counting less.
        raw: the plain share.
        labels: number of its sessions of this task type with a label that counts, or a reward.
        age_days: days since its last session of any type.
        versus_default: comparison with the default; None if unknown.
        known: whether it is known to be better than the default, or, without a default, than others.
        reason: why it is not known.
        known_by: the sessions that show it; None if there are too few.
        may_explore: whether it is not clearly worse than the preferred model by more than ten points, and not too
        expensive.
        cost_usd: mean cost of its sessions of this type; None if no price is known.
        usd_per_completed: cost for each session that did not fail; None if no price is known.
        efficient: whether no other model is both cheaper for that and better.
    """

    model: str
    score: float
    low: float
    high: float
    overall: float
    differs: bool
    n: int
    n_effective: float
    raw: float | None
    last_session: datetime
    age_days: float
    labels: int
    versus_default: ModelDifference | None
    known: bool
    reason: RouteReason | None
    known_by: KnownBy | None
    may_explore: bool
    cost_usd: float | None
    usd_per_completed: float | None
    efficient: bool


class UnseenModel(msgspec.Struct, frozen=True, kw_only=True):
    """Expected score of a model without sessions, with its 95 % range."""

    score: float
    low: float
    high: float


class TaskRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Models for one task type, the best first.

    Attributes:
        known: whether a model can be recommended.
        known_by: the sessions that show it; None if not `known`.
        reason: why no model is recommended; None if one is.
        recommended: the recommended model; None if not `known`.
        difference_shown: whether the recommended model is better with a probability of 90 % or more: than the default,
            or, without one, than each other model with enough sessions.
        default: the model that you named, kept unless another is better; without one, the best model is recommended.
        prefer: the model to use: the recommended one, or else the default; None if too little is known.
        unseen: expected score of any other model; None if no other may be tried.
    """

    known: bool
    known_by: KnownBy | None
    reason: RouteReason | None
    recommended: str | None
    difference_shown: bool
    default: str | None
    prefer: str | None
    models: tuple[ModelScore, ...]
    unseen: UnseenModel | None


class RouteCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of a route: the sessions it uses, the files graded so far, and the files that wait to be graded."""

    sessions: int
    graded: int
    waiting: int


class TaskWords(msgspec.Struct, frozen=True, kw_only=True):
    """Words in the first request that identify a task type: phrases, each as its words, in every inflection.

    The type with most hits wins; if several have as many, the first one here.

    Attributes:
        examined_characters: number of characters of the request that are searched, in lower case.
        reach: number of words after a phrase's first word in which its other words must follow.
        ignored: words that may be between the words of a phrase; no others may.
        phrases: the phrases of each task type.
    """

    examined_characters: int
    reach: int
    ignored: tuple[str, ...]
    phrases: dict[str, tuple[tuple[str, ...], ...]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Models by task type, from the finished sessions of `prior_days`; `others` is for other types.

    `explore` is the share of tasks that may try another model, to learn how it does today. `words` identify a task
    type, `aliases` are other names of models, each with the name in sessions.
    """

    made_at: datetime
    prior_days: int
    half_life_days: int
    rules_version: str
    coverage: RouteCoverage
    explore: float
    task_types: dict[str, TaskRoute]
    others: TaskRoute
    words: TaskWords
    aliases: dict[str, str]
