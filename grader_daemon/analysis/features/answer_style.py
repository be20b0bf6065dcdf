"""What the last result and the answer look like: length, rows, structure, hedging."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("rows", "Rows in both ends of the last result.", 0, 12),
    Feature("rows_for_answer", "The same where no files are worked on.", -0.5, 12),
    Feature("one_row", "The last result is one row.", 0.5),
    Feature("same_rows", "Share of rows in the last result that occur twice."),
    Feature("last_result", "Characters of the last result.", 0, 12),
    Feature("last_over_usual", "Length of the last result over itself and the usual one."),
    Feature("usual_result", "Characters of a result, on average.", 0, 12),
    Feature("hedges", "Words such as however, likely, should in the answer.", -0.5, 12),
    Feature("inability", "The answer says that something could not be done.", -0.5),
    Feature("success_words", "The answer speaks of success."),
    Feature("answer", "Characters of the answer.", 0, 12),
    Feature("answer_over_usual", "Length of the answer over itself and that of the agent's usual text."),
    Feature("usual_text", "Characters of the agent's usual text.", 0, 12),
    Feature("told", "The answer tells what has been done.", 0),
    Feature("lines", "Lines of the answer.", 0, 12),
    Feature("bullets", "Bullets in the answer.", 0, 12),
    Feature("bold", "Words in bold in the answer.", 0, 12),
    Feature("headings", "Headings in the answer.", 0, 12),
    Feature("code", "The answer holds a block of code."),
    Feature("brackets", "Brackets in the answer.", 0, 12),
    Feature("exclamations", "Exclamation marks in the answer.", 0, 12),
    Feature("beyond_ascii", "The answer holds characters beyond ASCII."),
    Feature("varied_words", "Distinct words of the answer as a share of all its words."),
    Feature("digits", "Share of the answer's distinct words that are numbers."),
    Feature("conditions", "The answer says should, or, if."),
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
_TOLD = frozenset(b"ive been".split())
_NOT_WORDS = frozenset(b"not failed dont".split())
_SUCCESS = frozenset(b"success successful successfully perfect perfectly excellent".split())
_CONDITIONS = frozenset(b"should or if".split())


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    return (*_of_results(window), *_of_words(window), *_of_structure(window))


def _of_results(window: SessionWindow) -> tuple[float, ...]:
    results = window.results
    if not results:
        return (0.0,) * 7
    rows = _rows(results[-1].body)
    last = results[-1].length
    usual = sum([result.length for result in results]) // len(results)
    repeated = share(len(rows) - len(set(rows)), len(rows))
    count = log(len(rows) - 1)
    return (
        count,
        0.0 if window.about_files else count,
        float(len(rows) == 1),
        repeated,
        log(last),
        _over(last, usual),
        log(usual),
    )


def _rows(body: str) -> list[str]:
    if "), (" in body:
        return body.split("), (")
    return body.split("\\n" if "\\n" in body else "\n")


def _of_words(window: SessionWindow) -> tuple[float, ...]:
    found = window.answer_words
    usual = sum(map(len, window.said)) // len(window.said) if window.said else 0
    return (
        log(len(found & _HEDGES)),
        float(_is_unable(window)),
        float(not _SUCCESS.isdisjoint(found)),
        log(window.answer_length),
        _over(window.answer_length, usual),
        log(usual),
        float(not _TOLD.isdisjoint(found)),
    )


def _is_unable(window: SessionWindow) -> bool:
    found = window.answer_words
    if not _UNABLE.isdisjoint(found):
        return True
    return not _NOT_WORDS.isdisjoint(found) and holds_any(window.answer_plain, _NOT_DONE)


def _of_structure(window: SessionWindow) -> tuple[float, ...]:
    answer = window.answer
    return (
        log(answer.count("\n")),
        log(answer.count("\n- ") + answer.count("\n* ")),
        log(answer.count("**")),
        log(answer.count("\n#")),
        float("```" in answer),
        log(answer.count("(")),
        log(answer.count("!")),
        float(not answer.isascii()),
        share(len(window.answer_words), len(window.answer_tokens)),
        share(len(window.answer_numbers), len(window.answer_words)),
        float(not _CONDITIONS.isdisjoint(window.answer_words)),
    )


def _over(one: int, usual: int) -> float:
    return share(one, one + usual)
