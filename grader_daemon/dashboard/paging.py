"""Place of a page in the list of sessions: which of how many it shows, and where the pages beside it are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from grader_daemon.api.grades import GradeFilter
from grader_daemon.api.grades import Page as GradePage
from grader_daemon.dashboard.query_filter import address, written_place
from grader_daemon.dashboard.visit import Visit
from grader_daemon.reports.numbers import count

_COUNTED: Final = 5_000
"""So many places are read in a few milliseconds; of more it is said that there are more."""


class Paging(NamedTuple):
    """Words on what a page shows, and the addresses of those before and behind; None where there is none."""

    words: str
    previous: str | None
    next: str | None


def paging(visit: Visit, query: Mapping[str, str], which: GradeFilter, page: GradePage) -> Paging:
    """Return the place of a page that `which` asked for; the list is read anew, so the place is that of now."""
    places = visit.grader.context.store.grades.places(replace(which, before=None, limit=_COUNTED + 1))
    whole = f"{_COUNTED:,} or more sessions" if len(places) > _COUNTED else count(len(places), "session")
    following = None if page.next is None else address(query, before=written_place(page.next))
    if which.before is None:
        shown = len(page.grades)
        return Paging(whole if shown == len(places) else f"1\N{EN DASH}{shown} of {whole}", None, following)
    ahead = sum(place <= which.before if which.lowest_first else place >= which.before for place in places)
    if ahead > _COUNTED:
        return Paging(f"after the first {_COUNTED:,} sessions", None, following)
    assert which.limit is not None  # a page has one
    previous = (
        address(query)
        if ahead <= which.limit
        else address(query, before=written_place(places[ahead - which.limit - 1]))
    )
    return Paging(f"{ahead + 1:,}\N{EN DASH}{ahead + len(page.grades):,} of {whole}", previous, following)
