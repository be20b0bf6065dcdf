from __future__ import annotations

from hypothesis import given

from grader_daemon.domain.text import clean
from tests.strategies import texts


def test_escapes_and_line_breaks_become_marks() -> None:
    assert clean("a\x1b[31mb\nc\u202ed ü") == "a\ufffd[31mb\ufffdc\ufffdd ü"


@given(text=texts)
def test_nothing_but_printable_text_comes_out(text: str) -> None:
    assert clean(text).replace("\ufffd", "").isprintable()
    assert len(clean(text)) == len(text)
