"""Trials in one place at a time, by a prior that has not seen its family: without labels, and with them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from grader_daemon.calibration.crossvalidation import folds
from grader_daemon.calibration.samples import families
from grader_daemon.calibration.training import TrainingContext
from grader_daemon.domain.estimate import Estimate
from tests.benchmarks.truth.cases import Case
from tests.benchmarks.truth.homes import Taught, learn, look, new_home, split
from tests.benchmarks.truth.worth import (
    Judged,
    Worth,
    auc_of_place,
    is_testable,
    judged,
    mcc_of_place,
    mean_worth,
    worth,
)

FEW = (10, 20, 30)
"""So many sessions of their own people may have, without a label."""

LABELS = (20, 50, 100, 200)

_FEWEST_TESTED = 50
"""On fewer sessions nothing is measured: a place that has no more beside its labels is left out."""

_FEWEST_OWN = 20
_FOLDS = 5


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A source with both outcomes."""

    name: str
    family: str
    cases: list[Case]


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Places, and the prior for each of them: one that was trained on other families."""

    places: dict[str, Place]
    priors: dict[str, TrainingContext]


class Truth(StrEnum):
    """What labels say: the truth, outcomes that were shuffled among them, or one outcome only."""

    TRUE = "true"
    SHUFFLED = "shuffled"
    COMPLETED = "only completed"
    FAILED = "only failed"


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """One place without labels: by how many sessions were known (None: all); verdicts where none and all were."""

    place: str
    by_known: dict[int | None, Worth]
    auc: Estimate
    mcc: Estimate


class LabelKey(msgspec.Struct, frozen=True):
    """One trial with labels: in which place, how many, what they say, and which split of the tasks."""

    place: str
    labels: int
    truth: Truth
    seed: int


class LabelTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What labels brought: on sessions of new tasks (`new`), beside no labels there (`before`), and of own tasks.

    `auc` and `mcc` are those on new tasks with their intervals; `own` is None where too few sessions are left.
    """

    key: LabelKey
    given: int
    taught: Taught
    new: Worth
    before: Worth
    own: Worth | None
    auc: Estimate
    mcc: Estimate


def places_of(cases: Sequence[Case]) -> dict[str, Place]:
    """Return the sources with both outcomes, by family and name."""
    by_source: dict[str, list[Case]] = {}
    for case in cases:
        by_source.setdefault(case.sample.source, []).append(case)
    named = families(case.sample for case in cases)
    return {
        source: Place(name=source, family=family, cases=by_source[source])
        for family, sources in named.items()
        for source in sources
        if is_testable(by_source[source])
    }


def without_family(cases: Sequence[Case], family: str) -> TrainingContext:
    """Make the prior of those who never saw this family."""
    inside = families(case.sample for case in cases)[family]
    return learn([case for case in cases if case.sample.source not in inside], version=f"without-{family}")


def start(world: tuple[World, int], place: str) -> Start:
    """Judge a place in which nothing is labelled; few sessions are drawn as often as the second of `world` says."""
    (places, priors), draws = (world[0].places, world[0].priors), world[1]
    context, cases = priors[place], places[place].cases
    on_all = judged(look(context, cases), cases)
    by_known: dict[int | None, Worth] = {0: worth(judged(new_home(context), cases))}
    for count in FEW:
        found = list(_with_few(context, cases, count, draws))
        if found:
            by_known[count] = mean_worth(found)
    by_known[None] = worth(on_all)
    return Start(place=place, by_known=by_known, auc=auc_of_place(on_all), mcc=mcc_of_place(on_all))


def _with_few(context: TrainingContext, cases: Sequence[Case], count: int, draws: int) -> Iterator[Worth]:
    for seed in range(draws):
        some = list(cases)
        random.Random(seed).shuffle(some)
        if is_testable(some[count:]):
            yield worth(judged(look(context, some[:count]), some[count:]))


def parts_of_tasks(cases: Sequence[Case]) -> list[list[Case]]:
    """Return all sessions in parts, in each a fifth of the tasks of every family."""
    sources = families(case.sample for case in cases)
    parts: list[list[Case]] = [[] for _ in range(_FOLDS)]
    for members in sources.values():
        relatives = [case for case in cases if case.sample.source in members]
        for part, places in zip(parts, folds([case.sample for case in relatives], _FOLDS), strict=False):
            part.extend([relatives[place] for place in places])
    return [part for part in parts if part]


def new_tasks(
    world: tuple[Sequence[Case], list[list[Case]]], part: int
) -> dict[str, tuple[list[Judged], list[Judged]]]:
    """Judge the tasks of one part by a prior that saw all others: where nothing is known, and at home.

    Gives both by source.
    """
    cases, parts = world
    tested = {case.session_id for case in parts[part]}
    context = learn([case for case in cases if case.session_id not in tested], version=f"part-{part}")
    found = {}
    for name, place in places_of(cases).items():
        own = [case for case in place.cases if case.session_id in tested]
        found[name] = (judged(new_home(context), own), judged(look(context, place.cases), own))
    return found


def trial_keys(places: Mapping[str, Place], truth: Truth, *, seeds: int, labels: Sequence[int]) -> list[LabelKey]:
    """Return the trials that places are large enough for; the longest first, so that none is left for the end."""
    return [
        LabelKey(place.name, count, truth, seed)
        for count in sorted(labels, reverse=True)
        for place in places.values()
        for seed in range(seeds)
        if len(place.cases) >= count + _FEWEST_TESTED
    ]


def with_labels(world: World, key: LabelKey) -> LabelTrial | None:
    """Label sessions of half of the tasks, and judge the other half; None where that leaves too little to test."""
    context, cases = world.priors[key.place], world.places[key.place].cases
    chance = random.Random(f"{key.place} {key.labels} {key.seed}")
    own, others = split(cases, key.labels, chance)
    if len(others) < _FEWEST_TESTED or not is_testable(others):
        return None
    labelled = _said(key, own, chance)
    if not labelled:
        return None
    before = look(context, own)
    after = look(context, own, labelled, before=before)
    asked = {case.session_id for case in labelled}
    left = [case for case in own if case.session_id not in asked]
    said = judged(after, others)
    return LabelTrial(
        key=key,
        given=len(labelled),
        taught=after.taught,
        new=worth(said),
        before=worth(judged(before, others)),
        own=worth(judged(after, left)) if len(left) >= _FEWEST_OWN and is_testable(left) else None,
        auc=auc_of_place(said),
        mcc=mcc_of_place(said),
    )


def _said(key: LabelKey, own: Sequence[Case], chance: random.Random) -> list[Case]:
    """Return the sessions that are labelled, as they are labelled."""
    if key.truth in (Truth.COMPLETED, Truth.FAILED):
        alike = [case for case in own if case.sample.completed == (key.truth is Truth.COMPLETED)]
        return chance.sample(alike, min(key.labels, len(alike)))
    labelled = chance.sample(list(own), min(key.labels, len(own)))
    if key.truth is Truth.TRUE:
        return labelled
    outcomes = [case.sample.completed for case in labelled]
    chance.shuffle(outcomes)
    return [
        msgspec.structs.replace(case, sample=msgspec.structs.replace(case.sample, completed=outcome))
        for case, outcome in zip(labelled, outcomes, strict=True)
    ]
