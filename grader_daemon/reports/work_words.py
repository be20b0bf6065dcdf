"""Fate of the work of many sessions, in words."""

from __future__ import annotations

from grader_daemon.domain.work_fate import WorkCounts, WorkOutcomes
from grader_daemon.reports.numbers import count

_MOST_MODELS = 5


def outcomes_words(found: WorkOutcomes) -> str | None:
    """Return "of 41 sessions with commits: 2 reverted, 38 still there, 36 of them after 7 days"; None without any."""
    return _counts_words(found.whole) if found.whole.sessions else None


def models_words(found: WorkOutcomes) -> str | None:
    """Return the same by model; None where there is but one."""
    if len(found.models) < 2:  # noqa: PLR2004  one says what all say
        return None
    told = [f"{each.name}: {_fates(each)} of {each.sessions:,}" for each in found.models[:_MOST_MODELS]]
    more = len(found.models) - _MOST_MODELS
    return "; ".join([*told, f"{count(more, 'more model')}"] if more > 0 else told)


def _counts_words(counts: WorkCounts) -> str:
    later = f", {counts.kept_week:,} of them after 7 days" if counts.kept_week else ""
    return f"of {count(counts.sessions, 'session')} with commits: {_fates(counts)}{later}"


def _fates(counts: WorkCounts) -> str:
    known = counts.reverted + counts.gone + counts.rewritten + counts.kept
    said = (
        (counts.reverted, "reverted"),
        (counts.gone, "gone"),
        (counts.rewritten, "rewritten"),
        (counts.sessions - known, "not counted yet"),
        (counts.kept, "still there"),
    )
    return ", ".join(f"{number:,} {words}" for number, words in said if number)
