from __future__ import annotations

import pytest

from grader_daemon.sources.codex.escapes import unescaped


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("plain", "plain"),
        (r"a\n\t\\\'\"\q", "a\n\t\\'\"q"),
        (r"\x41\u00e9\u{1F600}\U0001f600", "A\u00e9\U0001f600\U0001f600"),
        (r"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        (r"\u{ffffff}", r"\u{ffffff}"),
        ("a\\\nb", "ab"),
    ],
)
def test_escapes_are_what_they_stand_for(written: str, text: str) -> None:
    assert unescaped(written) == text
