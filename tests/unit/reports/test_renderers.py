from __future__ import annotations

import json

import pytest

from grader_daemon.reports.document import read_report
from grader_daemon.reports.renderers import RENDERERS
from tests.reports_examples import example_report


@pytest.mark.parametrize("form", list(RENDERERS))
def test_every_form_names_the_week_and_is_the_same_bytes_each_time(form: str) -> None:
    rendered = RENDERERS[form](example_report())

    assert "2026-W47" in rendered
    assert rendered == RENDERERS[form](example_report())


def test_json_form_is_the_document_and_reads_back() -> None:
    rendered = RENDERERS["json"](example_report())

    assert json.loads(rendered)["schema_version"] == 1
    assert read_report(rendered) == example_report()
