"""Which sessions were asked for again: another one of the same request began soon after they had ended.

It depends on the sessions alone, not on the order in which they are graded, and for each session on its nearest
neighbours only, so that keeping it up to date costs the same however long the history is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

NEIGHBOURS: Final = 3
"""So many sessions of the same request, on either side, decide about one; with so many it is a routine."""

_ROUTINE_WITHIN: Final = timedelta(days=7)
"""What is asked for every day must not look like asking again; so the routine is looked for in a week."""


class Asked(NamedTuple):
    """A session of a request. `asked_again` is the id of the session in which the same was asked for again."""

    session_id: str
    started_at: datetime | None
    ended_at: datetime
    asked_again: str | None


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
