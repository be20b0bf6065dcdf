"""Sessions of one request, in the order in which they ended."""

from __future__ import annotations

from collections.abc import Sequence

from grader_daemon.domain.repeats import Asked, Place, Stretch
from grader_daemon.storage.sqlite.database import Database, listed
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_SHARED = (
    "SELECT place.key FROM json_each(?) AS place WHERE EXISTS (SELECT 1 FROM session_details AS d"
    " WHERE d.request = json_extract(place.value, '$[0]') AND d.session_id <> json_extract(place.value, '$[1]'))"
)
_SELECT = (
    "SELECT d.session_id, coalesce(d.started_at,"
    " (SELECT g.session_start FROM session_grades AS g WHERE g.session_id = d.session_id)), d.ended_at, d.asked_again"
    " FROM session_details AS d WHERE d.request = ?"
)
_BEFORE = f"{_SELECT} AND (d.ended_at, d.session_id) < (?, ?) ORDER BY d.ended_at DESC, d.session_id DESC LIMIT ?"
_FROM = f"{_SELECT} AND (d.ended_at, d.session_id) >= (?, ?) ORDER BY d.ended_at, d.session_id LIMIT ?"
"""Grades of earlier versions have no `started_at`; where it is, it says the same, and is nearer."""


class Repeats:
    """Sessions of one request, in the order in which they ended; of the sessions, the column `asked_again`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def shared(self, places: Sequence[Place]) -> list[Place]:
        """Return those of some places whose request another session shares."""
        asked = listed([(place.request, place.session_id) for place in places])
        return [places[key] for (key,) in self._database.rows(_SHARED, (asked,))]

    def around(self, place: Place, *, reach: int) -> Stretch:
        """Return the sessions of its request around a place: at most `reach` before it, one more at and behind it."""
        key = (place.request, to_text(place.ended_at), place.session_id)
        before = [_to_asked(row) for row in self._database.rows(_BEFORE, (*key, reach))]
        following = [_to_asked(row) for row in self._database.rows(_FROM, (*key, reach + 1))]
        return Stretch.of(before[::-1], following, reach=reach)

    def note(self, changes: Sequence[tuple[str, str | None]]) -> None:
        """Write for some sessions in which other one the same was asked for again; call it inside a transaction."""
        self._database.connection.executemany(
            "UPDATE session_details SET asked_again = ?2 WHERE session_id = ?1", changes
        )


def _to_asked(row: tuple[str, str | None, str, str | None]) -> Asked:
    session_id, started_at, ended_at, again = row
    return Asked(session_id, to_moment(started_at), known_moment(ended_at), again)
