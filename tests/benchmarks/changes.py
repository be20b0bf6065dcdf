"""Whether `grader-daemon changes` tells what a change did, on streams of real sessions whose outcome is known.

Run it as ``python -m tests.benchmarks.changes [--runs N] [--jobs N]`` in the repository, with the recorded sessions
beside it. A stream is 600 sessions, one an hour, drawn with replacement from those of one model in three kinds of work
(the sources of one benchmark, here platforms); they go through the product as a home's do, from finding the change to
telling it. What is known of them is what the product says, by a prior that was trained without this benchmark; or the
outcome, as if people had judged all.

At session 200 the mix of the three kinds moves, at 400 something changes: the model is swapped, or the version of the
agent, which does nothing. The true effect is that on outcomes, in all that sessions are drawn from, at the mix that the
stream has since.
*Naive* is the plain rate of verdicts since less that before. The exit code is 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.setup_changes import SetupEffect, SetupKind
from grader_daemon.patterns.votes import comparable_value
from grader_daemon.skills.setup_effects import effects
from grader_daemon.skills.takeovers import shown_changes
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure
from tests.benchmarks.routing import Done, world
from tests.benchmarks.truth.cases import read_cases
from tests.benchmarks.truth.processes import in_processes

_DATA = Path(__file__).parents[3] / "shared/data"
_BEGAN = datetime(2026, 10, 1, tzinfo=UTC)
_RUNS = 400
_SESSIONS, _SHIFT, _CHANGE = 600, 200, 400
_SOON = 60
_MIXES = ((0.6, 0.3, 0.1), (0.2, 0.3, 0.5))
"""Shares of the kinds of work before and since they move."""

COVERAGE = (0.93, 0.97)
FALSE_SHARE = 0.05
"""A change that does nothing is said to have done something at most so often, but for the noise of the runs."""
FOUND_SHARE = 0.95
"""A fall by 30 points is told so often by the 60th session since."""
_LARGE = -0.3
_HEADINGS = ("swap", "true", "told", "covered", "sure", "sure soon", "naive", "changes found")

Pool = Mapping[str, Sequence[FinishedSession]]
"""The sessions of one model, by their kind of work."""

World = tuple[Mapping[str, Pool], Mapping[str, Pool]]
"""The pools of all models: as the product sees them, and as they were."""


class Swap(msgspec.Struct, frozen=True):
    """What a stream does at its change: the models before and since, and at which session the mix moves."""

    name: str
    before: str
    since: str
    shift: int = _SHIFT


class Run(msgspec.Struct, frozen=True):
    """One stream of a swap; did people judge all of it?"""

    swap: Swap
    seed: int
    is_judged: bool = False


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What was told of a stream: the difference and its interval, whether it was sure, and how it was soon after."""

    found: int
    truth: float
    value: float
    low: float
    high: float
    is_sure: bool
    is_sure_soon: bool
    naive: float


SWAPS = (
    Swap("to a much weaker model", "Claude-Sonnet-4.5", "OpenAI-oss-120B"),
    Swap("to a weaker model", "Claude-Sonnet-4.5", "Gemini-2.5-Flash"),
    Swap("to a slightly weaker model", "Claude-Sonnet-4.5", "Claude-Haiku-4.5"),
    Swap("to an equal model", "Gemini-2.5-Flash", "Qwen3-Next"),
    Swap("of nothing, mix moved before", "Claude-Sonnet-4.5", "Claude-Sonnet-4.5"),
    Swap("of nothing, mix moves with it", "Claude-Sonnet-4.5", "Claude-Sonnet-4.5", _CHANGE),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; gives 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=_RUNS, help="streams of each swap (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    machine.print_machine()
    pools = pools_of(world(read_cases([_DATA / "truth", _DATA / "truth2"], jobs=options.jobs), "gab"))
    figures = list[Figure]()
    for is_judged in (False, True):
        known = "the word of people" if is_judged else "automatic verdicts"
        print(f"\nKnown by {known}\n")
        rows = []
        for swap in SWAPS:
            runs = [Run(swap, seed, is_judged) for seed in range(options.runs)]
            told = in_processes(tell, pools, runs, jobs=options.jobs)
            rows.append(_row(swap, told))
            figures += _figures(f"{swap.name}, {known}", swap, told, is_judged=is_judged)
        machine.print_table(_HEADINGS, rows)
    print("\n## Targets\n")
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def pools_of(sessions: Sequence[Done]) -> World:
    """Return the sessions of each model by kind of work; each is a request of its own, because it is drawn anew."""
    seen: dict[str, dict[str, list[FinishedSession]]] = {}
    judged: dict[str, dict[str, list[FinishedSession]]] = {}
    for done in sessions:
        kind = done.seen.session_id.partition("-")[0]
        session = done.seen._replace(platform=kind, request=None, agent="hermes", agent_version="1")
        seen.setdefault(session.model, {}).setdefault(kind, []).append(session)
        word = session._replace(completed=done.completed, judged=True, unsure=False)
        judged.setdefault(session.model, {}).setdefault(kind, []).append(word)
    return seen, judged


def tell(pools: World, run: Run) -> Told:
    """Return what the product tells of one stream."""
    sessions = _stream(pools[run.is_judged], run)
    effect, found = _effect_of(sessions)
    soon, _ = _effect_of(sessions[: _CHANGE + _SOON])
    change = effect.completion.change
    if change.value is None or change.low is None or change.high is None:
        raise AssertionError(effect)
    rates = [statistics.fmean(each.completed for each in part) for part in (sessions[:_CHANGE], sessions[_CHANGE:])]
    return Told(
        found=found,
        truth=true_effect(pools[1], run.swap, sessions[_CHANGE:]),
        value=change.value,
        low=change.low,
        high=change.high,
        is_sure=effect.is_sure,
        is_sure_soon=soon.is_sure,
        naive=rates[1] - rates[0],
    )


def true_effect(pools: Mapping[str, Pool], swap: Swap, since: Sequence[FinishedSession]) -> float:
    """Return by how much completion differs at the mix of sessions, -1 to 1; `pools` are of outcomes."""
    before, after = _by_work(pools[swap.before]), _by_work(pools[swap.since])
    shared = [work for session in since if (work := _work(session)) in before]
    return statistics.fmean(after[work] - before[work] for work in shared)


def _by_work(pool: Pool) -> dict[tuple[str, str | None], float]:
    found: dict[tuple[str, str | None], list[bool]] = {}
    for session in (session for sessions in pool.values() for session in sessions):
        found.setdefault(_work(session), []).append(session.completed)
    return {work: statistics.fmean(completed) for work, completed in found.items()}


def _work(session: FinishedSession) -> tuple[str, str | None]:
    return session.task_type, session.platform


def _stream(pools: Mapping[str, Pool], run: Run) -> list[FinishedSession]:
    chance = random.Random(f"{run.swap.name} {run.seed}")
    sessions = []
    for number in range(_SESSIONS):
        pool = pools[run.swap.since if number >= _CHANGE else run.swap.before]
        [kind] = chance.choices(sorted(pool), _MIXES[number >= run.swap.shift])
        is_nothing = run.swap.before == run.swap.since
        sessions.append(
            chance.choice(pool[kind])._replace(
                session_id=str(number),
                ended_at=_BEGAN + timedelta(hours=number),
                agent_version="2" if is_nothing and number >= _CHANGE else "1",
            )
        )
    return sessions


def _effect_of(sessions: Sequence[FinishedSession]) -> tuple[SetupEffect, int]:
    """Return the effect of the change at its place, and how many changes were found."""
    changes = shown_changes(sessions)
    found = effects(
        changes,
        sessions,
        comparable_value(sessions, {each.session_id for each in sessions if each.judged}),
        since=_BEGAN,
    )
    at = _BEGAN + timedelta(hours=_CHANGE)
    [effect] = [each for each in found if each.changes[0].at == at]
    if not any(change.kind in {SetupKind.MODEL, SetupKind.AGENT_VERSION} for change in effect.changes):
        raise AssertionError(effect)
    return effect, len(changes)


def _row(swap: Swap, told: Sequence[Told]) -> tuple[str, ...]:
    return (
        swap.name,
        f"{statistics.fmean(each.truth for each in told):+.3f}",
        f"{statistics.fmean(each.value for each in told):+.3f}",
        f"{_covered(told):.3f}",
        f"{statistics.fmean(each.is_sure for each in told):.3f}",
        f"{statistics.fmean(each.is_sure_soon for each in told):.3f}",
        f"{statistics.fmean(each.naive for each in told):+.3f}",
        f"{statistics.fmean(each.found for each in told):.2f}",
    )


def _covered(told: Sequence[Told]) -> float:
    return statistics.fmean(each.low <= each.truth <= each.high for each in told)


def _figures(name: str, swap: Swap, told: Sequence[Told], *, is_judged: bool) -> list[Figure]:
    """Return what is asked of a swap; of probabilities, which vary less than outcomes, only that they cover enough."""
    covered, low = _covered(told), COVERAGE[0]
    high = COVERAGE[1] if is_judged else 1.0
    figures = [Figure(f"{name}: coverage", f"{covered:.3f}", f"{low:g} to {high:g}", met=low <= covered <= high)]
    if swap.before == swap.since:
        sure = statistics.fmean(each.is_sure for each in told)
        figures.append(machine.at_most(f"{name}: claimed", sure, target=FALSE_SHARE, unit="", digits=3))
    if statistics.fmean(each.truth for each in told) <= _LARGE:
        soon = statistics.fmean(each.is_sure_soon for each in told)
        figures.append(
            Figure(f"{name}: told within {_SOON}", f"{soon:.3f}", f">= {FOUND_SHARE:g}", met=soon >= FOUND_SHARE)
        )
    return figures


if __name__ == "__main__":
    sys.exit(main())
