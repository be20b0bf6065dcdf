"""How far verdicts and probabilities can be trusted, on sessions whose outcome is known.

Run it as ``python -m tests.benchmarks.validity [FOLDER …]`` in the repository. A FOLDER holds ``labels.csv``
(session_id, success or completed, source, and if known task_id and family) and session files at any depth, or
``.jsonl.gz`` files with a session a line.

It works as a user would: sessions in a home, and the functions behind the commands: the level, calibration with its
gate and its threshold, the policy in force. Nothing is tested on what it was trained on: each place, a source with both
outcomes, is judged by a prior that was trained without its family, the sources of one harness or benchmark and those
that share tasks; whatever constants a prior needs are chosen when it is trained, without that family. Labels are given
for sessions of half of the tasks (more where half is too few) and tested on those of the other half. `constant` is
always saying one probability: without labels the share of other places, else that of the labels. With ``--aside`` the
prior that ships with the package is tested on sessions that it was never trained on. `--order` asks only how well
sessions are put in order without labels, place by place: in minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from grader_daemon.calibration.prior import Prior
from grader_daemon.calibration.training import TrainingContext
from grader_daemon.domain.verdict import VerdictSetting
from grader_daemon.rules.load_prior import load_prior
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure
from tests.benchmarks.truth.cases import Case, read_cases
from tests.benchmarks.truth.order import order_of, print_order, prior_without
from tests.benchmarks.truth.processes import in_processes
from tests.benchmarks.truth.simulated import simulate, triples
from tests.benchmarks.truth.tables import (
    print_claims,
    print_homes,
    print_labels,
    print_misled,
    print_new_tasks,
    print_sources,
    print_starts,
)
from tests.benchmarks.truth.trials import (
    LABELS,
    LabelKey,
    LabelTrial,
    Place,
    Truth,
    World,
    new_tasks,
    parts_of_tasks,
    places_of,
    start,
    trial_keys,
    with_labels,
    without_family,
)

_DATA = Path(__file__).parents[3] / "shared/data"
_SEEDS = 6
_QUICK_HOMES = 2
_QUICK_PARTS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; gives 1 where a target is missed."""
    options = _options(arguments)
    machine.print_machine()
    if options.aside is not None:
        cases = read_cases([options.aside], jobs=options.jobs)
        places = places_of(cases)
        print_sources(places, cases)
        figures = _in_order(dict.fromkeys(_families(places), load_prior().prior), places)
        if not options.order:
            figures += _in_places(World(places=places, priors=dict.fromkeys(places, _shipped())), options)
            figures += print_claims(cases)
    elif options.order:
        cases = read_cases(options.folders or _recorded(), jobs=options.jobs)
        figures = _put_in_order(cases, places_of(cases), options.jobs)
    else:
        cases = read_cases(options.folders or _recorded(), jobs=options.jobs)
        places = places_of(cases)
        print_sources(places, cases)
        figures = _put_in_order(cases, places, options.jobs)
        figures += _in_places(World(places=places, priors=_priors(cases, places, options.jobs)), options)
        figures += _on_new_tasks(cases, places, options)
        _in_simulated_homes(cases, places, options)
        figures += print_claims(cases)
    print("## Targets\n")
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="sessions and labels.csv")
    parser.add_argument("--aside", type=Path, metavar="FOLDER", help="test the prior of the package on these sessions")
    parser.add_argument("--seeds", type=int, help=f"splits of the tasks of a place (default: {_SEEDS}, quick: 1)")
    parser.add_argument("--quick", action="store_true", help="few splits, parts and homes: in minutes, and less sure")
    parser.add_argument("--order", action="store_true", help="only how well sessions are put in order")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    options.seeds = options.seeds or (1 if options.quick else _SEEDS)
    return options


def _recorded() -> list[Path]:
    return [folder for name in ("truth", "truth2", "truth3") if (folder := _DATA / name).is_dir()]


def _shipped() -> TrainingContext:
    shipped = load_prior()
    return TrainingContext(setting=VerdictSetting.AUTO, prior=shipped.prior, prior_better=shipped.validity.better)


def _priors(cases: Sequence[Case], places: dict[str, Place], jobs: int) -> dict[str, TrainingContext]:
    names = _families(places)
    made = dict(zip(names, in_processes(without_family, cases, names, jobs=jobs), strict=True))
    return {place.name: made[place.family] for place in places.values()}


def _families(places: dict[str, Place]) -> list[str]:
    return sorted({place.family for place in places.values()})


def _put_in_order(cases: Sequence[Case], places: dict[str, Place], jobs: int) -> list[Figure]:
    """Put the sessions of each place in order by a prior that was trained without its family."""
    names = _families(places)
    made = in_processes(prior_without, cases, names, jobs=jobs)
    return _in_order(dict(zip(names, made, strict=True)), places)


def _in_order(priors: dict[str, Prior], places: dict[str, Place]) -> list[Figure]:
    return print_order([order_of(priors, place) for place in places.values()])


def _in_places(world: World, options: argparse.Namespace) -> list[Figure]:
    """Try every place without labels, with true ones and with such as teach nothing."""
    places = world.places
    starts = in_processes(start, (world, options.seeds), list(places), jobs=options.jobs)
    figures = print_starts(places, starts, title="No labels, by a prior that has not seen the family of the place")
    true = trial_keys(places, Truth.TRUE, seeds=options.seeds, labels=LABELS)
    figures += print_labels(places, _trials(world, true, options.jobs))
    few = max(1, options.seeds // 3)
    counts = (LABELS[2],) if options.quick else LABELS
    false = trial_keys(places, Truth.SHUFFLED, seeds=few, labels=counts)
    for truth in (Truth.COMPLETED, Truth.FAILED):
        false += trial_keys(places, truth, seeds=few, labels=LABELS[2:3])
    return figures + print_misled(_trials(world, false, options.jobs))


def _trials(world: World, keys: Sequence[LabelKey], jobs: int) -> list[LabelTrial]:
    return [trial for trial in in_processes(with_labels, world, keys, jobs=jobs) if trial is not None]


def _on_new_tasks(cases: Sequence[Case], places: dict[str, Place], options: argparse.Namespace) -> list[Figure]:
    parts = parts_of_tasks(cases)
    tested = list(range(_QUICK_PARTS if options.quick else len(parts)))
    found = in_processes(new_tasks, (cases, parts), tested, jobs=options.jobs)
    return print_new_tasks(places, found)


def _in_simulated_homes(cases: Sequence[Case], places: dict[str, Place], options: argparse.Namespace) -> None:
    chosen = triples(places)
    if options.quick:
        chosen = chosen[:_QUICK_HOMES]
    print_homes(in_processes(simulate, (cases, places), chosen, jobs=options.jobs))


if __name__ == "__main__":
    sys.exit(main())
