"""``report patterns``: task types, tools, models and errors of the last days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import days_option, json_option, reads
from grader_daemon.cli.report_errors import next_call
from grader_daemon.domain.claims import ClaimTally, Support
from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.insight import Group, Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.text import clean, count
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes
from grader_daemon.reports.claim_words import SUPPORTS, against_words, kind_words
from grader_daemon.reports.job_words import JOB_COLUMNS
from grader_daemon.reports.money import agents_words, spending_words
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    COMPLETION,
    FACTS,
    FAILURES,
    RECOVERY,
    SAID,
    UNKNOWN,
    WITHIN_HOSTS,
    Measure,
    brief_words,
    change_words,
    direction_of,
    estimate_words,
    figure_words,
    scheduled_words,
    side_words,
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
_SHOWN: Final = 3
_ALWAYS: Final = (BAD_ENDINGS, FAILURES, RECOVERY)
_MORE: Final = "It also shows agents, results, task types, projects and tools."
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
    Dimension.CATEGORY: "error category",
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
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show all tables, with all rows and columns.",
)
@json_option
def command(*, grader: SelfGrader, days: int, everything: bool, as_json: bool) -> None:
    """Show what the sessions of the last days have in common, compared with the days before.

    One screen shows the main figures, and the models and kinds of errors of most sessions. `--all` and JSON have
    everything.
    """
    patterns = grader.insight.patterns(days)
    if as_json:
        output.document(patterns)
    else:
        _print(patterns, grader.setup.unused_skills(patterns)) if everything else _print_in_brief(patterns)


def _print_in_brief(patterns: Patterns) -> None:
    """Print one screen: what is known of all sessions together, the models and kinds of errors of most sessions."""
    _print_head(patterns)
    if patterns.sessions:
        _print_whole(patterns, in_brief=True)
    _work_table(Dimension.MODEL, patterns.groups[Dimension.MODEL], _SHOWN)
    _failure_table(Dimension.CATEGORY, patterns.groups[Dimension.CATEGORY], _SHOWN)
    output.line()
    output.line(f"Next: grader-daemon report patterns -d {patterns.days} --all")
    output.line(_MORE)


def _print(patterns: Patterns, unused_skills: Iterable[str]) -> None:
    _print_head(patterns)
    agents = agents_words(patterns.groups[Dimension.AGENT])
    if patterns.sessions:
        _print_whole(patterns, in_brief=False)
    for dimension in (*_OF_A_FLEET, *((Dimension.AGENT,) if agents else ()), *_WORK):
        _work_table(dimension, patterns.groups[dimension], None)
        for sentence in unused_skills if dimension is Dimension.TASK_TYPE else ():
            output.paragraph("", clean(sentence))
    _claims_table(patterns.claims)
    _jobs_table(patterns.jobs)
    _print_spending(patterns)
    for dimension in _FAILING:
        _failure_table(dimension, patterns.groups[dimension], None)
    _alternatives_table(patterns)


def _print_head(patterns: Patterns) -> None:
    """Print what the figures rest on, and what became of the work."""
    span = f"{patterns.first_day} to {patterns.last_day}"
    left_out = f"not counted: {patterns.open_sessions} open, {patterns.unanswered} without an answer or a tool call"
    others = side_words(patterns.overall.spending, scheduled=patterns.scheduled)
    left_out += f", {others}" if others else ""
    scheduled = scheduled_words(patterns.scheduled)
    output.paragraph("", f"{count(patterns.sessions, 'finished session')}{scheduled}, {span}; {left_out}.")
    _print_work(patterns.work)
    hosts = len(patterns.groups[Dimension.HOST])
    if hosts:
        output.paragraph("", f"Of {count(hosts, 'machine')}. {WITHIN_HOSTS}")
    agents = agents_words(patterns.groups[Dimension.AGENT])
    if agents:
        output.paragraph("", f"Agents: {clean(agents)}. Figures that are not by agent cover all agents together.")


def _print_whole(patterns: Patterns, *, in_brief: bool) -> None:
    """Show what is known of all sessions together: verdicts, the rate where labels tell it, facts of the record."""
    overall, before = patterns.overall, f"the {count(patterns.days, 'day')} before"
    measured = [(measure, getattr(overall, measure.group)) for measure in (BAD_ENDINGS, *FACTS, FAILURES, RECOVERY)]
    measured += [(measure, getattr(patterns, measure.group)) for measure in SAID]
    figures = _brief_figures(measured, before) if in_brief else _figures(measured, before)
    output.facts(
        [
            ("verdicts", shares_words(VerdictCounts(overall.done, overall.not_done, overall.unsure))),
            ("completion rate", rate_words(overall.completion)),
            *figures,
        ]
    )


def _figures(measured: Iterable[tuple[Measure, Figure]], before: str) -> Iterator[tuple[str, str]]:
    return ((measure.name.lower(), figure_words(figure, measure, before=before)) for measure, figure in measured)


def _brief_figures(measured: Iterable[tuple[Measure, Figure]], before: str) -> Iterator[tuple[str, str]]:
    """Yield a line for each figure that is always of interest or clearly changed, one for all others that are not 0."""
    others: list[tuple[Measure, Figure]] = []
    for measure, figure in measured:
        if direction_of(figure, measure).is_clear:
            yield measure.name.lower(), figure_words(figure, measure, before=before)
        elif measure in _ALWAYS:
            yield measure.name.lower(), estimate_words(figure.now, measure)
        elif figure.now.value:
            others.append((measure, figure))
    if others:
        others.sort(key=lambda each: -(each[1].now.value or 0))
        yield "also", ", ".join(f"{measure.name.lower()} {brief_words(each.now, measure)}" for measure, each in others)


def _print_work(work: WorkOutcomes | None) -> None:
    """Show what became of work in git, and by model; nothing where nothing is known."""
    told = None if work is None else outcomes_words(work)
    if work is None or told is None:
        return
    output.paragraph("Work in git: ", f"{told}.")
    models = models_words(work)
    if models is not None:
        output.paragraph("By model: ", f"{clean(models)}.")


def _alternatives_table(patterns: Patterns) -> None:
    """Show what was tried when a tool had failed, and how these sessions ended."""
    if not patterns.alternatives:
        return
    output.first_items(
        [(alternative.tool, step) for alternative in patterns.alternatives for step in alternative.steps],
        None,
        ("after an error of", lambda tried: output.called(tried[0], None)),
        ("then", lambda tried: next_call(tried[1])),
        ("tries", lambda tried: tried[1].tries),
        ("it worked", lambda tried: estimate_words(tried[1].rate, COMPLETION)),
        ("recovered", lambda tried: estimate_words(tried[1].recovery, RECOVERY)),
    )


def _work_table(dimension: Dimension, groups: tuple[Group, ...], most: int | None) -> None:
    groups = tuple(group for group in groups if group.sessions or group.unanswered)  # others only cost something
    if not groups:
        return
    shown = groups[:most]
    is_checked = any(group.completion.value is not None for group in shown)
    verdicts = _verdict_columns(shown, most)
    output.first_items(
        groups,
        most,
        (_TITLES[dimension], lambda group: group.name if dimension not in _OF_RECORD else group.name.replace("_", " ")),
        ("sessions", lambda group: group.sessions),
        *((("before", lambda group: group.sessions_before),) if most is None else ()),
        *verdicts,
        *((("completion rate", lambda group: estimate_words(group.completion, COMPLETION)),) if is_checked else ()),
        *_measured_columns("bad endings", BAD_ENDINGS, shown, most),
        ("failed calls", lambda group: _estimate(group.failure_rate.now, FAILURES, most)),
        may_drop=("failed calls", *(title for title, _ in verdicts)) if most is not None else (),
    )


def _verdict_columns(shown: Iterable[Group], most: int | None) -> tuple[tuple[str, Callable[[Group], Any]], ...]:
    """Return the columns of the verdicts, where one of those that are shown has one."""
    return _VERDICTS if most is None or any(group.done or group.not_done for group in shown) else ()


def _measured_columns(
    title: str, measure: Measure, shown: Iterable[Group], most: int | None
) -> Iterator[tuple[str, Callable[[Group], Any]]]:
    """Yield the column of a measure, and that of its change where one of those that are shown is clear."""
    yield title, lambda group: _estimate(getattr(group, measure.group).now, measure, most)
    if most is None or any(direction_of(getattr(group, measure.group), measure).is_clear for group in shown):
        yield "change", lambda group: change_words(getattr(group, measure.group), measure)


def _estimate(estimate: Estimate, measure: Measure, most: int | None) -> str:
    """Return an estimate; in brief nothing of those that too few tell."""
    return UNKNOWN if most is not None and estimate.value is None else estimate_words(estimate, measure)


def _claims_table(tallies: tuple[ClaimTally, ...]) -> None:
    """Show what answers say was done, held against the records."""
    output.first_items(
        tallies,
        None,
        ("claim", kind_words),
        ("sessions", lambda tally: tally.sessions),
        *((support.value, partial(_supported, support)) for support in SUPPORTS),
        ("contradicted", lambda tally: plain(against_words(tally))),
    )


def _supported(support: Support, tally: ClaimTally) -> int:
    return tally.supports.get(support, 0)


def _jobs_table(jobs: tuple[ScheduledJob, ...]) -> None:
    """Show the scheduled jobs, each with its line."""
    columns = [(title, words) for title, words, _ in JOB_COLUMNS]
    output.first_items(jobs, None, *columns, may_drop=("tokens", "cost", "mean time", "before", "verdicts"))


def _print_spending(patterns: Patterns) -> None:
    """Show what sessions used and cost, where anything of it is known."""
    whole = patterns.overall.spending
    said = () if whole is None else spending_words(whole, days=patterns.days)
    if not said:
        return
    output.line()
    for sentence in said:
        output.paragraph("", f"Spent: {sentence}." if sentence is said[0] else f"{sentence[0].upper()}{sentence[1:]}.")
    output.paragraph(
        "", f"By model, project, agent, kind, task type and day: grader-daemon report usage -d {patterns.days}"
    )


def _failure_table(dimension: Dimension, groups: tuple[Group, ...], most: int | None) -> None:
    if not groups:
        return
    verdicts = _verdict_columns(groups[:most], most)
    output.first_items(
        groups,
        most,
        (_TITLES[dimension], lambda group: group.name),
        ("sessions", lambda group: group.sessions),
        *((("calls", lambda group: group.calls),) if dimension is not Dimension.CATEGORY else ()),
        ("failures", lambda group: group.failures),
        *((("before", lambda group: group.failures_before),) if most is None else ()),
        *_measured_columns("failed calls", FAILURES, groups[:most], most),
        *verdicts,
        may_drop=tuple(title for title, _ in verdicts) if most is not None else (),
    )
