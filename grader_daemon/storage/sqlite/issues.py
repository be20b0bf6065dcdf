"""Error issues: what failures have in common, how often they came, what people said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any

import msgspec

from grader_daemon.domain.analysis import Category, ErrorSign, Subcategory
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.error_groups import IssueRow, StepCount, StepRow, ToolStep
from grader_daemon.domain.text import storable
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.database import LISTED, Table, listed
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_LATEST = 3
_NAMING = 200
"""So many failures of an issue are asked what they name, the newest: a list must not read all of history."""


class Issues(Table):
    """Error issues: what failures have in common; those of finished sessions count."""

    def save_signs(self, signs: Sequence[ErrorSign]) -> None:
        """Keep what issues look like; the first example stays."""
        self._database.connection.executemany(
            "INSERT INTO error_issues (fingerprint, tool, command, category, signal, example, subcategory)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint)"
            " DO UPDATE SET subcategory = excluded.subcategory, signal = iif(signal = '', excluded.signal, signal),"
            " example = iif(signal = '', excluded.example, example)"
            " WHERE subcategory IS NOT excluded.subcategory OR signal = ''",
            [
                (s.fingerprint, s.tool, s.command, s.category, s.signal, s.example, s.subcategory)
                for s in sorted(signs, key=lambda sign: sign.fingerprint)
            ],
        )

    def signs(self, fingerprints: Collection[str]) -> list[ErrorSign]:
        """Return what those of these issues look like that are known, in order of their fingerprints."""
        rows = self._database.rows(
            "SELECT fingerprint, tool, command, category, signal, example, subcategory FROM error_issues"
            f" WHERE fingerprint IN {LISTED} ORDER BY fingerprint",
            (listed(sorted(fingerprints)),),
        )
        return [_to_sign(row) for row in rows]

    def seen(self, span: Span, among: GradeFilter | None = None, *, quiet: Span | None = None) -> list[str]:
        """Fingerprints of the issues that occurred in a span, those in most sessions first.

        `among` keeps those of sessions that ended since then, of a project, an agent, a machine, or several of these.
        `quiet` keeps those that did not occur on these days, or that a person resolved.
        """
        rows = self._database.rows(
            "SELECT fingerprint FROM issue_days AS seen WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL"
            " OR NOT EXISTS (SELECT 1 FROM issue_days WHERE fingerprint = seen.fingerprint AND day BETWEEN ?3 AND ?4)"
            " OR EXISTS (SELECT 1 FROM error_issues WHERE fingerprint = seen.fingerprint AND resolved_at IS NOT NULL))"
            " GROUP BY fingerprint ORDER BY sum(sessions) DESC, sum(failures) DESC, fingerprint",
            (
                *(span.first.isoformat(), span.last.isoformat()),
                *((None, None) if quiet is None else (quiet.first.isoformat(), quiet.last.isoformat())),
            ),
        )
        kept = None if among is None or not (among.project or among.agent or among.host) else self._among(among)
        return [row[0] for row in rows if kept is None or row[0] in kept]

    def _among(self, which: GradeFilter) -> frozenset[str]:
        rows = self._database.rows(
            "SELECT f.fingerprint FROM session_list AS l CROSS JOIN session_failures AS f"
            " ON f.session_id = l.session_id WHERE f.fingerprint IS NOT NULL AND l.ended_at >= ?1"
            " AND (?2 IS NULL OR l.project = ?2) AND (?3 IS NULL OR l.agent = ?3)"
            " AND (?4 IS NULL OR l.host = ?4)",
            (to_text(which.since) or "", which.project, which.agent, which.host),
        )
        return frozenset(row[0] for row in rows)

    def find(self, prefix: str) -> str:
        """Return the one fingerprint that is, or begins with, `prefix` (its version may be left out).

        Raises:
            InputError: none or several do.
        """
        wanted = storable(prefix)
        rows = self._database.rows("SELECT fingerprint FROM error_issues WHERE fingerprint = ?", (wanted,))
        rows = rows or self._database.rows(
            "SELECT fingerprint FROM error_issues WHERE substr(fingerprint, 1, ?1) = ?2"
            " OR substr(fingerprint, instr(fingerprint, '-') + 1, ?1) = ?2 ORDER BY fingerprint LIMIT 4",
            (len(wanted), wanted),
        )
        if not rows or not prefix:
            raise NotFoundError(f"no error group has an id that begins with {prefix!r}")
        if len(rows) > 1:
            some = ", ".join(row[0] for row in rows[:3])
            raise InputError(f"several error groups begin with {prefix!r} ({some}, …); give more of the id")
        fingerprint: str = rows[0][0]
        return fingerprint

    def issue(self, fingerprint: str, span: Span, *, until: datetime) -> IssueRow | None:
        """Return an issue with its counts of a span; None when it did not occur then.

        `days` are all up to the end of the span; `last_seen` and `latest` regard sessions up to its end, which is
        before `until` whatever zone they were graded in. `named` is of its newest failures, no
        more than a list may read.
        """
        marks = self._database.rows(
            "SELECT fingerprint, tool, command, category, signal, example, subcategory, resolved_at, ignored_at"
            " FROM error_issues WHERE fingerprint = ?",
            (fingerprint,),
        )
        days = self._database.rows(
            "SELECT day, failures, sessions, recovered FROM issue_days WHERE fingerprint = ? AND day <= ? ORDER BY day",
            (fingerprint, span.last.isoformat()),
        )
        counted = [row for row in days if row[0] >= span.first.isoformat()]
        if not marks or not counted:
            return None
        first = self._seen(fingerprint, span, until, order="ASC", limit=1)
        latest = self._seen(fingerprint, span, until, order="DESC", limit=_LATEST)
        if not first or not latest:
            return None
        *sign, resolved_at, ignored_at = marks[0]
        return IssueRow(
            sign=_to_sign(sign),
            failures=sum(row[1] for row in counted),
            sessions=sum(row[2] for row in counted),
            recovered=sum(row[3] for row in counted),
            days=tuple(date.fromisoformat(row[0]) for row in days),
            first_seen=known_moment(first[0][0]),
            last_seen=known_moment(latest[0][0]),
            resolved_at=to_moment(resolved_at),
            ignored_at=to_moment(ignored_at),
            task_types=dict(
                self._database.rows(
                    "SELECT task_type, sum(sessions) FROM issue_tasks WHERE fingerprint = ? AND day BETWEEN ? AND ?"
                    " GROUP BY task_type ORDER BY 2 DESC, 1",
                    (fingerprint, span.first.isoformat(), span.last.isoformat()),
                )
            ),
            latest=tuple(session_id for _, session_id in latest),
            steps=self._steps(fingerprint, span),
            named=self._named(fingerprint, span, until),
        )

    def tool_steps(self, span: Span, *, tool: str, category: Category, command: str | None) -> list[ToolStep]:
        """Sum what was tried next after failures of a tool for a cause, over the days of a span.

        `command` leaves out the failures of other commands, without it all count; those that belong to no issue do not.
        """
        rows = self._database.rows(
            "SELECT i.tool, s.tool, s.command, s.tool = i.tool AND s.command = ifnull(i.command, '') AS is_retry,"
            " sum(s.tries), sum(s.worked), sum(s.recovered)"
            " FROM error_issues AS i JOIN issue_steps AS s ON s.fingerprint = i.fingerprint"
            " WHERE i.tool = ?1 AND i.category = ?2 AND (?3 IS NULL OR i.command = ?3) AND s.day BETWEEN ?4 AND ?5"
            " GROUP BY s.tool, s.command, is_retry",
            (
                storable(tool),
                category,
                None if command is None else storable(command),
                span.first.isoformat(),
                span.last.isoformat(),
            ),
        )
        return [ToolStep(row[0], row[1], row[2] or None, bool(row[3]), *row[4:]) for row in rows]

    def of_task_type(self, task_type: str, span: Span, limit: int) -> list[str]:
        """Fingerprints of the issues that sessions of a task type had in a span, those in most of them first."""
        rows = self._database.rows(
            "SELECT fingerprint FROM issue_tasks WHERE task_type = ? AND day BETWEEN ? AND ?"
            " GROUP BY fingerprint ORDER BY sum(sessions) DESC, fingerprint LIMIT ?",
            (storable(task_type), span.first.isoformat(), span.last.isoformat(), limit),
        )
        return [row[0] for row in rows]

    def where_helped(self, fingerprint: str, task_type: str, step: StepCount, limit: int) -> tuple[str, ...]:
        """Return the last finished sessions of a task type in which an issue was recovered after a step."""
        rows = self._database.rows(
            "SELECT f.session_id FROM session_failures AS f JOIN session_details AS d ON d.session_id = f.session_id"
            " WHERE f.fingerprint = ? AND f.ended_at IS NOT NULL AND d.task_type = ?"
            " AND f.next_tool = ? AND f.next_command IS ? AND f.kind = 'recovered'"
            " GROUP BY f.ended_at, f.session_id ORDER BY f.ended_at DESC, f.session_id DESC LIMIT ?",
            (fingerprint, storable(task_type), step.tool, step.command, limit),
        )
        return tuple(row[0] for row in rows)

    def daily(self, fingerprints: Collection[str], span: Span) -> dict[str, dict[date, int]]:
        """Count the failures of issues on the days of a span; days and issues without any are left out."""
        found: dict[str, dict[date, int]] = {}
        rows = self._database.rows(
            "SELECT fingerprint, day, failures FROM issue_days"
            " WHERE fingerprint IN (SELECT value FROM json_each(?)) AND day BETWEEN ? AND ?",
            (msgspec.json.encode(sorted(fingerprints)).decode(), span.first.isoformat(), span.last.isoformat()),
        )
        for fingerprint, day, failures in rows:
            found.setdefault(fingerprint, {})[date.fromisoformat(day)] = failures
        return found

    def mark(self, fingerprint: str, *, resolved_at: datetime | None, ignored_at: datetime | None) -> None:
        """Note what a person said of an issue; None takes it back."""
        self._database.connection.execute(
            "UPDATE error_issues SET resolved_at = ?, ignored_at = ? WHERE fingerprint = ?",
            (to_text(resolved_at), to_text(ignored_at), fingerprint),
        )

    def _seen(self, fingerprint: str, span: Span, until: datetime, *, order: str, limit: int) -> list[tuple[str, str]]:
        """Return ends and ids of sessions that had an issue up to the end of a span, the first or the last of them."""
        rows = self._database.rows(
            "SELECT f.ended_at, f.session_id FROM session_failures AS f"
            " JOIN session_details AS d ON d.session_id = f.session_id"
            " WHERE f.fingerprint = ? AND f.ended_at IS NOT NULL AND f.ended_at < ? AND d.ended_on <= ?"
            f" GROUP BY f.ended_at, f.session_id ORDER BY f.ended_at {order}, f.session_id {order} LIMIT ?",
            (fingerprint, to_text(until), span.last.isoformat(), limit),
        )
        return [(row[0], row[1]) for row in rows]

    def _named(self, fingerprint: str, span: Span, until: datetime) -> dict[str, int]:
        """Count the sessions of a span in which the newest failures of an issue named each word, most first."""
        rows = self._database.rows(
            "SELECT f.named, f.session_id, d.ended_on FROM session_failures AS f"
            " JOIN session_details AS d ON d.session_id = f.session_id"
            " WHERE f.fingerprint = ? AND f.ended_at IS NOT NULL AND f.ended_at < ? AND d.ended_on <= ?"
            " ORDER BY f.ended_at DESC LIMIT ?",
            (fingerprint, to_text(until), span.last.isoformat(), _NAMING),
        )
        first = span.first.isoformat()
        seen = {(named, session_id) for named, session_id, day in rows if named is not None and day >= first}
        counts = Counter(named for named, _ in seen)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))

    def _steps(self, fingerprint: str, span: Span) -> tuple[StepRow, ...]:
        rows = self._database.rows(
            "SELECT tool, command, sum(tries), sum(worked), sum(recovered) FROM issue_steps"
            " WHERE fingerprint = ? AND day BETWEEN ? AND ? GROUP BY tool, command ORDER BY 3 DESC, 1, 2",
            (fingerprint, span.first.isoformat(), span.last.isoformat()),
        )
        return tuple(StepRow(tool, command or None, *counts) for tool, command, *counts in rows)


def _to_sign(row: Sequence[Any]) -> ErrorSign:
    """Read the fields of a sign, in their order."""
    known = dict(zip(ErrorSign.__struct_fields__, row, strict=True))
    finer = None if known["subcategory"] is None else Subcategory(known["subcategory"])
    return ErrorSign(**{**known, "category": Category(known["category"]), "subcategory": finer})
