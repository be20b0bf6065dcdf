"""The completion rate of a span as people would give it, by labels on sessions that `label` drew by chance.

Without enough of them it is not known: a mean of predictions follows the style of answers more than their success. See
`corrected_rate` for how labels put predictions right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from grader_daemon.domain.calendar import Span, days_before
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FEWEST_DRAWN, Label
from grader_daemon.domain.rollup import Sums
from grader_daemon.domain.verdict import prediction
from grader_daemon.patterns.corrected_rate import Drawn, Labels, Level, Sessions, corrected_rate, unevenness_of

WINDOW_DAYS: Final = 56
"""The labels of so many days, up to the end of a span, say how far off its predictions are."""

GUESS_WORTH: Final = 8.0
"""A person's guess of the level counts as so many labels: it is off by 15 points or more one time in three."""

_WEEK: Final = 7


def estimate_completion(
    sums: Sums, labels: Sequence[Label], span: Span, *, guess: float | None = None, began: date | None = None
) -> Estimate:
    """Estimate the share of the judged sessions of `span` that people would call completed, 0 to 1.

    `sums` are of all sessions of the span or of a group, `labels` of any of them, whenever. Sessions that a person
    judged, or that were cut short, count as judged; those that were stopped or left in the middle not at all; the
    others by their predictions and by sessions drawn by chance in the `WINDOW_DAYS` up to its end, or in the span, if
    that is longer. `sample` is how many those are. Below `FEWEST_DRAWN` there is no value, or that of a person's
    `guess` of the rate and these few. `began` is the day of the first session ever, if that is later than the span
    begins.
    """
    drawn = _drawn(labels, span, began)
    if len(drawn.all) >= FEWEST_DRAWN:
        return corrected_rate(drawn, _sessions(sums, labels, span))
    if guess is not None:
        return corrected_rate(drawn, _sessions(sums, labels, span), guess=Level(guess, GUESS_WORTH))
    return Estimate(sample=len(drawn.all))


def _sessions(sums: Sums, labels: Sequence[Label], span: Span) -> Sessions:
    """Return how many sessions are certain, and what is predicted of the rest; sums may be older than labels."""
    judged = [label for label in _within(labels, span) if label.completed is not None]
    completed = sum(bool(label.completed) for label in judged)
    scored = [label for label in judged if label.has_scores]
    rest = max(0, sums.scored - len(scored))
    predicted = sums.predicted - sum(_prediction(label) for label in scored)
    return Sessions(
        rest=rest,
        predicted=min(float(rest), max(0.0, predicted)),
        judged=max(len(judged), sums.judged - rest),
        completed=completed,
    )


def _drawn(labels: Sequence[Label], span: Span, began: date | None) -> Labels:
    """Return the labels that tell how far predictions are off: of the span, and of the weeks of the window before."""
    first = span.first if began is None else min(max(span.first, began), span.last)
    fair = [label for label in labels if label.completed is not None and _is_fair(label)]
    own = list(_within(fair, span))
    days = [(date.fromisoformat(label.ended_on) - first).days for label in own]
    return Labels(
        own=[Drawn(bool(label.completed), _prediction(label)) for label in own],
        older=[[Drawn(bool(label.completed), _prediction(label)) for label in week] for week in _weeks(fair, span)],
        unevenness=unevenness_of(days, (span.last - first).days + 1),
    )


def _is_fair(label: Label) -> bool:
    return label.drawn_at_random and label.has_scores and not label.went_on


def _weeks(labels: Sequence[Label], span: Span) -> Iterator[list[Label]]:
    """Yield those of each week of the window before the span, the last week first."""
    first, end = days_before(span.last, WINDOW_DAYS - 1), span.first
    while end > first:
        start = max(first, days_before(end, _WEEK))
        yield list(_within(labels, Span(start, days_before(end, 1))))
        end = start


def _within(labels: Iterable[Label], span: Span) -> Iterator[Label]:
    """Yield those of finished sessions that ended then; side sessions are in no sums either."""
    first, last = span.first.isoformat(), span.last.isoformat()
    finished = (label for label in labels if label.is_finished and label.is_persons)
    return (label for label in finished if first <= label.ended_on <= last)


def _prediction(label: Label) -> float:
    return prediction(label.p_completed, completed=label.automatic_completed)
