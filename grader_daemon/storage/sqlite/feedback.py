"""What people said of grades, as rows: added, never changed. What stands of them is read each time, so no row can lie.

The grades that they stand above are the business of `Store`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.feedback import Candidate, Feedback, FeedbackSource, Label, Said, Sampling, Standing, standing
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.records import StoredGrade
from grader_daemon.storage.sqlite.database import LISTED, Database, listed
from grader_daemon.storage.sqlite.features import to_features
from grader_daemon.storage.sqlite.rows import known_moment, to_flag, to_text

_COLUMNS = (
    "session_id",
    "given_at",
    "given_by",
    "completed",
    "quality",
    "note",
    "source",
    "sampled",
    "digest",
    "completed_before",
    "quality_before",
    "verdict_before",
    "p_completed",
    "withdraws",
)
_INSERT = f"INSERT INTO feedback ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_SELECT = f"SELECT id, {', '.join(_COLUMNS)} FROM feedback"
_LEARNED = (
    "SELECT d.session_id, d.digest, d.state, coalesce(d.ended_on, '1970-01-01'), d.rules_completed, d.p_completed,"
    " d.request, d.features, coalesce(d.automatic_completed, g.task_completed),"
    " coalesce(d.automatic_quality, g.response_quality)"
    " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    " WHERE d.session_id IN (SELECT session_id FROM feedback)"
)
_MOST_CANDIDATES = 20_000


class Feedbacks:
    """Feedback of all people on all sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, said: Said, of: StoredGrade, *, now: datetime) -> Feedback:
        """Keep what was said of a grade as it stands; call it inside a transaction."""
        grade, connection = of.grade, self._database.connection
        given = Feedback(
            id=0,
            session_id=grade.session_id,
            given_at=now,
            given_by=said.by,
            completed=said.completed,
            quality=said.quality,
            note=said.note,
            source=said.source,
            sampled=said.sampled,
            digest=of.digest,
            completed_before=grade.task_completed,
            quality_before=grade.response_quality,
            verdict_before=grade.verdict_by,
            p_completed=grade.p_completed,
            withdraws=said.withdraws,
        )
        connection.execute(_INSERT, _to_row(given))
        return msgspec.structs.replace(given, id=connection.last_insert_rowid())

    def newest_number(self) -> int:
        """Number what was said last; 0 before anybody said anything."""
        return int(self._database.rows("SELECT coalesce(max(id), 0) FROM feedback")[0][0])

    def history(self, session_id: str) -> list[Feedback]:
        """Give all that was ever said of a session, in order."""
        rows = self._database.rows(f"{_SELECT} WHERE session_id = ? ORDER BY id", (session_id,))
        return [_to_feedback(row) for row in rows]

    def standing(self, session_ids: Sequence[str]) -> dict[str, Standing]:
        """Give what stands of what was said of those of `session_ids` of which anything ever was."""
        return self._standing(f"WHERE session_id IN {LISTED}", listed(session_ids))

    def labels(self) -> list[Label]:
        """Give all labels that stand, of sessions that have a grade, in the order in which they were given."""
        said = self._standing()
        found = [(said[row[0]].last, row) for row in self._database.rows(_LEARNED) if row[0] in said]
        stand = sorted(((last, row) for last, row in found if last is not None), key=lambda each: each[0].id)
        return [_to_label(said[last.session_id], last, row) for last, row in stand]

    def reviewed_since(self, moment: datetime) -> int:
        """Count the sessions that were judged in reviews since then, and not taken back."""
        said = self._standing(
            "WHERE session_id IN (SELECT session_id FROM feedback WHERE source = 'review' AND given_at >= ?)",
            to_text(moment),
        )
        lasts = [each.last for each in said.values() if each.last is not None]
        return sum(last.source is FeedbackSource.REVIEW and last.given_at >= moment for last in lasts)

    def candidates(self, *, since: datetime | None) -> list[Candidate]:
        """Give the finished sessions with scores that ended since then, or ever, and of whose completion nobody speaks.

        The newest 20,000 at most.
        """
        judged = {session_id for session_id, said in self._standing().items() if said.completed is not None}
        rows = self._database.rows(
            "SELECT d.session_id, d.p_completed, d.rules_completed, g.task_completed, d.request"
            " FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
            " WHERE d.state <> 'open' AND d.scored AND d.ended_at >= ? ORDER BY d.ended_at DESC LIMIT ?",
            (to_text(since) or "", _MOST_CANDIDATES + len(judged)),
        )
        found = [
            Candidate(
                session_id=row[0],
                p_completed=row[1],
                rules_completed=to_flag(row[2]),
                completed=bool(row[3]),
                request=row[4],
            )
            for row in rows
            if row[0] not in judged
        ]
        return found[:_MOST_CANDIDATES]

    def judged_requests(self) -> frozenset[int]:
        """Give the digests of what was asked for in the sessions that were ever judged."""
        rows = self._database.rows(
            "SELECT request FROM session_details WHERE request IS NOT NULL"
            " AND session_id IN (SELECT session_id FROM feedback)"
        )
        return frozenset(row[0] for row in rows)

    def _standing(self, condition: str = "", *values: str | None) -> dict[str, Standing]:
        rows = self._database.rows(f"{_SELECT} {condition} ORDER BY session_id, id", values)
        said = groupby(map(_to_feedback, rows), key=lambda feedback: feedback.session_id)
        return {session_id: standing(each) for session_id, each in said}


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


def _to_label(said: Standing, last: Feedback, row: Sequence[Any]) -> Label:
    """Put what stands beside a row of `_LEARNED`."""
    session_id, digest, state, ended_on, by_rules, likely, request, features, completed, quality = row
    judged = said.completed or last
    return Label(
        session_id=session_id,
        completed=None if said.completed is None else said.completed.completed,
        quality=None if said.quality is None else said.quality.quality,
        given_at=last.given_at,
        given_by=last.given_by,
        source=last.source,
        note=last.note,
        sampled=judged.sampled,
        drawn_at_random=said.drawn_at_random,
        went_on=judged.digest != digest,
        is_finished=state != SessionState.OPEN,
        ended_on=ended_on,
        automatic_completed=bool(completed),
        automatic_quality=quality,
        rules_completed=to_flag(by_rules),
        p_completed=likely,
        request=request,
        features=to_features(features),
    )
