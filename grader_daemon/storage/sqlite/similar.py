"""Finished sessions that may have been asked for the same: by the digest of the request and by bands of its wording."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.similar import AskedAlike
from grader_daemon.storage.sqlite.database import LISTED, Database, listed
from grader_daemon.storage.sqlite.listing_index import BANDS_OF
from grader_daemon.storage.sqlite.rows import ended_badly_of, known_moment, to_flag, to_skills
from grader_daemon.storage.sqlite.session_list import LISTED_AS, outcome_of

_SAME: Final = (
    "SELECT g.id FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    f" WHERE d.request = ? AND d.state <> '{SessionState.OPEN}' ORDER BY d.ended_at DESC, d.session_id DESC LIMIT ?"
)
_NEAR: Final = "SELECT id FROM session_facets WHERE facet = 'wording' AND value = ? ORDER BY id DESC LIMIT ?"
_ROWS: Final = (
    f"SELECT g.session_id, l.ended_at, g.model, l.completed, l.unsure, {ended_badly_of('d')},"
    " d.request, d.wording, d.skills"
    " FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id"
    f" JOIN {LISTED_AS}"
    f" WHERE g.id IN {LISTED} AND d.state <> '{SessionState.OPEN}'"
)


def asked_alike(database: Database, request: int | None, wording: bytes | None, limit: int) -> list[AskedAlike]:
    """Find sessions in which the same or nearly the same was asked for; see `Grades.asked_alike`."""
    found: dict[int, None] = {}
    if request is not None:
        found |= dict.fromkeys(number for (number,) in database.rows(_SAME, (request, limit)))
    if wording is not None:
        for (band,) in database.rows(BANDS_OF, (wording,)):
            found |= dict.fromkeys(number for (number,) in database.rows(_NEAR, (band, limit)))
    return [
        AskedAlike(
            session_id,
            known_moment(ended_at),
            model,
            outcome_of(completed, unsure),
            to_flag(ended_badly),
            asked,
            words,
            to_skills(skills),
        )
        for session_id, ended_at, model, completed, unsure, ended_badly, asked, words, skills in database.rows(
            _ROWS, (listed(list(found)),)
        )
    ]
