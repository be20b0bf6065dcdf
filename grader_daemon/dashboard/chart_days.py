"""Days of a chart, each with its value in words and where its sessions are listed."""

from __future__ import annotations

from collections.abc import Sequence

from grader_daemon.dashboard.scope import Scope
from grader_daemon.dashboard.session_filter import day_address
from grader_daemon.domain.insight import DayFigures
from grader_daemon.reports.charts import ChartDay
from grader_daemon.reports.numbers import Measure, estimate_words


def chart_days(scope: Scope, daily: Sequence[DayFigures], measure: Measure, **asked: str) -> list[ChartDay]:
    """Return the days of a measure; `asked` is what their sessions have in common, beside the scope."""
    return [
        ChartDay(
            name=f"{each.day}",
            words=f"{each.day}: {estimate_words(getattr(each, measure.group), measure)}",
            address=day_address(scope, each.day, **asked),
        )
        for each in daily
    ]
