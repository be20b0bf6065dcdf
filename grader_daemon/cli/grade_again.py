"""``grade --again``: what another version graded, graded again, or what that would change."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, jobs_option, json_option, since_options
from grader_daemon.cli.outcome_lines import graded_with_progress, is_trouble, tell_outcomes
from grader_daemon.domain.difference import ColumnChange, GradeChange, RegradeDiff
from grader_daemon.domain.text import clean
from grader_daemon.reports.verdicts import shares_words

_NAMES = {
    "task_completed": "done",
    "tool_calls_efficient": "tool efficiency",
    "response_quality": "response quality",
    "total_errors": "failures",
    "p_completed": "p_completed",
}
_TASK_CHARACTERS = 60


@click.command("--again")
@asks
@since_options
@click.option("--all", "everything", is_flag=True, help="Also grade sessions whose grades are up to date.")
@click.option("--diff", is_flag=True, help="Write nothing, only show what would change.")
@click.option(
    "--rules",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --diff: try the rules in this file.",
)
@jobs_option
@json_option
def command(
    *,
    grader: SelfGrader,
    since: datetime | None,
    everything: bool,
    diff: bool,
    rules: Path | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Grade again sessions graded with other rules or another grader. The daemon does this automatically.

    Session files are read again only if the stored facts are not enough, or with --all.

    --diff shows what would change, even after an upgrade. With a database of an earlier version, it compares a copy,
    and the database stays unchanged.
    """
    if diff:
        _show_diff(grader, since, rules, as_json=as_json)
        return 0
    if rules is not None:
        raise click.UsageError("--rules needs --diff; to grade with your own rules, set rules_file")
    grader.migrate()
    grading = grader.grading
    found, again = (
        (grading.graded_files, grading.regrade) if everything else (grading.outdated_files, grading.regrade_outdated)
    )
    paths = found(since=since)
    outcomes = graded_with_progress("Grading again", len(paths), again(paths, jobs=jobs))
    tell_outcomes(outcomes, as_json=as_json)
    return 1 if is_trouble(outcomes) else 0


def _show_diff(grader: SelfGrader, since: datetime | None, rules: Path | None, *, as_json: bool) -> None:
    with output.progress("Comparing", len(grader.grading.graded_files(since=since))) as advance:
        found = grader.grading.regrade_diff(since=since, rules_file=rules, advance=advance)
    output.shown(found, _print, as_json=as_json)


def _print(found: RegradeDiff) -> None:
    output.line(f"{found.changed} of {found.sessions} sessions would change; nothing was written.")
    for reason, count in found.unread.items():
        output.line(f"{count} were not compared: {reason}.")
    if not found.sessions:
        return
    output.line()
    output.facts([("verdicts now", shares_words(found.verdicts_before)), ("then", shares_words(found.verdicts_after))])
    output.line()
    output.items(
        found.columns,
        ("column", lambda each: _NAMES[each.column]),
        ("would rise", lambda each: each.rises),
        ("would fall", lambda each: each.falls),
        ("stored mean", lambda each: _mean(each.before, each.column)),
        ("new mean", lambda each: _mean(each.after, each.column)),
    )
    if found.largest:
        output.line()
        output.line("Largest changes:")
        for change in found.largest:
            _print_change(change)


def _mean(value: float | None, column: str) -> str | None:
    if value is None:
        return None
    return f"{value * 100:.1f} %" if column == "task_completed" else f"{value:.2f}"


def _print_change(change: GradeChange) -> None:
    output.line()
    output.line(f"{clean(change.session_id)}: {clean(change.task_summary or '-')[:_TASK_CHARACTERS]}")
    for column in change.columns:
        output.line(f"  {_NAMES[column.column]}: {_words(column)}")
    for sign, reasons in (("-", change.silent), ("+", change.speaking)):
        for reason in reasons:
            effect = "" if reason.effect is None else f" ({reason.effect:+g})"
            output.line(f"  {sign} {clean(reason.rule)}{effect}")


def _words(change: ColumnChange) -> str:
    return f"{output.cell(change.before)} -> {output.cell(change.after)}"
