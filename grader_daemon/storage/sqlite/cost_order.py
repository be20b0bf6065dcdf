"""Sessions of the list by their cost, in the order that an index has: a page is read, and not all sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from grader_daemon.storage.records import GradeFilter, PageKey, SortKey
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import to_text

BELOW_ALL: Final = "-1"
ABOVE_ALL: Final = "9e99"
"""Values in the place of one that is not known, so that it comes last in both directions."""


def is_by_cost(which: GradeFilter) -> bool:
    """Return whether a span in the order of cost is all that is asked for."""
    return which == GradeFilter(
        sort=SortKey.COST,
        lowest_first=which.lowest_first,
        since=which.since,
        until=which.until,
        before=which.before,
        limit=which.limit,
    )


def ended_within(database: Database, since: datetime | None, *, sessions: int) -> bool:
    """Return whether at most so many sessions ended since then: to sort them is sooner done than to walk in order."""
    if since is None:
        return False
    beyond = "SELECT 1 FROM session_list WHERE ended_at >= ? LIMIT 1 OFFSET ?"
    return not database.rows(beyond, (to_text(since), sessions))


def find_by_cost(database: Database, which: GradeFilter) -> list[tuple[int, PageKey]]:
    """Return the ids of grades, each with its place; sessions whose cost nobody knows stand behind the others."""
    side, way = (">", "ASC") if which.lowest_first else ("<", "DESC")
    unknown = float(ABOVE_ALL if which.lowest_first else BELOW_ALL)
    before: tuple[Any, ...] = which.before or ()
    limit = -1 if which.limit is None else which.limit
    order = f"l.ended_at {way}, l.session_id {way} LIMIT ?"
    bounds = (("l.ended_at >= ?", to_text(which.since)), ("l.ended_at < ?", to_text(which.until)))
    ends = [end for _, end in bounds if end is not None]
    span = "".join(f" AND {bound}" for bound, end in bounds if end is not None)
    beside = span.replace("l.", "+l.")  # or SQLite would look through the span, and sort it
    known: list[Any] = []
    if before[:1] != (unknown,):
        behind = f"AND (l.cost_usd, l.ended_at, l.session_id) {side} (?, ?, ?)" if before else ""
        known = database.rows(
            "SELECT l.id, l.cost_usd, l.ended_at, l.session_id FROM session_list AS l"
            f" WHERE l.cost_usd IS NOT NULL{beside} {behind} ORDER BY l.cost_usd {way}, {order}",
            (*ends, *before, limit),
        )
        before = ()
    behind = f"AND (l.ended_at, l.session_id) {side} (?, ?)" if before else ""
    others = database.rows(
        "SELECT l.id, ?, l.ended_at, l.session_id FROM session_list AS l"
        f" WHERE l.cost_usd IS NULL{span} {behind} ORDER BY {order}",
        (unknown, *ends, *before[1:], limit if limit < 0 else limit - len(known)),
    )
    return [(row[0], row[1:]) for row in (*known, *others)]
