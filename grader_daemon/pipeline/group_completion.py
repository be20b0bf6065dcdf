"""Completion of groups of sessions as random labels on their own sessions tell it."""

from __future__ import annotations

from datetime import date
from typing import Final

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.counting import groups_of
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FEWEST_DRAWN, Label
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.patterns.completion_estimate import WINDOW_DAYS, estimate_completion
from grader_daemon.patterns.groups import Completions, GroupSums
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.storage.sqlite.store import SqliteStore

_Name = tuple[Dimension, str]
_OVERALL: Final = (Dimension.OVERALL, "")
_LONGEST_EVEN_DAYS: Final = WINDOW_DAYS
"""In a longer span it tells when the first session ended."""


def completion_of(
    store: SqliteStore, sums: Sums, span: Span, *, guess: float | None = None, without: str | None = None
) -> Estimate:
    """Estimate the completion of all sessions of a span by labels, or by a person's guess where these are too few.

    `without` is the id of a session whose label is left out.
    """
    counted = [label for label in labels(store) if label.session_id != without]
    return estimate_completion(sums, counted, span, guess=guess, began=_began(store, span))


def completions(store: SqliteStore, sums: GroupSums, span: Span, *, guess: float | None = None) -> Completions:
    """Estimate the completion of each group of a span that has labels, as `completion_of` does of all sessions.

    Of all sessions alone where they have too few labels for one group; of these a person's guess is.
    """
    found, began = _labels_of(store, span), _began(store, span)
    if sum(label.drawn_at_random for label in found) < FEWEST_DRAWN:
        whole = sums.get(_OVERALL, Sums())
        return {_OVERALL: estimate_completion(whole, found, span, guess=guess, began=began)}
    return {
        name: estimate_completion(sums[name], of_group, span, guess=guess if name == _OVERALL else None, began=began)
        for name, of_group in _by_group(store, found).items()
        if name in sums
    }


def _labels_of(store: SqliteStore, span: Span) -> list[Label]:
    """Return the labels on tasks that ended in a span, or in the weeks before that count."""
    first = min(span.first, date.fromordinal(max(1, span.last.toordinal() - WINDOW_DAYS))).isoformat()
    last = span.last.isoformat()
    return [each for each in labels(store) if each.completed is not None and first <= each.ended_on <= last]


def _by_group(store: SqliteStore, found: list[Label]) -> dict[_Name, list[Label]]:
    user_of = {host.host: host.user for host in store.fleet.hosts() if host.user is not None}
    grades = store.grades.stored([label.session_id for label in found])
    groups: dict[_Name, list[Label]] = {}
    for label in found:
        stored = grades.get(label.session_id)
        for name in () if stored is None else groups_of(stored.grade):
            groups.setdefault(name, []).append(label)
            if name[0] is Dimension.HOST and name[1] in user_of:
                groups.setdefault((Dimension.USER, user_of[name[1]]), []).append(label)
    return groups


def _began(store: SqliteStore, span: Span) -> date | None:
    """Return the day of the first session, where a span is so long that it tells."""
    ended = store.rollups.days_with_sessions() if span.days > _LONGEST_EVEN_DAYS else []
    return ended[0] if ended else None
