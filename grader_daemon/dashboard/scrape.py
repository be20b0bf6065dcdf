"""The metrics, for a Prometheus that asks the page for them: with the token, as all programs do."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.wings import part


def metrics(visit: Visit) -> Response:
    """Answer with the metrics, in the format that is preferred."""
    told: tuple[str, str] = part("metrics")(visit.grader.context, visit.request.headers.get("accept", ""))
    text, kind = told
    return Response(text, headers={"Content-Type": kind, "Vary": "Accept"})


PAGES: Final = (Page("/metrics", metrics, bare=True),)
