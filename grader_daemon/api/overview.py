"""The first look: is it running, is anything wrong, is it better or worse than before, what should one look at?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grades import GradeFilter, Grades, SortKey
from grader_daemon.api.insight import Insight
from grader_daemon.api.status import Status, read_status
from grader_daemon.domain.alert import Alert
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import GraderChange, Trust
from grader_daemon.domain.error_groups import NEWS, ErrorIssue
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.fleet_hosts import FleetView
from grader_daemon.domain.insight import Patterns
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import Outcome, VerdictCounts
from grader_daemon.integrations.machine import has_launchd, has_systemd
from grader_daemon.pipeline.grader_changes import grader_changes
from grader_daemon.reports.worries import worry_words

_OPEN_SHOWN: Final = 200
_MOST_LOOKS: Final = 3
_MARKED_DAYS: Final = 28


class OpenSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Unfinished sessions of the span, at most the 200 that were written to last.

    Attributes:
        sessions: their number.
        since: start of the longest one.
        in_circles: ids of those that repeat the same step again and again.
    """

    sessions: int
    since: datetime | None
    in_circles: tuple[str, ...]


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A session worth a look: `why` is the most serious fact about it, in a few words; see `worry_words`."""

    session_id: str
    task_summary: str | None
    outcome: Outcome
    why: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of the last days including today; None if there is no database yet.

    Attributes:
        status: status of the daemon.
        patterns: figures of the last days and the days before; the totals are in `overall`.
        trust: reliability of the verdicts.
        checked: completion rate corrected by labels.
        verdicts: number of sessions by verdict.
        grader_changes: changes of the active grader in these days.
        alerts: open alerts.
        worst_error: the new or returned error group with most errors.
        open_sessions: unfinished sessions.
        looks: finished tasks that most likely failed.
        has_systemd: whether a service could run the daemon here.
        at: time of this summary.
        fleet: the machines whose grades these are, if not only this one.
    """

    status: Status
    patterns: Patterns | None = None
    trust: Trust | None = None
    checked: Estimate | None = None
    verdicts: VerdictCounts | None = None
    grader_changes: tuple[GraderChange, ...] = ()
    alerts: tuple[Alert, ...] = ()
    worst_error: ErrorIssue | None = None
    open_sessions: OpenSessions | None = None
    looks: tuple[Look, ...] = ()
    has_systemd: bool
    at: datetime
    fleet: FleetView | None = None


def overview(context: GraderContext, *, days: int = 7) -> Overview:
    """Return the first look. Nothing is made for it, not even a database.

    Raises:
        StoreError: there is a database, and it cannot be read.
    """
    seen = main_figures(context, days=days)
    if seen.patterns is None:
        return seen
    insight, grades = Insight(context), Grades(context)
    return msgspec.structs.replace(
        seen,
        worst_error=next(iter(insight.error_issues(days=days, states=NEWS, limit=1)), None),
        open_sessions=_open_sessions(grades, days),
        looks=tuple(_looks(grades, days)),
    )


def summary_document(context: GraderContext, *, days: int) -> dict[str, Any]:
    """Return the first look as a document, with the `summary` of the days; raises as `overview` does."""
    seen = overview(context, days=days)
    summary = None if seen.patterns is None else Insight(context).summary(days=days)
    return {"summary": summary, **msgspec.structs.asdict(seen)}


def main_figures(context: GraderContext, *, days: int = 7) -> Overview:
    """Return the first look without what is told of single errors and open sessions.

    Raises:
        StoreError: there is a database, and it cannot be read.
    """
    bare = Overview(status=read_status(context), has_systemd=has_systemd() or has_launchd(), at=context.now())
    if not context.has_database:
        return bare
    insight = Insight(context)
    return msgspec.structs.replace(
        bare,
        patterns=insight.patterns(days),
        trust=Grades(context).trust(),
        checked=insight.summary(days=days).checked,
        verdicts=insight.verdicts(days=days),
        grader_changes=_grader_changes(context, days),
        alerts=tuple(alert for alert in insight.alerts() if alert.resolved_at is None),
        fleet=context.fleet_view(),
    )


def _grader_changes(context: GraderContext, days: int) -> tuple[GraderChange, ...]:
    since = context.now() - timedelta(days=min(days, _MARKED_DAYS))
    return grader_changes(context.store, since=since, zone=context.settings.zone)


def _looks(stored: Grades, days: int) -> Iterator[Look]:
    """Yield the tasks of people that most likely failed, none that was judged or goes on."""
    which = GradeFilter(sort=SortKey.WORST, kind=SessionKind.MAIN, since=stored.begin_of(days), limit=_MOST_LOOKS)
    for each in stored.page(which).grades:
        grade, why = each.grade, worry_words(each.grade)
        if why is None or grade.state is SessionState.OPEN or not grade.verdict_by.is_automatic:
            continue
        if grade.outcome in (Outcome.NOT_DONE, Outcome.UNSURE):
            yield Look(session_id=grade.session_id, task_summary=grade.task_summary, outcome=grade.outcome, why=why)


def _open_sessions(stored: Grades, days: int) -> OpenSessions:
    which = GradeFilter(state=SessionState.OPEN, since=stored.begin_of(days), limit=_OPEN_SHOWN)
    grades = [each.grade for each in stored.page(which).grades]
    return OpenSessions(
        sessions=len(grades),
        since=min((grade.session_start for grade in grades if grade.session_start is not None), default=None),
        in_circles=tuple(grade.session_id for grade in grades if grade.had_infinite_loop_risk),
    )
