"""Fate of the work of many sessions, in words."""

from __future__ import annotations

from collections.abc import Iterable

from grader_daemon.domain.text import count
from grader_daemon.domain.work_fate import FateWorth, WorkCounts, WorkFate, WorkOutcomes
from grader_daemon.reports.numbers import COMPLETION, estimate_words

_MOST_MODELS = 5
_FATES = {
    WorkFate.REVERTED: "reverted",
    WorkFate.GONE: "gone",
    WorkFate.REWRITTEN: "rewritten",
    WorkFate.KEPT: "still there",
}


def outcomes_words(found: WorkOutcomes) -> str | None:
    """Return "of 41 sessions with commits: 2 reverted, 38 still there, 36 of them after 7 days"; None without any."""
    return _counts_words(found.whole) if found.whole.sessions else None


def models_words(found: WorkOutcomes) -> str | None:
    """Return the same by model; None where there is but one."""
    if len(found.models) < 2:  # noqa: PLR2004  one says what all say
        return None
    told = [f"{each.name}: {_fate_counts(each)} of {each.sessions:,}" for each in found.models[:_MOST_MODELS]]
    more = len(found.models) - _MOST_MODELS
    return "; ".join([*told, f"{count(more, 'more model')}"] if more > 0 else told)


def worth_words(found: Iterable[FateWorth]) -> str:
    """Return how often tasks were done after each fate of their work: "still there 87 % (68 to 96 %) of 23 done"."""
    told = [f"{_FATES[each.fate]} {estimate_words(each.done, COMPLETION)}{_sample(each)}" for each in found]
    return "; ".join(told)


def _sample(worth: FateWorth) -> str:
    return "" if worth.done.value is None else f" of {worth.done.sample:,} done"


def _counts_words(counts: WorkCounts) -> str:
    later = f", {counts.kept_week:,} of them after 7 days" if counts.kept_week else ""
    return f"of {count(counts.sessions, 'session')} with commits: {_fate_counts(counts)}{later}"


def _fate_counts(counts: WorkCounts) -> str:
    known = counts.reverted + counts.gone + counts.rewritten + counts.kept
    said = (
        (counts.reverted, _FATES[WorkFate.REVERTED]),
        (counts.gone, _FATES[WorkFate.GONE]),
        (counts.rewritten, _FATES[WorkFate.REWRITTEN]),
        (counts.sessions - known, "not counted yet"),
        (counts.kept, _FATES[WorkFate.KEPT]),
    )
    return ", ".join(f"{number:,} {words}" for number, words in said if number)
