"""Scope of the pages: last days, project, agent, whose work, machine of a fleet. It holds from page to page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.errors import InputError

USUAL_DAYS: Final = 7
"""What an address leaves out."""
MOST_DAYS: Final = 366
"""Pages that show figures go back no further; lists of sessions and errors do."""
EVER: Final = "all"

LONGEST: Final = 100_000
"""So many days at most may be asked for; all there are lie within."""
KIND_WORDS: Final = {
    SessionKind.MAIN: "people's work",
    SessionKind.CRON: "scheduled work",
    SessionKind.SUB_AGENT: "sub-agents",
    SessionKind.REVIEW: "reviews",
}


class Scope(NamedTuple):
    """Sessions that pages are about; `days` are the last so many, None for all there are."""

    days: int | None = USUAL_DAYS
    project: str | None = None
    agent: str | None = None
    kind: SessionKind | None = None
    host: str | None = None

    @property
    def days_shown(self) -> int:
        """Days of a page that shows figures."""
        return min(self.days or MOST_DAYS, MOST_DAYS)

    @property
    def whose(self) -> dict[str, Any]:
        """The same but for the days, as fields of `GradeFilter`."""
        return {"project": self.project, "agent": self.agent, "kind": self.kind, "host": self.host}

    @property
    def group(self) -> tuple[Dimension, str] | None:
        """The group of the sums that is narrowest of those asked for; None for all work of people.

        Sums are kept by one dimension at a time, and those of projects, agents and machines are of people's work.
        """
        if self._groups:
            return self._groups[0]
        return None if self.kind in (None, SessionKind.MAIN) else (Dimension.KIND, self.kind)

    @property
    def _groups(self) -> list[tuple[Dimension, str]]:
        """Groups of people's work that are asked for, the narrowest first."""
        named = ((Dimension.PROJECT, self.project), (Dimension.AGENT, self.agent), (Dimension.HOST, self.host))
        return [(dimension, name) for dimension, name in named if name is not None]

    @property
    def beyond_the_sums(self) -> str:
        """Part of it by which figures made of sums are not narrowed, in words; nothing where there is none."""
        left = [
            f"{'machine' if dimension is Dimension.HOST else dimension} {name}" for dimension, name in self._groups[1:]
        ]
        if self.group is not None and self.group[0] is not Dimension.KIND and self.kind not in (None, SessionKind.MAIN):
            left.append(KIND_WORDS[self.kind])
        return (
            f"Figures are not filtered by {' and '.join(left)}: choose only one of project, agent and kind."
            if left
            else ""
        )

    @property
    def query(self) -> dict[str, str]:
        """Parameters of an address that say this; the usual is left out."""
        days = {USUAL_DAYS: None, None: EVER}.get(self.days, f"{self.days}")
        said = {"days": days, **self.whose}
        return {name: str(value) for name, value in said.items() if value is not None}


NAMES: Final = Scope._fields


def read_scope(query: Mapping[str, str]) -> Scope:
    """Return the scope of an address.

    Raises:
        InputError: something in it is none; the text says what there is.
    """
    days, kind = query.get("days", f"{USUAL_DAYS}"), query.get("kind")
    if days != EVER and not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= LONGEST):
        raise InputError(f"days must be a number above 0, or {EVER}, not {days[:40]!r}")
    if kind is not None and kind not in list(SessionKind):
        raise InputError(f"kind must be one of {', '.join(SessionKind)}, not {kind[:40]!r}")
    return Scope(
        days=None if days == EVER else int(days),
        project=query.get("project"),
        agent=query.get("agent"),
        kind=None if kind is None else SessionKind(kind),
        host=query.get("host"),
    )


def at(path: str, query: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """Return an address."""
    return f"{path}?{urlencode(query)}" if query else path
