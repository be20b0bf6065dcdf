"""Weekly reports to try renderers on: a full week, an empty one, and one in which every string is an attack."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import msgspec

from grader_daemon.domain.alert import (
    Alert,
    AlertKind,
    AlertLevel,
    Decomposition,
    DropCause,
    ShareChange,
    Stream,
    StreamDrop,
)
from grader_daemon.domain.analysis import Category
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.error_groups import ErrorIssue, IssueState, StepCount
from grader_daemon.domain.estimate import Estimate, Figure, figure, mean, proportion, rate_per_call
from grader_daemon.domain.insight import Concern, Coverage, Group, Suggestion, TrendPoint, WeeklyReport
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.setup_changes import WINDOW, SetupChange, SetupEffect, SetupKind
from grader_daemon.domain.verdict import VerdictBy, VerdictCounts

MONDAY: Final = date(2026, 11, 16)
WEEK: Final = "2026-W47"
_CHANGED_AT: Final = datetime(2026, 11, 18, 5, 40, tzinfo=UTC)
NOTHING: Final = Figure(now=Estimate(), before=Estimate(), change=Estimate())
ATTACK: Final = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>`|[a](javascript:1)![b](//e.example/c)**_~~"
    "\x1b[31m\x1b]0;t\x07\u202egnp\u2066\r\n\t</style></title>--> {{7*7}} $x$ https://e.example/ www.e.example @root "
    "#1 someone@e.example &amp; \x00 \ud800 1. 漢字" + "w" * 500
)
"""Markup, script, links, escapes, overrides, a NUL, half a character and a word without an end."""

_FEWEST = 5


def rate(part: int, whole: int) -> Estimate:
    """A rate of sessions; no value below 5."""
    return proportion(part, whole, fewest=_FEWEST)


def score(value: float, sample: int, *, spread: float = 1.0) -> Estimate:
    """A mean between 1 and 5 whose values differ by about `spread`; no value below 5."""
    squares = sample * (value * value + spread * spread)
    return mean(value * sample, squares, sample, lowest=1, highest=5, fewest=_FEWEST)


TRUST = Trust(version="m1.model", by=VerdictBy.MODEL, agreement=0.33, threshold=0.31)


def failing(failures: int, calls: int, *, sessions: int) -> Estimate:
    """A rate of tool calls, spread evenly over the sessions; no value below 5."""
    squares = max(1, sessions)
    return rate_per_call(
        failures,
        calls,
        failures_squares=2 * failures * failures // squares,
        calls_squares=calls * calls // squares,
        calls_failures=failures * calls // squares,
        sessions=sessions,
        fewest=_FEWEST,
    )


def example_group(name: str, **changes: Any) -> Group:
    """A task type that got worse, or whatever the changes make of it."""
    usual = Group(
        name=name,
        sessions=14,
        unanswered=0,
        sessions_before=12,
        score=figure(score(2.4, 14, spread=0.7), score(3.5, 12, spread=0.7)),
        efficiency=figure(score(2.2, 14), score(3.1, 12)),
        quality=figure(score(2.6, 14), score(3.2, 12)),
        recovery=figure(rate(4, 9), rate(5, 6)),
        calls=180,
        failures=41,
        failures_before=18,
        failure_rate=figure(failing(41, 180, sessions=14), failing(18, 150, sessions=12)),
        done=1,
        not_done=4,
        unsure=9,
        ended_badly=figure(rate(9, 14), rate(3, 12)),
        contradicted=figure(rate(1, 14), rate(0, 12)),
        check_failed=figure(rate(3, 14), rate(1, 12)),
        admitted=figure(rate(1, 14), rate(1, 12)),
        cut_short=figure(rate(2, 14), rate(0, 12)),
        gave_up=figure(rate(1, 14), rate(1, 12)),
        left_midway=figure(rate(1, 14), rate(0, 12)),
    )
    return msgspec.structs.replace(usual, **changes)


def example_step(tool: str, tries: int, worked: int, **changes: Any) -> StepCount:
    """A next step, after which what had failed worked as often as the step itself."""
    usual = StepCount(
        tool=tool,
        command=None,
        is_retry=False,
        tries=tries,
        worked=worked,
        rate=rate(worked, tries),
        recovered=worked,
        recovery=rate(worked, tries),
    )
    return msgspec.structs.replace(usual, **changes)


def example_issue(**changes: Any) -> ErrorIssue:
    """A browser that times out, and what people know of it."""
    usual = ErrorIssue(
        fingerprint="1:3f9a77c2",
        tool="browser_navigate",
        command=None,
        category=Category.TIMEOUT,
        signal="Navigation timeout of <n> ms exceeded",
        example="Navigation timeout of 30000 ms exceeded",
        state=IssueState.NEW,
        first_seen=datetime(2026, 11, 17, 8, 30, tzinfo=UTC),
        last_seen=datetime(2026, 11, 21, 22, 0, tzinfo=UTC),
        failures=31,
        sessions=12,
        recovered=9,
        task_types={"debugging": 4, "research": 8},
        latest=("20261121_220000_abcdef", "20261120_101500_0f1e2d"),
        steps=(
            example_step("browser_navigate", 17, 3, is_retry=True),
            example_step("terminal", 14, 12, command="curl"),
            example_step("web_search", 2, 0),
        ),
    )
    return msgspec.structs.replace(usual, **changes)


def example_alert(**changes: Any) -> Alert:
    """Debugging got worse when another model came in."""
    drop = StreamDrop(
        stream=Stream(Metric.ENDED_BADLY, Dimension.TASK_TYPE, "debugging"),
        before=rate(15, 79),
        since=rate(10, 21),
        began_at=datetime(2026, 11, 18, 6, 0, tzinfo=UTC),
    )
    aside = StreamDrop(
        stream=Stream(Metric.FAILURE_RATE, Dimension.TOOL, "terminal"),
        before=failing(31, 900, sessions=79),
        since=failing(48, 260, sessions=21),
        began_at=datetime(2026, 11, 18, 9, 0, tzinfo=UTC),
    )
    usual = Alert(
        number=7,
        kind=AlertKind.DEGRADATION,
        level=AlertLevel.CRITICAL,
        drops=(drop, aside),
        opened_at=datetime(2026, 11, 20, 14, 32, tzinfo=UTC),
        began_at=datetime(2026, 11, 18, 6, 0, tzinfo=UTC),
        sessions=("20261120_101500_0f1e2d", "20261119_173000_77aa01"),
        changes=(
            ShareChange(dimension=Dimension.MODEL, name="hermes-5-mini", before=0.04, since=0.62),
            ShareChange(dimension=Dimension.TASK_TYPE, name="research", before=0.21, since=0.12),
        ),
        decomposition=Decomposition(mix=-0.04, work=-0.25, cause=DropCause.WORK),
    )
    return msgspec.structs.replace(usual, **changes)


def example_change(**changes: Any) -> SetupChange:
    """Another model took over on Wednesday."""
    usual = SetupChange(
        at=_CHANGED_AT,
        kind=SetupKind.MODEL,
        agent="hermes",
        before="hermes-5",
        after="hermes-5-mini",
    )
    return msgspec.structs.replace(usual, **changes)


def example_effect(**changes: Any) -> SetupEffect:
    """Completion fell since, and a skill was edited at the same time."""
    skill = {"kind": SetupKind.SKILL, "name": "deploy", "before": "5f", "after": "4e"}
    usual = SetupEffect(
        changes=(example_change(), example_change(**skill)),
        since=_CHANGED_AT - WINDOW,
        until=_CHANGED_AT + WINDOW,
        meanwhile=(example_change(kind=SetupKind.TOOLS, before="5f", after="4e"),),
        sessions_before=79,
        sessions_after=41,
        missing_before=0,
        missing_after=0,
        completion=figure(rate(17, 41), rate(56, 79)),
        is_sure=True,
    )
    return msgspec.structs.replace(usual, **changes)


def example_trend(weeks: int = 12) -> tuple[TrendPoint, ...]:
    """Weeks up to `WEEK`; the seventh before the last has too few sessions."""
    return tuple(_trend_point(number, weeks) for number in range(weeks))


def example_report(**changes: Any) -> WeeklyReport:
    """A week in which there is something to say in every section."""
    usual = WeeklyReport(
        week=WEEK,
        week_start=MONDAY,
        week_end=MONDAY + timedelta(days=6),
        complete=True,
        revision=1,
        late_sessions=0,
        coverage=Coverage(
            seen=1_104,
            graded=96,
            open_sessions=3,
            skipped={"request_dump": 2, "background_review": 1_001},
            waiting=1,
            dead=2,
        ),
        total_sessions=93,
        unanswered=3,
        trust=TRUST,
        sessions_before=88,
        ended_badly=figure(rate(42, 93), rate(22, 88)),
        verdicts=VerdictCounts(done=7, not_done=42, unsure=44, no_answer=3),
        avg_tool_efficiency=figure(score(3.1, 93), score(3.4, 88)),
        avg_response_quality=figure(score(3.8, 93), score(3.7, 88)),
        error_recovery_rate=figure(rate(28, 41), rate(25, 33)),
        failure_rate=figure(failing(88, 1_240, sessions=93), failing(52, 1_105, sessions=88)),
        lowest_task_types=(example_group("debugging"), _steady("infrastructure"), _small("deployment")),
        error_prone_tools=(
            example_group("terminal"),
            _other("browser_navigate", failures=31, failures_before=0, calls=96),
            _other("write_file", failures=6, failures_before=9, calls=210),
        ),
        common_errors=(
            example_group("timeout", failures=36, failures_before=7),
            _other("command_failed", failures=29, failures_before=30, calls=1_240),
            _other("file_not_found", failures=11, failures_before=12, calls=1_240),
        ),
        suggestions=(
            Suggestion(
                concern=Concern.ENDED_BADLY,
                text="Add pre-task planning steps",
                because="45 % of 93 sessions ended badly",
                sessions=("20261120_101500_0f1e2d", "20261119_173000_77aa01"),
            ),
            Suggestion(
                concern=Concern.TASK_TYPE,
                text="Consider skill enhancement for debugging",
                because="debugging scores 2.40 of 5 over 14 sessions",
                sessions=("20261119_173000_77aa01",),
            ),
        ),
        new_issues=(example_issue(), _unsolved()),
        returned_issues=(_returned(),),
        alerts=(example_alert(), _threshold()),
        trend=example_trend(),
        changes=(example_effect(),),
    )
    return msgspec.structs.replace(usual, **changes)


def empty_report(**changes: Any) -> WeeklyReport:
    """A week in which nothing was there, nor before."""
    usual = example_report(
        coverage=Coverage(seen=0, graded=0, open_sessions=0, skipped={}, waiting=0, dead=0),
        total_sessions=0,
        unanswered=0,
        sessions_before=0,
        ended_badly=NOTHING,
        avg_tool_efficiency=NOTHING,
        avg_response_quality=NOTHING,
        error_recovery_rate=NOTHING,
        failure_rate=NOTHING,
        lowest_task_types=(),
        error_prone_tools=(),
        common_errors=(),
        suggestions=(),
        new_issues=(),
        returned_issues=(),
        alerts=(),
        trend=(),
        changes=(),
    )
    return msgspec.structs.replace(usual, **changes)


def hostile_report(attack: str = ATTACK) -> WeeklyReport:
    """A week in which every string that can come from outside is an attack, one of them at least twice."""
    group = example_group(attack)
    step = example_step(attack, 9, 4, command=attack)
    issue = example_issue(
        fingerprint=attack,
        tool=attack,
        command=attack,
        signal=attack,
        example=f"!{attack}",
        task_types={attack: 3, "": 1},
        latest=(attack, attack),
        steps=(step, step),
    )
    stream = Stream(Metric.QUALITY, Dimension.MODEL, attack)
    drop = StreamDrop(stream=stream, before=score(4, 30), since=score(2, 9), began_at=issue.first_seen)
    change = ShareChange(dimension=Dimension.PLATFORM, name=attack, before=0.0, since=1.0)
    changed = example_change(agent=attack, name=attack, before=attack, after=attack)
    alert = example_alert(
        kind=AlertKind.THRESHOLD,
        drops=(drop, drop),
        sessions=(attack,),
        changes=(change,),
        rule=attack,
        note=attack,
        setup_change=changed,
    )
    return example_report(
        week=attack,
        coverage=Coverage(seen=1, graded=1, open_sessions=0, skipped={attack: 1}, waiting=0, dead=0),
        lowest_task_types=(group, group),
        error_prone_tools=(group,),
        common_errors=(group,),
        suggestions=(Suggestion(concern=Concern.TOOL, text=attack, because=attack, sessions=(attack,)),),
        new_issues=(issue,),
        returned_issues=(issue,),
        alerts=(alert,),
        trend=tuple(msgspec.structs.replace(point, week=attack, changes=(changed,)) for point in example_trend(3)),
        changes=(example_effect(changes=(changed, changed), meanwhile=(changed,)),),
    )


def _trend_point(number: int, weeks: int) -> TrendPoint:
    start = MONDAY - timedelta(weeks=weeks - 1 - number)
    year, week, _ = start.isocalendar()
    is_thin = weeks - number == 7
    sessions = 3 if is_thin else 60 + 7 * (number % 5)
    share = 0.82 - 0.004 * (number % 4) ** 2 - (0.2 if number == weeks - 1 else 0.0)
    failures = round(sessions * 13 * (0.04 + 0.008 * (number % 3)))
    return TrendPoint(
        week=f"{year}-W{week:02}",
        sessions=sessions,
        unanswered=0,
        ended_badly=rate(sessions - round(share * sessions), sessions),
        done=2,
        not_done=sessions - round(share * sessions),
        unsure=round(share * sessions) - 2,
        avg_tool_efficiency=score(3.5 - 0.1 * (number % 4), sessions),
        avg_response_quality=score(3.6 + 0.05 * (number % 3), sessions),
        failure_rate=failing(failures, sessions * 13, sessions=sessions),
    )


def _steady(name: str) -> Group:
    steady = figure(score(2.9, 9), score(2.9, 8))
    return example_group(name, sessions=9, sessions_before=8, score=steady)


def _small(name: str) -> Group:
    return example_group(name, sessions=6, sessions_before=3, score=figure(score(2.95, 6), score(3.0, 3)))


def _other(name: str, *, failures: int, failures_before: int, calls: int) -> Group:
    rates = figure(failing(failures, calls, sessions=24), failing(failures_before, calls, sessions=22))
    return example_group(
        name, sessions=24, calls=calls, failures=failures, failures_before=failures_before, failure_rate=rates
    )


def _unsolved() -> ErrorIssue:
    return example_issue(
        fingerprint="1:77aa01b3",
        tool=None,
        category=Category.TOOL_NOT_FOUND,
        signal="",
        example="",
        failures=2,
        sessions=1,
        recovered=0,
        task_types={},
        latest=(),
        steps=(),
    )


def _returned() -> ErrorIssue:
    return example_issue(
        fingerprint="1:aa00bb11",
        tool="terminal",
        command="git push",
        category=Category.PERMISSION_DENIED,
        signal="remote: Permission to <path> denied to <name>.",
        example="remote: Permission to timmy/notes.git denied to timmy.",
        state=IssueState.RETURNED,
        first_seen=datetime(2026, 9, 30, 12, 0, tzinfo=UTC),
        failures=7,
        sessions=4,
        recovered=0,
        task_types={"deployment": 4},
        steps=(example_step("terminal", 6, 0, command="git push", is_retry=True),),
    )


def _threshold() -> Alert:
    drop = StreamDrop(
        stream=Stream(Metric.EFFICIENCY, Dimension.OVERALL, ""),
        before=score(3.4, 88),
        since=score(3.1, 93),
        began_at=datetime(2026, 11, 16, 6, 0, tzinfo=UTC),
    )
    return example_alert(
        number=8,
        kind=AlertKind.THRESHOLD,
        level=AlertLevel.WARNING,
        drops=(drop,),
        changes=(),
        decomposition=None,
        rule="efficiency_below",
        sessions=(),
        acknowledged_at=datetime(2026, 11, 21, 8, 0, tzinfo=UTC),
        resolved_at=datetime(2026, 11, 22, 19, 5, tzinfo=UTC),
        note="the new browser tool; a fix is on its way",
    )
