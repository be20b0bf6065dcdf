"""What every rendering of a report must show."""

from __future__ import annotations

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.numbers import (
    BAD_ENDINGS,
    EFFICIENCY,
    FAILURES,
    QUALITY,
    RECOVERY,
    SCORE,
    brief_words,
    change_words,
    estimate_words,
)


def words_of_figures(report: WeeklyReport) -> list[str]:
    """Every number of a report as it reads, with its interval, the one before and the change."""
    figures = [
        (report.avg_tool_efficiency, EFFICIENCY),
        (report.avg_response_quality, QUALITY),
        (report.error_recovery_rate, RECOVERY),
        (report.failure_rate, FAILURES),
        *((group.score, SCORE) for group in report.lowest_task_types),
        *((group.failure_rate, FAILURES) for group in (*report.error_prone_tools, *report.common_errors)),
    ]
    words = [f"{report.total_sessions:,}", *(f"{group.failures:,}" for group in report.error_prone_tools)]
    for figure, measure in figures:
        words += [estimate_words(figure.now, measure), brief_words(figure.before, measure)]
        words.append(change_words(figure, measure))
    for point in report.trend:
        words += [point.week, f"{point.sessions:,}", brief_words(point.ended_badly, BAD_ENDINGS)]
    return words
