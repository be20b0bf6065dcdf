"""Choices of a scope below the bar: those of all pages, made in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from grader_daemon.dashboard.addresses import Choice
from grader_daemon.dashboard.scope import EVER, KIND_WORDS, NAMES, Scope, at
from grader_daemon.dashboard.visit import Visit
from grader_daemon.domain.group_names import UNKNOWN
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import count

_SPANS: Final = (7, 30, 90, None)
_MOST_NAMES: Final = 200
_OF_A_PAGE: Final = frozenset({"before", "count"})
"""What an address says of a part of a list: another scope begins with the first."""


class Select(NamedTuple):
    """A list to choose from; `chosen` is "" where all are meant."""

    name: str
    words: str
    everything: str
    options: Mapping[str, str]
    chosen: str


class ScopeLine(NamedTuple):
    """Choices of a scope below the bar. `kept` is what else the address says, `note` what the page does not narrow."""

    spans: tuple[Choice, ...]
    selects: tuple[Select, ...]
    kept: Mapping[str, str]
    note: str


def scope_line(visit: Visit, *, note: str = "", timeless: bool = False, longest: int | None = None) -> ScopeLine:
    """Return the choices of a page, which shows no more than the `longest` days.

    A `timeless` one is about all days unless its address says which.
    """
    scope, query = visit.scope, visit.query
    shown = None if timeless and "days" not in query else scope.days
    kept = {name: value for name, value in query.items() if name not in (*NAMES, *_OF_A_PAGE)}
    spans = _SPANS if shown in _SPANS else (*_SPANS, shown)
    return ScopeLine(
        spans=tuple(
            Choice(_days_words(days), _address(visit, kept, days, is_explicit=timeless), days == shown)
            for days in spans
        ),
        selects=tuple(_selects(visit, scope)),
        kept=kept | ({"days": query["days"]} if "days" in query else {}),
        note=" ".join(each for each in (note, _limit_words(scope, longest)) if each),
    )


def _days_words(days: int | None) -> str:
    return "all time" if days is None else count(days, "day")


def _limit_words(scope: Scope, longest: int | None) -> str:
    is_beyond = longest is not None and (scope.days is None or scope.days > longest)
    return f"Only the last {longest} days are shown." if is_beyond else ""


def _address(visit: Visit, kept: Mapping[str, str], days: int | None, *, is_explicit: bool) -> str:
    said = {"days": f"{days or EVER}"} if is_explicit else {}
    return at(visit.request.url.path, {**visit.scope._replace(days=days).query, **said, **kept})


def _selects(visit: Visit, scope: Scope) -> Iterator[Select]:
    """Yield lists of what there is to choose from; none where there is but one, and it is not chosen."""
    names = visit.grader.grades.names
    several = (
        ("project", "Project", "all projects", _named(names(Dimension.PROJECT))),
        ("agent", "Agent", "all agents", _named(names(Dimension.AGENT))),
        ("host", "Machine", "all machines", _named(names(Dimension.HOST))),
        ("kind", "Kind of work", "all work", {kind: KIND_WORDS[SessionKind(kind)] for kind in names(Dimension.KIND)}),
    )
    for name, words, everything, options in several:
        chosen = getattr(scope, name) or ""
        if chosen or len(options) > 1:
            yield Select(name, words, everything, {**({chosen: chosen} if chosen else {}), **options}, chosen)


def _named(names: Sequence[str]) -> dict[str, str]:
    return {name: name for name in names[:_MOST_NAMES] if name != UNKNOWN}
