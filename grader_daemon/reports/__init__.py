"""A weekly report as text, Markdown, a page and a JSON document; all of it pure, the same report gives the same bytes.

`numbers` and `wording` say everything once, `outline` puts it in order once; `text`, `markdown` and `html` only set it.
"""

from __future__ import annotations

from grader_daemon.reports.document import read_report, report_document, report_schema
from grader_daemon.reports.html import render_html
from grader_daemon.reports.markdown import render_markdown
from grader_daemon.reports.text import render_text

__all__ = ["read_report", "render_html", "render_markdown", "render_text", "report_document", "report_schema"]
