"""Feedback of people on grades: rows that are added, never changed. Whoever reads them decides what stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from grader_daemon.domain.feedback import Candidate, Feedback, FeedbackSource, JudgedSession, Sampling
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.sqlite.database import LISTED, Table, listed
from grader_daemon.storage.sqlite.features import to_features
from grader_daemon.storage.sqlite.rows import HAS_SCORES, PERSONS_TASK, known_moment, to_flag, to_text

_COLUMNS = tuple(
    "session_id given_at given_by completed quality note source sampled digest completed_before quality_before"
    " verdict_before p_completed withdraws".split()
)
_INSERT = f"INSERT INTO feedback ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_SELECT = f"SELECT id, {', '.join(_COLUMNS)} FROM feedback"
_JUDGED = (
    f"SELECT d.session_id, d.digest, {PERSONS_TASK}, d.state IS NOT 'open', coalesce(d.ended_on, '1970-01-01'),"
    " coalesce(d.automatic_completed, g.task_completed), coalesce(d.automatic_quality, g.response_quality),"
    f" d.rules_completed, d.p_completed, d.request, d.features, {HAS_SCORES}"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    " WHERE d.session_id IN (SELECT session_id FROM feedback)"
)
"""The fields of `JudgedSession`, in their order."""


class Feedbacks(Table):
    """Feedback of people on sessions: added, never changed."""

    def add(self, given: Feedback) -> Feedback:
        """Keep what was said of a grade; returns it with its number. Call it inside a transaction."""
        connection = self._database.connection
        connection.execute(_INSERT, _to_row(given))
        return msgspec.structs.replace(given, id=connection.last_insert_rowid())

    def newest_number(self) -> int:
        """Number what was said last; 0 before anybody said anything."""
        return int(self._database.rows("SELECT coalesce(max(id), 0) FROM feedback")[0][0])

    def said(self, session_ids: Sequence[str] | None = None) -> list[Feedback]:
        """Return all that was ever said of some sessions, or of any, in order."""
        if session_ids is None:
            return self._said("")
        return self._said(f"WHERE session_id IN {LISTED}", listed(session_ids))

    def said_after(self, number: int, limit: int) -> list[Feedback]:
        """Return what was said after a number, in order."""
        rows = self._database.rows(f"{_SELECT} WHERE id > ? ORDER BY id LIMIT ?", (number, limit))
        return [_to_feedback(row) for row in rows]

    def said_of_reviewed(self, since: datetime) -> list[Feedback]:
        """Return all that was ever said of sessions that were judged in a review since then, in order."""
        return self._said(
            "WHERE session_id IN (SELECT session_id FROM feedback WHERE source = 'review' AND given_at >= ?)",
            to_text(since),
        )

    def judged(self, session_ids: Sequence[str] | None = None) -> list[JudgedSession]:
        """Return the sessions, of some or of all, that have a grade and of which anything was ever said."""
        if session_ids is None:
            return [_to_judged(row) for row in self._database.rows(_JUDGED)]
        rows = self._database.rows(f"{_JUDGED} AND d.session_id IN {LISTED}", (listed(session_ids),))
        return [_to_judged(row) for row in rows]

    def finished(self, *, since: datetime | None, limit: int) -> list[Candidate]:
        """Return the newest finished sessions with scores that ended since then, or ever."""
        rows = self._database.rows(
            "SELECT d.session_id, d.p_completed, d.rules_completed, g.task_completed, d.request"
            " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
            f" WHERE d.state = 'complete' AND d.scored AND {PERSONS_TASK} AND d.ended_at >= ?"
            " ORDER BY d.ended_at DESC LIMIT ?",
            (to_text(since) or "", limit),
        )
        return [
            Candidate(
                session_id=row[0],
                p_completed=row[1],
                rules_completed=to_flag(row[2]),
                completed=bool(row[3]),
                request=row[4],
            )
            for row in rows
        ]

    def judged_requests(self) -> frozenset[int]:
        """Return the digests of what was asked for in the sessions that were ever judged."""
        rows = self._database.rows(
            "SELECT request FROM session_details WHERE request IS NOT NULL"
            " AND session_id IN (SELECT session_id FROM feedback)"
        )
        return frozenset(row[0] for row in rows)

    def _said(self, condition: str, *values: str | None) -> list[Feedback]:
        return [_to_feedback(row) for row in self._database.rows(f"{_SELECT} {condition} ORDER BY id", values)]


def _to_row(given: Feedback) -> tuple[Any, ...]:
    values = {name: getattr(given, name) for name in _COLUMNS}
    return tuple({**values, "given_at": to_text(given.given_at)}.values())


def _to_feedback(row: Sequence[Any]) -> Feedback:
    known = dict(zip(_COLUMNS, row[1:], strict=True))
    sampled = known["sampled"]
    return Feedback(
        **{
            **known,
            "id": row[0],
            "given_at": known_moment(known["given_at"]),
            "completed": to_flag(known["completed"]),
            "source": FeedbackSource(known["source"]),
            "sampled": None if sampled is None else Sampling(sampled),
            "completed_before": bool(known["completed_before"]),
            "verdict_before": VerdictBy(known["verdict_before"]),
        }
    )


def _to_judged(row: Sequence[Any]) -> JudgedSession:
    """Read a row of `_JUDGED`."""
    known = dict(zip(JudgedSession.__struct_fields__, row, strict=True))
    for flag in ("is_persons", "is_finished", "automatic_completed", "has_scores"):
        known[flag] = bool(known[flag])
    known["rules_completed"] = to_flag(known["rules_completed"])
    known["features"] = tuple(to_features(known["features"]))
    return JudgedSession(**known)
