"""Summaries of many grades: groups, patterns, the weekly report."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.alert import Alert
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.claims import ClaimTally
from grader_daemon.domain.error_groups import Alternative, ErrorIssue
from grader_daemon.domain.estimate import NO_FIGURE, Estimate, Figure
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.setup_changes import SetupChange, SetupEffect
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes

REPORT_VERSION: Final = 3
"""Version of the shape of `WeeklyReport`; raised when a field changes its meaning or goes."""


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Usage and cost of the finished sessions of a group; None if unknown for all of them.

    Attributes:
        sessions: number of sessions of every kind.
        side: number of sessions that are not a person's tasks, such as sub-agents.
        metered: number of sessions with known tokens, to which the sums of tokens refer.
        priced: number of sessions with a known cost, to which the sums of dollars refer.
        side_usd: the part of the cost caused by side sessions.
        tasks: number of people's tasks with a known cost.
        per_task_usd: cost per task with a known cost, done or not. Groups by task type, model or platform leave out
            side sessions, because side sessions are in other groups than the tasks they belong to.
    """

    sessions: int
    side: int
    metered: int
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    priced: int
    cost_usd: float | None
    side_usd: float | None
    tasks: int
    per_task_usd: float | None


class DaySpending(msgspec.Struct, frozen=True):
    """Usage and cost of the sessions that finished on a day."""

    day: date
    spending: Spending


class DayFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that finished on a day: rates 0 to 1, scores 1 to 5, no value if there are too few.

    Attributes:
        done: sessions with the verdict done; `not_done` and `unsure` likewise.
        ended_badly: share of sessions that ended badly; see `Group`.
        cost_usd: cost of the sessions with a known price, of every kind; None if there are none.
        tasks: number of people's tasks among these.
    """

    day: date
    sessions: int
    done: int
    not_done: int
    unsure: int
    ended_badly: Estimate
    efficiency: Estimate
    quality: Estimate
    failure_rate: Estimate
    cost_usd: float | None
    tasks: int


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The finished sessions of one group in a span of days, compared with the previous span of the same length.

    Rates are 0 to 1, scores 1 to 5. Reports of older versions lack some keys: counts are then 0, rates have no value.

    Attributes:
        unanswered: finished sessions without an answer or a tool call; they have no scores, and no other key counts
            them.
        recovery: share of the sessions with errors that recovered.
        failure_rate: errors per tool call. In a group of `Dimension.TOOL` per call of the tool; in one of
        `Dimension.CATEGORY` errors of the category per call of any session.
        spending: usage and cost; None in groups by tool or error.
        done: number of sessions with this verdict; `not_done` and `unsure` likewise.
        completion: share of done tasks by random labels; `sample` is the number of labels, no value below 20.
        ended_badly: share of sessions with one of the following facts, or without an answer at the end.
        contradicted: share of sessions in which the record contradicts a claim.
        check_failed: share of sessions whose last check failed.
        admitted: share of sessions whose answer says that the task is not done, or only in part.
        cut_short: share of sessions that were cut short, though not by a person.
        gave_up: share of sessions whose answer says that the task could not be done.
        left_midway: share of sessions that stop in the middle for an unknown reason.
    """

    name: str
    sessions: int
    unanswered: int
    sessions_before: int
    score: Figure
    efficiency: Figure
    quality: Figure
    recovery: Figure
    calls: int
    failures: int
    failures_before: int
    failure_rate: Figure
    spending: Spending | None = None
    done: int = 0
    not_done: int = 0
    unsure: int = 0
    completion: Estimate = Estimate()
    ended_badly: Figure = NO_FIGURE
    contradicted: Figure = NO_FIGURE
    check_failed: Figure = NO_FIGURE
    admitted: Figure = NO_FIGURE
    cut_short: Figure = NO_FIGURE
    gave_up: Figure = NO_FIGURE
    left_midway: Figure = NO_FIGURE


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns common to the finished sessions of the last days.

    Attributes:
        first_day: first day of the span, included.
        last_day: last day of the span, included.
        unanswered: sessions without an answer or a tool call; no other key counts them.
        scheduled: finished scheduled runs; only `spending` and their group of `Dimension.KIND` count them.
        task_scores: mean session score (1-5) of each task type.
        task_sessions: number of sessions behind the score of each task type, however few.
        tool_errors: number of errors of each tool.
        error_types: number of errors of each category.
        groups: figures by dimension, with ranges and the previous span; no value if there are too few sessions.
        daily: usage and cost of each day on which sessions ended.
        jobs: scheduled jobs with their runs.
        work: fate of the work in git.
        objected: share of sessions in which a person complained, corrected the agent or gave up.
        asked_again: share of sessions whose request was repeated in this span.
        claims: claims of the answers, by kind.
    """

    days: int
    first_day: date
    last_day: date
    sessions: int
    open_sessions: int
    unanswered: int
    scheduled: int
    task_scores: dict[str, float]
    task_sessions: dict[str, int]
    tool_errors: dict[str, int]
    error_types: dict[str, int]
    overall: Group
    groups: dict[Dimension, tuple[Group, ...]]
    alternatives: tuple[Alternative, ...]
    daily: tuple[DaySpending, ...]
    jobs: tuple[ScheduledJob, ...] = ()
    work: WorkOutcomes | None = None
    objected: Figure = NO_FIGURE
    asked_again: Figure = NO_FIGURE
    claims: tuple[ClaimTally, ...] = ()


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of a report: the files of the week, by result."""

    seen: int
    graded: int
    open_sessions: int
    skipped: dict[str, int]
    waiting: int
    dead: int


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One week of the trend, such as 2026-W47.

    Reports of earlier versions lack the verdicts, `ended_badly` and `checked_completion`.

    Attributes:
        changes: changes of the agents' set-up in this week.
        done: number of sessions with this verdict; `not_done` and `unsure` likewise.
        checked_completion: completion rate corrected by random labels.
    """

    week: str
    sessions: int
    unanswered: int
    avg_tool_efficiency: Estimate
    avg_response_quality: Estimate
    failure_rate: Estimate
    changes: tuple[SetupChange, ...] = ()
    done: int = 0
    not_done: int = 0
    unsure: int = 0
    ended_badly: Estimate = Estimate()
    checked_completion: Estimate = Estimate()


class FromPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Signals of people about a week's work.

    Attributes:
        objected: number of finished sessions in which a person complained, corrected the agent or gave up.
        asked_again: number of sessions, of this week or before, whose request was repeated in a session of this week.
    """

    objected: int
    asked_again: int


class Concern(StrEnum):
    """Subject of a suggestion."""

    ENDED_BADLY = "ended_badly"
    EFFICIENCY = "efficiency"
    RECOVERY = "recovery"
    TASK_TYPE = "task_type"
    TOOL = "tool"
    ERROR = "error"


class Example(msgspec.Struct, frozen=True):
    """Key of the sessions that show a concern; `name` is of the task type, tool or error."""

    of: Concern
    name: str | None = None


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion: what to do, the numbers that say so, and up to three sessions that show why."""

    concern: Concern
    text: str
    because: str
    sessions: tuple[str, ...]


class WeeklyReport(msgspec.Struct, frozen=True, kw_only=True):
    """One ISO week, Monday to Sunday, in the person's time zone.

    Reports of older versions lack some keys, which are then None or empty.

    Attributes:
        complete: whether the week is over.
        revision: how often the report's numbers changed.
        late_sessions: number of sessions that arrived after the first report.
        coverage: files of the week.
        total_sessions: finished sessions of the week.
        unanswered: finished sessions without an answer or a tool call; they have no scores, and only `coverage` counts
        them.
        sessions_before: finished sessions of the week before.
        trust: reliability of the verdicts when the report was made.
        lowest_task_types: task types, the worst first.
        error_prone_tools: tools, those with most errors first.
        common_errors: categories of errors, the most frequent first.
        new_issues: error groups in the state `new`.
        returned_issues: error groups in the state `returned`.
        alerts: alerts open at any time of the week, with their state at its end.
        trend: weeks up to this one.
        people: signals of people.
        checked_completion: completion rate corrected by labels; `sample` is the number of random reviews in the last
            eight
        weeks.
        verdicts: number of sessions by verdict.
        grader_changes: changes of the active grader in the weeks of the trend.
        agents: sessions by agent.
        spending: cost of all sessions of every kind.
        changes: changes of the agents' set-up in this week, with results before and after each, as known at its end.
        hosts: sessions by machine of the fleet.
        scheduled: scheduled runs, which otherwise only `coverage` and `spending` count.
        ended_badly: share of sessions that ended badly; see `Group`.
        jobs: scheduled jobs with their runs.
        work: fate of the work in git, over four weeks.
    """

    report_version: int = REPORT_VERSION
    week: str
    week_start: date
    week_end: date
    complete: bool
    revision: int
    late_sessions: int
    coverage: Coverage
    total_sessions: int
    unanswered: int
    sessions_before: int
    trust: Trust
    avg_tool_efficiency: Figure
    avg_response_quality: Figure
    error_recovery_rate: Figure
    failure_rate: Figure
    lowest_task_types: tuple[Group, ...]
    error_prone_tools: tuple[Group, ...]
    common_errors: tuple[Group, ...]
    suggestions: tuple[Suggestion, ...]
    new_issues: tuple[ErrorIssue, ...]
    returned_issues: tuple[ErrorIssue, ...]
    alerts: tuple[Alert, ...]
    trend: tuple[TrendPoint, ...]
    people: FromPeople | None = None
    claims: tuple[ClaimTally, ...] = ()
    checked_completion: Estimate = Estimate()
    verdicts: VerdictCounts | None = None
    grader_changes: tuple[GraderChange, ...] = ()
    agents: tuple[Group, ...] = ()
    spending: Spending | None = None
    spending_before: Spending | None = None
    changes: tuple[SetupEffect, ...] | None = None
    hosts: tuple[Group, ...] = ()
    scheduled: Group | None = None
    ended_badly: Figure = NO_FIGURE
    jobs: tuple[ScheduledJob, ...] = ()
    work: WorkOutcomes | None = None
