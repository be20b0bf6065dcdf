"""What became of the periodic jobs."""

from __future__ import annotations

from datetime import datetime

from grader_daemon.domain.text import clean
from grader_daemon.storage.records import JobHistory
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import to_moment, to_text

_KEPT = 500


class JobRuns:
    """A row for each run of a job that did something, or failed; the newest of each job are kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, job: str, *, started_at: datetime, finished_at: datetime, error: str | None) -> None:
        """Note a run; `error` is None when it went well."""
        outcome, said = ("done", None) if error is None else ("failed", clean(error))
        self._database.connection.execute(
            "INSERT INTO job_runs (job, started_at, finished_at, outcome, error) VALUES (?, ?, ?, ?, ?)",
            (job, to_text(started_at), to_text(finished_at), outcome, said),
        )
        self._database.connection.execute(
            "DELETE FROM job_runs WHERE job = ?1"
            " AND id <= (SELECT id FROM job_runs WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            (job, _KEPT),
        )

    def history(self, job: str) -> JobHistory:
        """Return how a job went last."""
        rows = self._database.rows(
            "SELECT outcome, finished_at FROM job_runs WHERE job = ? ORDER BY id DESC LIMIT 20", (job,)
        )
        failures = next((count for count, row in enumerate(rows) if row[0] == "done"), len(rows))
        return JobHistory(ended_at=to_moment(rows[0][1]) if rows else None, failures=failures)
