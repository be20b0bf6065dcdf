"""The home of a person: a prior that knows nothing of it, its sessions, its labels, and the product's own calibration.

What a judge is comes from the function behind `grader-daemon calibration update`, with its gate, its threshold and the
policy in force afterwards. Labels stand with the request that the product itself sees, not with the task of a
benchmark.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from grader_daemon.analysis.features import DIRECTIONS
from grader_daemon.calibration.crossvalidation import doubtful_elsewhere, predictions, validity
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.training import TrainingContext, train
from grader_daemon.domain.calibration import Calibration
from grader_daemon.domain.feedback import Label
from grader_daemon.domain.session_features import FEATURES_VERSION
from grader_daemon.domain.verdict import CompletionPolicy, VerdictBy, VerdictSetting, is_untaught
from tests.benchmarks.truth.cases import Case
from tests.strategies import label

_START = datetime(2026, 1, 5, tzinfo=UTC)
_ALMOST_ALL = 1.05
"""Tasks to draw labels from hold at least that many times the labels."""


class Taught(StrEnum):
    """What was adopted from labels: nothing, how many tasks are completed, weights, or the word of the rules."""

    NOTHING = "nothing"
    LEVEL = "level"
    WEIGHTS = "weights"
    RULES = "rules"


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """Who gives the verdicts in a home, what labels taught it, and what it says who has no idea of a session.

    `labelled` are the sessions whose labels it knew.
    """

    policy: CompletionPolicy
    standing: Calibration | None
    taught: Taught
    constant: float
    labelled: frozenset[str] = frozenset()


def learn(cases: Sequence[Case], *, version: str) -> TrainingContext:
    """Make a prior as `calibration train` does; every constant in it is chosen without the sessions that are tested."""
    samples = [case.sample for case in cases]
    prior = train_prior(samples, DIRECTIONS, version=version, features_version=FEATURES_VERSION)
    predicted = predictions(samples, DIRECTIONS)
    return TrainingContext(
        setting=VerdictSetting.AUTO,
        prior=msgspec.structs.replace(prior, doubtful=doubtful_elsewhere(predicted)),
        prior_better=validity(predicted).better,
    )


def new_home(context: TrainingContext) -> Judge:
    """Return the judge where nothing is known of a place."""
    return _judge(context, None, context.prior.base_rate)


def look(
    context: TrainingContext, known: Sequence[Case], labelled: Sequence[Case] = (), *, before: Judge | None = None
) -> Judge:
    """Calibrate: with the sessions that are `known`, and all labels of them; the judge `before` is in force till then.

    Labels that it did not know were given since.
    """
    standing = None if before is None else before.standing
    made = _START if standing is None else standing.made_at
    old = frozenset() if before is None else before.labelled
    found = train(
        [_label(case, _START if case.session_id in old else made + timedelta(days=1)) for case in labelled],
        standing,
        context,
        history=[case.sample.features for case in known],
        now=made + timedelta(days=8),
        seen=len(labelled),
    )
    constant = share(labelled) if labelled else context.prior.base_rate
    judge = _judge(context, found if found.adopted else standing, constant)
    return msgspec.structs.replace(judge, labelled=frozenset(case.session_id for case in labelled))


def share(cases: Sequence[Case]) -> float:
    """Return how many of the tasks were completed, 0 to 1."""
    return sum(case.sample.completed for case in cases) / len(cases)


def split(cases: Sequence[Case], labels: int, chance: random.Random) -> tuple[list[Case], list[Case]]:
    """Return the sessions of half of the tasks, more where that is too few for the labels, and those of the others."""
    of_task: dict[str, list[Case]] = {}
    for case in cases:
        of_task.setdefault(case.sample.task, []).append(case)
    tasks = sorted(of_task)
    chance.shuffle(tasks)
    own: list[Case] = []
    while tasks and len(own) < max(len(cases) / 2, labels * _ALMOST_ALL):
        own += of_task[tasks.pop()]
    return own, [case for task in tasks for case in of_task[task]]


def _judge(context: TrainingContext, standing: Calibration | None, constant: float) -> Judge:
    policy = context.policy(standing)
    return Judge(policy=policy, standing=standing, taught=_taught(context, policy, standing), constant=constant)


def _taught(context: TrainingContext, policy: CompletionPolicy, standing: Calibration | None) -> Taught:
    if policy.by is VerdictBy.RULES and context.prior_better is VerdictBy.MODEL:
        return Taught.RULES
    if standing is None or policy.model is None or is_untaught(policy.model.version, context.prior.version):
        return Taught.NOTHING
    return Taught.WEIGHTS if "weights" in standing.evidence.why.partition(":")[0] else Taught.LEVEL


def _label(case: Case, given_at: datetime) -> Label:
    return label(
        session_id=case.session_id,
        completed=case.sample.completed,
        given_at=given_at,
        ended_on=given_at.date().isoformat(),
        automatic_completed=case.sample.by_rules,
        rules_completed=case.sample.by_rules,
        request=case.request,
        features=case.sample.features,
    )
