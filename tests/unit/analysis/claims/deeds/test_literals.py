from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.claims.deeds.literals import MOST_LITERALS, LiteralKind, literals_of
from tests.tables import for_each


def is_same(one: str, other: str) -> bool:
    first, second = (literals_of(text) for text in (one, other))
    return bool(first and second) and bool(first[0].readings & second[0].readings)


@for_each(
    "one, other",
    [
        pytest.param("2026-03-04", "March 4th", id="month-first"),
        pytest.param("2026-03-04", "4 March", id="day-first"),
        pytest.param("2026-03-04", "4.3.2026", id="with-points"),
        pytest.param("2026-03-04", "4. März", id="german"),
        pytest.param("2026-03-04", "04/03/2026", id="with-slashes-in-either-order"),
        pytest.param("2026-11-12", "11月12日", id="chinese"),
        pytest.param("2026-11-12", "the 12th", id="day-alone"),
        pytest.param("14:00", "2 pm", id="half-of-the-day"),
        pytest.param("14h30", "2:30 pm", id="french-time"),
        pytest.param("00:15", "12:15 am", id="midnight"),
        pytest.param("1200", "$1,200.00", id="english-amount"),
        pytest.param("1200", "1.200,00 €", id="german-amount"),
        pytest.param("8400", "8 400 €", id="french-amount"),
        pytest.param("0.6", "60 %", id="share"),
        pytest.param("1 GiB", "1Gi", id="size"),
        pytest.param("OF7K2Q", "OF7-K2Q", id="id-in-groups"),
        pytest.param("#W237", "W237", id="id-with-a-sign"),
        pytest.param("a.b@c.example", "A.B@c.example.", id="address"),
    ],
)
def test_a_thing_is_the_same_in_another_form(one: str, other: str) -> None:
    assert is_same(one, other)


@for_each(
    "one, other",
    [
        pytest.param("2026-03-04", "March 5th", id="day"),
        pytest.param("14:00", "2 am", id="half-of-the-day"),
        pytest.param("1200", "12000", id="amount"),
        pytest.param("13", "the 13th", id="number-and-day"),
        pytest.param("HR-118", "HR-181", id="id"),
    ],
)
def test_another_thing_is_not_the_same(one: str, other: str) -> None:
    assert not is_same(one, other)


def test_a_moment_is_a_day_and_a_time() -> None:
    assert [each.kind for each in literals_of("2026-11-05T11:00")] == [LiteralKind.DATE, LiteralKind.TIME]


@for_each(
    "text",
    [pytest.param(text, id=text) for text in ("no digits", "99/88/2026", "1.2.3.4.5", "hello@", "3 of a kind2x-")],
)
def test_other_texts_name_no_date(text: str) -> None:
    assert [each for each in literals_of(text) if each.kind is LiteralKind.DATE] == []


def test_an_id_has_no_value() -> None:
    assert literals_of("HR-118")[0].value == 0
    assert literals_of("12,5")[0].value == 12.5


@given(st.text(alphabet="0123456789.,:/-@#%abMarpm月日€ ", max_size=80))
def test_any_text_has_literals_with_readings(text: str) -> None:
    found = literals_of(text)
    assert len(found) <= MOST_LITERALS
    assert all(each.readings for each in found)
