"""What verdicts and probabilities are worth on sessions, beside the rules and a constant; means, and how sure they are.

The interval of a mean over places is that of Student's t over families: places of one family say much the same
(Cameron and Miller, Journal of Human Resources 50, 2015, section VI). That of one place draws its tasks again and
again (Efron's percentile bootstrap).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from grader_daemon.calibration.agreement import calibration_error, matthews, ranking, skill
from grader_daemon.domain.estimate import Estimate, _t_quantile
from grader_daemon.domain.verdict import Decision
from tests.benchmarks.truth.cases import Case
from tests.benchmarks.truth.homes import Judge

_RESAMPLES = 100
_EACH_END = 2
"""So many of the resamples lie beyond each end of an interval: 95 of 100 within, as near as whole ones come."""

_DRAWS = 5


class Judged(msgspec.Struct, frozen=True):
    """A session, and what was said of it: the verdict of the judge and how likely it found completion, the rules' too.

    `constant` is the probability that is always given beside it.
    """

    task: str
    completed: bool
    likely: float
    verdict: bool
    unsure: bool
    by_rules: bool
    constant: float


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """How good a judge is in a place, beside others on the same sessions; ranges as in `calibration.agreement`.

    `floor` is the calibration error that the same probabilities would have on so many sessions if they were exactly
    right. `unsure` is the share of verdicts that were unsure, `wrong_unsure` and `wrong_sure` how many of these and of
    the others were wrong; None without any.
    """

    sessions: float
    auc: float
    mcc: float
    skill: float
    ece: float
    floor: float
    rules_auc: float
    rules_mcc: float
    constant_skill: float
    constant_ece: float
    unsure: float
    wrong_unsure: float | None
    wrong_sure: float | None


def judged(judge: Judge, cases: Sequence[Case]) -> list[Judged]:
    """Return what a judge says of sessions; where it has no idea, the constant."""
    return [_judged(judge, case) for case in cases]


def is_testable(cases: Sequence[Case]) -> bool:
    """Are there both outcomes?"""
    return 0 < sum(case.sample.completed for case in cases) < len(cases)


def worth(said: Sequence[Judged]) -> Worth:
    """Measure a judge on sessions of both outcomes."""
    outcomes = [each.completed for each in said]
    likely = [each.likely for each in said]
    rules = [each.by_rules for each in said]
    constant = [each.constant for each in said]
    unsure = [each for each in said if each.unsure]
    return Worth(
        sessions=len(said),
        auc=_auc(said),
        mcc=_mcc(said),
        skill=skill(outcomes, likely) or 0.0,
        ece=calibration_error(outcomes, likely),
        floor=_floor(likely),
        rules_auc=ranking(outcomes, [float(verdict) for verdict in rules]) or 0.0,
        rules_mcc=matthews(outcomes, rules),
        constant_skill=skill(outcomes, constant) or 0.0,
        constant_ece=calibration_error(outcomes, constant),
        unsure=len(unsure) / len(said),
        wrong_unsure=_wrong(unsure),
        wrong_sure=_wrong([each for each in said if not each.unsure]),
    )


def mean_worth(worths: Sequence[Worth]) -> Worth:
    """Return the mean of several tests of one place."""
    columns = zip(*map(msgspec.structs.astuple, worths), strict=True)
    means = [_mean_of_known(column) for column in columns]
    return msgspec.convert(dict(zip(Worth.__struct_fields__, means, strict=True)), Worth)


def auc_of_place(said: Sequence[Judged]) -> Estimate:
    """Return the area under the curve in one place, with its interval over tasks."""
    return _resampled(said, _auc)


def mcc_of_place(said: Sequence[Judged]) -> Estimate:
    """Return the correlation of the verdicts in one place, with its interval over tasks."""
    return _resampled(said, _mcc)


def over_places(values: Sequence[tuple[str, float]]) -> Estimate:
    """Return the mean over places, each named by its family, with its interval; no interval with one family."""
    count = len(values)
    if not count:
        return Estimate()
    centre = fmean(value for _, value in values)
    apart: dict[str, float] = {}
    for family, value in values:
        apart[family] = apart.get(family, 0.0) + value - centre
    if len(apart) == 1:
        return Estimate(value=centre, sample=count)
    spread = math.fsum(each * each for each in apart.values()) * len(apart) / (len(apart) - 1)
    margin = _t_quantile(len(apart) - 1) * math.sqrt(spread) / count
    return Estimate(value=centre, low=centre - margin, high=centre + margin, sample=count)


def _judged(judge: Judge, case: Case) -> Judged:
    sample = case.sample
    said: Decision = judge.policy.decide(sample.features, by_rules=sample.by_rules)
    return Judged(
        task=sample.task,
        completed=sample.completed,
        likely=judge.constant if said.likely is None else said.likely,
        verdict=said.completed,
        unsure=said.unsure,
        by_rules=sample.by_rules,
        constant=judge.constant,
    )


def _auc(said: Sequence[Judged]) -> float:
    return ranking([each.completed for each in said], [each.likely for each in said]) or 0.0


def _mcc(said: Sequence[Judged]) -> float:
    return matthews([each.completed for each in said], [each.verdict for each in said])


def _floor(likely: Sequence[float]) -> float:
    chance = random.Random(len(likely))
    return fmean(calibration_error([chance.random() < p for p in likely], likely) for _ in range(_DRAWS))


def _wrong(said: Sequence[Judged]) -> float | None:
    return fmean(each.verdict != each.completed for each in said) if said else None


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _resampled(said: Sequence[Judged], measure: Callable[[Sequence[Judged]], float]) -> Estimate:
    tasks: dict[str, list[Judged]] = {}
    for each in said:
        tasks.setdefault(each.task, []).append(each)
    groups = list(tasks.values())
    chance = random.Random(len(said))
    drawn: list[float] = []
    while len(drawn) < _RESAMPLES:
        some = [each for group in chance.choices(groups, k=len(groups)) for each in group]
        if 0 < sum(each.completed for each in some) < len(some):
            drawn.append(measure(some))
    drawn.sort()
    value = measure(said)
    low, high = drawn[_EACH_END], drawn[-1 - _EACH_END]
    return Estimate(value=value, low=min(low, value), high=max(high, value), sample=len(said))
