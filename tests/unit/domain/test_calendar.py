from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader_daemon.domain.calendar import (
    ALWAYS,
    Span,
    beginning,
    day_of,
    end_of,
    last_days,
    read_since,
    read_span,
    read_week,
    start_of,
    week_name,
    week_of,
)

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
APIA = ZoneInfo("Pacific/Apia")
HAVANA = ZoneInfo("America/Havana")  # changes its clocks at midnight: the hour after it is skipped, or comes twice
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # by half an hour
zones = st.sampled_from([UTC, BERLIN, NEW_YORK, KATHMANDU, APIA, HAVANA, LORD_HOWE])
moments = st.datetimes(datetime(1985, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
all_days = st.dates()
weeks_that_end = st.dates(max_value=date(9999, 12, 26))
edges = (
    st.dates()
    | st.dates(date.min, date.min + 70 * DAY)
    | st.dates(date.max - 70 * DAY, date.max)
    | st.dates(date(2026, 1, 25), date(2026, 3, 5))
)
Chooser = Callable[[str], None]


@pytest.fixture
def machine_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chooser]:
    """Set the machine's zone for a test."""

    def choose(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield choose
    monkeypatch.undo()
    time.tzset()


# -- days ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        pytest.param(datetime(2026, 11, 22, 22, 59, 59, tzinfo=UTC), BERLIN, date(2026, 11, 22), id="before-midnight"),
        pytest.param(datetime(2026, 11, 22, 23, tzinfo=UTC), BERLIN, date(2026, 11, 23), id="midnight-in-winter"),
        pytest.param(datetime(2026, 7, 5, 22, tzinfo=UTC), BERLIN, date(2026, 7, 6), id="midnight-in-summer"),
        pytest.param(datetime(2026, 11, 22, 18, 15, tzinfo=UTC), KATHMANDU, date(2026, 11, 23), id="odd-offset"),
        pytest.param(datetime(2026, 11, 22, 18, 14, 59, tzinfo=UTC), KATHMANDU, date(2026, 11, 22), id="just-before"),
        pytest.param(datetime(2011, 12, 30, 9, 59, 59, tzinfo=UTC), APIA, date(2011, 12, 29), id="before-skipped-day"),
        pytest.param(datetime(2011, 12, 30, 10, tzinfo=UTC), APIA, date(2011, 12, 31), id="after-skipped-day"),
        pytest.param(datetime(2026, 11, 23, 4, 59, tzinfo=UTC), NEW_YORK, date(2026, 11, 22), id="west"),
    ],
)
def test_day_is_that_of_the_zone(moment: datetime, zone: tzinfo, day: date) -> None:
    assert day_of(moment, zone) == day


@pytest.mark.parametrize(
    ("moment", "zone"),
    [
        pytest.param(datetime.min.replace(tzinfo=UTC), NEW_YORK, id="first-moment-in-the-west"),
        pytest.param(datetime.max.replace(tzinfo=UTC), KATHMANDU, id="last-moment-in-the-east"),
        pytest.param(datetime.min.replace(tzinfo=UTC), None, id="first-moment-on-the-machine"),
        pytest.param(datetime.max.replace(tzinfo=UTC), None, id="last-moment-on-the-machine"),
        pytest.param(datetime.min.replace(tzinfo=timezone(timedelta(hours=5))), UTC, id="first-moment-of-an-offset"),
        pytest.param(datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), UTC, id="last-moment-of-an-offset"),
    ],
)
def test_the_first_and_the_last_moment_have_a_day(moment: datetime, zone: tzinfo | None) -> None:
    assert abs(day_of(moment, zone) - moment.date()) <= DAY


@pytest.mark.parametrize(
    ("name", "day"),
    [
        pytest.param("Europe/Berlin", date(2026, 11, 23), id="east"),
        pytest.param("America/New_York", date(2026, 11, 22), id="west"),
    ],
)
def test_without_a_zone_the_machine_s_counts(machine_zone: Chooser, name: str, day: date) -> None:
    machine_zone(name)
    assert day_of(datetime(2026, 11, 22, 23, 30, tzinfo=UTC), None) == day


@given(moment=moments, zone=zones)
@example(datetime(2011, 12, 30, 9, 59, 59, tzinfo=UTC), APIA)
@example(datetime(2011, 12, 30, 10, tzinfo=UTC), APIA)
@example(datetime(2026, 3, 8, 4, 59, 59, tzinfo=UTC), HAVANA)
@example(datetime(2026, 11, 1, 4, 0, tzinfo=UTC), HAVANA)
def test_a_moment_lies_before_the_end_of_its_day_and_after_that_of_the_day_before(
    moment: datetime, zone: tzinfo
) -> None:
    day = day_of(moment, zone)
    assert end_of(day - DAY, zone) <= moment < end_of(day, zone)


@given(moment=moments)
def test_so_it_does_where_the_machine_stands(moment: datetime) -> None:
    day = day_of(moment, None)
    assert end_of(day - DAY, None) <= moment < end_of(day, None)


@pytest.mark.parametrize(
    ("day", "zone", "end"),
    [
        pytest.param(date(2026, 11, 22), UTC, datetime(2026, 11, 23, tzinfo=UTC), id="utc"),
        pytest.param(date(2026, 3, 29), BERLIN, datetime(2026, 3, 29, 22, tzinfo=UTC), id="berlin-into-summer"),
        pytest.param(date(2026, 10, 25), BERLIN, datetime(2026, 10, 25, 23, tzinfo=UTC), id="berlin-into-winter"),
        pytest.param(date(2026, 3, 8), NEW_YORK, datetime(2026, 3, 9, 4, tzinfo=UTC), id="new-york-into-summer"),
        pytest.param(date(2026, 11, 1), NEW_YORK, datetime(2026, 11, 2, 5, tzinfo=UTC), id="new-york-into-winter"),
        pytest.param(date(2026, 11, 22), KATHMANDU, datetime(2026, 11, 22, 18, 15, tzinfo=UTC), id="odd-offset"),
        pytest.param(date(2026, 3, 7), HAVANA, datetime(2026, 3, 8, 5, tzinfo=UTC), id="midnight-is-skipped"),
        pytest.param(date(2026, 10, 31), HAVANA, datetime(2026, 11, 1, 4, tzinfo=UTC), id="midnight-comes-twice"),
        pytest.param(date(2011, 12, 29), APIA, datetime(2011, 12, 30, 10, tzinfo=UTC), id="day-before-the-skipped"),
        pytest.param(date(2011, 12, 30), APIA, datetime(2011, 12, 30, 10, tzinfo=UTC), id="skipped-day-has-no-length"),
    ],
)
def test_end_of_a_day(day: date, zone: tzinfo, end: datetime) -> None:
    assert end_of(day, zone) == end


@pytest.mark.parametrize(
    ("name", "day", "end"),
    [
        pytest.param("Europe/Berlin", date(2026, 3, 29), datetime(2026, 3, 29, 22, tzinfo=UTC), id="into-summer"),
        pytest.param("Europe/Berlin", date(2026, 10, 25), datetime(2026, 10, 25, 23, tzinfo=UTC), id="into-winter"),
        pytest.param("America/Havana", date(2026, 3, 7), datetime(2026, 3, 8, 5, tzinfo=UTC), id="skipped-midnight"),
        pytest.param("Pacific/Apia", date(2011, 12, 30), datetime(2011, 12, 30, 10, tzinfo=UTC), id="skipped-day"),
    ],
)
def test_end_of_a_day_where_the_machine_stands(machine_zone: Chooser, name: str, day: date, end: datetime) -> None:
    machine_zone(name)
    assert end_of(day, None) == end


def test_the_last_day_ends_with_time_itself() -> None:
    assert end_of(date.max, BERLIN) == datetime.max.replace(tzinfo=UTC)


@given(day=st.dates(date(1985, 1, 1), date(2100, 1, 1)), zone=zones)
@example(date(2011, 12, 30), APIA)
def test_a_day_begins_where_the_day_before_ends(day: date, zone: tzinfo) -> None:
    assert start_of(day, zone) == end_of(day - DAY, zone)


def test_the_first_day_begins_with_time_itself() -> None:
    assert start_of(date.min, KATHMANDU) == datetime.min.replace(tzinfo=UTC)


# -- weeks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "name"),
    [
        pytest.param(date(2026, 11, 16), "2026-W47", id="monday"),
        pytest.param(date(2026, 11, 22), "2026-W47", id="sunday"),
        pytest.param(date(2026, 11, 23), "2026-W48", id="next-monday"),
        pytest.param(date(2026, 12, 31), "2026-W53", id="week-53"),
        pytest.param(date(2027, 1, 3), "2026-W53", id="week-53-reaches-into-the-next-year"),
        pytest.param(date(2027, 1, 4), "2027-W01", id="week-after-53"),
        pytest.param(date(2021, 1, 3), "2020-W53", id="another-week-53"),
        pytest.param(date(2024, 12, 30), "2025-W01", id="first-week-begins-in-the-old-year"),
        pytest.param(date(2023, 1, 1), "2022-W52", id="new-year-on-a-sunday"),
        pytest.param(date.min, "0001-W01", id="first-day"),
    ],
)
def test_week_name(day: date, name: str) -> None:
    assert week_name(day) == name


@given(day=all_days)
def test_a_week_is_read_as_it_is_written(day: date) -> None:
    assert read_week(week_name(day)) == week_of(day).first


@pytest.mark.parametrize("name", ["2026-W47", "2026W47", " 2026-w47 ", "2026-w47\n"])
def test_a_week_may_be_written_differently(name: str) -> None:
    assert read_week(name) == date(2026, 11, 16)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("2026-47", id="no-w"),
        pytest.param("47", id="no-year"),
        pytest.param("2026-W00", id="week-zero"),
        pytest.param("2026-W54", id="week-54"),
        pytest.param("2025-W53", id="a-year-without-a-53rd"),
        pytest.param("0000-W01", id="year-zero"),
        pytest.param("9999-W53", id="after-the-last"),
        pytest.param("٢٠٢٦-W47", id="other-digits"),
        pytest.param("2026-W47-1", id="day-of-a-week"),
        pytest.param("2026-W471", id="too-many-digits"),
    ],
)
def test_what_is_no_week_is_told_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="2026-W47") as caught:
        read_week(name)
    assert repr(name) in str(caught.value)


@given(day=weeks_that_end)
def test_a_week_is_seven_days_of_one_name(day: date) -> None:
    week = week_of(day)
    assert (week.first.weekday(), week.days) == (0, 7)
    assert week.first <= day <= week.last
    assert week_name(week.first) == week_name(week.last) == week_name(day)


@given(day=weeks_that_end)
def test_weeks_follow_each_other(day: date) -> None:
    week = week_of(day)
    assert week_of(week.last + DAY).first == week.last + DAY


@pytest.mark.parametrize("day", [date(9999, 12, 26), date(9999, 12, 27), date.max])
def test_the_last_days_have_a_week(day: date) -> None:
    assert week_of(day).first <= day <= week_of(day).last


# -- spans ---------------------------------------------------------------------------------------------------------


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """Spans of any length, many at the ends of time and of months."""
    first = draw(edges)
    longest = min(800, (date.max - first).days)
    return Span(first, first + draw(st.integers(0, longest)) * DAY)


def days_in(*parts: Span) -> list[date]:
    return sorted(part.first + number * DAY for part in parts for number in range(part.days))


def test_both_ends_of_a_span_are_included() -> None:
    assert Span(date(2026, 11, 16), date(2026, 11, 22)).days == 7


@pytest.mark.parametrize(
    ("span", "before"),
    [
        pytest.param(week_of(date(2026, 11, 22)), week_of(date(2026, 11, 15)), id="week"),
        pytest.param(week_of(date(2027, 1, 4)), week_of(date(2026, 12, 31)), id="week-53-before"),
        pytest.param(
            Span(date(2026, 3, 1), date(2026, 3, 1)), Span(date(2026, 2, 28), date(2026, 2, 28)), id="one-day"
        ),
    ],
)
def test_the_span_before_is_as_long_and_ends_where_it_begins(span: Span, before: Span) -> None:
    assert span.before() == before


@given(span=spans())
def test_the_span_before_never_reaches_into_it(span: Span) -> None:
    before = span.before()
    assert before.last < span.first or before.last == span.first == date.min
    assert before.days <= span.days


@pytest.mark.parametrize(
    ("count", "first"),
    [
        pytest.param(1, date(2026, 11, 21), id="today"),
        pytest.param(7, date(2026, 11, 15), id="week"),
        pytest.param(10_000_000, date.min, id="more-than-there-are"),
    ],
)
def test_last_days_end_today(count: int, first: date) -> None:
    today = date(2026, 11, 21)
    assert last_days(count, today) == Span(first, today)


@pytest.mark.parametrize(
    ("span", "months"),
    [
        pytest.param(Span(date(2026, 2, 1), date(2026, 2, 28)), Span(date(2026, 2, 1), date(2026, 2, 28)), id="month"),
        pytest.param(Span(date(2026, 1, 31), date(2026, 3, 1)), Span(date(2026, 2, 1), date(2026, 2, 28)), id="around"),
        pytest.param(Span(date(2024, 2, 1), date(2024, 2, 28)), None, id="all-but-the-leap-day"),
        pytest.param(Span(date(2026, 11, 2), date(2026, 12, 30)), None, id="parts-of-two"),
        pytest.param(Span(date(2026, 12, 1), date(2027, 1, 5)), Span(date(2026, 12, 1), date(2026, 12, 31)), id="year"),
        pytest.param(
            Span(date(2026, 12, 2), date(2027, 1, 31)), Span(date(2027, 1, 1), date(2027, 1, 31)), id="new-year"
        ),
        pytest.param(ALWAYS, ALWAYS, id="always"),
        pytest.param(Span(date(9999, 12, 2), date.max), None, id="within-the-last-month"),
    ],
)
def test_whole_months_of_a_span(span: Span, months: Span | None) -> None:
    assert span.whole_months() == months


def test_nothing_is_around_a_span_of_whole_months() -> None:
    assert ALWAYS.around(ALWAYS) == []


@given(span=spans())
@example(Span(date.min, date.min))
@example(Span(date.min, date(1, 1, 15)))
def test_whole_months_and_the_days_around_them_are_the_span(span: Span) -> None:
    months = span.whole_months()
    inner = [] if months is None else [months]
    around = [span] if months is None else span.around(months)
    assert days_in(*around, *inner) == days_in(span)
    for each in inner:
        assert (each.first.day, each.last == date.max or (each.last + DAY).day == 1) == (1, True)


# -- since when ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        ("0d", timedelta()),
    ],
)
def test_a_span_is_a_number_and_a_unit(text: str, span: timedelta) -> None:
    assert (read_span(text), read_since(text)) == (span, span)


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "-7d", "7y", "1.5h", "1234567d", "٧d", "7d\n"])
def test_what_is_no_span_is_told_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="12h, 7d or 2w"):
        read_span(text)
    with pytest.raises(ValueError, match="12h, 7d or 2w, or a day such as 2026-11-01"):
        read_since(text)


@pytest.mark.parametrize("text", ["2026-13-01", "2026-11-31", "yester-day", "2026-11-01T25:00"])
def test_what_is_no_day_is_told_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="2026-11-01"):
        read_since(text)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        pytest.param("12h", datetime(2026, 11, 22, 0, tzinfo=UTC), id="a-span-ends-now"),
        pytest.param("999999w", datetime.min.replace(tzinfo=UTC), id="as-far-as-days-go"),
        # Auckland is 13 hours ahead in November.
        pytest.param("2026-11-22", datetime(2026, 11, 21, 11, tzinfo=UTC), id="a-day-begins-at-its-midnight"),
        pytest.param("2026-11-22T10:00", datetime(2026, 11, 21, 21, tzinfo=UTC), id="a-moment-of-the-zone"),
        pytest.param("2026-11-22T10:00+01:00", datetime(2026, 11, 22, 9, tzinfo=UTC), id="a-moment-with-its-own-zone"),
        pytest.param("0001-01-01", datetime.min.replace(tzinfo=UTC), id="before-all-days"),
    ],
)
def test_a_beginning_is_a_moment_of_the_zone(text: str, begins: datetime) -> None:
    now = datetime(2026, 11, 22, 12, tzinfo=UTC)
    assert beginning(read_since(text), now, ZoneInfo("Pacific/Auckland")) == begins


def test_a_beginning_without_a_zone_is_where_the_machine_stands(machine_zone: Chooser) -> None:
    machine_zone("Asia/Tokyo")
    now = datetime(2026, 12, 1, tzinfo=UTC)
    assert beginning(read_since("2026-11-22"), now, None) == datetime(2026, 11, 21, 15, tzinfo=UTC)
