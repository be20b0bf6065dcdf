"""``patterns``: task types, tools, models and errors of the last days."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import days_option, json_option, reads
from grader_daemon.domain.claims import ClaimTally, Support
from grader_daemon.domain.insight import Group, Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import clean
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.reports.claim_words import SUPPORTS, against_words, kind_words
from grader_daemon.reports.job_words import JOB_COLUMNS, more_jobs_words
from grader_daemon.reports.money import agents_words, spending_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    COMPLETION,
    FACTS,
    FAILURES,
    RECOVERY,
    SAID,
    WITHIN_HOSTS,
    change_words,
    count,
    estimate_words,
    figure_words,
    scheduled_words,
)
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.verdicts import rate_words, shares_words
from grader_daemon.reports.work_words import models_words, outcomes_words

_WORK = (
    *(Dimension.ENDING, Dimension.STANDING, Dimension.TASK_TYPE, Dimension.MODEL, Dimension.PLATFORM),
    *(Dimension.PROJECT, Dimension.KIND),
)
_OF_RECORD = frozenset({Dimension.ENDING, Dimension.STANDING})
_OF_A_FLEET = (Dimension.USER, Dimension.HOST)
_ONLY_IF_SEVERAL = {Dimension.PROJECT, Dimension.KIND}
_SHOWN: Final = 5
_FAILING = (Dimension.TOOL, Dimension.CATEGORY)
_TITLES = {
    Dimension.AGENT: "agent",
    Dimension.ENDING: "ending",
    Dimension.STANDING: "result",
    Dimension.PROJECT: "project",
    Dimension.KIND: "kind",
    Dimension.HOST: "machine",
    Dimension.USER: "user",
    Dimension.TASK_TYPE: "task type",
    Dimension.MODEL: "model",
    Dimension.PLATFORM: "platform",
    Dimension.TOOL: "tool",
    Dimension.CATEGORY: "error",
}

_Row = TypeVar("_Row")
_VERDICTS: Final[tuple[tuple[str, Callable[[Group], int]], ...]] = (
    ("done", lambda group: group.done),
    ("not done", lambda group: group.not_done),
    ("unsure", lambda group: group.unsure),
)


@click.command("patterns")
@reads
@days_option(7)
@click.option("--all", "everything", is_flag=True, help=f"All rows of each table, not the first {_SHOWN}.")
@json_option
def command(*, grader: SelfGrader, days: int, everything: bool, as_json: bool) -> None:
    """Show what sessions of the last days have in common, with 95 % intervals, beside the days before.

    Each table has its first rows: those with most sessions, failures or cost. JSON has all.
    """
    patterns = grader.insight.patterns(days)
    if as_json:
        output.document(patterns)
    else:
        _print(patterns, most=None if everything else _SHOWN)


def _print(patterns: Patterns, *, most: int | None) -> None:
    span = f"{patterns.first_day} to {patterns.last_day}"
    left_out = f"not counted: {patterns.open_sessions} open, {patterns.unanswered} without an answer"
    scheduled = scheduled_words(patterns.scheduled)
    output.line(f"{count(patterns.sessions, 'finished session')}{scheduled}, {span}; {left_out}.")
    _print_work(patterns.work)
    hosts = len(patterns.groups[Dimension.HOST])
    if hosts:
        output.line(f"Of {count(hosts, 'machine')}. {WITHIN_HOSTS}")
    agents = agents_words(patterns.groups[Dimension.AGENT])
    if agents:
        output.line(f"Agents: {clean(agents)}. Figures that are not by agent are of all of them together.")
    if patterns.sessions:
        _print_whole(patterns)
    for dimension in (*_OF_A_FLEET, *((Dimension.AGENT,) if agents else ())):
        _work_table(dimension, patterns.groups[dimension], most)
    for dimension in _WORK:
        if dimension not in _ONLY_IF_SEVERAL or _is_mixed(patterns.groups[dimension]):
            _work_table(dimension, patterns.groups[dimension], most)
    _claims_table(patterns.claims, most)
    _jobs_table(patterns.jobs, most)
    _print_spending(patterns)
    for dimension in _FAILING:
        _failure_table(dimension, patterns.groups[dimension], most)
    _alternatives_table(patterns, most)


def _print_whole(patterns: Patterns) -> None:
    """Show what is known of all sessions together: verdicts, the rate where labels tell it, facts of the record."""
    overall, before = patterns.overall, f"the {count(patterns.days, 'day')} before"
    figures = [
        (measure.name.lower(), figure_words(getattr(overall, measure.group), measure, before=before))
        for measure in (BAD_ENDINGS, *FACTS, FAILURES, RECOVERY)
    ]
    said = [
        (measure.name.lower(), figure_words(getattr(patterns, measure.group), measure, before=before))
        for measure in SAID
    ]
    output.facts(
        [
            ("verdicts", shares_words(VerdictCounts(overall.done, overall.not_done, overall.unsure))),
            ("completion rate", rate_words(overall.completion)),
            *figures,
            *said,
        ]
    )


def _print_work(work: WorkOutcomes | None) -> None:
    """Show what became of work in git, and by model; nothing where nothing is known."""
    told = None if work is None else outcomes_words(work)
    if work is None or told is None:
        return
    output.paragraph("Work in git: ", f"{told}.")
    models = models_words(work)
    if models is not None:
        output.paragraph("By model: ", f"{clean(models)}.")


def _is_mixed(groups: tuple[Group, ...]) -> bool:
    """Return whether a table says more than the other ones: several groups, or runs that count in none."""
    return len(groups) > 1 or any(group.name == SessionKind.CRON for group in groups)


def _alternatives_table(patterns: Patterns, most: int | None) -> None:
    """Show what was tried when a tool had failed, and how these sessions ended."""
    if not patterns.alternatives:
        return
    output.first_items(
        [(alternative.tool, step) for alternative in patterns.alternatives for step in alternative.steps],
        most,
        ("after a failure of", lambda tried: tried[0]),
        ("then", lambda tried: output.next_call(tried[1])),
        ("tries", lambda tried: tried[1].tries),
        ("it worked", lambda tried: estimate_words(tried[1].rate, COMPLETION)),
        ("recovered", lambda tried: estimate_words(tried[1].recovery, RECOVERY)),
    )


def _work_table(dimension: Dimension, groups: tuple[Group, ...], most: int | None) -> None:
    groups = tuple(group for group in groups if group.sessions or group.unanswered)  # others only cost something
    if not groups:
        return
    is_checked = any(group.completion.value is not None for group in groups)
    output.first_items(
        groups,
        most,
        (_TITLES[dimension], lambda group: group.name if dimension not in _OF_RECORD else group.name.replace("_", " ")),
        ("sessions", lambda group: group.sessions),
        ("before", lambda group: group.sessions_before),
        *_VERDICTS,
        *((("completion rate", lambda group: estimate_words(group.completion, COMPLETION)),) if is_checked else ()),
        ("bad endings", lambda group: estimate_words(group.ended_badly.now, BAD_ENDINGS)),
        ("change", lambda group: change_words(group.ended_badly, BAD_ENDINGS)),
        ("failures per call", lambda group: estimate_words(group.failure_rate.now, FAILURES)),
    )


def _claims_table(tallies: tuple[ClaimTally, ...], most: int | None) -> None:
    """Show what answers say was done, held against the records."""
    if not tallies:
        return
    output.first_items(
        tallies,
        most,
        ("claim", kind_words),
        ("sessions", lambda tally: tally.sessions),
        *((support.value, partial(_supported, support)) for support in SUPPORTS),
        ("record against it", lambda tally: plain(against_words(tally))),
    )


def _supported(support: Support, tally: ClaimTally) -> int:
    return tally.supports.get(support, 0)


def _jobs_table(jobs: tuple[ScheduledJob, ...], most: int | None) -> None:
    """Show the scheduled jobs, each with its line."""
    if not jobs:
        return
    output.line()
    columns = [(title, words) for title, words, _ in JOB_COLUMNS]
    output.items(jobs[:most], *columns, may_drop=("tokens", "cost", "each took", "before", "verdicts"))
    more = None if most is None else more_jobs_words(jobs, most)
    if more is not None:
        output.line(more)


def _print_spending(patterns: Patterns) -> None:
    """Show what sessions used and cost, where anything of it is known."""
    whole = patterns.overall.spending
    said = () if whole is None else spending_words(whole, days=patterns.days)
    if not said:
        return
    output.line()
    for sentence in said:
        output.paragraph("", f"Spent: {sentence}." if sentence is said[0] else f"{sentence[0].upper()}{sentence[1:]}.")
    output.line(f"By model, project, agent, kind, task type and day: grader-daemon usage -d {patterns.days}")


def _failure_table(dimension: Dimension, groups: tuple[Group, ...], most: int | None) -> None:
    if not groups:
        return
    output.first_items(
        groups,
        most,
        (_TITLES[dimension], lambda group: group.name),
        ("sessions", lambda group: group.sessions),
        ("calls", lambda group: group.calls),
        ("failures", lambda group: group.failures),
        ("before", lambda group: group.failures_before),
        ("failures per call", lambda group: estimate_words(group.failure_rate.now, FAILURES)),
        ("change", lambda group: change_words(group.failure_rate, FAILURES)),
        *_VERDICTS,
    )
