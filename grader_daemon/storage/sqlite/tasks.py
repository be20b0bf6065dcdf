"""Finished tasks of persons with their verdicts, read from the narrow rows."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.early import EarlyCount
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import to_moment, to_skills, to_text

_AGENT = "iif(EXISTS (SELECT 1 FROM fleet_copy), coalesce(agent, 'agent') || ' on ' || host, agent)"
"""Machines of a fleet are set up each in its own way: an agent there is another one than that on the next."""
_TASKS = (
    "SELECT session_id, ended_at, task_type, model, completed, p_completed, verdict_by, unsure, request, cost_usd,"
    f" {_AGENT}, platform, project, agent_version, system_prompt_digest, tools_digest, skills"
    f" FROM session_list WHERE ended_at >= ? AND ended_at < ? AND state <> '{SessionState.OPEN}'"
    " AND kind = ? AND completed IS NOT NULL AND model IS NOT NULL ORDER BY ended_at DESC, session_id DESC LIMIT ?"
)
_EARLY = (
    "SELECT early_errors, completed, verdict_by FROM session_list WHERE ended_at >= ?"
    f" AND state <> '{SessionState.OPEN}' AND kind = '{SessionKind.MAIN}'"
    " AND completed IS NOT NULL AND early_errors IS NOT NULL ORDER BY ended_at DESC, session_id DESC LIMIT ?"
)
_AFTER_ALL = "~"


def finished_tasks(
    database: Database, since: datetime, until: datetime | None, limit: int, *, kind: SessionKind
) -> list[FinishedSession]:
    """Read the tasks that ended since a moment, before another one if that is given, the newest first."""
    rows = database.rows(_TASKS, (to_text(since), to_text(until) or _AFTER_ALL, kind, limit))
    return [task for row in rows if (task := _to_task(row)) is not None]


def early_counts(database: Database, since: datetime, limit: int) -> list[EarlyCount]:
    """Count the newest finished tasks of persons; see `Grades.early_counts`."""
    counted = Counter(database.rows(_EARLY, (to_text(since), limit)))
    return [
        EarlyCount(errors, bool(completed), not VerdictBy(by).is_automatic, tasks)
        for (errors, completed, by), tasks in counted.items()
    ]


def _to_task(row: tuple[Any, ...]) -> FinishedSession | None:
    """Read a row of the list; None where its end is no time, as in rows that another program left."""
    session_id, ended_at, task_type, model, completed, p_completed, verdict_by, unsure, *others = row
    moment = to_moment(ended_at)
    if moment is None:
        return None
    others[-1] = to_skills(others[-1])
    return FinishedSession(
        session_id,
        moment,
        task_type,
        model,
        bool(completed),
        p_completed,
        not VerdictBy(verdict_by).is_automatic,
        bool(unsure),
        *others,
    )
