"""Report of a session as Markdown for an issue: redacted, and nothing of the session becomes markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from grader_daemon._version import __version__
from grader_daemon.api.said_and_happened import Happened, SaidAndHappened
from grader_daemon.domain.analysis import Failure, FailureKind
from grader_daemon.domain.claims import Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.text import clean, count
from grader_daemon.reports.session_words import (
    KIND_WORDS,
    agent_words,
    claim_words,
    ending_words,
    standing_sentence,
    why_words,
)
from grader_daemon.reports.story import messages_against
from grader_daemon.reports.verdicts import outcome_words

_CLAIMS: Final = 5
_FAILURES: Final = 10
_LONGEST: Final = 160
_TICKS: Final = re.compile("`+")


def bug_report(grade: Grade, told: Sequence[SaidAndHappened]) -> str:
    """Return a report of a session; `told` are its claims as `said_and_happened` has them."""
    return "\n".join(_lines(grade, told)) + "\n"


def _lines(grade: Grade, told: Sequence[SaidAndHappened]) -> Iterator[str]:
    yield f"# {_code(grade.task_summary or grade.session_id)}"
    yield ""
    program = " ".join(filter(None, (agent_words(grade), grade.agent_version)))
    about = [_code(each) for each in (grade.session_id, program, grade.model) if each]
    ended_at = f"{grade.ended_at or grade.graded_at:%Y-%m-%d %H:%M} UTC"
    calls = f"{count(grade.tool_calls, 'tool call')}, {grade.total_errors:,} failed"
    yield f"- Session {', '.join([*about, ended_at, calls])}"
    yield f"- Verdict: {outcome_words(grade.outcome)}"
    yield from (f"- {name}: {words}" for name, words in _stands(grade) if words)
    open_claims = [each for each in told if each.claim.support is not Support.VERIFIED]
    if open_claims:
        yield from ("", "## Claims and evidence")
    for each in open_claims[:_CLAIMS]:
        yield from _claim(each)
    if grade.failures:
        yield from ("", "## Failed calls", "")
    against = messages_against(grade)
    for failure in sorted(grade.failures, key=lambda each: _rank(each, against))[:_FAILURES]:
        yield f"- message {failure.index}: {_failed(failure, against)}"
    more = len(grade.failures) - _FAILURES
    if more > 0:
        yield f"- and {more:,} more"
    yield from ("", f"Written by grader-daemon {__version__} from the session's own record, without secrets.")


def _rank(failure: Failure, against: Collection[int]) -> tuple[bool, bool, int]:
    """Return the place of a failure: first what a claim is contradicted by, then what was never fixed."""
    return failure.index not in against, failure.kind is not FailureKind.HARMFUL, failure.index


def _failed(failure: Failure, against: Collection[int]) -> str:
    called = _code(" ".join(filter(None, (failure.tool or "a tool", failure.command))))
    contradicts = ", contradicts a claim" if failure.index in against else ""
    return f"{called}, {failure.words}, {KIND_WORDS[failure.kind]}{contradicts}"


def _stands(grade: Grade) -> tuple[tuple[str, str | None], ...]:
    return ("Ending", ending_words(grade)), ("Result", standing_sentence(grade))


def _claim(told: SaidAndHappened) -> Iterator[str]:
    claim = told.claim
    why = why_words(claim) or "no call shows it"
    where = f" (message {claim.evidence[-1]})" if claim.evidence else ""
    yield ""
    said = _code(claim.words or claim_words(claim))
    yield f"Message {claim.index} says {said}. {claim.support.capitalize()}: {why}{where}."
    if told.happened is not None:
        yield ""
        yield from _quoted(told.happened)


def _quoted(happened: Happened) -> Iterator[str]:
    lines = happened.as_in_a_terminal
    longest = max((len(ticks) for line in lines for ticks in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, *map(clean, lines), fence)


def _code(text: str) -> str:
    """Return a text as code on a line, which no sign in it can end."""
    line = _cut(clean(" ".join(text.split())))
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _cut(line: str) -> str:
    """Return a line that is not too long, cut between words if it has any."""
    if len(line) <= _LONGEST:
        return line
    begun = line[: _LONGEST - 1]
    return f"{begun.rpartition(' ')[0] or begun}…"
