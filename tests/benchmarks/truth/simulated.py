"""Homes that are unlike the places of a benchmark: several kinds of work in one, one that grows, one that changes.

The prior of such a home has seen none of the families in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from statistics import fmean

import msgspec

from grader_daemon.calibration.training import TrainingContext
from tests.benchmarks.truth.cases import Case
from tests.benchmarks.truth.homes import learn, look, new_home
from tests.benchmarks.truth.trials import Place
from tests.benchmarks.truth.worth import Judged, Worth, is_testable, judged, worth

_OF_EACH = 200
"""So many sessions of each place there are at most in a home."""

_LABELS = 100
_SEED = 1


class Mixed(msgspec.Struct, frozen=True, kw_only=True):
    """A home of several kinds of work: the area under the curve within each, the mean of them, and all together.

    `apart` is the mean of the same where each kind is a home of its own, `unknown` where nothing is known of the home;
    `labelled` and `unlabelled` are the home's tasks that are not learned from, with and without labels of the others.
    """

    names: tuple[str, ...]
    within: float
    apart: float
    unknown: float
    over: Worth
    unlabelled: Worth
    labelled: Worth


class Grown(msgspec.Struct, frozen=True, kw_only=True):
    """A home that grows: verdicts when each session came in, and in the end."""

    name: str
    on_arrival: Worth
    in_the_end: Worth


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A home in which other work is done from one day on.

    On the new work: with what the old sessions taught, once they are as many as the old ones, and both with labels
    of the old work.
    """

    names: tuple[str, str]
    at_once: Worth
    later: Worth
    at_once_labelled: Worth
    later_labelled: Worth


class Homes(msgspec.Struct, frozen=True, kw_only=True):
    """What was found with one prior."""

    mixed: Mixed
    grown: Grown
    changed: Changed


def triples(places: dict[str, Place]) -> list[tuple[str, str, str]]:
    """Return three places each, of three families; every family comes first once."""
    of_family: dict[str, list[str]] = {}
    for place in places.values():
        of_family.setdefault(place.family, []).append(place.name)
    names = list(of_family)
    if len(names) < 4:
        return []
    found = []
    for index in range(len(names)):
        chosen = [of_family[names[(index + step) % len(names)]] for step in range(3)]
        first, second, third = [members[index % len(members)] for members in chosen]
        found.append((first, second, third))
    return found


def simulate(world: tuple[Sequence[Case], dict[str, Place]], names: tuple[str, str, str]) -> Homes:
    """Try a prior that knows none of three families in homes made of them."""
    cases, places = world
    unseen = {places[name].family for name in names}
    strangers = {place.name for place in places.values() if place.family in unseen}
    context = learn([case for case in cases if case.sample.source not in strangers], version="-".join(names))
    chance = random.Random(_SEED)
    some = [chance.sample(places[name].cases, min(_OF_EACH, len(places[name].cases))) for name in names]
    return Homes(
        mixed=_mixed(context, names, some, chance),
        grown=_grown(context, names[0], places[names[0]].cases, chance),
        changed=_changed(context, (names[0], names[1]), some[0], some[1]),
    )


def _mixed(
    context: TrainingContext, names: tuple[str, ...], kinds: Sequence[Sequence[Case]], chance: random.Random
) -> Mixed:
    home = [case for kind in kinds for case in kind]
    own, others = _halves(home, chance)
    labelled = chance.sample(own, min(_LABELS, len(own)))
    together, unknown = look(context, home), new_home(context)
    before = look(context, own)
    return Mixed(
        names=names,
        within=fmean(worth(judged(together, kind)).auc for kind in kinds),
        apart=fmean(worth(judged(look(context, kind), kind)).auc for kind in kinds),
        unknown=worth(judged(unknown, home)).auc,
        over=worth(judged(together, home)),
        unlabelled=worth(judged(before, others)),
        labelled=worth(judged(look(context, own, labelled, before=before), others)),
    )


def _grown(context: TrainingContext, name: str, cases: Sequence[Case], chance: random.Random) -> Grown:
    coming = chance.sample(list(cases), len(cases))
    return Grown(
        name=name,
        on_arrival=worth(list(_on_arrival(context, coming))),
        in_the_end=worth(judged(look(context, coming), coming)),
    )


def _on_arrival(context: TrainingContext, coming: Sequence[Case]) -> Iterator[Judged]:
    """Judge each session by what the ones before it taught: looked at with ten of them, and with twice as many again.

    That is when `calibration.training.is_due` says that there is something new without labels.
    """
    judge, seen = new_home(context), 0
    for count, case in enumerate(coming):
        if count >= max(10, 2 * seen):
            judge, seen = look(context, coming[:count], before=judge), count
        yield from judged(judge, [case])


def _changed(context: TrainingContext, names: tuple[str, str], old: Sequence[Case], new: Sequence[Case]) -> Changed:
    first = look(context, old)
    labelled = list(old)[:_LABELS]
    taught = look(context, old, labelled, before=first)
    both = [*old, *new]
    return Changed(
        names=names,
        at_once=worth(judged(first, new)),
        later=worth(judged(look(context, both, before=first), new)),
        at_once_labelled=worth(judged(taught, new)),
        later_labelled=worth(judged(look(context, both, labelled, before=taught), new)),
    )


def _halves(home: Sequence[Case], chance: random.Random) -> tuple[list[Case], list[Case]]:
    tasks = sorted({case.sample.task for case in home})
    mine = set(chance.sample(tasks, len(tasks) // 2))
    own = [case for case in home if case.sample.task in mine]
    others = [case for case in home if case.sample.task not in mine]
    return (own, others) if is_testable(others) else (others, own)
