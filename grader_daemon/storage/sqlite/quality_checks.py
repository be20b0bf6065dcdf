"""Answers of scorers outside. A row is made before each call: a call that nobody saw the end of is counted too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from grader_daemon.domain.quality import CheckOutcome, QualityCheck
from grader_daemon.domain.text import clean
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import known_moment, to_text

_COLUMNS = "id, session_id, scorer, checked_at, digest, outcome, quality, ours, discrepancy, error"
_OURS = "coalesce(d.automatic_quality, g.response_quality)"
_BY_PERSON = "(d.verdict_by = 'person' OR d.automatic_quality IS NOT NULL)"


class QualityChecks(Table):
    """Calls of scorers outside, and their answers."""

    # -- calls -----------------------------------------------------------------------------------------------------

    def begin(
        self, session_id: str, *, scorer: str, digest: str | None, ours: int, now: datetime, budgeted: bool
    ) -> int:
        """Note that a scorer is about to be called; returns the number of the check."""
        connection = self._database.connection
        connection.execute(
            "INSERT INTO quality_checks (session_id, scorer, checked_at, digest, budgeted, outcome, ours)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session_id, scorer, to_text(now), digest, budgeted, CheckOutcome.ASKED, ours),
        )
        return connection.last_insert_rowid()

    def answered(self, number: int, quality: float) -> None:
        """Keep an answer, and how far it lies from ours."""
        self._database.connection.execute(
            "UPDATE quality_checks SET outcome = ?2, quality = ?3, discrepancy = abs(?3 - ours) WHERE id = ?1",
            (number, CheckOutcome.ANSWERED, quality),
        )

    def failed(self, number: int, error: str, outcome: CheckOutcome) -> None:
        """Keep why there is no answer."""
        self._database.connection.execute(
            "UPDATE quality_checks SET outcome = ?, error = ? WHERE id = ?", (outcome, clean(error), number)
        )

    def calls(self, since: datetime, until: datetime) -> int:
        """Count how many calls that have a budget began at or after `since` and before `until`."""
        return int(
            self._database.rows(
                "SELECT count(*) FROM quality_checks WHERE budgeted AND checked_at >= ? AND checked_at < ?",
                (to_text(since), to_text(until)),
            )[0][0]
        )

    # -- which sessions --------------------------------------------------------------------------------------------

    def sample(self, scorer: str, *, since: datetime, until: datetime, limit: int) -> dict[str, str | None]:
        """Draw finished sessions with scores that ended from `since` until before `until`, each as likely as any other.

        Gives the digests of the files that they were graded from, by their ids, in the order of the draw. Left out are
        those of which this scorer has said something, or nothing of use, as they are now.
        """
        rows = self._database.rows(
            "SELECT d.session_id, d.digest FROM session_details AS d"
            " WHERE d.state = 'complete' AND d.scored AND d.ended_at >= ?2 AND d.ended_at < ?3 AND NOT EXISTS ("
            "  SELECT 1 FROM quality_checks AS c WHERE c.session_id = d.session_id AND c.scorer = ?1"
            "  AND c.digest IS d.digest AND c.outcome IN ('answered', 'no_answer')"
            " ) ORDER BY random() LIMIT ?4",
            (scorer, to_text(since), to_text(until), limit),
        )
        return dict(rows)

    def disagreeing(self, *, by: float = 1.5, limit: int | None = None) -> list[str]:
        """Name the sessions whose last answer lies `by` or more from the quality they have now, newest answer first.

        Left out are those of which a person has said something, and those that went on since.
        """
        most = -1 if limit is None else limit
        rows = self._database.rows(
            "SELECT c.session_id FROM quality_checks AS c"
            " JOIN session_details AS d ON d.session_id = c.session_id AND d.digest IS c.digest"
            " JOIN session_grades AS g ON g.session_id = c.session_id"
            f" WHERE abs(c.quality - {_OURS}) >= ? AND NOT {_BY_PERSON}"
            " AND c.id = (SELECT max(id) FROM quality_checks WHERE session_id = c.session_id AND outcome = 'answered')"
            " ORDER BY c.id DESC LIMIT ?",
            (by, most),
        )
        return [row[0] for row in rows]

    def settled(self, *, since: int, by: float) -> int:
        """Count the sessions on whose completion people said something after feedback number `since`.

        Only those count of which an answer lay `by` or more from our quality, and what was not taken back.
        """
        return int(
            self._database.rows(
                "SELECT count(DISTINCT c.session_id) FROM quality_checks AS c"  # of which there are few
                " CROSS JOIN feedback AS f ON f.session_id = c.session_id AND f.digest IS c.digest AND f.id > ?1"
                " WHERE c.discrepancy >= ?2 AND f.completed IS NOT NULL"
                " AND NOT EXISTS"
                " (SELECT 1 FROM feedback AS w WHERE w.session_id = f.session_id AND w.withdraws = f.id)",
                (since, by),
            )[0][0]
        )

    # -- what was said ---------------------------------------------------------------------------------------------

    def of_session(self, session_id: str) -> QualityCheck | None:
        """Return the last answer about a session, or else the last call that had none."""
        found = self._checks(
            "WHERE session_id = ? AND outcome <> 'asked' ORDER BY outcome <> 'answered', id DESC LIMIT 1", session_id
        )
        return found[0] if found else None

    def latest(self, scorer: str, limit: int) -> list[QualityCheck]:
        """Return the last calls of a scorer that ended, the newest first."""
        return self._checks("WHERE scorer = ? AND outcome <> 'asked' ORDER BY id DESC LIMIT ?", scorer, limit)

    def check(self, number: int) -> QualityCheck:
        """Return one check by the number that `begin` gave."""
        return self._checks("WHERE id = ?", number)[0]

    def _checks(self, conditions: str, *values: Any) -> list[QualityCheck]:
        return [
            _to_check(row) for row in self._database.rows(f"SELECT {_COLUMNS} FROM quality_checks {conditions}", values)
        ]


def _to_check(row: Sequence[Any]) -> QualityCheck:
    number, session_id, scorer, checked_at, digest, outcome, quality, ours, discrepancy, error = row
    return QualityCheck(
        id=number,
        session_id=session_id,
        scorer=scorer,
        checked_at=known_moment(checked_at),
        digest=digest,
        outcome=CheckOutcome(outcome),
        quality=quality,
        ours=ours,
        discrepancy=discrepancy,
        error=error,
    )
