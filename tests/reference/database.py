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
    "session_details": "one row for each graded session: all other columns",
    "session_failures": "one row for each failed tool call, probes included, and the next step",
    "feedback": "labels; rows are only added",
    "error_issues": "error groups, and whether each is resolved or ignored",
    "alerts": "alerts with their evidence",
    "fleet_hosts": "local copy of a fleet: its machines, and how much of each is copied",
    "fleet_marks": "local copy of a fleet: states of error groups without local sessions",
    "fleet_sums": "local copy of a fleet: sums by the machines, while sessions are still being copied",
    "fleet_copy": "local copy of a fleet: the fleet's identity, and the time of the last read",
    "weekly_reports": "the weekly reports as JSON",
    "session_files": "the ledger: the state of each file",
    "file_counts": "number of files by state and reason",
    "last_grades": "the latest grade, and the latest live grade",
    "live_lags": "delays from a session's last write to its grade, while the daemon runs",
    "session_list": "narrow rows for `list`, with the columns to filter and sort by",
    "session_facets": "tools and errors of each session, for `list`; parts of its wording, for `search --similar`",
    "session_words": "words of tasks, for `list --search` (FTS5)",
    "daily_rollups": "totals by day, dimension and name",
    "monthly_rollups": "the same by month",
    "daily_steps": "steps tried after errors, by day",
    "monthly_steps": "the same by month",
    "rollup_days": "number of changes to a day's totals",
    "issue_days": "errors in each error group, by day",
    "issue_steps": "steps tried after errors of each error group",
    "issue_tasks": "error groups by task type",
    "scheduled_jobs": "scheduled jobs, each with its last run",
    "daily_jobs": "endings of each job's runs, by day",
    "monthly_jobs": "the same by month",
    "daily_claims": "sessions by what their answers claim, and how the record supports it, by day",
    "monthly_claims": "the same by month",
    "report_bases": "the input of each weekly report",
    "alert_streams": "detector state of each watched metric",
    "alert_position": "position of the alert watch",
    "alert_silences": "silenced metrics, and the end of each silence",
    "archive_objects": "archive objects that `grade --archive` has graded",
    "grade_changes": "the change feed, in one order",
    "feed_positions": "stored positions of the change feed's readers",
    "observed_versions": "versions of skills and configuration files seen on disk",
    "saved_views": "named lists of sessions from the page",
    "outbox": "messages to receivers; each is sent at least once",
    "quality_checks": "each call to a scorer of quality, and its answer",
    "session_outcomes": "what became of sessions' work, in git and on disk",
    "calibrations": "results of learning from labels, adopted or not",
    "hook_findings": "claims that the record contradicted when an agent wanted to stop",
    "hook_trials": "trials of the hook: a random half of the sessions gets no message",
    "level_guesses": "a person's guesses of the share of done tasks",
    "job_runs": "runs of periodic jobs, with time and result",
    "daemon_status": "the daemon's last status report",
    "schema_migrations": "applied migrations",
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
