"""Grades as tables for people, and as lines for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from grader_daemon.api.grades import Child, StoredGrade
from grader_daemon.api.tables import TableForm, table_lines
from grader_daemon.cli import output, terminal
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import age_words, count
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.reports.money import tokens_words, usd_words
from grader_daemon.reports.session_words import agent_words, borne_out, brief_state, messages_words, standing_words
from grader_daemon.reports.told_apart import told_apart
from grader_daemon.reports.verdicts import brief_verdict, likely_done
from grader_daemon.reports.worries import worry_words

MAY_DROP: Final = (
    *(
        "tokens",
        "project",
        "claims",
        "cost",
        "model",
        "quality (1-5)",
        "efficiency (1-5)",
        "failures",
        "task type",
        "state",
    ),
    *("agent", "likely done", "result"),
)
"""Columns that a narrow terminal does without, the first one first; before all, those that are alike in all rows."""

_KINDS = {
    SessionKind.SUB_AGENT: ("sub-agent", None),
    SessionKind.REVIEW: ("review", None),
    SessionKind.CRON: ("cron run", None),
    SessionKind.MAIN: ("session that continues it", "sessions that continue it"),
}
_SHOWN_SIGNALS = 8
_WIDE: Final = 100
"""Least width of a terminal, in columns, at which it shows times whole."""


def grade_table(
    grades: Iterable[Grade],
    *,
    short_id: Callable[[str], str] = str,
    with_worry: bool = False,
    now: datetime | None = None,
) -> None:
    """Print grades, one a line; verdicts that a person gave are marked; `with_worry`, why each is worth a look.

    A terminal is shown what `short_id` makes of ids, and if it is narrow how long before `now` sessions ended; what is
    piped has ids and times whole.
    """
    shown_id = str if output.has_room() else short_id
    grades = list(grades)
    tasks = dict(zip(map(id, grades), titles(grade.task_summary for grade in grades), strict=True))
    ended = ("ended", lambda grade: grade.ended_at) if now is None or terminal.width() >= _WIDE else _ago(now)
    output.items(
        grades,
        ("session", lambda grade: shown_id(grade.session_id)),
        ended,
        ("verdict", brief_verdict),
        ("result", standing_words),
        *([("why", worry_words)] if with_worry else []),
        ("state", brief_state),
        ("likely done", likely_done),
        ("task type", lambda grade: grade.task_type),
        ("efficiency (1-5)", lambda grade: grade.efficiency),
        ("quality (1-5)", lambda grade: grade.quality),
        ("failures", lambda grade: grade.total_errors),
        ("claims", lambda grade: borne_out(grade.claims)),
        ("agent", agent_words),
        ("model", lambda grade: grade.model),
        ("tokens", tokens_of),
        ("cost", lambda grade: None if grade.cost_usd is None else usd_words(grade.cost_usd)),
        ("project", lambda grade: grade.project),
        ("task", lambda grade: tasks[id(grade)]),
        may_drop=tuple(dict.fromkeys((*_telling_nothing(grades), *MAY_DROP))),
    )
    if any(grade.verdict_by is VerdictBy.PERSON for grade in grades):
        output.line("* label by a person")
    if grades and all(each.host is not None and each.task_summary is None and each.project is None for each in grades):
        output.line("The machines send no task texts or projects; to change that, set fleet_texts on each machine.")


def titles(tasks: Iterable[str | None]) -> list[str]:
    """Return tasks as a list shows them: a terminal gets no beginning that several of them share."""
    texts = [output.cell(task) for task in tasks]
    return texts if output.has_room() else told_apart(texts)


def _ago(now: datetime) -> tuple[str, Callable[[Grade], str | None]]:
    """Return the column that says how long before `now` a session ended."""
    return "ended ago", lambda grade: None if grade.ended_at is None else age_words(grade.ended_at, now)


def _telling_nothing(grades: Sequence[Grade]) -> list[str]:
    """Return the columns of which all cells are alike for these grades."""
    told = {
        "state": lambda grade: grade.state,
        "tokens": tokens_of,
        "cost": lambda grade: grade.cost_usd,
        "agent": agent_words,
    }
    return [heading for heading, value in told.items() if len(set(map(value, grades))) < 2]  # noqa: PLR2004  so: alike


def tokens_of(grade: Grade) -> str | None:
    """Return all tokens of a session, read, cached and written; None where what was read or written is not known."""
    if grade.input_tokens is None or grade.output_tokens is None:
        return None
    cached = (grade.cache_read_tokens or 0) + (grade.cache_write_tokens or 0)
    return tokens_words(grade.input_tokens + grade.output_tokens + cached)


def children_words(children: Sequence[Child]) -> str:
    """Return what became of the sessions that a session had begun: "3 sub-agents: 2 done, 1 not done"."""
    said = []
    for kind, (noun, plural) in _KINDS.items():
        outcomes = Counter(_outcome_words(child) for child in children if child.kind is kind)
        if outcomes:
            became = ", ".join(f"{number} {words}" for words, number in outcomes.most_common())
            said.append(f"{count(outcomes.total(), noun, plural)}: {became}")
    return "; ".join(said)


def _outcome_words(child: Child) -> str:
    return "still open" if child.state is SessionState.OPEN else child.outcome.replace("_", " ")


def write_grades(grades: Iterable[StoredGrade], form: TableForm, trust: Trust) -> None:
    """Print grades a line each, as CSV under a line of headings, or as JSON."""
    for line in table_lines(grades, form, trust):
        output.line(line)


def people_words(grade: Grade) -> list[str]:
    """Return the signals with their messages, and the session in which the same was asked for again."""
    signals = grade.signals_from_people
    words = [
        f"{signal.kind.replace('_', ' ')} ({messages_words([signal.index])})" for signal in signals[:_SHOWN_SIGNALS]
    ]
    if len(signals) > _SHOWN_SIGNALS:
        words.append(f"{len(signals) - _SHOWN_SIGNALS} more")
    return (
        words if grade.asked_again is None else [*words, f"the person asked for the same again in {grade.asked_again}"]
    )
