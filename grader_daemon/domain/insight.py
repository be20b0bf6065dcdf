"""Summaries of many grades: groups, error issues, the weekly report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.alert import Alert
from grader_daemon.domain.analysis import Category, ErrorSign, Subcategory
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.claims import ClaimTally
from grader_daemon.domain.estimate import NO_FIGURE, Estimate, Figure
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.scheduled_jobs import ScheduledJob
from grader_daemon.domain.setup_changes import SetupChange, SetupEffect
from grader_daemon.domain.suggestion import Suggestion
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.domain.work_fate import WorkOutcomes

REPORT_VERSION: Final = 3
"""Version of the shape of `WeeklyReport`; raised when a field changes its meaning or goes."""

_MOSTLY: Final = 0.5
_FEWEST_OTHERS: Final = 5


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Usage and cost of the finished sessions of a group; None where that is not known of any of them.

    `sessions` are all of them, of every kind, `side` those that are no tasks of a person. Tokens are summed up over the
    `metered` sessions, where they are known, US dollars over the `priced` ones; `side_usd` is the part of side
    sessions. `tasks` of a person are priced. `per_task_usd` is what was spent for each of these, done or not: in groups
    by task type, model or platform without side sessions, which are in other groups than the tasks that they are part
    of.
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

    `done`, `not_done` and `unsure` count them by their verdict; `ended_badly` is a fact, see `Group`. `cost_usd` is
    what the priced ones cost, of every kind, None where there are none; `tasks` counts the tasks among them.
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

    Rates are 0 to 1, scores 1 to 5. `failure_rate` is failures per tool call (in a group of `Dimension.TOOL`: per call
    of the tool; of `Dimension.CATEGORY`: failures of the category per call of any session). `recovery` is over the
    sessions with failures. `unanswered` are finished sessions without an answer or a tool call: they have no scores,
    and count nowhere else. `spending` is None by tool and error, and in reports of versions without it. `done`,
    `not_done` and `unsure` count the sessions by their verdict, 0 in reports of versions without them. `completion` is
    the share of done tasks according to random labels, its `sample` the number of these labels in the group; no value
    below 20.

    Facts of the record, as rates: `contradicted`, `check_failed`, `admitted` (the answer says that the task is not
    done, or only in part), `cut_short` (not by a person), `gave_up`, `left_midway`. `ended_badly` is any of these, or
    no answer at the end.
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


class StepCount(msgspec.Struct, frozen=True, kw_only=True):
    """A next step after a failure, and how often it worked.

    `tool` and `command` name the next call, `is_retry` says that they are those that had failed. `worked` is of `tries`
    (`rate`), `recovered` counts the tries after whose failure the same call worked in the end (`recovery`). Rates of
    fewer than 5 tries have no value.
    """

    tool: str
    command: str | None
    is_retry: bool
    tries: int
    worked: int
    rate: Estimate
    recovered: int = 0
    recovery: Estimate = Estimate()

    @property
    def odds(self) -> tuple[float, int]:
        """Sort key of steps, the surest highest: the lower end of the rate, 0 for few tries; then the tries."""
        return self.rate.low or 0.0, self.tries

    @property
    def remedy_odds(self) -> tuple[float, int]:
        """Sort key of remedies, likewise: the lower end of the recovery, then the tries."""
        return self.recovery.low or 0.0, self.tries


def remedies(steps: Sequence[StepCount]) -> list[StepCount]:
    """Return the next steps of one error after which what had failed worked in the end, the surest first.

    Surely more often than not, and than after all other steps: a step that works by itself, as reading a file does, is
    no remedy yet. Fewer than 5 other tries are no measure.
    """
    tries, recovered = sum(step.tries for step in steps), sum(step.recovered for step in steps)
    found = []
    for step in steps:
        others = tries - step.tries
        usual = (recovered - step.recovered) / others if others >= _FEWEST_OTHERS else 0.0
        if (step.recovery.low or 0.0) >= max(_MOSTLY, usual):
            found.append(step)
    return sorted(found, key=lambda step: step.remedy_odds, reverse=True)


class StepRow(msgspec.Struct, frozen=True):
    """A next step after failures of an issue; `command` is None where there is none."""

    tool: str
    command: str | None
    tries: int
    worked: int
    recovered: int = 0


class ToolStep(msgspec.Struct, frozen=True):
    """A next step after failures of `tool`; `is_retry` says that it was the same again."""

    tool: str
    next_tool: str
    next_command: str | None
    is_retry: bool
    tries: int
    worked: int
    recovered: int = 0


class IssueRow(msgspec.Struct, frozen=True, kw_only=True):
    """An issue and its counts; `days` are those on which it occurred, in order; for `named` see `ErrorIssue`."""

    sign: ErrorSign
    failures: int
    sessions: int
    recovered: int
    days: tuple[date, ...]
    first_seen: datetime
    last_seen: datetime
    resolved_at: datetime | None
    ignored_at: datetime | None
    task_types: dict[str, int]
    latest: tuple[str, ...]
    steps: tuple[StepRow, ...]
    named: dict[str, int] = {}


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Alternatives to a tool that failed: the steps after its failures that worked, the surest first."""

    tool: str
    failures: int
    steps: tuple[StepCount, ...]


class IssueState(StrEnum):
    """State of an error issue."""

    NEW = "new"
    ONGOING = "ongoing"
    REGRESSED = "regressed"
    RESOLVED = "resolved"
    IGNORED = "ignored"


class ErrorIssue(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of one cause, over all time or a span.

    `failures` counts tool calls, `sessions` the sessions with one, `recovered` the sessions that recovered.
    `task_types` maps a task type to its sessions. `latest` are the ids of the latest sessions with it. `steps` begin
    with the most frequent. `named` maps the names in its newest failures, where their texts differ first ("numpy"), to
    sessions, the most frequent first.
    """

    fingerprint: str
    tool: str | None
    command: str | None
    category: Category
    subcategory: Subcategory | None = None
    signal: str
    example: str
    state: IssueState
    first_seen: datetime
    last_seen: datetime
    failures: int
    sessions: int
    recovered: int
    task_types: dict[str, int]
    latest: tuple[str, ...]
    steps: tuple[StepCount, ...]
    named: dict[str, int] = {}


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns common to the finished sessions of the last days.

    `task_scores` maps a task type to its mean session score (1-5), `task_sessions` to the number of sessions behind it,
    however few; `tool_errors` and `error_types` count failures. `groups` holds the same by dimension with intervals,
    the span before, and no value where there are too few. `unanswered` sessions count nowhere else, see `Group`.
    `scheduled` are finished runs that a schedule began: they count in their group of `Dimension.KIND` alone, and in
    `spending`; `jobs` are the scheduled jobs, each with its runs, `work` is what became of work in git. `objected` is
    the share of sessions in which a person complained, corrected the agent or gave up, `asked_again` that of sessions
    whose request came again in one of these days; `claims` are what answers say was done, by kind. The days are those
    from `first_day` to `last_day`, both included; `daily` has those on which any ended.
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
    """One week of the trend; `week` as in 2026-W47, `changes` what changed in it in how agents are set up.

    `done`, `not_done` and `unsure` count its sessions by their verdict, `checked_completion` is the completion rate
    that random labels tell; reports of earlier versions lack them, and `ended_badly`.
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

    `objected` counts finished sessions in which a person complained, corrected the agent or gave up, `asked_again` the
    sessions, of this week or before, whose request came again in one that ended this week.
    """

    objected: int
    asked_again: int


class WeeklyReport(msgspec.Struct, frozen=True, kw_only=True):
    """One ISO week, Monday to Sunday, in the person's time zone.

    `complete` is False while the week goes on. `revision` counts how often the report was made with other numbers,
    and `late_sessions` how many sessions there are more than in the first one. Each `Figure` has the week before
    beside it. `lowest_task_types` come worst first, `error_prone_tools` and `common_errors` most failures first.
    `trend` ends with this week. `people` is None in reports of versions that did not listen to them.
    `checked_completion` is the completion rate put right by sessions that people judged, its `sample` how many of
    these were drawn at random in the last eight weeks. `unanswered` are finished sessions without an answer or a tool
    call: they have no scores, and no other number counts them but `coverage`. `trust` says how far verdicts could be
    trusted when the report was made, `verdicts` how many sessions of the week have which; None in reports of versions
    that did not count them. `ended_badly` is a fact, see `Group`. `agents` are the sessions by agent, and `spending`
    is what all of them cost, of every kind; both are missing in reports of versions that knew neither. `changes` is
    what changed in the week in how agents are set up, and how work went before and since, as it stood at its end; None
    in reports of versions that did not look. `hosts` are the machines of a fleet. `grader_changes` says when another
    grader came into force in the weeks of the trend. `scheduled` are the runs that a schedule began, which no other
    number counts but `coverage` and `spending`; None in reports of versions that did not count them. `jobs` are these
    runs job by job. `work` is what became of work in git, of four weeks.
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
