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

    too_few: too few sessions. not_better: the default is as good, by labels. stale: the model's last session is too
    old. uncalibrated: facts do not separate the models, and labels are too few. one_model: there is no other model.
    too_dear: it costs more than allowed, or its price is unknown.
    """

    TOO_FEW = "too_few"
    NOT_BETTER = "not_better"
    STALE = "stale"
    UNCALIBRATED = "uncalibrated"
    ONE_MODEL = "one_model"
    TOO_DEAR = "too_dear"


class KnownBy(StrEnum):
    """Sessions from which a model is known: those of the task type, or only those of all types together."""

    TYPE = "type"
    OVERALL = "overall"


class ModelDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Difference of the score to that of another model, -1 to 1, with its 95 % interval."""

    difference: float
    low: float
    high: float


class ModelScore(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one model at one task type; shares are 0 to 1.

    `score` is the estimated share of sessions that are not known to have failed, with its 95 % interval `low` to
    `high`. A label, a reward, a bad ending or a proof shows a failure; 10 or more random labels correct the estimate.
    The score also depends on the model's results at other types, and on other models' results at this type. `raw` is
    the plain share. `overall` is the score over the task types that all models share, so easier tasks are no advantage.
    `differs`: at this type the model is better than the best model overall, by more than one standard deviation. `n` is
    the number of sessions of this type, `n_effective` the sum of their weights today, `labels` the number with a label
    or a reward. `age_days` is the age of the model's last session, of any type. `versus_default` is the difference from
    the default model, None if unknown. `known`: the model may be preferred (to the default, if there is one); `reason`
    says why not. `known_by` is `type` with 10 or more sessions of this type, else `overall`; None if both are too few.
    `may_explore`: the model is not clearly more than ten points worse than the preferred one, and not too expensive.
    `cost_usd` is the mean price of its sessions of this type, `usd_per_completed` that price divided by the score; None
    if no price is known. `efficient`: no other model is both cheaper by this price and better.
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
    """Score that is expected of a model without sessions, with its 95 % interval."""

    score: float
    low: float
    high: float


class TaskRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Models for one task type, the best first.

    `recommended` is the model to prefer, None if too little is `known`; `reason` says why. `known_by` names the
    sessions that show it. `default` is the model you named; it is kept unless another model is better. `prefer` is the
    model that gets the tasks: the recommended one, or the default if none is better; None if too little is known.
    `unseen` has the expected figures of a model without sessions, None if no model may be explored.
    """

    known: bool
    known_by: KnownBy | None
    reason: RouteReason | None
    recommended: str | None
    default: str | None
    prefer: str | None
    models: tuple[ModelScore, ...]
    unseen: UnseenModel | None


class RouteCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of a route: its sessions, the files that were ever graded, and those that wait to be."""

    sessions: int
    graded: int
    waiting: int


class TaskWords(msgspec.Struct, frozen=True, kw_only=True):
    """Words in the first request that tell a task type: phrases, each as its words, in every inflection.

    Of the request, so many characters are looked at, in lower case. Within `reach` words behind the first of a phrase
    must its others stand, next to each other but for words of `ignored`. Most hits win, then the order here.
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
