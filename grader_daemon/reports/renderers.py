"""Every form that a report comes in, by the name that people choose it by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.domain.text import escaped
from grader_daemon.reports.document import report_document
from grader_daemon.reports.html import render_html
from grader_daemon.reports.markdown import render_markdown
from grader_daemon.reports.plain_text_report import render_text


def render_json(report: WeeklyReport) -> str:
    """Return the JSON document of a report, indented."""
    return escaped(msgspec.json.format(msgspec.json.encode(report_document(report)), indent=2).decode()) + "\n"


RENDERERS: Final[dict[str, Callable[[WeeklyReport], str]]] = {
    "text": render_text,
    "md": render_markdown,
    "html": render_html,
    "json": render_json,
}
