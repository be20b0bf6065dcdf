"""The order of sessions by how likely they failed, in places that the prior has not seen.

Each place is put in order by a prior that was trained without its family, whose constants were chosen there, among the
sessions of the place itself and without a label. What counts is what somebody finds who looks at the ends of the order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from grader_daemon.analysis.features import DIRECTIONS
from grader_daemon.calibration.agreement import ranking
from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import families
from grader_daemon.calibration.update import levelled
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.session_features import FEATURES_VERSION
from tests.benchmarks.machine import Figure, print_table
from tests.benchmarks.targets import VALIDITY
from tests.benchmarks.truth.cases import Case
from tests.benchmarks.truth.trials import Place
from tests.benchmarks.truth.worth import over_places

YEARS = {
    **dict.fromkeys(("intercode", "mint", "mint_fb", "fireact", "reflexion_qa"), 2023),
    **dict.fromkeys(("knowagent", "super"), 2024),
    **dict.fromkeys(("bashkit", "gab_swe", "gab_tau2", "gab_term", "medagent", "minigem"), 2025),
    **dict.fromkeys(("harness_bench", "tau2_subs"), 2026),
}
"""Years of the agents of the recorded sources; of others nothing is known."""

_END = 0.1
"""Ten sessions of a hundred are an end."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The worth of the order of one place.

    `worst` is the share that failed among the ten of a hundred that rank lowest, over that of all; `best` the share
    that was completed among the ten that rank highest, over that of all.
    """

    place: str
    family: str
    auc: float
    failed: float
    worst: float
    best: float


def prior_without(cases: Sequence[Case], family: str) -> Prior:
    """Train the prior of those who never saw a family."""
    inside = families(case.sample for case in cases)[family]
    others = [case.sample for case in cases if case.sample.source not in inside]
    return train_prior(others, DIRECTIONS, version=f"without-{family}", features_version=FEATURES_VERSION)


def order_of(priors: Mapping[str, Prior], place: Place) -> Order:
    """Put the sessions of a place in the order that the prior of its family says, and look at its ends."""
    model = levelled(priors[place.family], [case.sample.features for case in place.cases], version="")
    likely = [model.predict(case.sample.features) or 0.0 for case in place.cases]
    completed = [case.sample.completed for case in place.cases]
    rate = fmean(completed)
    return Order(
        place=place.name,
        family=place.family,
        auc=ranking(completed, likely) or 0.0,
        failed=1 - rate,
        worst=(1 - share_of_lowest(likely, completed)) / (1 - rate),
        best=share_of_lowest([-value for value in likely], completed) / rate,
    )


def print_order(orders: Sequence[Order]) -> list[Figure]:
    """Print the order place by place and its means, by the year of the agents as well; gives those of all places."""
    print("## The order, by a prior that has not seen the family of the place\n")
    rows = [_row(each.place, _year(each), [each]) for each in orders]
    for year in sorted({_year(each) for each in orders}):
        of_year = [each for each in orders if _year(each) == year]
        rows.append(_row(f"mean of {len(of_year)}", year, of_year))
    rows.append(_row(f"mean of {len(orders)}", "all", orders))
    print_table(("place", "agents of", "failed", "AUC", "worst ten: failed, over all", "best ten: completed"), rows)
    auc, worst = _mean(orders, "auc"), _mean(orders, "worst")
    return [_figure("order: AUC", auc, "order_auc"), _figure("order: worst ten over all", worst, "order_worst")]


def share_of_lowest(likely: Sequence[float], completed: Sequence[bool]) -> float:
    """Return how many of the lowest tenth were completed; of equal ones that are not all in it, their mean share."""
    size = max(1, round(len(likely) * _END))
    last = sorted(likely)[size - 1]
    below = [outcome for value, outcome in zip(likely, completed, strict=True) if value < last]
    equal = [outcome for value, outcome in zip(likely, completed, strict=True) if value == last]
    return (sum(below) + (size - len(below)) * fmean(equal)) / size


def _year(order: Order) -> str:
    return str(YEARS.get(order.place, "–"))


def _row(name: str, year: str, orders: Sequence[Order]) -> tuple[str, ...]:
    failed = fmean(each.failed for each in orders)
    return (name, year, f"{failed:.0%}", *[_told(_mean(orders, field)) for field in ("auc", "worst", "best")])


def _mean(orders: Sequence[Order], field: str) -> Estimate:
    return over_places([(each.family, getattr(each, field)) for each in orders])


def _told(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.2f} to {found.high:.2f})"


def _figure(name: str, found: Estimate, key: str) -> Figure:
    target = VALIDITY[key]
    return Figure(name, _told(found), f">= {target:g}", found.value is not None and found.value >= target)
