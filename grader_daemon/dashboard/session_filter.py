"""Filter of the sessions that an address asks for: the options of `list`, by the same names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grades import GradeFilter, SortKey
from grader_daemon.domain.analysis import Category, SessionState
from grader_daemon.domain.calendar import read_since
from grader_daemon.domain.claims import Support
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import InputError

_Choice = TypeVar("_Choice", bound=StrEnum)

_MOST_DAYS: Final = 100_000
_LONGEST_SHOWN: Final = 60


class Verdict(StrEnum):
    """Verdicts that may be asked for."""

    COMPLETED = "completed"
    NOT_COMPLETED = "not_completed"
    UNSURE = "unsure"


_VERDICTS: Final[Mapping[Verdict, Mapping[str, bool]]] = {
    Verdict.COMPLETED: {"completed": True},
    Verdict.NOT_COMPLETED: {"completed": False},
    Verdict.UNSURE: {"unsure": True},
}
_CHOICES: Final[Mapping[str, type[StrEnum]]] = {
    "state": SessionState,
    "kind": SessionKind,
    "error": Category,
    "claim": Support,
}
_NAMES: Final = ("task_type", "agent", "model", "platform", "project", "host", "user", "tool", "text")
_OTHERS: Final[Mapping[str, type[str]]] = {
    **dict.fromkeys(("days", "since", "until"), str),
    "verdict": Verdict,
    **dict.fromkeys(("person", "issue"), str),
    "sort": SortKey,
    "reverse": str,
}
FIELD_TYPES: Final[Mapping[str, type[str]]] = {**dict.fromkeys(_NAMES, str), **_CHOICES, **_OTHERS}
FIELDS: Final = tuple(FIELD_TYPES)
"""What an address may say, beside the page to go on from."""


class Field(NamedTuple):
    """A filter that can be chosen: its name in the address, its words, and the values to choose from."""

    name: str
    title: str
    values: tuple[str, ...]


def read_filter(query: Mapping[str, str], grader: SelfGrader, *, limit: int) -> GradeFilter:
    """Return the filter of an address.

    Raises:
        InputError: something in it cannot be asked for; the text says what can.
    """
    sort = _one_of(SortKey, "sort", query.get("sort", SortKey.ENDED.value))
    verdict = query.get("verdict")
    chosen = {name: _one_of(kind, name, query[name]) for name, kind in _CHOICES.items() if name in query}
    given: dict[str, Any] = {
        **{name: query[name] for name in _NAMES if name in query},
        **chosen,
        **({} if verdict is None else _VERDICTS[_one_of(Verdict, "verdict", verdict)]),
        **({"verdict_by": VerdictBy.PERSON} if "person" in query else {}),
        **({"issue": grader.insight.find_issue(query["issue"])} if "issue" in query else {}),
    }
    return GradeFilter(
        since=_since(query, grader),
        until=_moment("until", query, grader),
        sort=sort,
        lowest_first="reverse" in query,
        before=_place(query["before"], sort) if "before" in query else None,
        limit=limit,
        **given,
    )


def fields(grader: SelfGrader) -> Iterator[Field]:
    """Yield the filters that can be chosen, with what there is to choose from in this home."""
    yield Field("verdict", "verdict", tuple(Verdict))
    yield Field("state", "state", tuple(SessionState))
    for name, dimension in (
        ("task_type", Dimension.TASK_TYPE),
        ("model", Dimension.MODEL),
        ("agent", Dimension.AGENT),
        ("tool", Dimension.TOOL),
        ("platform", Dimension.PLATFORM),
        ("project", Dimension.PROJECT),
        ("host", Dimension.HOST),
        ("user", Dimension.USER),
    ):
        yield Field(name, name.replace("_", " "), tuple(grader.grades.names(dimension)[:200]))
    yield Field("error", "failure", tuple(Category))
    yield Field("claim", "claim", tuple(Support))
    yield Field("kind", "begun as", tuple(SessionKind))


def address(query: Mapping[str, str], **changes: str | None) -> str:
    """Return the address of a view; `changes` are set, or taken out where they are None. Always from the first page."""
    kept = {name: query[name] for name in FIELDS if name in query}
    changed = {name: value for name, value in (kept | changes).items() if value is not None}
    return f"/sessions?{urlencode(changed)}" if changed else "/sessions"


def written_place(place: tuple[float | str, ...]) -> str:
    """Return where a page ended, as an address can hold it."""
    return msgspec.json.encode(place).decode()


def _place(written: str, sort: SortKey) -> tuple[float | str, ...]:
    try:
        place = msgspec.json.decode(written, type=tuple[float | str, ...])
    except msgspec.MsgspecError as error:
        raise InputError("the address of this page is not whole: begin with the first page") from error
    if len(place) != (2 if sort is SortKey.ENDED else 3):
        raise InputError("the address of this page is of another order: begin with the first page")
    return place


def _since(query: Mapping[str, str], grader: SelfGrader) -> datetime | None:
    if "days" not in query:
        return _moment("since", query, grader)
    days = query["days"]
    if not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= _MOST_DAYS):
        raise InputError(f"days is a number above 0, not {days[:_LONGEST_SHOWN]!r}")
    return grader.grades.begin_of(int(days))


def _moment(name: str, query: Mapping[str, str], grader: SelfGrader) -> datetime | None:
    if name not in query:
        return None
    try:
        given: timedelta | datetime = read_since(query[name])
        return grader.grades.begin_of(given)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from error


def _one_of(kind: type[_Choice], name: str, given: str) -> _Choice:
    try:
        return kind(given)
    except ValueError as error:
        known = ", ".join(kind)
        raise InputError(f"{name} is one of {known}, not {given[:_LONGEST_SHOWN]!r}") from error
