"""The report in the order in which it is read, before anything decides what it looks like.

Renderers for text, Markdown and pages only set these blocks, so none of them can leave out what another says.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import dropwhile
from typing import Final

import msgspec

from grader_daemon.domain.error_groups import ErrorIssue
from grader_daemon.domain.estimate import Figure
from grader_daemon.domain.insight import Group, TrendPoint, WeeklyReport
from grader_daemon.reports import phrasing
from grader_daemon.reports.claim_words import tally_sentences
from grader_daemon.reports.effect_words import basis_words, effect_lines, effect_title
from grader_daemon.reports.job_words import JOB_COLUMNS, more_jobs_words
from grader_daemon.reports.money import agents_words, cost_words, spending_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    COMPLETION,
    FAILURES,
    REPORTED,
    SCORE,
    TRENDED,
    UNKNOWN,
    WEEK_BEFORE,
    WITHIN_HOSTS,
    Direction,
    Measure,
    before_words,
    brief_words,
    change_words,
    clear_changes,
    clear_words,
    direction_of,
    estimate_words,
    value_words,
)
from grader_daemon.reports.safe_text import LONGEST_NAME, Words, name, remark
from grader_daemon.reports.work_words import models_words, outcomes_words


class Prose(msgspec.Struct, frozen=True):
    """A paragraph."""

    words: Words


class Column(msgspec.Struct, frozen=True):
    """A column of a table."""

    title: str
    is_number: bool = True


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table: its first cell names it. `figure` is what the row is about, for those who draw it."""

    cells: tuple[Words, ...]
    figure: Figure | None = None
    measure: Measure | None = None
    direction: Direction | None = None


class Table(msgspec.Struct, frozen=True):
    """Rows under their columns."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class Entry(msgspec.Struct, frozen=True):
    """One thing of a list, and what there is to say about it."""

    title: Words
    lines: tuple[Words, ...]


class Entries(msgspec.Struct, frozen=True):
    """A list of things that take more than one line each."""

    items: tuple[Entry, ...]


Block = Prose | Table | Entries


class Topic(StrEnum):
    """The sections of a report, in order."""

    COVERAGE = "coverage"
    SUMMARY = "summary"
    JOBS = "jobs"
    PROBLEMS = "problems"
    SUGGESTIONS = "suggestions"
    NEW = "new"
    RETURNED = "returned"
    ALERTS = "alerts"
    CHANGES = "changes"
    TREND = "trend"


class Section(msgspec.Struct, frozen=True):
    """Blocks under a heading."""

    topic: Topic
    title: str
    blocks: tuple[Block, ...]


class Layout(msgspec.Struct, frozen=True):
    """A report: its title, its days, what must be known before any number, and its sections."""

    title: str
    subtitle: str
    notes: tuple[Words, ...]
    sections: tuple[Section, ...]


_WEEK_DAYS: Final = 7
_MOST_JOBS: Final = 20
_NAMED: Final = {"this week": Column("This week"), "before": Column("Before"), "change": Column("Change")}
_VERDICTS: Final = ("Done", "Not done", "Unsure")
_FIGURE_COLUMNS: Final = (*_NAMED.values(), Column("More than chance?", is_number=False))


def lay_out(report: WeeklyReport) -> Layout:
    """Return a report in the order in which it is read."""
    return Layout(
        f"Weekly report, {remark(report.week, LONGEST_NAME)}",
        phrasing.days(report.week_start, report.week_end),
        phrasing.notes(report),
        (
            Section(Topic.COVERAGE, "Coverage", (Prose(phrasing.coverage_words(report.coverage)),)),
            Section(Topic.SUMMARY, "Summary", _summary(report)),
            *_jobs(report),
            Section(Topic.PROBLEMS, "Problem areas", _problems(report)),
            Section(Topic.SUGGESTIONS, "Suggestions", _suggestions(report)),
            Section(Topic.NEW, "New errors", _issues(report.new_issues, "No new errors this week.")),
            Section(Topic.RETURNED, "Errors that returned", _issues(report.returned_issues, "No error returned.")),
            Section(Topic.ALERTS, "Alerts", _alerts(report)),
            *_changes(report),
            Section(Topic.TREND, "Trend", _trend(report.trend)),
        ),
    )


def _summary(report: WeeklyReport) -> tuple[Block, ...]:
    figures = tuple((measure, getattr(report, measure.report)) for measure in REPORTED)
    total: tuple[Block, ...] = tuple(
        Prose((words,))
        for words in (
            f"{phrasing.total_words(report)}.",
            *phrasing.scheduled_words(report),
            *phrasing.unanswered_words(report),
        )
    )
    checked = tuple(Prose((words,)) for words in phrasing.checked_words(report.checked_completion))
    total += _work(report)
    total += _hosts(report) + _agents(report) + _spending(report)
    if not report.total_sessions and not report.sessions_before:
        return total
    told = (phrasing.trust_sentence(report), *phrasing.grader_sentences(report))
    trust = tuple(Prose((words,)) for words in told)
    changes = tuple(Prose((sentence,)) for sentence in clear_changes(figures))
    people = tuple(Prose(words) for words in (*phrasing.people_words(report), *tally_sentences(report.claims)))
    rows = tuple(_row(((measure.name,),), figure, measure) for measure, figure in figures)
    table = Table("The week in numbers", (Column("Measure", is_number=False), *_FIGURE_COLUMNS), rows)
    notes = (Prose((phrasing.INTERVALS_NOTE,)), Prose(phrasing.MORE_OF_A_SESSION))
    return (*total, *trust, *checked, *people, *changes, table, *notes)


def _work(report: WeeklyReport) -> tuple[Block, ...]:
    """Return what became of work in git, where anything is known."""
    told = None if report.work is None else outcomes_words(report.work)
    models = None if report.work is None else models_words(report.work)
    said = (f"Work in git over four weeks: {told}.", *(() if models is None else (f"By model: {remark(models)}.",)))
    return () if told is None else tuple(Prose((words,)) for words in said)


def _hosts(report: WeeklyReport) -> tuple[Block, ...]:
    """Return how each machine of a fleet does."""
    if not report.hosts:
        return ()
    table = _groups("Bad endings by machine", "Machine", ("sessions",), report.hosts, BAD_ENDINGS)
    return (Prose((WITHIN_HOSTS,)), table)


def _agents(report: WeeklyReport) -> tuple[Block, ...]:
    """Return whose sessions are counted together, and how each does, where they are of several agents."""
    several = [group for group in report.agents if group.sessions]
    words = agents_words(several)
    if not words:
        return ()
    said = Prose((f"Agents: {remark(words)}. Figures that are not by agent cover all agents together.",))
    return (said, _groups("Bad endings by agent", "Agent", ("sessions",), tuple(several), BAD_ENDINGS))


def _spending(report: WeeklyReport) -> tuple[Block, ...]:
    """Return what the week cost and used, where anything of it is known; beside the week before."""
    said = () if report.spending is None else spending_words(report.spending, days=_WEEK_DAYS)
    if not said:
        return ()
    before = report.spending_before
    earlier = () if before is None or before.cost_usd is None else (f"{WEEK_BEFORE}: {cost_words(before)}",)
    return (Prose((f"Spent: {'; '.join((*said, *earlier))}.",)),)


def _jobs(report: WeeklyReport) -> tuple[Section, ...]:
    """Return the scheduled jobs, each with its line; nothing where none ran."""
    if not report.jobs:
        return ()
    columns = tuple(Column(title.capitalize(), is_number=is_number) for title, _, is_number in JOB_COLUMNS)
    shown = report.jobs[:_MOST_JOBS]
    rows = tuple(
        Row(
            cells=((name(job.name),), *((remark(words(job)),) for _, words, _ in JOB_COLUMNS[1:])),
            direction=direction_of(job.ended_badly, BAD_ENDINGS),
        )
        for job in shown
    )
    more = more_jobs_words(report.jobs, len(shown))
    blocks: tuple[Block, ...] = (Table("Scheduled jobs", columns, rows), *(() if more is None else (Prose((more,)),)))
    return (Section(Topic.JOBS, "Scheduled jobs", blocks),)


def _problems(report: WeeklyReport) -> tuple[Block, ...]:
    return (
        _groups("Lowest session scores by task type", "Task type", ("sessions",), report.lowest_task_types, SCORE),
        _groups(
            "Error-prone tools, failed calls",
            "Tool",
            ("failures", "calls"),
            report.error_prone_tools,
            FAILURES,
        ),
        _groups(
            "Most common errors, failed calls",
            "Category",
            ("failures", "sessions"),
            report.common_errors,
            FAILURES,
        ),
    )


def _groups(caption: str, kind: str, counts: tuple[str, ...], groups: tuple[Group, ...], measure: Measure) -> Block:
    """Return a table of groups with their `counts`, and how they stand by a measure."""
    if not groups:
        nothing = "too few sessions" if measure is SCORE else "no failed call"
        return Prose((f"{caption}: {nothing} this week.",))
    rows = tuple(
        _row(
            ((name(group.name),), *((f"{getattr(group, field):,}",) for field in counts)),
            getattr(group, measure.group),
            measure,
        )
        for group in groups
    )
    columns = (Column(kind, is_number=False), *(Column(field.capitalize()) for field in counts), *_FIGURE_COLUMNS)
    return Table(caption, columns, rows)


def _row(head: tuple[Words, ...], figure: Figure, measure: Measure) -> Row:
    direction = direction_of(figure, measure)
    cells = (
        estimate_words(figure.now, measure),
        before_words(figure, measure),
        change_words(figure, measure),
        clear_words(direction),
    )
    return Row(cells=(*head, *((cell,) for cell in cells)), figure=figure, measure=measure, direction=direction)


def _suggestions(report: WeeklyReport) -> tuple[Block, ...]:
    if not report.suggestions:
        return (Prose(("No suggestions this week.",)),)
    entries = (Entry((remark(one.text),), phrasing.suggestion_lines(one)) for one in report.suggestions)
    return (Entries(tuple(entries)),)


def _issues(issues: tuple[ErrorIssue, ...], none: str) -> tuple[Block, ...]:
    if not issues:
        return (Prose((none,)),)
    return (Entries(tuple(Entry(phrasing.issue_title(issue), phrasing.issue_lines(issue)) for issue in issues)),)


def _alerts(report: WeeklyReport) -> tuple[Block, ...]:
    if not report.alerts:
        return (Prose(("No alerts this week.",)),)
    return (Entries(tuple(Entry(phrasing.alert_title(alert), phrasing.alert_lines(alert)) for alert in report.alerts)),)


def _changes(report: WeeklyReport) -> tuple[Section, ...]:
    """Return what changed in how agents are set up; nothing in reports of versions that did not look."""
    if report.changes is None:
        return ()
    items = tuple(Entry(effect_title(effect), tuple(effect_lines(effect))) for effect in report.changes)
    block = Entries(items) if items else Prose(("The agents' set-up did not change.",))
    basis = basis_words(report.changes)
    return (Section(Topic.CHANGES, "Changes", (block,) if basis is None else (block, Prose((basis,)))),)


def _trend(points: tuple[TrendPoint, ...]) -> tuple[Block, ...]:
    if not any(point.sessions for point in points):
        return (Prose(("No weeks to compare yet.",)),)
    is_checked = any(point.checked_completion.value is not None for point in points)
    titles = (
        *("Sessions", *_VERDICTS),
        *((COMPLETION.name,) if is_checked else ()),
        *(measure.brief for measure in TRENDED),
    )
    begun = dropwhile(lambda point: not point.sessions, points)  # weeks before the first session say nothing
    rows = tuple(Row(cells=tuple((cell,) for cell in _trend_cells(point, is_checked=is_checked))) for point in begun)
    return (Table("Week by week", (Column("Week", is_number=False), *map(Column, titles)), rows),)


def _trend_cells(point: TrendPoint, *, is_checked: bool) -> tuple[str, ...]:
    counts = (f"{number:,}" for number in (point.sessions, point.done, point.not_done, point.unsure))
    checked = point.checked_completion.value
    rate = (UNKNOWN if checked is None else value_words(checked, COMPLETION),) if is_checked else ()
    estimates = (brief_words(getattr(point, measure.report), measure) for measure in TRENDED)
    return (remark(point.week, LONGEST_NAME), *counts, *rate, *estimates)
