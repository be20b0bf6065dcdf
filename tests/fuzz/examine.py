"""One input through everything that reads what an agent wrote down: parse, analyze, grade, redact.

What must hold for any bytes is asserted here; property tests and the fuzzer bring the bytes.
"""

from __future__ import annotations

import re
from datetime import UTC
from functools import lru_cache

import msgspec

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import LONGEST_NAME, MOST_SIGNS, MOST_TOOLS
from grader_daemon.domain.session import Session, Skipped
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.errors import ParseError
from grader_daemon.grading import Grader
from grader_daemon.redaction import SECRETS_AND_ADDRESSES
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.snapshot import parse
from grader_daemon.storage.sqlite.rows import failure_rows, grade_row
from tests.strategies import NOW

_PATH = "/home/kim/.timmy/sessions/session_fuzzed.json"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def examine(content: bytes) -> Session | Skipped | ParseError:
    """Read a file's content; a session is graded, and what is kept of it checked."""
    SECRETS_AND_ADDRESSES.redact(content.decode("utf-8", "surrogateescape"))
    try:
        read = parse(content, _PATH, zone=UTC)
    except ParseError as error:
        _check_line(str(error))
        return error
    if isinstance(read, Session):
        grade(read)
    return read


def grade(session: Session) -> Grade:
    """Analyse and grade a session, and check what is kept."""
    analyzer, grader = _stages()
    for idle in (False, True):
        analysis = analyzer.analyze(session, idle=idle)
        grade = grader.grade(session, analysis, now=NOW, written_at=NOW)
        _check_analysis(analysis)
        _check_grade(grade)
    return grade


@lru_cache(maxsize=1)
def _stages() -> tuple[Analyzer, Grader]:
    rules = load_rules()
    return Analyzer(rules), Grader(rules, CompletionPolicy(), zone=UTC)


def _check_line(text: str) -> None:
    assert text.isprintable(), text
    assert len(text) < 1000


def _check_analysis(analysis: Analysis) -> None:
    if analysis.task_summary is not None:
        _check_line(analysis.task_summary)
        assert len(analysis.task_summary) <= 200
    fingerprints = {sign.fingerprint for sign in analysis.signs}
    assert {failure.fingerprint for failure in analysis.failures} - {None} == fingerprints
    assert len(analysis.signs) <= MOST_SIGNS
    assert len(analysis.tools) <= MOST_TOOLS + 1
    assert all(len(use.tool) <= LONGEST_NAME for use in analysis.tools)
    for sign in analysis.signs:
        for text in (sign.signal, sign.example, sign.tool or "", sign.command or ""):
            assert not _CONTROL.search(text)


def _check_grade(grade: Grade) -> None:
    assert 1 <= grade.tool_calls_efficient <= 5
    assert 1 <= grade.response_quality <= 5
    assert (grade.score is None) == (not grade.has_scores)
    assert grade.score is None or 1.0 <= grade.score <= 5.0
    assert grade.total_errors == len(grade.errors) <= len(grade.failures)
    msgspec.json.encode((grade_row(grade), failure_rows(grade)))
