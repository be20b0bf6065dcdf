"""Sentences on the work before and since a change: always "since", for nobody knows that it was "because"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Final

from grader_daemon.domain.calendar import local
from grader_daemon.domain.feedback import FEWEST_DRAWN
from grader_daemon.domain.setup_changes import FEWEST_SESSIONS, WINDOW, SetupChange, SetupChanges, SetupEffect, Unsteady
from grader_daemon.domain.text import count
from grader_daemon.reports.change_words import SUBJECTS, change_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    COMPLETION,
    Direction,
    direction_of,
    estimate_words,
    points_words,
    scheduled_words,
)
from grader_daemon.reports.phrasing import day, moment
from grader_daemon.reports.safe_text import Words, joined, name

ENOUGH_LABELS: Final = 50
"""Labels on each side that detect a change of 20 points in about two of three cases (tests.benchmarks.changes)."""

_MOST_NAMED: Final = 5
"""Most changes that a sentence names."""


def effect_title(effect: SetupEffect) -> Words:
    """Return what is told of a change in a line."""
    return (*_difference(effect), "since ", *change_words(effect.changes[0]))


def effect_lines(effect: SetupEffect, zone: tzinfo | None = UTC) -> Iterator[Words]:
    """Yield when it was, what the difference rests on, and what else changed; times are in `zone`."""
    figure = effect.completion
    sessions = f"{count(effect.sessions_before, 'session')} before, {effect.sessions_after:,} since"
    if _lacks_labels(effect):
        yield (f"{moment(effect.changes[0].at, zone)}; {sessions}, for task types with sessions on both sides.",)
        needed = f"A comparison needs about {ENOUGH_LABELS} random labels on each side, at least {FEWEST_DRAWN}"
        yield (f"{needed}: {_missing_labels(effect)}. Next: grader-daemon label.",)
    elif figure.change.value is None:
        yield (f"{moment(effect.changes[0].at, zone)}; {sessions}, for task types with sessions on both sides.",)
        yield (f"{FEWEST_SESSIONS} requests are needed on each side: {_missing(effect)}.",)
    else:
        rates = f"{estimate_words(figure.before, COMPLETION)} before, {estimate_words(figure.now, COMPLETION)} since"
        yield (f"{moment(effect.changes[0].at, zone)}; {sessions}; completion {rates}{_by(effect)}.",)
    yield from _facts(effect)
    if effect.changes[1:]:
        yield ("At the same time: ", *_named(effect.changes[1:]), ".")
    if effect.meanwhile:
        yield ("Also in the compared time: ", *_named(effect.meanwhile), ".")


def examined_words(changes: SetupChanges, zone: tzinfo | None = UTC) -> str:
    """Return the number of examined tasks, and their period; its first day is the one in `zone`."""
    tasks = f"{count(changes.sessions, 'finished task')} examined{scheduled_words(changes.scheduled)}"
    return f"{tasks}, since {day(local(changes.since, zone).date())} and in the {WINDOW.days // 7} weeks before."


def basis_words(effects: Iterable[SetupEffect]) -> str | None:
    """Return what differences that rest on probabilities are worth; None where none does."""
    if any(effect.by_words is False and effect.completion.change.value is not None for effect in effects):
        return (
            "Compared by probabilities, not by labels: effects look much too small, and a model that only sounds"
            " more certain seems better. To improve this: grader-daemon label."
        )
    return None


def unsteady_words(unsteady: Unsteady) -> Words:
    """Return why no change of something is told."""
    whose: Words = () if unsteady.agent is None else (" of ", name(unsteady.agent))
    differs = (
        f" differs in most sessions ({unsteady.values:,} in {unsteady.sessions:,}), so single changes are not shown."
    )
    subject = SUBJECTS[unsteady.kind]
    return (subject[0].upper() + subject[1:], *whose, differs)


def _facts(effect: SetupEffect) -> Iterator[Words]:
    """Yield how many sessions ended badly on both sides, whether that is a difference, and where it began before.

    Nothing where too few.
    """
    bad = effect.ended_badly
    if bad.change.value is None:
        return
    course = "more" if bad.change.value > 0 else "fewer"
    verdict = f"clearly {course}" if effect.facts_differ else "no clear difference"
    if effect.together_differ and not effect.facts_differ and not effect.is_sure:
        verdict = f"{verdict} alone; with completion, {points_words(effect.completion, COMPLETION)}, clear"
    before, since = (estimate_words(one, BAD_ENDINGS) for one in (bad.before, bad.now))
    yield (f"Bad endings {before} before, {since} since: {verdict}.",)
    slope = effect.slope_before
    if slope.change.low is not None and slope.change.high is not None and slope.change.low * slope.change.high > 0:
        course = "rose" if slope.change.low > 0 else "fell"
        earlier, later = (estimate_words(one, BAD_ENDINGS) for one in (slope.before, slope.now))
        yield (f"Bad endings already {course} before the change: first {earlier}, then {later}.",)


def direction_told(effect: SetupEffect) -> Direction | None:
    """Return whether results got better or worse by what is told; None where nothing is told, or too little known."""
    if effect.is_sure:
        return direction_of(effect.completion, COMPLETION)
    if effect.facts_differ:
        return direction_of(effect.ended_badly, BAD_ENDINGS)
    if effect.together_differ:
        return Direction.BETTER if (effect.completion.change.value or 0.0) > 0 else Direction.WORSE
    return None


def _difference(effect: SetupEffect) -> Words:
    if not effect.is_sure and effect.facts_differ:
        return (f"Bad endings {points_words(effect.ended_badly, BAD_ENDINGS)} ",)
    if not effect.is_sure and effect.together_differ:
        return (f"Clearly {direction_told(effect)} by bad endings and completion together ",)
    if _lacks_labels(effect):
        return ("Too few labels to compare completion ",)
    if effect.completion.change.value is None:
        return ("Too few sessions to compare ",)
    points = points_words(effect.completion, COMPLETION)
    return (f"{points} ",) if effect.is_sure else (f"No sure difference, {points}, ",)


def _by(effect: SetupEffect) -> str:
    """Return what rates rest on; of labels drawn by chance they count these."""
    figure = effect.completion
    if effect.by_words and effect.sessions_before > figure.before.sample:
        return f", by {figure.before.sample} and {figure.now.sample} random labels, mix corrected"
    return ", mix corrected"


def _lacks_labels(effect: SetupEffect) -> bool:
    return bool(effect.labels_missing_before or effect.labels_missing_after)


def _missing_labels(effect: SetupEffect) -> str:
    missing = ((effect.labels_missing_before, "before"), (effect.labels_missing_after, "since"))
    return ", ".join(f"{number} more {side}" for number, side in missing if number)


def _missing(effect: SetupEffect) -> str:
    missing = ((effect.missing_before, "before"), (effect.missing_after, "since"))
    return ", ".join(f"{number} more {side}" for number, side in missing if number)


def _named(changes: Sequence[SetupChange]) -> Words:
    said = [change_words(change) for change in changes]
    more = len(said) - _MOST_NAMED
    return (*joined(said[:_MOST_NAMED], "; "), f"; and {more} more" if more > 0 else "")
