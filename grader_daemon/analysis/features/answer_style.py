"""Features of the last result and the answer: rows, hedging, a refusal."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("rows_for_answer", "Rows at both ends of the last result, in work without files.", -0.5, 12),
    Feature("one_row", "The last result is one row.", 0.5),
    Feature("hedges", "Words of doubt in the answer, such as however, likely, should.", -0.5, 12),
    Feature("inability", "The answer says that something could not be done.", -0.5),
)

_HEDGES = frozenset(
    b"however may might should assume assuming approximately likely seems appears probably perhaps possibly".split()
    + b"possible based although unless".split()
)
_UNABLE = frozenset(b"unable cannot cant couldnt unfortunately impossible insufficient limitation limitations".split())
_NOT_DONE = (
    *(b"could not", b"not able", b"not possible", b"failed to", b"do not have", b"dont have", b"did not"),
    b"not enough",
)
_NOT_WORDS = frozenset(b"not failed dont".split())


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    breaks = _line_breaks(window.results[-1].body) if window.results else None
    return (
        0.0 if window.about_files or not breaks else log(breaks),
        float(breaks == 0),
        log(len(window.answer_words & _HEDGES)),
        float(_is_unable(window)),
    )


def _line_breaks(body: str) -> int:
    if "), (" in body:
        return body.count("), (")
    return body.count("\\n") or body.count("\n")


def _is_unable(window: SessionWindow) -> bool:
    found = window.answer_words
    if not _UNABLE.isdisjoint(found):
        return True
    return not _NOT_WORDS.isdisjoint(found) and holds_any(window.answer_plain, _NOT_DONE)
