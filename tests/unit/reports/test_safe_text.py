from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.reports.safe_text import Name, columns, cut, joined, name, plain, remark, wrap
from tests.strategies import texts


@given(text=texts, longest=st.integers(7, 90))
def test_whatever_a_session_says_becomes_a_short_printable_line(text: str, longest: int) -> None:
    shown = remark(text, longest)

    assert shown.replace("\ufffd", "").isprintable()
    assert columns(shown) <= longest


def test_line_breaks_and_tabs_become_spaces() -> None:
    assert remark(" a\r\n\tb ") == "a b"


def test_name_that_says_nothing_is_called_empty() -> None:
    assert name(" \n") == Name("(empty)")


def test_remark_that_says_nothing_is_called_empty() -> None:
    assert remark("") == "(empty)"


def test_long_name_is_cut_with_a_mark() -> None:
    assert name("browser_navigate", 8) == Name("browser…")


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        pytest.param("abcd", 4, "abcd", id="as-long-as-allowed"),
        pytest.param("abcde", 4, "abc…", id="one-too-long"),
        pytest.param("ab cd", 4, "ab…", id="no-space-before-the-mark"),
        pytest.param("漢字漢字", 6, "漢字…", id="wide-characters-take-two-columns"),
        pytest.param("漢字", 4, "漢字", id="wide-characters-that-fit"),
    ],
)
def test_text_is_cut_to_columns(text: str, most: int, shown: str) -> None:
    assert cut(text, most) == shown


@given(text=texts.map(remark), most=st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, most: int) -> None:
    lines = wrap(text, most)

    assert all(0 < columns(line) <= most for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_lines_break_between_words_but_not_before_a_unit() -> None:
    assert wrap("a rate of 71 % at 09:10 UTC", 12) == ["a rate of", "71 % at", "09:10 UTC"]


def test_word_longer_than_a_line_is_broken() -> None:
    assert wrap("an abcdefgh", 4) == ["an", "abcd", "efgh"]


def test_parts_become_one_sentence() -> None:
    assert plain(joined([("a ", Name("b")), (Name("c"),)], ", ")) == "a b, c"


def test_nothing_joined_is_nothing() -> None:
    assert joined([], ", ") == ()
