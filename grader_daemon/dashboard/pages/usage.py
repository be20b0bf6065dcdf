"""Usage: what sessions cost and which tokens they used, by day and group, and which of them cost most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple, TypeVar
from xml.etree.ElementTree import Element

from starlette.responses import Response

from grader_daemon.api.grades import GradeFilter, StoredGrade
from grader_daemon.api.tables import usage_lines
from grader_daemon.dashboard import query_filter
from grader_daemon.dashboard.addresses import Choice
from grader_daemon.dashboard.scope import MOST_DAYS, Scope, at
from grader_daemon.dashboard.scope_line import scope_line
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.group_names import NAME_CHARACTERS, UNKNOWN
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.text import count
from grader_daemon.domain.usage_by_day import (
    UsageByDay,
    UsageDay,
    UsageGroup,
    UsageMeasure,
    UsageSplit,
    all_tokens,
    amount,
    cache_share,
    share,
)
from grader_daemon.errors import InputError
from grader_daemon.reports.day_bars import DayBar, day_bars
from grader_daemon.reports.usage_words import (
    amount_words,
    before_words,
    cache_words,
    change_words,
    failed_words,
    group_words,
    kinds_words,
    known_words,
    scale_words,
    share_words,
    span_words,
    unknown_words,
)

_COLOURED: Final = 6
"""So many groups have a colour of their own; the others are one."""
_LISTED: Final = 20
_BESIDE: Final = 5
"""So many groups of another split stand in a tile: the height of the tile of tokens."""

_Word = TypeVar("_Word", bound=StrEnum)


class Asked(NamedTuple):
    """Question of an address; without a `show` the page shows what is known.

    Of a scope that names a group `only` this is told, split by what it is a group of.
    """

    scope: Scope
    by: UsageSplit
    only: str | None
    show: UsageMeasure | None

    @property
    def days(self) -> int:
        """Number of days, up to today."""
        return self.scope.days_shown

    def address(self, page: str = "/usage") -> str:
        """Return where this is answered."""
        by = {} if self.only is not None or self.by is UsageSplit.MODEL else {"by": self.by.value}
        return at(page, {**self.scope.query, **by, **({"show": self.show.value} if self.show else {})})


class Row(NamedTuple):
    """A group in the table: its colour in the picture, and where its sessions are listed; None for neither."""

    colour: int | None
    name: str
    address: str | None
    group: UsageGroup
    amount: str
    share: str
    change: str
    tokens: int | None
    cache: str


class Beside(NamedTuple):
    """The largest groups of another split, and where all of it is shown; `more` are left out."""

    title: str
    address: str
    rows: list[Row]
    more: int


class DayRow(NamedTuple):
    """A day: where its sessions are listed, if there are any, and what is known of its groups, the most first."""

    day: UsageDay
    address: str | None
    known: dict[str, float]
    parts: list[str]

    @property
    def tokens(self) -> int | None:
        """All tokens together."""
        return all_tokens(self.day.spending)


def usage(visit: Visit) -> Response:
    """Answer with the usage of the last days."""
    asked = _asked(visit)
    used = _used(visit, asked)
    measure = asked.show or _first_known(used)
    groups = sorted(used.groups, key=lambda group: -(amount(group.spending, measure) or 0))
    shown = asked._replace(show=measure)
    days = [_day_row(visit, day, asked.by, measure) for day in used.daily]
    other = UsageMeasure.TOKENS if measure is UsageMeasure.COST else UsageMeasure.COST
    other_days = [_day_row(visit, day, asked.by, other) for day in used.daily]
    return visit.show(
        "usage.html",
        scope=scope_line(visit, note=_note(asked), longest=MOST_DAYS),
        used=used,
        narrowed=asked.only is not None,
        span=span_words(used),
        measure=measure,
        choices={"Show": _measures(shown)} | ({} if asked.only else {"Split by": _splits(asked)}),
        totals={each: _total_lines(used, each) for each in UsageMeasure},
        value_of=lambda each: amount(used.spending, each),
        amount_words=amount_words,
        unknown=unknown_words(used, measure),
        failed=failed_words(used),
        beside=None if asked.only is not None else _beside(visit, shown, measure),
        drawn={each: _drawn(rows, groups, each) for each, rows in ((measure, days), (other, other_days))},
        rows=list(_rows(visit, used, groups[:_LISTED], measure)),
        left_out=len(groups[_LISTED:]),
        split=asked.by.value.replace("_", " "),
        days=[day for day in reversed(days) if day.address],
        most_expensive=[stored.grade for stored in _most_expensive(visit)],
        table=shown.address("/usage.csv"),
    )


def usage_table(visit: Visit) -> Response:
    """Answer with what the groups of each day cost and used, as a table for other programs."""
    asked = _asked(visit)
    lines = usage_lines(_used(visit, asked))
    return Response(
        "".join(f"{line}\r\n" for line in lines),
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="usage-{asked.by}-{asked.days}-days.csv"'},
    )


PAGES: Final = (Page("/usage", usage), Page("/usage.csv", usage_table))


def _asked(visit: Visit) -> Asked:
    """Read what an address asks for.

    Raises:
        InputError: there is no such thing; the text says what there is.
    """
    scope, show = visit.scope, visit.query.get("show")
    by = _one_of(UsageSplit, "by", visit.query.get("by", UsageSplit.MODEL))
    group = _group(scope)
    return Asked(
        scope=scope,
        by=by if group is None else UsageSplit(group[0]),
        only=None if group is None else group[1],
        show=None if show is None else _one_of(UsageMeasure, "show", show),
    )


def _group(scope: Scope) -> tuple[Dimension, str] | None:
    """Return the group of a scope; here all work is that of every kind, and of every machine."""
    group = scope._replace(host=None).group
    return group or (None if scope.kind is None else (Dimension.KIND, scope.kind))


def _used(visit: Visit, asked: Asked) -> UsageByDay:
    return visit.grader.insight.usage(days=asked.days, split=asked.by, only=asked.only)


def _most_expensive(visit: Visit) -> list[StoredGrade]:
    which = GradeFilter(**visit.scope.whose)
    return visit.grader.grades.most_expensive(days=visit.scope.days_shown, which=which)


def _note(asked: Asked) -> str:
    if asked.only is None:
        return "Figures cover all machines; only the sessions below are filtered." if asked.scope.host else ""
    return asked.scope.beyond_the_sums or f"Figures for one {asked.by} cannot be split further."


def _one_of(kind: type[_Word], name: str, given: str) -> _Word:
    try:
        return kind(given)
    except ValueError as error:
        raise InputError(f"{name} must be one of {', '.join(kind)}, not {given[:40]!r}") from error


def _first_known(used: UsageByDay) -> UsageMeasure:
    known = (measure for measure in UsageMeasure if amount(used.spending, measure) is not None)
    return next(known, UsageMeasure.COST)


def _measures(asked: Asked) -> list[Choice]:
    return [Choice(each, asked._replace(show=each).address(), each is asked.show) for each in UsageMeasure]


def _splits(asked: Asked) -> list[Choice]:
    return [Choice(each.replace("_", " "), asked._replace(by=each).address(), each is asked.by) for each in UsageSplit]


def _total_lines(used: UsageByDay, measure: UsageMeasure) -> list[str]:
    """Return what stands below a total: of how many sessions it is known, and how it was before."""
    if amount(used.spending, measure) is None:
        return [unknown_words(used, measure)]
    of = kinds_words(used) if measure is UsageMeasure.SESSIONS else known_words(used.spending, measure)
    cache = cache_words(used.spending) if measure is UsageMeasure.TOKENS else ""
    return [line for line in (of, cache, before_words(used, measure)) if line]


def _beside(visit: Visit, asked: Asked, measure: UsageMeasure) -> Beside | None:
    """Return who used most by project, beside projects by model; None if nothing is known of any with a name."""
    split = UsageSplit.MODEL if asked.by is UsageSplit.PROJECT else UsageSplit.PROJECT
    other = asked._replace(by=split)
    used = _used(visit, other)
    known = [group for group in used.groups if amount(group.spending, measure) is not None]
    if all(group.name == UNKNOWN for group in known):
        return None
    first = sorted(known, key=lambda group: -(amount(group.spending, measure) or 0))[:_BESIDE]
    title = f"{measure.capitalize()} by {split}"
    return Beside(title, other.address(), list(_rows(visit, used, first, measure)), len(known) - len(first))


def _day_row(visit: Visit, day: UsageDay, split: UsageSplit, measure: UsageMeasure) -> DayRow:
    found = [(name, value) for name, spent in day.groups.items() if (value := amount(spent, measure)) is not None]
    first = sorted(found, key=lambda each: -each[1])[:_COLOURED]
    parts = [f"{group_words(name, split)} {amount_words(value, measure)}" for name, value in first]
    return DayRow(
        day, query_filter.day_address(visit.scope, day.day) if day.spending.sessions else None, dict(found), parts
    )


def _drawn(days: Sequence[DayRow], groups: Sequence[UsageGroup], measure: UsageMeasure) -> Element | None:
    if not any(each.known for each in days):
        return None
    return day_bars(
        [_bar(each, groups, measure) for each in days],
        title=f"{measure.capitalize()} by day",
        identifier=f"usage-{measure}",
        scale=partial(scale_words, measure=measure),
        whole=measure is UsageMeasure.SESSIONS,
    )


def _bar(row: DayRow, groups: Sequence[UsageGroup], measure: UsageMeasure) -> DayBar:
    own = [row.known.get(group.name, 0.0) for group in groups[:_COLOURED]]
    others = sum(row.known.values()) - sum(own) if len(groups) > _COLOURED else 0.0
    return DayBar(
        name=f"{row.day.day:%m-%d}",
        words=_bar_words(row, measure),
        amounts=(*own, others) if row.known else None,
        address=row.address,
    )


def _bar_words(row: DayRow, measure: UsageMeasure) -> str:
    day, spent = row.day.day, row.day.spending
    if not spent.sessions:
        return f"{day}: no session finished"
    whole = amount(spent, measure)
    said = [f"{day}: {f'no {measure} known' if whole is None else amount_words(whole, measure)}"]
    said += [] if measure is UsageMeasure.SESSIONS else [count(spent.sessions, "session")]
    return " \u00b7 ".join([*said, *row.parts])


def _rows(visit: Visit, used: UsageByDay, groups: Sequence[UsageGroup], measure: UsageMeasure) -> Iterator[Row]:
    whole = amount(used.spending, measure)
    for place, group in enumerate(groups):
        value = amount(group.spending, measure)
        yield Row(
            colour=None if value is None else min(place, _COLOURED),
            name=group_words(group.name, used.split),
            address=_sessions_in(visit, group.name, used, measure),
            group=group,
            amount=amount_words(value, measure),
            share=share_words(share(value, whole)),
            change=change_words(group, measure),
            tokens=all_tokens(group.spending),
            cache=share_words(cache_share(group.spending)),
        )


def _sessions_in(visit: Visit, name: str, used: UsageByDay, measure: UsageMeasure) -> str | None:
    """Return where the sessions of a group are listed; None for one without a name, or whose name was cut."""
    if name == UNKNOWN or len(name) >= NAME_CHARACTERS:
        return None
    asked = {used.split.value: name} | ({"sort": "cost"} if measure is UsageMeasure.COST else {})
    return visit.at(query_filter.address({}, **asked))
