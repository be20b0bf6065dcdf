"""Words on a request in other sessions, for the page and the terminal."""

from __future__ import annotations

from grader_daemon.domain.similar import Similar, SimilarSession
from grader_daemon.reports.numbers import count


def asked_words(found: Similar) -> str:
    """Return in how many other sessions the same was asked for."""
    others = found.same + found.near
    if not others:
        return "in no other finished session"
    said = f"in {count(others, 'other session')}: {found.same:,} in the same words, {found.near:,} in nearly the same"
    return f"{said}; only the newest were searched" if found.more else said


def likeness_words(session: SimilarSession) -> str:
    """Return how alike a request is: "the same", "91 % the same"."""
    return "the same" if session.likeness == 1 else f"{100 * session.likeness:.0f} % the same"
