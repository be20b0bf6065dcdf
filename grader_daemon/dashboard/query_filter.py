"""Filter of the sessions that an address asks for: the options of `list`, by the same names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

import msgspec

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter, SortKey
from grader_daemon.api.session_filter import ADDRESSED, Filter, Home, filter_of
from grader_daemon.dashboard import scope
from grader_daemon.domain.rollup import Dimension
from grader_daemon.errors import InputError

NAMES: Final = tuple(each.name for each in ADDRESSED)
"""What an address may say, beside the page to go on from."""

_MOST_NAMES: Final = 200
_LAID_OUT: Final = frozenset({"text", "sort", "reverse", *scope.NAMES})
"""What has a place beside the fields: the scope of all pages, and the order."""
_TIMELESS: Final = ("text", "issue", "job", "since", "until")
"""Who asks for one of these means all days, unless the address says which."""

_FIRST: Final = (
    *("verdict", "state", "task_type", "model", "agent", "tool", "platform", "project", "host", "user"),
    *("error", "claim"),
)
"""What can be chosen stands in the form in this order, and what is not among these behind."""


class Field(NamedTuple):
    """A field of the form; `choices` are words for the values to choose from, None where one writes."""

    asks: Filter
    choices: Mapping[str, str] | None


def read_filter(query: Mapping[str, str], grader: SelfGrader, *, limit: int) -> GradeFilter:
    """Return the filter of an address.

    Raises:
        InputError: something in it cannot be asked for; the text says what can.
    """
    given = {name: text for name, text in query.items() if not (name == "since" and "days" in query)}
    home = Home(grader.grades.begin_of, grader.insight.find_issue, grader.grades.names)
    which = filter_of(ADDRESSED, given, home)
    before = _place(query["before"], which.sort) if "before" in query else None
    return msgspec.structs.replace(which, before=before, limit=limit)


def is_timeless(query: Mapping[str, str]) -> bool:
    """Return whether an address asks for something that may lie any number of days back."""
    return any(name in query for name in _TIMELESS)


def in_scope(query: Mapping[str, str]) -> dict[str, str]:
    """Return what an address asks for with the days that it leaves out."""
    days = query.get("days", scope.EVER if is_timeless(query) else f"{scope.USUAL_DAYS}")
    return {name: value for name, value in {**query, "days": days}.items() if (name, value) != ("days", scope.EVER)}


def fields(grader: SelfGrader) -> list[Field]:
    """Return the fields of the form: those with something to choose from in this home, those one writes in, flags."""
    found = [Field(each, _choices(each, grader)) for each in ADDRESSED if each.name not in _LAID_OUT]
    return sorted((field for field in found if field.choices != {}), key=_order)


def _order(field: Field) -> tuple[bool, bool, int]:
    name = field.asks.name
    return field.choices is None, field.asks.is_flag, _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _choices(asked: Filter, grader: SelfGrader) -> dict[str, str] | None:
    if isinstance(asked.takes, Dimension):
        return {name: name for name in grader.grades.names(asked.takes)[:_MOST_NAMES]}
    return {word: word.replace("_", " ") for word in asked.choices} or None


def address(query: Mapping[str, str], **changes: str | None) -> str:
    """Return the address of a view; `changes` are set, or taken out where they are None. Always from the first page."""
    kept = {name: query[name] for name in NAMES if name in query}
    changed = {name: value for name, value in (kept | changes).items() if value is not None}
    return scope.at("/sessions", changed)


def day_address(visited: scope.Scope, day: date, **asked: str) -> str:
    """Return where the sessions of one day are listed, of a scope whatever its days."""
    query = {**visited._replace(days=scope.USUAL_DAYS).query, **asked}
    return address(query, since=f"{day}", until=f"{day + timedelta(days=1)}")


def written_place(place: tuple[float | str, ...]) -> str:
    """Return where a page ended, as an address can hold it."""
    return msgspec.json.encode(place).decode()


def _place(written: str, sort: SortKey) -> tuple[float | str, ...]:
    try:
        place = msgspec.json.decode(written, type=tuple[float | str, ...])
        if len(place) != (2 if sort is SortKey.ENDED else 3):
            raise InputError("the address of this page belongs to another sort order: start with the first page")
        return msgspec.convert(place, tuple[str, str] if sort is SortKey.ENDED else tuple[float, str, str])
    except msgspec.MsgspecError as error:
        raise InputError("the address of this page is incomplete: start with the first page") from error
