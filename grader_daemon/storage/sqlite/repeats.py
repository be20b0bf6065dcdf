"""Keeping up which sessions were asked for again, in the transaction that saves or takes back their grades."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from grader_daemon.domain.grade import Grade
from grader_daemon.patterns.repeats import NEIGHBOURS, Asked, asked_again
from grader_daemon.storage.sqlite.database import Database, listed
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_REACH = 2 * NEIGHBOURS
"""A session touches its neighbours, and these are decided about by theirs."""

_SHARED = (
    "SELECT place.key FROM json_each(?) AS place WHERE EXISTS (SELECT 1 FROM session_details AS d"
    " WHERE d.request = json_extract(place.value, '$[0]') AND d.session_id <> json_extract(place.value, '$[2]'))"
)
_SELECT = (
    "SELECT d.session_id, g.session_start, d.ended_at, d.asked_again"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id WHERE d.request = ?"
)
_BEFORE = (
    f"{_SELECT} AND (d.ended_at, d.session_id) < (?, ?) ORDER BY d.ended_at DESC, d.session_id DESC LIMIT {_REACH}"
)
_FROM = f"{_SELECT} AND (d.ended_at, d.session_id) >= (?, ?) ORDER BY d.ended_at, d.session_id LIMIT {_REACH + 1}"


class Place(NamedTuple):
    """Where a session stands among those of its request; `ended_at` as it stands in the database."""

    request: int
    ended_at: str
    session_id: str


def places_of(grades: Sequence[Grade]) -> list[Place]:
    """Give the places of the sessions that have one."""
    found = []
    for grade in grades:
        ended_at = to_text(grade.ended_at)
        if grade.request is not None and ended_at is not None:
            found.append(Place(grade.request, ended_at, grade.session_id))
    return found


class Repeats:
    """The column `asked_again` of the sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def settle(self, places: Sequence[Place], *, within: timedelta) -> None:
        """Decide anew about the sessions around `places`, where sessions came, changed or went."""
        if not places:
            return
        shared = self._database.rows(_SHARED, (listed(places),))
        for (key,) in shared:
            self._settle(places[key], within)

    def _settle(self, place: Place, within: timedelta) -> None:
        before = [_to_asked(row) for row in self._database.rows(_BEFORE, place)][::-1]
        sessions = before + [_to_asked(row) for row in self._database.rows(_FROM, place)]
        for position in range(max(0, len(before) - NEIGHBOURS), min(len(sessions), len(before) + NEIGHBOURS + 1)):
            again = asked_again(sessions, position, within=within)
            if again != sessions[position].asked_again:
                self._database.connection.execute(
                    "UPDATE session_details SET asked_again = ? WHERE session_id = ?",
                    (again, sessions[position].session_id),
                )


def _to_asked(row: tuple[str, str | None, str, str | None]) -> Asked:
    session_id, started_at, ended_at, again = row
    return Asked(session_id, to_moment(started_at), known_moment(ended_at), again)
