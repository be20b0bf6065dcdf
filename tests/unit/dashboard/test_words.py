"""What a value may look like on a page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import pytest
from markupsafe import Markup

from grader_daemon.dashboard.words import filters, shown
from grader_daemon.reports.safe_text import Name

_PILED = "Z" + "\u0301" * 400


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param(None, "-", id="not-known"),
        pytest.param(0, 0, id="a-number"),
        pytest.param("a\x1b[31mb\u202ec", "a\ufffd[31mb\ufffdc", id="what-a-terminal-obeys-and-what-turns-text-around"),
        pytest.param("Zo\u0308e", "Zo\u0308e", id="a-letter-of-two-characters"),
        pytest.param(f"{_PILED} a", "Z" + "\u0301" * 4 + "\ufffd a", id="marks-that-cover-other-lines"),
        pytest.param(Markup("<b>"), Markup("<b>"), id="what-we-made"),
    ],
)
def test_value_reads_as(value: object, said: object) -> None:
    assert shown(value) == said


def test_names_lines_and_drawings_are_made_readable_too() -> None:
    made = filters(None)
    drawing = Element("text")
    drawing.text = _PILED
    for text in (made["words"]([Name(_PILED), _PILED]), made["multiline"](_PILED), made["drawn"](drawing)):
        assert "\u0301" * 5 not in text
