"""``report usage``: tokens and money of the last days, by group and day, and the sessions that cost most."""

from __future__ import annotations

from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.grades import titles
from grader_daemon.cli.options import days_option, json_option, reads
from grader_daemon.domain.text import clean, count
from grader_daemon.domain.usage_by_day import UsageByDay, UsageMeasure, UsageSplit, all_tokens, amount, share
from grader_daemon.reports.money import tokens_words, usd_words, used_words
from grader_daemon.reports.usage_words import (
    amount_words,
    before_words,
    cache_words,
    change_words,
    failed_words,
    group_words,
    kinds_words,
    known_words,
    share_words,
    span_words,
    unknown_words,
)
from grader_daemon.reports.verdicts import outcome_words

_SHOWN: Final = 5
_SPLITS: Final = tuple(each.replace("_", "-") for each in UsageSplit)


@click.command("usage")
@reads
@days_option(7)
@click.option(
    "--by",
    "split",
    type=click.Choice(_SPLITS),
    default=UsageSplit.MODEL.value,
    show_default=True,
    help="Show a table with one row for each model, project, agent, kind or task type.",
)
@click.option("--all", "everything", is_flag=True, help=f"Show all rows of each table, not only the first {_SHOWN}.")
@json_option
def command(*, grader: SelfGrader, days: int, split: str, everything: bool, as_json: bool) -> None:
    """Show the cost and tokens of the sessions of the last days.

    Tables split cost and tokens by model, project, agent, kind or task type, and by day, compare them with the days
    before, and list the most expensive sessions. The numbers include finished sessions of every kind. A dash means
    unknown.
    """
    by = UsageSplit(split.replace("-", "_"))
    if as_json:
        from grader_daemon.api.documents import usage_document

        output.document(usage_document(grader.insight, grader.grades, days=days, split=by))
        return
    most = None if everything else _SHOWN
    used = grader.insight.usage(days=days, split=by)
    _print_whole(used)
    if used.spending.sessions:
        _print_groups(used, most)
        _print_days(used, most)
        _print_sessions(grader, days, most)


def _print_whole(used: UsageByDay) -> None:
    whole = used.spending
    output.paragraph("", f"{count(whole.sessions, 'finished session')} of every kind, {span_words(used)}.")
    if not whole.sessions:
        return
    lines = [(measure.value, _total_words(used, measure)) for measure in UsageMeasure]
    output.facts([*lines, ("failed", failed_words(used).removesuffix("."))] if whole.priced else lines)


def _total_words(used: UsageByDay, measure: UsageMeasure) -> str:
    whole = used.spending
    value = amount(whole, measure)
    if value is None:
        return clean(unknown_words(used, measure).removesuffix("."))
    match measure:
        case UsageMeasure.COST:
            said = [amount_words(value, measure), known_words(whole, measure)]
        case UsageMeasure.TOKENS:
            said = [used_words(whole) or "", cache_words(whole), known_words(whole, measure)]
        case UsageMeasure.SESSIONS:
            said = [amount_words(value, measure), kinds_words(used)]
    return "; ".join(part for part in (*said, before_words(used, measure)) if part)


def _print_groups(used: UsageByDay, most: int | None) -> None:
    whole = used.spending.cost_usd
    output.first_items(
        used.groups,
        most,
        (used.split.replace("_", " "), lambda group: group_words(group.name, used.split)),
        ("cost", lambda group: usd_words(group.spending.cost_usd)),
        ("share", lambda group: share_words(share(group.spending.cost_usd, whole))),
        ("change", lambda group: change_words(group, UsageMeasure.COST)),
        ("per task", lambda group: usd_words(group.spending.per_task_usd)),
        ("cost known for", lambda group: group.spending.priced),
        ("tokens", lambda group: tokens_words(all_tokens(group.spending))),
        ("tokens known for", lambda group: group.spending.metered),
        ("sessions", lambda group: group.spending.sessions),
        may_drop=("tokens known for", "cost known for", "per task"),
    )


def _print_days(used: UsageByDay, most: int | None) -> None:
    days = [day for day in reversed(used.daily) if day.spending.sessions]
    output.first_items(
        days if used.days > 1 else [],
        most,
        ("day", lambda day: day.day.isoformat()),
        ("cost", lambda day: usd_words(day.spending.cost_usd)),
        ("tokens", lambda day: used_words(day.spending)),
        ("sessions", lambda day: day.spending.sessions),
    )


def _print_sessions(grader: SelfGrader, days: int, most: int | None) -> None:
    grades = [stored.grade for stored in grader.grades.most_expensive(days=days)]
    tasks = dict(zip(map(id, grades), titles(grade.task_summary for grade in grades[:most]), strict=False))
    output.first_items(
        grades,
        most,
        ("most expensive", lambda grade: grader.grades.short_id(grade.session_id)),
        ("cost", lambda grade: usd_words(grade.cost_usd)),
        ("verdict", lambda grade: outcome_words(grade.outcome)),
        ("model", lambda grade: grade.model),
        ("task", lambda grade: tasks[id(grade)]),
        may_drop=("model",),
    )
