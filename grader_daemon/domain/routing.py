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

    There are too few sessions to tell, or the model does not do better, as labels tell; its last session is too long
    ago; facts do not tell the models apart and labels are too few; there is nothing to choose from; a task costs more
    than it may, or its price is not known.
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
    """Share of a model's sessions of a task type that are not known to have failed, 0 to 1.

    A session failed by a label, a reward, a bad ending or a proof; what ended otherwise and nobody judged counts as not
    failed, put right by labels that were drawn by chance, from 10 of them on. Probabilities count nowhere. `score` is
    drawn towards what the model does at other tasks, and other models at this one, with its 95 % interval
    `low` to `high`; `raw` is the plain share. `overall` is its score over the types of tasks that all
    models had together. `differs` says that it surely does better at this type than the best model overall. `n`
    sessions were of this type, worth `n_effective` of today; `labels` of them were judged by a person or a reward.
    `age_days` are since its last session, of any type. `versus_default` compares it with the default, None where that
    is not known. `known` says whether it is to be preferred to the default, or without one may be preferred, `reason`
    why not. `known_by` says by which sessions it could be, None where they are too few. `may_explore` says that it is
    not surely more than ten points worse than the model that is preferred, and not too dear. `cost_usd` is the mean
    price of its sessions of this type, `usd_per_completed` that by the score, for each that did not fail, both None
    where no price is known; `efficient` says that no other one is both cheaper for that and better.
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
    """The models for one type of task, the best first.

    `recommended` is the model to prefer, `known_by` the sessions by which it is; None where it is not `known`, with the
    reason. `default` is the model that somebody named, to stay with where none is better; without one the best is
    recommended. `prefer` is the model that tasks go to: that which is recommended, or the default where none is better;
    None where too little is known. `unseen` is what is expected of any other model, None where none may be explored.
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
