"""How far rates of completion by a few labels can be trusted, in homes whose outcomes are known.

Run it as ``python -m tests.benchmarks.estimates [FOLDER …]`` in the repository; a FOLDER is one of
`tests.benchmarks.validity`. Each place is a home with weeks of sessions drawn from it, with probabilities by weights
that had not seen its family; simulated homes have other rates, and probabilities that tell nothing, little or much. The
rate of a home drifts, stays, or falls as a trial wants it: failed sessions are drawn more often, then.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final, NamedTuple

from grader_daemon.domain.estimate import Estimate, figure
from grader_daemon.patterns.completion_estimate import GUESS_WORTH
from grader_daemon.patterns.corrected_rate import Drawn, Labels, Level, Sessions, corrected_rate
from tests.benchmarks import machine
from tests.benchmarks.targets import ESTIMATES
from tests.benchmarks.truth.predicted import Predicted, read_pools

_DATA = Path(__file__).parents[3] / "shared/data"
_WEEK = 300
_WEEKS = 8
_DRIFT = 0.03
"""Standard deviation of what the rate of a home moves in a week."""

_SURER = 1.25
"""What an interval is stretched by, to hold in 99 of 100 cases on its side, as one looks every week."""

_FEWEST = 40
_TRIALS, _QUICK_TRIALS = 60, 4
_RATES: Final = (0.2, 0.5, 0.8, 0.95)
_TELLS: Final = (0.0, 0.5, 1.5)


class Home(NamedTuple):
    """Sessions that were completed, and that were not, to draw weeks from; and the usual rate."""

    name: str
    done: Sequence[float]
    failed: Sequence[float]
    rate: float

    def session(self, rate: float, chance: Random) -> Drawn:
        """Draw one session of a week in which so many are completed."""
        completed = chance.random() < rate
        return Drawn(completed, chance.choice(self.done if completed else self.failed))


class Week(NamedTuple):
    """Sessions of a week; the first were drawn by chance for a label."""

    judged: list[Drawn]
    rest: list[Drawn]

    @property
    def truth(self) -> float:
        """Share of completed sessions."""
        return fmean(each.completed for each in (*self.judged, *self.rest))

    @property
    def sessions(self) -> Sessions:
        """The sums that a program has of it."""
        completed = sum(each.completed for each in self.judged)
        return Sessions(len(self.rest), math.fsum(each.predicted for each in self.rest), len(self.judged), completed)


class Found(NamedTuple):
    """Estimates of many weeks: how often the interval held the truth, half its width, and how far off it was."""

    held: float
    half: float
    error: float


def homes_of(pools: dict[str, list[Predicted]]) -> list[Home]:
    """Return a home for each place, as it is, and simulated ones."""
    found = []
    for name, sessions in pools.items():
        done = [each.likely for each in sessions if each.completed]
        failed = [each.likely for each in sessions if not each.completed]
        if min(len(done), len(failed)) >= _FEWEST:
            found.append(Home(name, done, failed, len(done) / len(sessions)))
    return found + list(_simulated())


def _simulated() -> Iterator[Home]:
    chance = Random(1)
    for tells in _TELLS:
        done, failed = ([_odds(chance.gauss(mean, 1.0) / 2) for _ in range(500)] for mean in (tells, 0.0))
        for rate in _RATES:
            yield Home(f"simulated, {rate:.0%}, {tells:g} apart", done, failed, rate)


def week(home: Home, rate: float, chance: Random, *, labels: int, sessions: int = _WEEK) -> Week:
    """Make a week of a home."""
    drawn = [home.session(rate, chance) for _ in range(sessions)]
    return Week(drawn[:labels], drawn[labels:])


def steady(home: Home, _chance: Random) -> list[float]:
    """Return the rate of each week, the last one last: always the usual one."""
    return [home.rate] * _WEEKS


def drifting(home: Home, chance: Random) -> list[float]:
    """Return the rate of each week, which wanders."""
    rates = [home.rate]
    while len(rates) < _WEEKS:
        rates.append(min(0.98, max(0.02, rates[-1] + chance.gauss(0, _DRIFT))))
    return rates


def fallen(home: Home, _chance: Random) -> list[float]:
    """Return the rate of each week: the usual one, or what leaves room for it, and 20 points less in the last."""
    usual = max(home.rate, 0.25)
    return [usual] * (_WEEKS - 1) + [usual - 0.2]


def estimated(home: Home, rates: Sequence[float], chance: Random, *, labels: int) -> tuple[Estimate, float]:
    """Estimate the rate of the last week, with so many labels in each; gives the truth, too."""
    last = week(home, rates[-1], chance, labels=labels)
    older = [[home.session(rate, chance) for _ in range(labels)] for rate in rates[-2::-1]]
    return corrected_rate(Labels(last.judged, older), last.sessions), last.truth


def by_guess(home: Home, chance: Random, *, off: float, labels: int) -> tuple[Estimate, float]:
    """Estimate the rate of a week by a guess that is so far off, and by labels of that week."""
    last = week(home, home.rate, chance, labels=labels)
    told = home.rate + off if home.rate + off <= 1 else home.rate - off
    guess = Level(min(1.0, max(0.0, told)), GUESS_WORTH)
    return corrected_rate(Labels(last.judged), last.sessions, guess=guess), last.truth


def summed(trials: Sequence[tuple[Estimate, float]]) -> Found:
    """Sum up estimates, each beside the truth."""
    known = [(e.value, e.low, e.high, truth) for e, truth in trials if None not in (e.value, e.low, e.high)]
    return Found(
        held=fmean(low - 1e-9 <= truth <= high + 1e-9 for _, low, high, truth in known),  # type: ignore[operator]
        half=fmean((high - low) / 2 for _, low, high, _ in known),  # type: ignore[operator]
        error=fmean(abs(value - truth) for value, _, _, truth in known),  # type: ignore[operator]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; gives 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="sessions and labels.csv")
    parser.add_argument("--quick", action="store_true", help="few trials: in seconds, and less sure")
    parser.add_argument("--jobs", type=int, default=2, help="processes that read sessions (default: %(default)s)")
    options = parser.parse_args(arguments)
    machine.print_machine()
    folders = options.folders or [found for name in ("truth", "truth2", "truth3") if (found := _DATA / name).is_dir()]
    homes = homes_of(read_pools(folders, jobs=options.jobs) if folders else {})
    figures = measure(homes, trials=_QUICK_TRIALS if options.quick else _TRIALS)
    print("## Targets\n")
    machine.print_figures(figures)
    return int(any(each.met is False for each in figures))


def measure(homes: Sequence[Home], *, trials: int) -> list[machine.Figure]:
    """Measure everything in all homes, print it home by home and return it beside its targets."""
    return [
        *_of_a_week(homes, trials),
        *_of_falls(homes, trials),
        *_of_guesses(homes, trials),
    ]


def _of_a_week(homes: Sequence[Home], trials: int) -> Iterator[machine.Figure]:
    worlds: tuple[Callable[[Home, Random], list[float]], ...] = (drifting, steady, fallen)
    rows = []
    for labels in (20, 50):
        by_world = {
            world.__name__: [
                summed([estimated(home, world(home, chance), chance, labels=labels) for _ in range(trials)])
                for home in homes
                for chance in [_chance(home, labels, world.__name__)]
            ]
            for world in worlds
        }
        rows += [
            (f"{labels}", name, f"{held(found):.1%}", f"{min(e.held for e in found):.0%}", f"{half(found):.3f}")
            for name, found in by_world.items()
        ]
        alone = [
            summed([estimated(home, [home.rate], chance, labels=labels) for _ in range(trials)])
            for home in homes
            for chance in [_chance(home, labels, "alone")]
        ]
        rows.append(
            (f"{labels}", "first week", f"{held(alone):.1%}", f"{min(e.held for e in alone):.0%}", f"{half(alone):.3f}")
        )
        yield _at_least(f"{labels} labels a week, rates that drift: interval holds", held(by_world["drifting"]), "held")
        yield _at_most(f"{labels} labels a week: half of the interval", half(by_world["drifting"]), f"half_{labels}")
        yield _at_least(f"{labels} labels in the first week: interval holds", held(alone), "held")
        yield _at_most(f"{labels} labels in the first week: half of the interval", half(alone), f"half_{labels}")
    print("## The rate of a week of 300 sessions, labels by chance in each of eight weeks\n")
    machine.print_table(("labels a week", "rate", "held", "worst home", "half of the interval"), rows)


def _of_falls(homes: Sequence[Home], trials: int) -> Iterator[machine.Figure]:
    """Compare the last two weeks with the six before, each week, by labels alone."""
    seen, false = [], []
    for home in homes:
        chance, usual = _chance(home, "falls"), max(home.rate, 0.12)
        for _ in range(trials):
            before = [_busy_week(home, usual, chance) for _ in range(_WEEKS - 2)]
            after = [_busy_week(home, usual - 0.1, chance) for _ in range(2)]
            seen.append(any(_is_seen(before, after[:weeks]) for weeks in (1, 2)))
            month = [*before, *[_busy_week(home, usual, chance) for _ in range(4)]]
            false.append(any(_is_seen(month[end - 7 : end - 1], month[end - 1 : end + 1]) for end in range(7, 11)))
    yield _at_least("a fall of ten points, 40 labels a week: seen within two weeks", fmean(seen), "fall_seen")
    yield _at_most("the same where nothing falls, a month", fmean(false), "fall_false")


def _busy_week(home: Home, rate: float, chance: Random) -> Week:
    return week(home, rate, chance, labels=40, sessions=600)


def _is_seen(before: Sequence[Week], after: Sequence[Week]) -> bool:
    """Return whether it got worse, by an interval that holds in 99 of 100 cases: one looks every week."""
    earlier, later = [_together(weeks) for weeks in (before, after)]
    found = figure(later, earlier).change
    return found.value is not None and found.high is not None and found.value + _SURER * (found.high - found.value) < 0


def _together(weeks: Sequence[Week]) -> Estimate:
    own = [each for one in weeks for each in one.judged]
    sums = [one.sessions for one in weeks]
    return corrected_rate(Labels(own), Sessions(*[sum(column) for column in zip(*sums, strict=True)]))


def _of_guesses(homes: Sequence[Home], trials: int) -> Iterator[machine.Figure]:
    """Estimate a week by a guess that is off, alone and with the first labels."""
    rows = []
    for labels in (0, 5, 10, 19):
        for off in (0.0, 0.15, 0.3):
            found = [
                summed([by_guess(home, chance, off=off, labels=labels) for _ in range(trials)])
                for home in homes
                for chance in [_chance(home, "guess", off, labels)]
            ]
            error = fmean(each.error for each in found)
            rows.append((f"{labels}", f"{100 * off:.0f}", f"{error:.3f}", f"{held(found):.0%}", f"{half(found):.3f}"))
    print(f"## A guess of the level that is off, worth {GUESS_WORTH:g} labels\n")
    machine.print_table(("labels", "points off", "mean error", "held", "half of the interval"), rows)
    yield from ()


def held(found: Sequence[Found]) -> float:
    """Return how often the interval held the truth, in the mean of the homes."""
    return fmean(each.held for each in found)


def half(found: Sequence[Found]) -> float:
    """Return half of the width of the interval, in the mean of the homes."""
    return fmean(each.half for each in found)


def _at_least(name: str, value: float, key: str) -> machine.Figure:
    return machine.Figure(name, f"{value:.1%}", f">= {ESTIMATES[key]:.0%}", value >= ESTIMATES[key])


def _at_most(name: str, value: float, key: str) -> machine.Figure:
    return machine.Figure(name, f"{value:.3f}", f"<= {ESTIMATES[key]:.2f}", value <= ESTIMATES[key])


def _chance(home: Home, *key: object) -> Random:
    return Random(f"{home.name} {key}")


def _odds(score: float) -> float:
    return 1 / (1 + math.exp(-score))


if __name__ == "__main__":
    sys.exit(main())
