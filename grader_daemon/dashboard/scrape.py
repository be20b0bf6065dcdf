"""The metrics, for a Prometheus that asks the page for them: with the token, as all programs do."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from grader_daemon.api.metrics import read_metrics
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.reports.metrics.exposition import (
    OPENMETRICS_TYPE,
    PROMETHEUS_TYPE,
    openmetrics_text,
    prometheus_text,
    wants_openmetrics,
)


def metrics(visit: Visit) -> Response:
    """Answer with the metrics, in the format that is preferred; OpenMetrics has exemplars."""
    families = read_metrics(visit.grader.context)
    if wants_openmetrics(visit.request.headers.get("accept", "")):
        text, kind = openmetrics_text(families), OPENMETRICS_TYPE
    else:
        text, kind = prometheus_text(families), PROMETHEUS_TYPE
    return Response(text, headers={"Content-Type": kind, "Vary": "Accept"})


PAGES: Final = (Page("/metrics", metrics, bare=True),)
