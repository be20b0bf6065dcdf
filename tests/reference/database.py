"""The tables of the database: what each holds, and its columns as the migrations make them."""

from __future__ import annotations

import apsw

from grader_daemon.storage.sqlite.schema import migrate
from tests.reference.blocks import table

STABLE = frozenset(
    {"alerts", "error_issues", "feedback", "session_details", "session_failures", "session_grades", "weekly_reports"}
)
"""Tables whose columns stay."""

TABLES = {
    "session_grades": "one row for each graded session: the scores and flags of the original self-grader",
    "session_details": "one row for each graded session: what else is known of it",
    "session_failures": "one row for each failed tool call, probes too, and what was tried next",
    "feedback": "what people said of sessions; rows are only added",
    "error_issues": "failures of one cause, and whether it is resolved or ignored",
    "alerts": "what degraded or passed a threshold, with its evidence",
    "fleet_hosts": "in the copy of a fleet: its machines, and how far the rows of each are here",
    "fleet_marks": "in the copy of a fleet: labels of errors whose sessions are not here",
    "fleet_copy": "in the copy of a fleet: which one it is, and when it was read",
    "weekly_reports": "the weekly reports as JSON",
    "session_files": "the ledger: what became of each file",
    "file_counts": "how many files of each state and reason",
    "last_grades": "the grade made last, and the last that was made live",
    "live_lags": "how soon after its last write a session was graded, while the daemon ran",
    "session_list": "narrow rows for `list`: what is filtered and sorted by",
    "session_facets": "tools and errors of each session, for `list`, and parts of its wording, for `similar`",
    "session_words": "the words of what was asked for, for `list --search` (FTS5)",
    "daily_rollups": "sums by day, dimension and name",
    "monthly_rollups": "the same by month",
    "daily_steps": "what was tried after failures, by day",
    "monthly_steps": "the same by month",
    "rollup_days": "how often the sums of a day changed",
    "issue_days": "failures of each issue by day",
    "issue_steps": "what was tried after failures of each issue",
    "issue_tasks": "issues by task type",
    "scheduled_jobs": "the scheduled jobs that are kept, each by its last run",
    "daily_jobs": "how runs of each job ended, by day",
    "monthly_jobs": "the same by month",
    "report_bases": "what each weekly report was made of",
    "alert_streams": "the detector of each stream that is watched",
    "alert_position": "how far the watch has read",
    "alert_silences": "silenced streams, and until when",
    "archive_objects": "which objects of archives `archive` has graded",
    "grade_changes": "what changed, in one order, for those who follow",
    "feed_positions": "how far each of them has read that keeps its place here",
    "observed_versions": "versions of skills and configuration files as they were seen on disk",
    "saved_views": "lists of sessions that were named on the page",
    "outbox": "messages to receivers; a row goes out at least once",
    "quality_checks": "each call of a scorer of quality, and its answer",
    "session_outcomes": "what became of the work of sessions, in git and on disk",
    "calibrations": "what was learned from labels, adopted or not",
    "hook_findings": "claims that the record spoke against when an agent wanted to stop",
    "hook_trials": "trials of telling: one session of two gets no message",
    "level_guesses": "what a person guessed of how many tasks get done",
    "job_runs": "when each periodic job ran, and how it ended",
    "daemon_status": "what the daemon said of itself last",
    "schema_migrations": "which migrations were applied",
}
"""What each table is for; the order is that of the page."""


def tables() -> str:
    """Return one row for each table of a new database."""
    connection = apsw.Connection(":memory:")
    migrate(connection, "the documents")
    found = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    shadows = tuple(f"{name}_" for name in found if "fts5" in _sql(connection, name))
    ours = [name for name in found if not name.startswith(("sqlite_", *shadows))]
    known = {name: place for place, name in enumerate(TABLES)}
    rows = [(name, *_row(connection, name)) for name in sorted(ours, key=lambda name: known.get(name, len(known)))]
    connection.close()
    return table(("table", "stable", "holds", "columns"), [(f"`{name}`", *rest) for name, *rest in rows])


def _row(connection: apsw.Connection, name: str) -> tuple[str, str, str]:
    columns = [f"`{row[1]}`" for row in connection.execute(f"PRAGMA table_info({name})")]
    return "yes" if name in STABLE else "", TABLES.get(name, ""), " ".join(columns)


def _sql(connection: apsw.Connection, name: str) -> str:
    return str(next(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)))[0])
