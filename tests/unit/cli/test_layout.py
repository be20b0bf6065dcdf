from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.cli.layout import left_out, paragraph_lines, table_lines, without
from grader_daemon.reports.safe_text import columns

HEADINGS = ("id", "state", "n", "says")
ROWS = [("one", "open", "7", "a short text"), ("second", "closed", "12", "a text of a good many words, to be cut")]
TEXTS = st.text(st.sampled_from("ab 日本語\u0301"), max_size=60)


def laid(room: int | None, headings: Sequence[str] = HEADINGS, rows: Sequence[Sequence[str]] = ROWS) -> list[str]:
    heads, shown = table_lines(headings, rows, room=room)
    return [*heads, *shown]


def test_what_is_piped_is_never_cut() -> None:
    assert laid(None) == [
        "id      state    n  says",
        "one     open     7  a short text",
        "second  closed  12  a text of a good many words, to be cut",
    ]


def test_a_terminal_cuts_the_widest_column() -> None:
    assert laid(40) == [
        "id      state    n  says",
        "one     open     7  a short text",
        "second  closed  12  a text of a good ma…",
    ]


def test_what_does_not_fit_stands_below_its_row() -> None:
    assert laid(24) == [
        *("id      state    n", "    says"),
        *("one     open     7", "    a short text"),
        *("second  closed  12", "    a text of a good ma…"),
    ]


@pytest.mark.parametrize(
    ("room", "dropped"),
    [
        pytest.param(None, [], id="piped"),
        pytest.param(36, [], id="wide-enough"),
        pytest.param(35, ["n"], id="one-is-enough"),
        pytest.param(30, ["n", "state"], id="in-their-order"),
        pytest.param(5, ["n", "state"], id="no-others"),
    ],
)
def test_columns_are_left_out_in_their_order(room: int | None, dropped: list[str]) -> None:
    # what must stay: 6 + 2 + 6 + 2 + 2 + 2 + 16 of the text = 36
    assert left_out(HEADINGS, ROWS, room=room, may_drop=["n", "state"]) == dropped


def test_a_table_without_some_of_its_columns() -> None:
    assert without(HEADINGS, ROWS, ["n", "says"]) == (["id", "state"], [["one", "open"], ["second", "closed"]])


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4), st.integers(24, 120))
def test_a_table_is_never_wider_than_the_terminal(rows: list[tuple[str, ...]], room: int) -> None:
    shown = laid(room, ("a", "b", "c"), [("id", *row[1:]) for row in rows])

    assert max(map(columns, shown)) <= room


def test_a_figure_with_its_range_is_whole_as_long_as_the_last_column_can_be_cut() -> None:
    figure = "9.2 % (5.1\u201316.1 %)"
    rows = [("general", figure, "a text of a good many words, to be cut")]
    assert laid(46, ("type", "bad endings", "says"), rows)[1] == f"general  {figure}  a text of a good\u2026"


def test_wide_characters_take_two_columns() -> None:
    assert laid(None, ("a", "b"), [("日本", "x"), ("a", "y")]) == ["a     b", "日本  x", "a     y"]


def test_a_paragraph_goes_on_below_its_first_line() -> None:
    assert list(paragraph_lines("note  ", "one two three four five six", room=26)) == [
        "note  one two three four",
        "      five six",
    ]


@pytest.mark.parametrize(
    ("head", "text", "room"),
    [
        pytest.param("", "a text that is too long for it", None, id="piped"),
        pytest.param("a head  ", "a text that is too long for it", 24, id="no-room-beside-the-head"),
        pytest.param("a  ", "short", 24, id="fits"),
    ],
)
def test_a_paragraph_that_stands_on_one_line(head: str, text: str, room: int | None) -> None:
    assert list(paragraph_lines(head, text, room=room)) == [head + text]


def test_colours_take_no_room() -> None:
    head = "\x1b[91mbad\x1b[0m  "
    assert list(paragraph_lines(head, "one two three four five six", room=25)) == [
        f"{head}one two three four",
        "     five six",
    ]
