"""``patterns``: task types, tools, models and errors of the last days."""

from __future__ import annotations

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, days_option, json_option
from grader_daemon.domain.insight import Group, Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.reports.numbers import COMPLETION, FAILURES, SCORE, change_words, count, estimate_words

_WORK = (Dimension.TASK_TYPE, Dimension.MODEL, Dimension.PLATFORM)
_FAILING = (Dimension.TOOL, Dimension.CATEGORY)
_TITLES = {
    Dimension.TASK_TYPE: "task type",
    Dimension.MODEL: "model",
    Dimension.PLATFORM: "platform",
    Dimension.TOOL: "tool",
    Dimension.CATEGORY: "error",
}


@click.command("patterns")
@asks
@days_option(7)
@json_option
def command(*, grader: SelfGrader, days: int, as_json: bool) -> None:
    """Show what sessions of the last days have in common, with 95 % intervals, beside the days before."""
    patterns = grader.insight.patterns(days)
    if as_json:
        output.document(patterns)
    else:
        _print(patterns)


def _print(patterns: Patterns) -> None:
    span = f"{patterns.first_day} to {patterns.last_day}"
    left_out = f"not counted: {patterns.open_sessions} open, {patterns.unanswered} without an answer"
    output.line(f"{count(patterns.sessions, 'finished session')}, {span}; {left_out}.")
    for dimension in _WORK:
        _work_table(dimension, patterns.groups[dimension])
    for dimension in _FAILING:
        _failure_table(dimension, patterns.groups[dimension])
    _alternatives_table(patterns)


def _alternatives_table(patterns: Patterns) -> None:
    """Show what was tried when a tool had failed, and how these sessions ended."""
    if not patterns.alternatives:
        return
    output.line()
    output.table(
        ("after a failure of", "then", "tries", "it worked", "the task was completed"),
        [
            (
                alternative.tool,
                output.called(step.tool, step.command) + (" again" if step.is_retry else ""),
                step.tries,
                estimate_words(step.rate, COMPLETION),
                estimate_words(step.completion, COMPLETION),
            )
            for alternative in patterns.alternatives
            for step in alternative.steps
        ],
    )


def _work_table(dimension: Dimension, groups: tuple[Group, ...]) -> None:
    if not groups:
        return
    output.line()
    columns = (_TITLES[dimension], "sessions", "before", "completed", "change", "score", "change", "failures per call")
    output.table(
        columns,
        [
            (
                group.name,
                group.sessions,
                group.sessions_before,
                estimate_words(group.completion.now, COMPLETION),
                change_words(group.completion, COMPLETION),
                estimate_words(group.score.now, SCORE),
                change_words(group.score, SCORE),
                estimate_words(group.failure_rate.now, FAILURES),
            )
            for group in groups
        ],
    )


def _failure_table(dimension: Dimension, groups: tuple[Group, ...]) -> None:
    if not groups:
        return
    output.line()
    columns = (
        _TITLES[dimension],
        "sessions",
        "calls",
        "failures",
        "before",
        "failures per call",
        "change",
        "completed",
    )
    output.table(
        columns,
        [
            (
                group.name,
                group.sessions,
                group.calls,
                group.failures,
                group.failures_before,
                estimate_words(group.failure_rate.now, FAILURES),
                change_words(group.failure_rate, FAILURES),
                estimate_words(group.completion.now, COMPLETION),
            )
            for group in groups
        ],
    )
