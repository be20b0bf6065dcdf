"""Graded sessions beside others: those that may be the same, and those in which the same was asked for.

Sessions that may be the same are found at a cost that does not grow with how many share a key. Only those are asked for
that can beat a session or be beaten by it (`domain.identity.beaten_by`). Of all sessions of a chain or a conversation
that have a grade, none beats another one; so the newest link stands for all links, the earliest end for all of a
conversation, and who is beaten loses its grade and is not found again. Of forks that share their first call the latest
are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from grader_daemon.domain.identity import Identity
from grader_daemon.domain.repeats import Asked, Place, Stretch
from grader_daemon.storage.sqlite.database import Table, listed
from grader_daemon.storage.sqlite.rows import known_moment, to_identity, to_moment, to_text

_SELECT = (
    "SELECT d.session_id, d.format, g.session_file, d.unit_key, f.written_ns, d.state, d.messages,"
    " d.started_at, d.updated_at, d.lineage, d.opening, d.conversation, d.compacted, d.named_after_id,"
    " d.kind, d.first_call, d.calls"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    " LEFT JOIN session_files AS f ON f.source = d.format AND f.path = g.session_file AND f.key = d.unit_key WHERE"
)
_LINK = f"{_SELECT} d.lineage = ? AND d.opening IS ? AND d.session_id <> ?"
_NEWEST = "ORDER BY d.updated_at DESC, d.messages DESC, d.session_id DESC LIMIT 1"
_NEWEST_LINK = f"{_LINK} {_NEWEST}"
_NEWEST_SUMMARY = f"{_LINK} AND d.compacted {_NEWEST}"
_OLDER_LINKS = f"{_LINK} AND d.updated_at <= ?"
_COPY = f"{_SELECT} d.conversation = ? AND d.session_id <> ?"
_ORIGINAL = f"{_COPY} AND d.updated_at < ? ORDER BY d.updated_at LIMIT 1"
_ORIGINAL_UP_TO_THEN = f"{_COPY} AND d.updated_at = ? AND d.started_at < ? LIMIT 1"
_RELATED = (
    "SELECT value ->> 0 FROM json_each(?) WHERE"
    " EXISTS (SELECT 1 FROM session_details WHERE session_id = value ->> 0)"
    " OR EXISTS (SELECT 1 FROM session_details WHERE lineage = value ->> 1 AND opening IS value ->> 2)"
    " OR EXISTS (SELECT 1 FROM session_details WHERE conversation = value ->> 3)"
    " OR EXISTS (SELECT 1 FROM session_details WHERE first_call = value ->> 4)"
    " OR EXISTS (SELECT 1 FROM session_files WHERE session_id = value ->> 0 AND state = 'skipped')"
)
_COPIES = f"{_COPY} AND d.started_at > ?"
_MOST_FORKS = 100
_FORKS = (
    f"{_SELECT} d.first_call = ? AND d.session_id <> ? ORDER BY d.updated_at DESC, d.session_id LIMIT {_MOST_FORKS}"
)
_MICROSECOND = timedelta(microseconds=1)

_SHARED = (
    "SELECT place.key FROM json_each(?) AS place WHERE EXISTS (SELECT 1 FROM session_details AS d"
    " WHERE d.request = json_extract(place.value, '$[0]') AND d.session_id <> json_extract(place.value, '$[1]'))"
)
_ASKED = (
    "SELECT d.session_id, coalesce(d.started_at,"
    " (SELECT g.session_start FROM session_grades AS g WHERE g.session_id = d.session_id)), d.ended_at, d.asked_again"
    " FROM session_details AS d WHERE d.request = ?"
)
_BEFORE = f"{_ASKED} AND (d.ended_at, d.session_id) < (?, ?) ORDER BY d.ended_at DESC, d.session_id DESC LIMIT ?"
_FROM = f"{_ASKED} AND (d.ended_at, d.session_id) >= (?, ?) ORDER BY d.ended_at, d.session_id LIMIT ?"
"""Grades of earlier versions have no `started_at`; where it is, it says the same, and is nearer."""


class Rivals(Table):
    """Identities of graded sessions that may be the same as another one."""

    def standing(self, session_id: str) -> Identity | None:
        """Return the session of this id; None if it has no grade of ours."""
        rows = self._database.rows(f"{_SELECT} d.session_id = ?", (session_id,))
        return to_identity(rows[0]) if rows else None

    def related(self, new: Sequence[Identity]) -> frozenset[str]:
        """Return the ids of those that have a grade, share something with one, or were found in a unit that has none.

        What they share is a chain, a conversation or the first call.
        """
        keys = [(one.session_id, one.lineage, one.opening, one.conversation, one.first_call) for one in new]
        return frozenset(row[0] for row in self._database.rows(_RELATED, (listed(keys),)))

    def of(self, new: Identity) -> list[Identity]:
        """Return the other sessions that can beat `new` or be beaten by it."""
        rows: list[Any] = []
        if new.lineage is not None:
            rows += self._links(new)
        if new.conversation is not None:
            rows += self._copies(new)
        if new.first_call is not None:
            rows += self._database.rows(_FORKS, (new.first_call, new.session_id))
        return [to_identity(row) for row in {row[0]: row for row in rows}.values()]

    def _links(self, new: Identity) -> list[Any]:
        chain = (new.lineage, new.opening, new.session_id)
        rows = self._database.rows(_NEWEST_LINK, chain)
        if not rows:
            return []
        rows += self._database.rows(_NEWEST_SUMMARY, chain)
        return rows + (self._database.rows(_OLDER_LINKS, (*chain, to_text(new.updated_at))) if new.compacted else [])

    def _copies(self, new: Identity) -> list[Any]:
        conversation, began, ended = (new.conversation, new.session_id), new.started_at, new.updated_at
        if began is not None and ended is not None and began < ended:
            ended -= _MICROSECOND  # a copy may have begun at that very moment
        rows = self._database.rows
        originals = rows(_ORIGINAL, (*conversation, to_text(began))) or rows(
            _ORIGINAL_UP_TO_THEN, (*conversation, to_text(began), to_text(began))
        )
        return originals + rows(_COPIES, (*conversation, to_text(ended)))


class Repeats(Table):
    """Sessions of one request, in the order in which they ended; of the sessions, the column `asked_again`."""

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
