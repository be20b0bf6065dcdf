"""Grades as tables for people, and as lines for programs."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from grader_daemon.api.documents import GRADE_NAMES, grade_document
from grader_daemon.api.grades import StoredGrade
from grader_daemon.cli import output
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import clean, escaped
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.reports.verdicts import UNSURE_NOTE, brief_verdict, trust_words

MAY_DROP: Final = (
    *("project", "claims", "model", "quality", "efficiency", "failures", "task type"),
    *("agent", "p(done)"),
)
"""Columns that a narrow terminal does without, the first one first; `agent` before all where only one is listed."""

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a cell that begins so for a formula, and what stands in a session is not ours."""

_TOLD_SUPPORTS = (("verified", "ok"), ("contradicted", "contradicted"))
_SHOWN_SIGNALS = 8


def grade_table(grades: Iterable[Grade], trust: Trust) -> None:
    """Print grades, one a line, and how far their verdicts can be trusted; those that a person gave are marked."""
    grades = list(grades)
    has_one_agent = len({agent_words(grade) for grade in grades}) < 2  # noqa: PLR2004  then it tells nothing
    output.items(
        grades,
        ("session", lambda grade: grade.session_id),
        ("ended", lambda grade: grade.ended_at),
        ("verdict", brief_verdict),
        ("p(done)", lambda grade: grade.p_completed),
        ("task type", lambda grade: grade.task_type),
        ("efficiency", lambda grade: grade.efficiency),
        ("quality", lambda grade: grade.quality),
        ("failures", lambda grade: grade.total_errors),
        ("claims", lambda grade: borne_out(grade.claims)),
        ("agent", agent_words),
        ("model", lambda grade: grade.model),
        ("project", lambda grade: grade.project),
        ("task", lambda grade: grade.task_summary),
        may_drop=sorted(MAY_DROP, key=lambda heading: heading != "agent") if has_one_agent else MAY_DROP,
    )
    if any(grade.verdict_by is VerdictBy.PERSON for grade in grades):
        output.line("* said by a person")
    unsure = f" {UNSURE_NOTE}" if any(grade.outcome is Outcome.UNSURE for grade in grades) else ""
    output.paragraph("", f"Verdicts by the {trust.by}: {trust_words(trust)}.{unsure}")


def agent_words(grade: Grade) -> str | None:
    """Return whose session it is, and who had it begun if that was no person: "codex", "hermes cron"."""
    kind = None if grade.kind in (None, SessionKind.MAIN) else grade.kind.value.replace("_", "-")
    return " ".join(filter(None, (grade.agent, kind))) or None


def borne_out(claims: Sequence[Claim]) -> str | None:
    """Return in a few words what became of claims: "2 ok, 1 contradicted"; how many are unsupported only if all are."""
    counts = Counter(claim.support.value for claim in claims)
    told = [f"{counts[verdict]} {word}" for verdict, word in _TOLD_SUPPORTS if counts[verdict]]
    return ", ".join(told) or (f"{len(claims)} unsupported" if claims else None)


def write_grades(grades: Iterable[StoredGrade], form: str, trust: Trust) -> None:
    """Write grades a line each: as ``csv`` under a line of headings, or as ``ndjson``."""
    documents = (grade_document(stored.grade, stored.id, trust=trust) for stored in grades)
    for line in _csv_lines(documents) if form == "csv" else map(_encoded, documents):
        output.line(line)


def _csv_lines(documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Return the lines of a table, its headings first; lists are JSON in their cells, what is unknown is empty."""
    yield ",".join(("id", *GRADE_NAMES))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for document in documents:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([_csv_cell(value) for value in document.values()])
        yield buffer.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return _encoded(value)
    shown = clean(value)
    return f"'{shown}" if shown.startswith(_BEGINS_FORMULA) else shown


def _encoded(value: Any) -> str:
    return escaped(msgspec.json.encode(value).decode("utf-8", "backslashreplace"))


def people_words(grade: Grade) -> list[str]:
    """Return the signals with their messages, and the session in which the same was asked for again."""
    signals = grade.signals_from_people
    words = [f"{signal.kind.replace('_', ' ')} [{signal.index}]" for signal in signals[:_SHOWN_SIGNALS]]
    if len(signals) > _SHOWN_SIGNALS:
        words.append(f"{len(signals) - _SHOWN_SIGNALS} more")
    return words if grade.asked_again is None else [*words, f"asked again in {grade.asked_again}"]
