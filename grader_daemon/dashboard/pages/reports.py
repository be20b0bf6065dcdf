"""Reports: the weeks that are kept, one of them whole, and the one that goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.dashboard.addresses import message_address
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.calendar import week_name
from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.charts import trend_chart
from grader_daemon.reports.html import Addresses, report_parts
from grader_daemon.reports.numbers import TRENDED, Measure, brief_words, estimate_words
from grader_daemon.reports.phrasing import alert_title, days, issue_title
from grader_daemon.reports.safe_text import LONGEST_ID, name

_LISTED: Final = 52
_FEWEST_DRAWN: Final = 3
"""So many weeks make a line."""
_WEEK: Final = timedelta(days=7)


class Trend(NamedTuple):
    """A measure over the weeks that are listed."""

    measure: Measure
    drawn: Element


def reports(visit: Visit) -> Response:
    """Answer with the weeks whose reports are kept, the newest first."""
    before = visit.query.get("before")
    found = visit.grader.insight.kept_reports(before=before, limit=_LISTED + 1)
    kept = found[:_LISTED]
    today = visit.grader.context.today
    return visit.show(
        "reports.html",
        scope=scope_line(
            visit, note="Reports cover whole weeks and all sessions, so the filters above do not apply here."
        ),
        kept=kept,
        days=days,
        measures=TRENDED,
        brief_words=brief_words,
        estimate_words=estimate_words,
        trends=list(_trends(kept[::-1])) if len(kept) >= _FEWEST_DRAWN else [],
        this_week=week_name(today),
        last_week=week_name(today - _WEEK),
        is_first=before is None,
        older=visit.at(f"/reports?before={quote(kept[-1].week)}") if len(found) > _LISTED else None,
    )


def report(visit: Visit) -> Response:
    """Answer with the report of a week."""
    week = visit.path["week"]
    made_at, found = visit.site.recent(f"week {week}", lambda: visit.grader.insight.weekly_report(week))
    following = found.week_start + _WEEK
    return visit.show(
        "report.html",
        report=found,
        made_at=made_at,
        parts_of_it=report_parts(found, addresses=addresses(found)),
        previous=week_name(found.week_start - _WEEK),
        next=week_name(following) if following <= visit.grader.context.today else None,
    )


def addresses(report: WeeklyReport) -> Addresses:
    """Return where more is told of what a report names: sessions, errors and alerts."""
    issues, alerts = (*report.new_issues, *report.returned_issues), report.alerts
    several = (
        *(suggestion.sessions for suggestion in report.suggestions),
        *(issue.latest for issue in issues),
        *(alert.sessions for alert in alerts),
    )
    sessions = {session_id for some in several for session_id in some}
    return {
        **{name(each, LONGEST_ID).text: message_address(each, None) for each in sessions},
        **{issue_title(issue): f"/errors/{quote(issue.fingerprint)}" for issue in issues},
        **{alert_title(alert): f"/alerts/{alert.number}" for alert in alerts if alert.number is not None},
    }


PAGES: Final = (Page("/reports", reports), Page("/reports/{week}", report))


def _trends(kept: Sequence[WeeklyReport]) -> Iterator[Trend]:
    weeks = [one.week for one in kept]
    for measure in TRENDED:
        estimates = [getattr(one, measure.report).now for one in kept]
        if any(estimate.value is not None for estimate in estimates):
            yield Trend(measure, trend_chart(weeks, estimates, measure=measure, identifier=f"over-{measure.group}"))
