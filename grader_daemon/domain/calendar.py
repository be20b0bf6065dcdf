"""Days and ISO weeks where a person lives. A day is a date, never a moment, so no change of clocks can double it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import msgspec

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def day_of(moment: datetime, zone: tzinfo | None) -> date:
    """Return the day of an aware moment in `zone` (None: the machine's)."""
    return local(moment, zone).date()


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return an aware moment in `zone` (None: the machine's); on the first and last day that there are, as it is."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):
        return moment


def week_name(day: date) -> str:
    """Name the ISO week of `day`, as in 2026-W47."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def read_week(name: str) -> date:
    """Return the Monday of a week named as in 2026-W47.

    Raises:
        ValueError: there is no such week; the text says what is expected.
    """
    given = re.fullmatch(r"(\d{4})-?W(\d{1,2})", name.strip(), re.IGNORECASE | re.ASCII)
    year, week = (int(part) for part in given.groups()) if given else (0, 0)
    try:
        return date.fromisocalendar(year, week, 1)
    except ValueError:
        raise ValueError(f"{name!r} is not a week; write it as 2026-W47") from None


def read_span(text: str) -> timedelta:
    """Read a span of time: 30m, 12h, 7d, 2w.

    Raises:
        ValueError: it is none; the text says what is expected.
    """
    given = re.fullmatch(r"(\d{1,6})([mhdw])", text, re.ASCII)
    if given is None:
        raise ValueError(f"{text!r} is not a duration; write it as 30m, 12h, 7d or 2w")
    return int(given[1]) * _UNITS[given[2]]


def read_since(text: str) -> timedelta | datetime:
    """Read since when: a span back from now, a day, or a moment; one without a zone is naive, a day its midnight.

    Raises:
        ValueError: it is none; the text says what is expected.
    """
    try:
        return datetime.fromisoformat(text) if "-" in text else read_span(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write a duration such as 12h, 7d or 2w, or a day such as 2026-11-01"
        ) from None


def beginning(since: timedelta | datetime, now: datetime, zone: tzinfo | None) -> datetime:
    """Return the moment that `read_since` read; without a zone of its own it is in `zone` (None: the machine's)."""
    try:
        if isinstance(since, timedelta):
            return now - since
        if since.tzinfo is not None or zone is None:
            return since.astimezone(UTC)
        return since.replace(tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.min.replace(tzinfo=UTC)


class Span(msgspec.Struct, frozen=True):
    """The days from `first` to `last`, both included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """Number of days in the span."""
        return (self.last - self.first).days + 1

    def whole_months(self) -> Span | None:
        """The months that lie in it from their first to their last day; None without any."""
        first = self.first if self.first.day == 1 else _next_month(self.first)
        last = self.last if _is_last_of_month(self.last) else days_before(self.last, self.last.day)
        if first is None or first > last or not _is_last_of_month(last):
            return None
        return Span(first, last)

    def around(self, inner: Span) -> list[Span]:
        """The days before and after `inner`, which lies in it; at most two spans."""
        found = []
        if self.first < inner.first:
            found.append(Span(self.first, inner.first - timedelta(days=1)))
        if inner.last < self.last:
            found.append(Span(inner.last + timedelta(days=1), self.last))
        return found

    def before(self) -> Span:
        """The span of the same length that ends where this one begins, as far as days go back."""
        return Span(days_before(self.first, self.days), days_before(self.last, self.days))


ALWAYS = Span(date.min, date.max)
"""All days that there are."""


def last_days(count: int, today: date) -> Span:
    """Return the last `count` days up to and including `today`."""
    return Span(days_before(today, count - 1), today)


def week_of(day: date) -> Span:
    """Return the ISO week of `day`, Monday to Sunday."""
    monday = days_before(day, day.weekday())
    return Span(monday, date.fromordinal(min(date.max.toordinal(), monday.toordinal() + 6)))


def start_of(day: date, zone: tzinfo | None) -> datetime:
    """Return the moment at which `day` begins in `zone` (None: the machine's), in UTC."""
    if day == date.min:
        return datetime.min.replace(tzinfo=UTC)
    return end_of(day - timedelta(days=1), zone)


def end_of(day: date, zone: tzinfo | None) -> datetime:
    """Return the moment at which `day` ends in `zone` (None: the machine's), in UTC."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    midnight = datetime.combine(day + timedelta(days=1), time())
    if zone is None:
        return datetime.fromtimestamp(midnight.timestamp(), UTC)
    return midnight.replace(tzinfo=zone).astimezone(UTC)


def _next_month(day: date) -> date | None:
    """Return the first day of the next month; after the last month that there is, none."""
    if (day.year, day.month) == (date.max.year, date.max.month):
        return None
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _is_last_of_month(day: date) -> bool:
    return day == date.max or (day + timedelta(days=1)).day == 1


def days_before(day: date, days: int) -> date:
    """Return the day so many days earlier; the first that there is where none is so early."""
    return date.fromordinal(max(1, day.toordinal() - days))
