"""The completion rate as people would give it: all automatic verdicts, put right by a few sessions drawn at random.

A verdict by rule or model can be wrong in one direction, however many there are. A session that `review` drew by chance
and a person judged tells how far off it is. Together they give a rate without that error, and a narrower interval than
the few labels alone. Sources: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382 (2023), for
prediction-powered inference; Angelopoulos, Duchi and Zrnic, arXiv:2311.01453 (2023), for the weight of the automatic
verdicts; Korn and Graubard, Survey Methodology 24 (1998), for Wilson's interval at an effective sample size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.estimate import Estimate, effective_proportion
from grader_daemon.domain.feedback import FEWEST_DRAWN, FEWEST_REVIEWS, Label
from grader_daemon.domain.rollup import Sums

WINDOW_DAYS: Final = 56
"""The labels of so many days, up to the end of a span, say how far off the automatic verdicts are."""
_PRIOR: Final = 1.0
"""Sessions' worth of doubt that the automatic verdicts tell anything, and that they are never wrong."""

_FITTED: Final = 2
"""Numbers that are taken from the sessions drawn: their rate, and the weight."""

Pair = tuple[bool, bool]
"""A person's label on a session, and the automatic verdict on it."""


def estimate_completion(sums: Sums, labels: Sequence[Label], span: Span) -> Estimate:
    """Estimate the share of the judged sessions of `span` that people would call completed, 0 to 1.

    `sums` are of all sessions of the span, `labels` of any. Sessions that a person judged, or that were cut short,
    count as judged; those that were stopped or left in the middle not at all; the others by what the sessions drawn
    at random in the `WINDOW_DAYS` up to its end (or in the span, if that is longer) say of the automatic verdicts: it
    is taken that these err alike all that time. `sample` is how many those are; no value below `FEWEST_DRAWN`.
    """
    judged = [label for label in _within(labels, span) if label.completed is not None]
    completed = sum(bool(label.completed) for label in judged)
    window = Span(min(span.first, _days_before(span.last, WINDOW_DAYS - 1)), span.last)
    drawn = [
        (label.completed, label.automatic_completed)
        for label in _within(labels, window)
        if label.completed is not None and label.drawn_at_random and label.has_scores and not label.went_on
    ]
    if len(drawn) < FEWEST_DRAWN:
        return Estimate(sample=len(drawn))
    rest = max(0, sums.scored - sum(label.has_scores for label in judged))
    said = min(rest, max(0, sums.completed - completed))
    return bias_corrected(drawn, rest=rest, said=said, judged=max(len(judged), sums.judged - rest), completed=completed)


def bias_corrected(drawn: Sequence[Pair], *, rest: int, said: int, judged: int, completed: int) -> Estimate:
    """Estimate the rate among `judged` sessions, of which `completed` were, and `rest` that nobody judged.

    Of the rest, `said` are completed by their automatic verdict. The interval covers the rate of just these sessions:
    what is judged is certain, and the more of them are, the narrower it is.
    """
    sample, sessions = len(drawn), rest + judged
    if sample < FEWEST_REVIEWS or not sessions:
        return Estimate(sample=sample)
    truth = sum(told for told, _ in drawn) / sample
    verdicts = sum(verdict for _, verdict in drawn) / sample
    weight, gain = _worth(drawn, truth, verdicts)
    of_rest = min(1.0, max(0.0, truth + weight * (said / rest - verdicts))) if rest else 0.0
    rate = (completed + rest * of_rest) / sessions
    if not rest:
        return Estimate(value=rate, low=rate, high=rate, sample=sample)
    worth = (sample - _FITTED) * gain
    # The rest is a sample too: its own mean lies off that of all sessions alike, by a variance of 1 / rest.
    low, high = effective_proportion(of_rest, worth * rest / (worth + rest))
    return Estimate(
        value=rate,
        low=(completed + rest * low) / sessions,
        high=(completed + rest * high) / sessions,
        sample=sample,
    )


def _worth(drawn: Sequence[Pair], truth: float, verdicts: float) -> tuple[float, float]:
    """Return the weight of the automatic verdicts, 0 to 1, and how many labels one label is worth thanks to them.

    The weight is what makes the variance least, drawn towards 0: then the labels speak alone.
    """
    sample = len(drawn)
    of_verdicts = sample * verdicts * (1 - verdicts)
    of_truth = sample * truth * (1 - truth)
    together = sum(told and verdict for told, verdict in drawn) - sample * truth * verdicts
    weight = max(0.0, together / (of_verdicts + _PRIOR))
    left = of_truth - 2 * weight * together + weight * weight * of_verdicts
    return weight, (of_truth + _PRIOR) / (left + _PRIOR)


def _within(labels: Iterable[Label], span: Span) -> list[Label]:
    """Return those of finished sessions that ended then; side sessions are in no sums either."""
    first, last = span.first.isoformat(), span.last.isoformat()
    finished = (label for label in labels if label.is_finished and label.is_persons)
    return [label for label in finished if first <= label.ended_on <= last]


def _days_before(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))
