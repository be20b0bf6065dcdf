"""Words on a request in other sessions, for the page and the terminal."""

from __future__ import annotations

from grader_daemon.domain.similar import FEWEST_PAIRS, PartingCall, Similar, SimilarSession
from grader_daemon.reports.numbers import COMPLETION, count, estimate_words, interval_words
from grader_daemon.reports.phrasing import call
from grader_daemon.reports.safe_text import Words


def asked_words(found: Similar) -> str:
    """Return in how many other sessions the same was asked for."""
    others = found.same + found.near
    if not others:
        return "in no other finished session"
    said = f"in {count(others, 'other session')}: {found.same:,} in the same words, {found.near:,} nearly so"
    return f"{said}; only the newest were looked at" if found.more else said


def completed_words(found: Similar) -> str:
    """Return how often it was completed, of the sessions with a verdict."""
    judged = found.completion.sample
    return f"{estimate_words(found.completion, COMPLETION)}; {judged:,} of {found.same + found.near:,} have a verdict"


def likeness_words(session: SimilarSession) -> str:
    """Return how alike a request is: "the same", "91 % of words"."""
    return "the same" if session.likeness == 1 else f"{100 * session.likeness:.0f} % of words"


def parting_words(found: Similar) -> Words:
    """Return the call at which failed and completed sessions part, or why none is told."""
    if found.pairs < FEWEST_PAIRS:
        return (f"not enough data ({count(found.pairs, 'pair')}, {FEWEST_PAIRS} needed)",)
    if found.parting is None:
        return (f"no call surely tells not done from done ones, in {count(found.pairs, 'pair')}",)
    return _call_words(found.parting)


def _call_words(parting: PartingCall) -> Words:
    who = "the done one" if parting.by_completed else "the one not done"
    odds = f"{parting.times:,} of {count(parting.pairs, 'pair')} ({interval_words(parting.share, COMPLETION)})"
    return (*call(parting.tool, parting.command), f": where two part at it, {who} made it, {odds}")
