"""Sessions whose request was repeated: another one of the same request began soon after they had ended.

It depends on the sessions alone, not on the order in which they are graded, and for each session on its nearest
neighbours only, so that keeping it up to date costs the same however long the history is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from grader_daemon.domain.grade import Grade

NEIGHBOURS: Final = 3
"""Most sessions of the same request, on either side, that decide about one; with so many it is a routine."""

REACH: Final = 2 * NEIGHBOURS
"""A session touches its neighbours, and these are decided about by theirs."""

_ROUTINE_WITHIN: Final = timedelta(days=7)
"""Window for routines, a week: a request of every day must not look like asking again."""


class Place(NamedTuple):
    """Position of a session among those of its request."""

    request: int
    ended_at: datetime
    session_id: str


class Asked(NamedTuple):
    """A session of a request. `asked_again` is the id of the session in which the same was asked for again."""

    session_id: str
    started_at: datetime | None
    ended_at: datetime
    asked_again: str | None


class Stretch(NamedTuple):
    """Sessions of one request in the order of their ends, none left out between them.

    `from_first` says that none ended before them, `to_last` that none ended after them.
    """

    sessions: Sequence[Asked]
    from_first: bool
    to_last: bool

    @classmethod
    def of(cls, before: Sequence[Asked], following: Sequence[Asked], *, reach: int) -> Stretch:
        """Join what was found when at most `reach` were asked for before a place, and one more at and behind it."""
        return cls([*before, *following], from_first=len(before) < reach, to_last=len(following) <= reach)

    def around(self, place: Place) -> tuple[Sequence[Asked], Sequence[Asked]] | None:
        """Return the sessions before a place and those at and behind it, as `changed_around` wants them.

        None if the stretch does not reach far enough.
        """
        at = bisect_left(self.sessions, place[1:], key=lambda asked: (asked.ended_at, asked.session_id))
        if (at < REACH and not self.from_first) or (len(self.sessions) - at <= REACH and not self.to_last):
            return None
        return self.sessions[max(0, at - REACH) : at], self.sessions[at : at + REACH + 1]


def places_of(grades: Iterable[Grade]) -> list[Place]:
    """Return the places of the sessions that have one."""
    return [
        Place(grade.request, grade.ended_at, grade.session_id)
        for grade in grades
        if grade.request is not None and grade.ended_at is not None
    ]


def changed_around(
    before: Sequence[Asked], after: Sequence[Asked], *, within: timedelta
) -> list[tuple[str, str | None]]:
    """Return the sessions next to a place of which another one asks again now, each with that one's id.

    Args:
        before: the sessions of the request before the place, in the order of their ends; `REACH` of them, if there are.
        after: those at and behind it; one more.
        within: see `asked_again`.
    """
    sessions = [*before, *after]
    nearest = range(max(0, len(before) - NEIGHBOURS), min(len(sessions), len(before) + NEIGHBOURS + 1))
    again = [(sessions[place], asked_again(sessions, place, within=within)) for place in nearest]
    return [(asked.session_id, by) for asked, by in again if by != asked.asked_again]


def asked_again(sessions: Sequence[Asked], position: int, *, within: timedelta) -> str | None:
    """Name the newest session that asks again for what the one at `position` was asked for.

    Args:
        sessions: of one request, in the order of their ends; at least `NEIGHBOURS` on either side, if there are.
        position: of the session in question.
        within: so long at most after its end must the other one begin.
    """
    asked = sessions[position]
    before = sessions[max(0, position - NEIGHBOURS) : position]
    after = sessions[position + 1 : position + 1 + NEIGHBOURS]
    near = [other for other in (*before, *after) if abs(other.ended_at - asked.ended_at) <= _ROUTINE_WITHIN]
    if len(near) >= NEIGHBOURS:
        return None
    later = [
        (other.started_at, other.session_id)
        for other in after
        if other.started_at is not None and asked.ended_at <= other.started_at <= asked.ended_at + within
    ]
    return max(later)[1] if later else None
