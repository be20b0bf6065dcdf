"""``report week``: the weekly report, in short or whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output, terminal
from grader_daemon.cli.options import reads
from grader_daemon.domain.calendar import week_name
from grader_daemon.domain.error_groups import ErrorIssue
from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.domain.text import clean
from grader_daemon.reports.claim_words import against_words, kind_words
from grader_daemon.reports.money import spending_words
from grader_daemon.reports.numbers import (
    REPORTED,
    before_words,
    change_words,
    clear_words,
    direction_of,
    estimate_words,
    side_words,
)
from grader_daemon.reports.phrasing import alert_title, days, issue_in_brief, notes, scheduled_words, total_words
from grader_daemon.reports.plain_text_report import render_text
from grader_daemon.reports.renderers import RENDERERS
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.verdicts import grader_name, rate_words, trust_words

_SHOWN: Final = 3
_WEEK_DAYS: Final = 7


@click.command("week")
@reads
@click.option("--week", metavar="WEEK", help="Show this ISO week, such as 2026-W47. Default: the last full week.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(RENDERERS)),
    default="text",
    show_default=True,
    help="Print in this format.",
)
@click.option("--json", "form", flag_value="json", help="Print JSON; the same as --format json.")
@click.option("--all", "everything", is_flag=True, help="Show the whole report, not only its main points.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the whole report to this file.")
def command(*, grader: SelfGrader, week: str | None, form: str, everything: bool, out: Path | None) -> None:
    """Show a weekly report: work done, errors, and what to do next.

    Text shows the main points on one screen; `--all`, files and the other formats have everything.
    """
    report = grader.insight.weekly_report(week)
    if out is not None:
        output.file(out, RENDERERS[form](report))
        output.line(clean(f"{out} is written."))
        return
    if form != "text":
        output.line(RENDERERS[form](report).rstrip("\n"))
        return
    if everything:
        output.line(render_text(report, width=terminal.width()).rstrip("\n"))
    else:
        _print(report)
    if week is None and not report.total_sessions:
        this_week = week_name(grader.context.today)
        output.line(f"\nThis was last week. This week so far: grader-daemon report --week {this_week}")


def _print(report: WeeklyReport) -> None:
    """Print the main points: what came of the week, its figures, the errors of most sessions, what to type next."""
    issues = [("new error", issue) for issue in report.new_issues]
    issues += [("returned error", issue) for issue in report.returned_issues]
    issues.sort(key=lambda each: -each[1].sessions)
    output.paragraph("", f"Weekly report, {clean(report.week)}: {days(report.week_start, report.week_end)}")
    for words in notes(report):
        output.paragraph("", plain(words))
    output.line()
    output.facts(_facts(report))
    _print_figures(report)
    if issues:
        output.line()
        output.facts((kind, issue_in_brief(issue)) for kind, issue in issues[:_SHOWN])
    output.line()
    command = _next(report, [issue for _, issue in issues])
    if command is not None:
        output.paragraph("", f"Next: {command}")
    output.line(clean(f"The whole report: grader-daemon report --week {report.week} --all"))


def _facts(report: WeeklyReport) -> Iterator[tuple[str, str]]:
    total = total_words(report)
    yield "sessions", f"{total[0].lower()}{total[1:]}"
    left = ((report.coverage.open_sessions, "still open"), (report.unanswered, "without an answer or a tool call"))
    runs = report.scheduled
    others = side_words(report.spending, scheduled=0 if runs is None else runs.sessions + runs.unanswered)
    left_out = ", ".join([*(f"{number:,} {words}" for number, words in left if number), *filter(None, [others])])
    for words in scheduled_words(report):
        yield "scheduled", words.removeprefix("+ ").removesuffix(".")
    if left_out:
        yield "not counted", left_out
    if report.total_sessions:
        yield "trust", f"verdicts by the {grader_name(report.trust.by)}, {trust_words(report.trust)}"
        yield "completion rate", rate_words(report.checked_completion)
    for tally in [tally for tally in report.claims if tally.against][:_SHOWN]:
        yield "contradicted", f"{kind_words(tally)}, in {plain(against_words(tally))}"
    spent = None if report.spending is None else spending_words(report.spending, days=_WEEK_DAYS)
    if spent:
        yield "spent", spent[0]
    for alert in report.alerts[:_SHOWN]:
        yield "alert", plain(alert_title(alert))


def _print_figures(report: WeeklyReport) -> None:
    """Print the figures of the week beside those of the week before; none of what too few sessions tell."""
    figures = [(measure, getattr(report, measure.report)) for measure in REPORTED]
    known = [(measure, figure) for measure, figure in figures if figure.now.value is not None]
    output.first_items(
        known,
        None,
        ("measure", lambda each: each[0].name.lower()),
        ("this week", lambda each: estimate_words(each[1].now, each[0])),
        ("before", lambda each: before_words(each[1], each[0])),
        ("change", lambda each: change_words(each[1], each[0])),
        ("more than chance?", lambda each: clear_words(direction_of(each[1], each[0]))),
    )


def _next(report: WeeklyReport, issues: list[ErrorIssue]) -> str | None:
    """Return the command that helps most now; None for a week without a session."""
    numbers = [alert.number for alert in report.alerts if alert.number is not None and alert.resolved_at is None]
    if numbers:
        return f"grader-daemon alerts show {numbers[0]}"
    if issues:
        return clean(f"grader-daemon report errors show {issues[0].fingerprint}")
    return "grader-daemon list" if report.total_sessions else None
