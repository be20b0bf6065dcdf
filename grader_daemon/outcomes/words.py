"""Fate of a session, in the words of `show`, `why` and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.text import count
from grader_daemon.outcomes.model import HIDDEN, OutsideState, OwnCheck, SeenFate, Survival, Work
from grader_daemon.outcomes.store import Followed, OutcomesTable
from grader_daemon.storage.sqlite.store import SqliteStore

_NOT_CHECKED: Final = "not all work checked"
_SHOWN: Final = 7
_MOST_COMMITS: Final = 3
_SPANS: Final = ((timedelta(minutes=90), timedelta(minutes=1), "min"), (timedelta(days=2), timedelta(hours=1), "h"))


def lines_of(store: SqliteStore, grade: Grade) -> Iterator[tuple[str, str]]:
    """Yield what became of a session's work, each with what it is about; nothing where nothing is known."""
    followed = OutcomesTable(store).of_session(grade.session_id)
    yield from () if followed is None else told_words(followed)


def told_words(followed: Followed) -> list[tuple[str, str]]:
    """Return what became of a session's work, each line with what it is about."""
    fate = followed.fate
    return [
        *([("in git", "; ".join(told))] if (told := git_words(followed.work, fate)) else []),
        *([("other files", outside_words(fate))] if fate.outside else []),
        *([("checked by agent", check_words(fate.own_check))] if fate.own_check is not None else []),
        *([(_NOT_CHECKED, trouble_words(fate.trouble))] if fate.trouble is not None else []),
    ]


def git_words(work: Work, fate: SeenFate) -> list[str]:
    """Return what became of a session's commits and lines, the gravest first."""
    back = {each.by: each for each in fate.reverted}
    told = [f"reverted {_later(work.ended, each.at)} ({each.by[:_SHOWN]})" for each in back.values()]
    if fate.dropped:
        told.append(f"{count(len(fate.dropped), 'commit')} no longer on any branch ({_names(fate.dropped)})")
    if fate.replaced:
        told.append(f"{count(len(fate.replaced), 'commit')} rewritten, with the lines still there")
    if fate.rewritten is not None and fate.rewritten.commit not in back:
        by = f"({fate.rewritten.commit[:_SHOWN]})"
        told.append(f"{count(fate.rewritten.lines, 'line')} changed {_later(work.ended, fate.rewritten.at)} {by}")
    told += [survival_words(each) for each in fate.survival]
    if fate.commits:
        names = _names(tuple(each.commit for each in fate.commits))
        told.append(f"committed as {names}")
    return told


def survival_words(seen: Survival) -> str:
    """Return how many lines are still there: "41 of 44 lines still there after 7 days"."""
    return f"{seen.kept} of {count(seen.lines, 'line')} still there after {count(seen.age_days, 'day')}"


def trouble_words(trouble: str) -> str:
    """Return why not all work could be checked: "no folder /src, or hidden from the service"."""
    folder = trouble.removesuffix(HIDDEN)
    return trouble if folder == trouble else f"no folder {folder}, or it is hidden from the service"


def check_words(check: OwnCheck) -> str:
    """Return what an agent noted of its last check: "test (full) passed, files edited since"."""
    stale = ", files edited since" if check.is_stale else ""
    return f"{check.kind} ({check.scope}) {'passed' if check.passed else 'failed'}{stale}"


def outside_words(fate: SeenFate) -> str:
    """Return how files outside of git are: "2 still there, 1 changed"."""
    counts = Counter(each.state for each in fate.outside)
    words = {OutsideState.THERE: "still there", OutsideState.CHANGED: "changed", OutsideState.GONE: "gone"}
    return ", ".join(f"{counts[state]} {word}" for state, word in words.items() if counts[state])


def _names(commits: tuple[str, ...]) -> str:
    shown = ", ".join(each[:_SHOWN] for each in commits[:_MOST_COMMITS])
    more = len(commits) - _MOST_COMMITS
    return f"{shown} and {more} more" if more > 0 else shown


def _later(ended: datetime, at: datetime) -> str:
    span = max(at - ended, timedelta(0))
    for limit, length, unit in _SPANS:
        if span < limit:
            return f"{span / length:.0f} {unit} later"
    return f"{span.days} days later"
