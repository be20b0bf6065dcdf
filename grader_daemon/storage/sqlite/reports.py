"""Weekly reports as rows, and what else a report needs to know that no roll-up holds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from grader_daemon.domain.calendar import Span
from grader_daemon.domain.group_names import NAME_CHARACTERS
from grader_daemon.domain.insight import Concern, Coverage, Example, FromPeople
from grader_daemon.domain.people import OBJECTING
from grader_daemon.storage.records import StoredReport
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import PERSONS_TASK, ended_badly_of, to_moment, to_text

_EXAMPLES = 3
_LOOKED_AT = 500
_ALL = -1
_ORDER = "l.errors DESC, l.ended_at DESC, l.session_id"
_ZONES = timedelta(days=1)
"""So far at most is a day anywhere from the day in UTC."""
_LONGEST_AGAIN = timedelta(days=10)
"""A session that asks again began within two days of the other's end, and seldom lasts another week."""
_OBJECTED = " OR ".join(f"people LIKE '%\"{kind}\"%'" for kind in sorted(OBJECTING))
_PERSONS_TASK_LISTED = PERSONS_TASK.replace("d.kind", "l.kind")
_MOST_FAILURES = (
    "SELECT l.* FROM session_list AS l WHERE l.ended_at >= ?3 AND l.ended_at < ?6"
    f" AND l.state <> 'open' AND {_PERSONS_TASK_LISTED} ORDER BY {_ORDER} LIMIT ?9"
)
_OF_FAILURE = "EXISTS (SELECT 1 FROM session_failures AS f WHERE f.session_id = l.session_id AND f.kind <> 'probe' AND "
_SHOWN_BY = {
    Concern.ENDED_BADLY: ended_badly_of("l"),
    Concern.EFFICIENCY: "l.efficiency < 3",
    Concern.RECOVERY: "l.errors > 0 AND NOT g.errors_recovered",
    Concern.TASK_TYPE: f"substr(l.task_type, 1, {NAME_CHARACTERS}) = ?7",
    Concern.TOOL: f"{_OF_FAILURE} substr(coalesce(f.tool, 'unknown'), 1, {NAME_CHARACTERS}) = ?7)",
    Concern.ERROR: f"{_OF_FAILURE} f.category = ?7)",
}


class Reports(Table):
    """The weekly reports, and what else one needs to know that no sum holds."""

    def save(self, week: Span, content: str, *, basis: int, now: datetime) -> None:
        """Write the report of a week, in place of an earlier one."""
        self._database.connection.execute(
            "INSERT INTO weekly_reports (week_start, week_end, generated_at, report_json) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (week_start) DO UPDATE SET week_end = excluded.week_end,"
            " generated_at = excluded.generated_at, report_json = excluded.report_json",
            (week.first.isoformat(), week.last.isoformat(), to_text(now), content),
        )
        self.note_basis(week.first, basis)

    def report(self, monday: date) -> StoredReport | None:
        """Return the report of the week that begins on `monday`; None when there is none that we made."""
        rows = self._database.rows(
            "SELECT r.report_json, b.basis FROM weekly_reports AS r JOIN report_bases AS b"
            " ON b.week_start = r.week_start WHERE r.week_start = ?",
            (monday.isoformat(),),
        )
        return StoredReport(content=rows[0][0], basis=rows[0][1]) if rows else None

    def kept(self, before: date, limit: int) -> list[str]:
        """Return the newest reports of weeks that began before a day, the newest first."""
        rows = self._database.rows(
            "SELECT r.report_json FROM weekly_reports AS r JOIN report_bases AS b ON b.week_start = r.week_start"
            " WHERE r.week_start < ? ORDER BY r.week_start DESC LIMIT ?",
            (before.isoformat(), limit),
        )
        return [row[0] for row in rows]

    def bases(self) -> dict[date, int]:
        """Return what each report was made of, by the Monday of its week."""
        rows = self._database.rows("SELECT week_start, basis FROM report_bases")
        return {date.fromisoformat(monday): basis for monday, basis in rows}

    def installed_at(self) -> datetime | None:
        """Return the moment at which this program first used the database."""
        return to_moment(self._database.rows("SELECT min(applied_at) FROM schema_migrations")[0][0])

    def note_basis(self, monday: date, basis: int) -> None:
        """Note that a report, made of other revisions, would say what it says."""
        self._database.connection.execute(
            "INSERT OR REPLACE INTO report_bases (week_start, basis) VALUES (?, ?)", (monday.isoformat(), basis)
        )

    def coverage(self, *, graded: int, open_sessions: int, since: datetime, until: datetime) -> Coverage:
        """Count the files that were written last from `since` until before `until` and have no grade, by why."""
        rows = self._database.rows(
            "SELECT state, reason, count(*) FROM session_files"
            " WHERE state <> 'graded' AND state IN ('skipped', 'retry', 'dead') AND written_ns >= ? AND written_ns < ?"
            " GROUP BY state, CASE state WHEN 'skipped' THEN reason END ORDER BY 1, 2",
            (_nanoseconds(since), _nanoseconds(until)),
        )
        skipped = {reason or "unknown": count for state, reason, count in rows if state == "skipped"}
        waiting = sum(count for state, _, count in rows if state == "retry")
        dead = sum(count for state, _, count in rows if state == "dead")
        return Coverage(
            seen=graded + open_sessions + sum(skipped.values()) + waiting + dead,
            graded=graded,
            open_sessions=open_sessions,
            skipped=skipped,
            waiting=waiting,
            dead=dead,
        )

    def from_people(self, span: Span) -> FromPeople:
        """Count what people said of the scored sessions of a span that are finished, and what was asked for again."""
        days = (span.first.isoformat(), span.last.isoformat())
        until = _moved(span.last, 1 + _ZONES.days)
        objected = self._database.rows(
            "SELECT count(*) FROM session_details AS d WHERE people <> '[]' AND ended_at >= ? AND ended_at < ?"
            f" AND ended_on BETWEEN ? AND ? AND state <> 'open' AND scored AND {PERSONS_TASK} AND ({_OBJECTED})",
            (_moved(span.first, -_ZONES.days), until, *days),
        )
        asked_again = self._database.rows(
            "SELECT count(*) FROM session_details AS d JOIN session_details AS later"
            " ON later.session_id = d.asked_again WHERE d.asked_again IS NOT NULL"
            " AND d.ended_at >= ? AND d.ended_at < ?"
            " AND later.ended_on BETWEEN ? AND ? AND later.state <> 'open'",
            (_moved(span.first, -_LONGEST_AGAIN.days), until, *days),
        )
        return FromPeople(objected=objected[0][0], asked_again=asked_again[0][0])

    def examples(self, why: Example, span: Span) -> tuple[str, ...]:
        """Return up to three scored sessions that finished in a span and show `why`, those with most failures first."""
        found: list[Any] = []
        for looked_at in (_LOOKED_AT, _ALL):  # those with most failures are nearly always enough
            found = self._database.rows(
                f"WITH l AS ({_MOST_FAILURES}) SELECT l.session_id FROM l"
                " JOIN session_grades AS g ON g.id = l.id JOIN session_details AS d ON d.session_id = l.session_id"
                f" WHERE d.ended_on BETWEEN ?1 AND ?2 AND d.scored AND {_SHOWN_BY[why.of]} ORDER BY {_ORDER} LIMIT ?8",
                (*_around(span), why.name, _EXAMPLES, looked_at),
            )
            if len(found) == _EXAMPLES:
                break
        return tuple(row[0] for row in found)


def _around(span: Span) -> tuple[str, ...]:
    """Return the days at both ends of a span, and in UTC: when it may begin, surely has, may end, surely has.

    A day begins up to 14 hours before that in UTC, or up to 12 after it.
    """
    return (
        span.first.isoformat(),
        span.last.isoformat(),
        f"{_moved(span.first, -1)}T10",
        f"{_moved(span.first, 0)}T12",
        f"{_moved(span.last, 0)}T10",
        f"{_moved(span.last, 1)}T12",
    )


def _moved(day: date, days: int) -> str:
    """Return the beginning of a day so many days later, within the calendar, as it compares with times in UTC."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal())).isoformat()


def _nanoseconds(moment: datetime) -> int:
    """Since 1970, within what a column can hold."""
    since = int((moment - datetime.fromtimestamp(0, moment.tzinfo)) / timedelta(microseconds=1)) * 1000
    return max(-(2**63), min(since, 2**63 - 1))
