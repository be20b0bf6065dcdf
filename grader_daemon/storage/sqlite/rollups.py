"""The daily roll-ups: written in the transaction that changes grades, read instead of all history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.claims import CLAIM_SUMS, ClaimKind, ClaimTally, Support
from grader_daemon.domain.counting import Changes, GroupKey, by_month, kept_name
from grader_daemon.domain.error_groups import ToolStep
from grader_daemon.domain.group_names import NAME_CHARACTERS, UNKNOWN
from grader_daemon.domain.rollup import SUM_NAMES, SUMMED_BY_MACHINES, Dimension, Sums
from grader_daemon.domain.scheduled_jobs import JOB_FACTS, MOST_JOBS, JobFacts, KnownJob
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.storage.sqlite.database import LISTED, Table, listed


class _Table:
    """A table of sums: what tells its rows apart, and the numbers in them. A row of nothing is deleted."""

    def __init__(self, name: str, keys: Sequence[str], numbers: Sequence[str], *, counts: Sequence[str]) -> None:
        columns = (*keys, *numbers)
        self.name = name
        self.add = (
            f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET "
            + ", ".join(f"{number} = {number} + excluded.{number}" for number in numbers)
        )
        empty = [f"{key} = ?" for key in keys] + [f"{count} = 0" for count in counts]
        self.delete_empty = f"DELETE FROM {name} WHERE {' AND '.join(empty)}"
        self.clear = f"DELETE FROM {name}"


_STEP_KEYS = ("tool", "next_tool", "next_command", "is_retry")
_STEP_COUNTS = ("tries", "worked", "recovered")
_GROUP_COUNTS = ("sessions", "open_sessions", "unanswered", "side")
_DAYS = _Table("daily_rollups", ("dimension", "day", "name"), SUM_NAMES, counts=_GROUP_COUNTS)
_MONTHS = _Table("monthly_rollups", ("dimension", "month", "name"), SUM_NAMES, counts=_GROUP_COUNTS)
_DAY_STEPS = _Table("daily_steps", ("day", *_STEP_KEYS), _STEP_COUNTS, counts=("tries",))
_MONTH_STEPS = _Table("monthly_steps", ("month", *_STEP_KEYS), _STEP_COUNTS, counts=("tries",))
_ISSUES = _Table("issue_days", ("fingerprint", "day"), ("failures", "sessions", "recovered"), counts=("failures",))
_STEPS = _Table("issue_steps", ("fingerprint", "day", "tool", "command"), _STEP_COUNTS, counts=("tries",))
_TASKS = _Table("issue_tasks", ("fingerprint", "day", "task_type"), ("sessions",), counts=("sessions",))
_DAY_JOBS = _Table("daily_jobs", ("day", "job"), JOB_FACTS, counts=("runs",))
_MONTH_JOBS = _Table("monthly_jobs", ("month", "job"), JOB_FACTS, counts=("runs",))
_DAY_CLAIMS = _Table("daily_claims", ("day", "kind", "model"), CLAIM_SUMS, counts=("sessions",))
_MONTH_CLAIMS = _Table("monthly_claims", ("month", "kind", "model"), CLAIM_SUMS, counts=("sessions",))
_TABLES = (
    *(_DAYS, _MONTHS, _DAY_STEPS, _MONTH_STEPS, _ISSUES, _STEPS, _TASKS),
    *(_DAY_JOBS, _MONTH_JOBS, _DAY_CLAIMS, _MONTH_CLAIMS),
)
DERIVED = (*(table.name for table in _TABLES), "scheduled_jobs")
"""Tables that hold nothing but sums of others."""
_TOTALS = ", ".join(f"sum({name})" for name in SUM_NAMES)
_KEYS_AND_SUMS = ", ".join(("dimension", "day", "name", *SUM_NAMES))
_OF_MACHINES = ", ".join(f"'{dimension}'" for dimension in (*SUMMED_BY_MACHINES, Dimension.HOST))
_WITH_SUMS_OF_MACHINES = (
    f"(SELECT {_KEYS_AND_SUMS} FROM fleet_sums UNION ALL"
    f" SELECT {_KEYS_AND_SUMS} FROM daily_rollups WHERE dimension NOT IN ({_OF_MACHINES}))"
)
"""Sums by day in a copy of a fleet that does not have all sessions yet."""
_SPENT = ("sessions", "unanswered", *SUM_NAMES[SUM_NAMES.index("side") :])
"""Sums that say what sessions used and cost, and of how many that is known."""


class Rollups(Table):
    """Sums by day and group."""

    def apply(self, changes: Changes) -> None:
        """Add what grades changed; call it inside the transaction that saves them."""
        groups, job_facts = changes.groups(), changes.job_facts
        forgotten = self._forgotten(groups, changes)
        if forgotten:
            groups = {key: sums for key, sums in groups.items() if (key.dimension, key.name) not in forgotten}
            job_facts = {key: facts for key, facts in job_facts.items() if (Dimension.JOB, key.job) not in forgotten}
        self._add(_DAYS, groups)
        self._add(_MONTHS, by_month(groups))
        self._add(_DAY_STEPS, changes.tool_steps)
        self._add(_MONTH_STEPS, by_month(changes.tool_steps))
        self._add(_ISSUES, changes.issues)
        self._add(_STEPS, changes.steps)
        self._add(_TASKS, changes.tasks)
        self._add(_DAY_JOBS, job_facts)
        self._add(_MONTH_JOBS, by_month(job_facts))
        self._add(_DAY_CLAIMS, changes.claims)
        self._add(_MONTH_CLAIMS, by_month(changes.claims))
        if changes.jobs:
            self._keep_jobs(changes.jobs.values())
        self._database.connection.executemany(
            "INSERT INTO rollup_days (day, revision) VALUES (?, 1)"
            " ON CONFLICT (day) DO UPDATE SET revision = revision + 1",
            [(day,) for day in sorted(changes.days)],
        )

    def clear(self) -> None:
        """Forget all sums, to count again from the rows."""
        for table in _TABLES:
            self._database.connection.execute(table.clear)
        self._database.connection.execute("DELETE FROM scheduled_jobs")

    def groups(self, span: Span, dimensions: Collection[Dimension]) -> dict[tuple[Dimension, str], Sums]:
        """Sum each group of some dimensions over the days of a span."""
        wanted = ", ".join(f"'{dimension}'" for dimension in sorted(dimensions))
        where, values = self._groups_within(span, f"dimension IN ({wanted}) AND")
        rows = self._database.rows(f"SELECT dimension, name, {_TOTALS} FROM {where} GROUP BY dimension, name", values)
        return {(Dimension(row[0]), row[1]): _to_sums(row[2:]) for row in rows}

    def group(self, dimension: Dimension, name: str, span: Span) -> Sums:
        """Sum one group over the days of a span."""
        where, values = self._groups_within(span, f"dimension = '{dimension}' AND")
        values = (*values, kept_name(dimension, name))
        row = self._database.rows(f"SELECT {_TOTALS} FROM {where} WHERE name = ?", values)[0]
        return Sums() if row[0] is None else _to_sums(row)

    def verdicts(self, span: Span) -> VerdictCounts:
        """Count the verdicts on the tasks of people that finished on the days of a span."""
        return self.group(Dimension.OVERALL, "", span).verdicts

    def days(self, span: Span, dimension: Dimension = Dimension.OVERALL, name: str = "") -> dict[date, Sums]:
        """Sum one group on each day of a span, in order, by default all sessions; days without any are left out."""
        rows = self._database.rows(
            f"SELECT day, {', '.join(SUM_NAMES)} FROM {self._days()}"
            f" WHERE dimension = '{dimension}' AND name = ? AND day BETWEEN ? AND ? ORDER BY day",
            (kept_name(dimension, name), span.first.isoformat(), span.last.isoformat()),
        )
        return {date.fromisoformat(row[0]): sums for row in rows if (sums := _to_sums(row[1:])).finished}

    def of_days(self, days: Collection[date], dimensions: Collection[Dimension]) -> list[tuple[Any, ...]]:
        """Return what is kept of some days: day, dimension and name of each group, and its sums, `SUM_NAMES`."""
        wanted = ", ".join(f"'{dimension}'" for dimension in dimensions)
        return self._database.rows(
            f"SELECT day, dimension, name, {', '.join(SUM_NAMES)} FROM daily_rollups"
            f" WHERE dimension IN ({wanted}) AND day IN {LISTED}",
            (listed([day.isoformat() for day in days]),),
        )

    def spent(self, span: Span, dimension: Dimension) -> dict[tuple[date, str], Sums]:
        """Sum what the sessions of each group of a dimension used and cost on each day; other sums stay 0."""
        rows = self._database.rows(
            f"SELECT day, name, {', '.join(_SPENT)} FROM {self._days()} WHERE dimension = '{dimension}'"
            " AND day BETWEEN ? AND ? AND sessions + unanswered + side > 0 ORDER BY day, name",
            (span.first.isoformat(), span.last.isoformat()),
        )
        days = {day: date.fromisoformat(day) for day in {row[0] for row in rows}}
        return {(days[row[0]], row[1]): Sums(**dict(zip(_SPENT, row[2:], strict=True))) for row in rows}

    def names(self, dimension: Dimension) -> list[str]:
        """Name the groups of a dimension that have finished sessions, those with most sessions first.

        Without those that no filter finds: what stands for an unknown name, and names that were cut.
        """
        rows = self._database.rows(
            "SELECT name FROM monthly_rollups WHERE dimension = ? AND sessions > 0"
            " GROUP BY name ORDER BY sum(sessions) DESC, name",
            (dimension,),
        )
        return [row[0] for row in rows if row[0] != UNKNOWN and len(row[0]) < NAME_CHARACTERS]

    def jobs(self) -> list[KnownJob]:
        """Return the scheduled jobs that are kept, in any order."""
        return [KnownJob(*row) for row in self._database.rows("SELECT job, name, agent, last_day FROM scheduled_jobs")]

    def job_facts(self, span: Span) -> dict[str, JobFacts]:
        """Sum the facts of each scheduled job over the days of a span."""
        where, values = _within(span, "", "jobs")
        totals = ", ".join(f"sum({name})" for name in JOB_FACTS)
        rows = self._database.rows(f"SELECT job, {totals} FROM {where} GROUP BY job HAVING sum(runs) > 0", values)
        return {row[0]: JobFacts(**dict(zip(JOB_FACTS, row[1:], strict=True))) for row in rows}

    def claims(self, span: Span) -> tuple[ClaimTally, ...]:
        """Count what the answers of tasks of people say was done over the days of a span, most sessions first."""
        where, values = _within(span, "", "claims")
        totals = ", ".join(f"sum({name})" for name in CLAIM_SUMS)
        rows = self._database.rows(
            f"SELECT kind, model, {totals} FROM {where} GROUP BY kind, model ORDER BY sum(against) DESC, model", values
        )
        of_kind: dict[str, list[Any]] = {}
        for row in rows:
            of_kind.setdefault(row[0], []).append(row[1:])
        tallies = [_to_tally(ClaimKind(kind), of_models) for kind, of_models in of_kind.items()]
        return tuple(sorted(tallies, key=lambda tally: (-tally.sessions, tally.kind)))

    def tool_steps(self, span: Span) -> list[ToolStep]:
        """Sum what was tried next after failures of each tool, over the days of a span."""
        where, values = _within(span, "", "steps")
        rows = self._database.rows(
            f"SELECT tool, next_tool, next_command, is_retry, sum(tries), sum(worked),"
            f" sum(recovered) FROM {where}"
            " GROUP BY tool, next_tool, next_command, is_retry",
            values,
        )
        return [ToolStep(row[0], row[1], row[2] or None, bool(row[3]), *row[4:]) for row in rows]

    def days_with_sessions(self) -> list[date]:
        """Days on which finished sessions ended, answered or not, in order."""
        rows = self._database.rows(
            f"SELECT day FROM {self._days()} WHERE dimension = 'overall' AND sessions + unanswered > 0 ORDER BY day"
        )
        return [date.fromisoformat(row[0]) for row in rows]

    def first_day(self) -> date | None:
        """Return the first day on which a session of any kind finished; None before there was one."""
        rows = self._database.rows(
            f"SELECT min(day) FROM {self._days()} WHERE dimension = 'overall' AND sessions + unanswered + side > 0"
        )
        return None if rows[0][0] is None else date.fromisoformat(rows[0][0])

    def revisions(self) -> dict[date, int]:
        """Return how often something changed on each day."""
        rows = self._database.rows("SELECT day, revision FROM rollup_days")
        return {date.fromisoformat(day): revision for day, revision in rows}

    def _days(self) -> str:
        """Return the table of sums by day, as it stands in a query."""
        of_machines = self._database.rows("SELECT 1 FROM fleet_sums LIMIT 1")
        return _WITH_SUMS_OF_MACHINES if of_machines else _DAYS.name

    def _groups_within(self, span: Span, condition: str) -> tuple[str, tuple[str, ...]]:
        """Return the sums of a span as a subquery, with its values."""
        days = self._days()
        if days == _DAYS.name:
            return _within(span, condition, "rollups")
        within = f"(SELECT * FROM {days} WHERE {condition} day BETWEEN ? AND ?)"
        return within, (span.first.isoformat(), span.last.isoformat())

    def _forgotten(self, groups: Iterable[GroupKey], changes: Changes) -> set[tuple[str, str]]:
        """Return the groups of jobs that were forgotten with their runs, and of which no run is added."""
        removed = {key.name for key in groups if key.dimension == Dimension.JOB and key.name not in changes.jobs}
        known = {job.job for job in self.jobs()} if removed else set()
        return {(Dimension.JOB, name) for name in removed - known}

    def _keep_jobs(self, jobs: Iterable[KnownJob]) -> None:
        """Note the names of jobs by their last runs, and forget those whose last run is longest ago of too many."""
        execute = self._database.connection.execute
        self._database.connection.executemany(
            "INSERT INTO scheduled_jobs (job, name, agent, last_day) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (job) DO UPDATE SET name = excluded.name, agent = excluded.agent,"
            " last_day = excluded.last_day WHERE excluded.last_day >= last_day",
            sorted(jobs),
        )
        gone = self._database.rows(
            "SELECT job FROM scheduled_jobs ORDER BY last_day DESC, job LIMIT -1 OFFSET ?", (MOST_JOBS,)
        )
        for (job,) in gone:
            execute("DELETE FROM scheduled_jobs WHERE job = ?", (job,))
            for period in ("daily", "monthly"):
                execute(f"DELETE FROM {period}_jobs WHERE job = ?", (job,))
                execute(f"DELETE FROM {period}_rollups WHERE dimension = '{Dimension.JOB}' AND name = ?", (job,))

    def _add(self, table: _Table, rows: Mapping[Any, Sequence[int]]) -> None:
        if not rows:
            return
        changed = sorted((*key, *numbers) for key, numbers in rows.items() if any(numbers))
        self._database.connection.executemany(table.add, changed)
        shrunk = [key for key, numbers in rows.items() if min(numbers) < 0]
        if shrunk:
            self._database.connection.executemany(table.delete_empty, shrunk)


def _within(span: Span, condition: str, kind: str) -> tuple[str, tuple[str, ...]]:
    """Return the rows of a span as a subquery, with its values: whole months, and the days at both ends.

    A year has a twentieth of the rows that its days have.
    """
    months = span.whole_months()
    ends = [span] if months is None else span.around(months)
    parts = [f"SELECT * FROM daily_{kind} WHERE {condition} day BETWEEN ? AND ?" for _ in ends]
    values = [day.isoformat() for end in ends for day in (end.first, end.last)]
    if months is not None:
        parts.append(f"SELECT * FROM monthly_{kind} WHERE {condition} month BETWEEN ? AND ?")
        values += [months.first.isoformat()[:7], months.last.isoformat()[:7]]
    return f"({' UNION ALL '.join(parts)})", tuple(values)


def _to_tally(kind: ClaimKind, of_models: Sequence[Sequence[Any]]) -> ClaimTally:
    """Return the claims of one kind, of a row for each model: its name and `CLAIM_SUMS`."""
    sessions, *supports, _ = (sum(numbers) for numbers in list(zip(*of_models, strict=True))[1:])
    return ClaimTally(
        kind=kind,
        sessions=sessions,
        supports={support: number for support, number in zip(Support, supports, strict=True) if number},
        against={row[0]: row[-1] for row in of_models if row[-1]},
    )


def _to_sums(numbers: Sequence[int]) -> Sums:
    return Sums(**dict(zip(SUM_NAMES, numbers, strict=True)))
