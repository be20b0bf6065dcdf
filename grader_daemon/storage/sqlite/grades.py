"""Grades as they are kept: the row of each, its details, its failures and its place in the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from grader_daemon.domain.analysis import Failure, FailureKind, SessionState
from grader_daemon.domain.early import EarlyCount
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import BAD_ENDINGS
from grader_daemon.domain.similar import AskedAlike
from grader_daemon.domain.text import storable
from grader_daemon.domain.verdict import VerdictBy, outcome_of
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.storage.records import GradeColumns, GradeFilter, NewGrade, Page, PageKey, StoredGrade
from grader_daemon.storage.sqlite.database import LISTED, Database, listed
from grader_daemon.storage.sqlite.listed_grade import LISTED_AS
from grader_daemon.storage.sqlite.listing_index import BANDS_OF
from grader_daemon.storage.sqlite.rows import (
    DETAIL_COLUMNS,
    DETAIL_COLUMNS_SENT,
    FAILURE_COLUMNS,
    GRADE_COLUMNS,
    VERDICT_COLUMNS,
    detail_row,
    ended_badly_of,
    failure_rows,
    grade_row,
    known_moment,
    to_columns,
    to_failure,
    to_flag,
    to_grade,
    to_moment,
    to_skills,
    to_text,
    verdict_row,
)
from grader_daemon.storage.sqlite.session_list import SessionList

_PAGE = 1000
_UPSERT_GRADE = (
    f"INSERT INTO session_grades ({', '.join(GRADE_COLUMNS)}) VALUES ({', '.join('?' * len(GRADE_COLUMNS))})"
    " ON CONFLICT (session_id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in GRADE_COLUMNS[1:])
)
_REPLACE_DETAILS = (
    f"INSERT OR REPLACE INTO session_details ({', '.join(DETAIL_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(DETAIL_COLUMNS))})"
)
_VERDICTS_SINCE = (
    "SELECT l.state, l.completed, l.unsure, count(*) FROM session_grades AS g"
    f" JOIN session_details AS d ON d.session_id = g.session_id JOIN {LISTED_AS}"
    " WHERE g.graded_at >= ? GROUP BY l.state, l.completed, l.unsure"
)
_UPDATE_VERDICT = (
    f"UPDATE session_details SET {', '.join(f'{column} = ?' for column in VERDICT_COLUMNS)} WHERE session_id = ?"
)
_SELECT = (
    f"SELECT g.id, {', '.join(f'g.{column}' for column in GRADE_COLUMNS)}, {{}}"
    " FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id"
)
_SELECT_GRADES = _SELECT.format(", ".join(f"d.{column}" for column in DETAIL_COLUMNS))
_SELECT_TO_SEND = _SELECT.format(", ".join(f"d.{column}" for column in DETAIL_COLUMNS_SENT))
_FAILURES_OF = (
    "SELECT session_id, json_group_array(json_object('index', message_index, 'tool', tool, 'category', category,"
    " 'command', command, 'fingerprint', fingerprint, 'next_step', json(iif(next_tool IS NULL, 'null', json_object("
    "'tool', next_tool, 'command', next_command, 'worked', json(iif(next_worked IS NULL, 'null', iif(next_worked,"
    " 'true', 'false')))))), 'kind', kind, 'subcategory', subcategory, 'named', named)) FROM (SELECT * FROM"
    f" session_failures WHERE session_id IN {LISTED} ORDER BY session_id, message_index) GROUP BY session_id"
)
"""Failures as `Failure` is written as JSON."""
_FINGERPRINTS_OF = (
    f"SELECT fingerprint FROM session_failures WHERE session_id IN {LISTED}"
    f" AND kind <> '{FailureKind.PROBE}' AND fingerprint IS NOT NULL"
)
_INSERT_FAILURES = (
    f"INSERT OR REPLACE INTO session_failures ({', '.join(FAILURE_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(FAILURE_COLUMNS))})"
)
_AGENT = "iif(EXISTS (SELECT 1 FROM fleet_copy), coalesce(agent, 'agent') || ' on ' || host, agent)"
"""Machines of a fleet are set up each in its own way: an agent there is another one than that on the next."""
_BAD_ENDINGS = ", ".join(f"'{ending}'" for ending in sorted(BAD_ENDINGS))
_OF_PEOPLE = ", ".join(f"'{by}'" for by in VerdictBy if not by.is_automatic)
_UNSURE = (
    f"iif(verdict_by IN ({_OF_PEOPLE}), coalesce((SELECT d.unsure FROM session_details AS d"
    " WHERE d.session_id = session_list.session_id), 0), unsure)"
)
"""In the list a label is never unsure; here the automatic verdict below it may be."""
_TASKS = (
    f"SELECT session_id, ended_at, task_type, model, completed, p_completed, verdict_by, {_UNSURE}, request, cost_usd,"
    f" {_AGENT}, platform, project, agent_version, system_prompt_digest, tools_digest, job, skills,"
    f" {ended_badly_of('session_list')}"
    f" FROM session_list WHERE ended_at >= ? AND ended_at < ? AND state <> '{SessionState.OPEN}'"
    f" AND kind = ? AND (completed IS NOT NULL OR ending IN ({_BAD_ENDINGS}))"
    " AND model IS NOT NULL ORDER BY ended_at DESC, session_id DESC LIMIT ?"
)
_HAS_KIND: Final = "SELECT 1 FROM monthly_rollups WHERE dimension = 'kind' AND name = ? LIMIT 1"
_JUDGED: Final = {str(by): not by.is_automatic for by in VerdictBy}
_EARLY = (
    "SELECT early_errors, completed FROM session_list WHERE ended_at >= ?"
    f" AND state <> '{SessionState.OPEN}' AND kind = '{SessionKind.MAIN}'"
    f" AND verdict_by IN ({_OF_PEOPLE}) AND completed IS NOT NULL AND early_errors IS NOT NULL"
    " ORDER BY ended_at DESC, session_id DESC LIMIT ?"
)
_AFTER_ALL = "~"

_SAME: Final = (
    "SELECT g.id FROM session_details AS d JOIN session_grades AS g ON g.session_id = d.session_id"
    f" WHERE d.request = ? AND d.state <> '{SessionState.OPEN}' ORDER BY d.ended_at DESC, d.session_id DESC LIMIT ?"
)
_NEAR: Final = "SELECT id FROM session_facets WHERE facet = 'wording' AND value = ? ORDER BY id DESC LIMIT ?"
_ROWS: Final = (
    f"SELECT g.session_id, l.ended_at, g.model, l.completed, l.unsure, {ended_badly_of('d')},"
    " d.request, d.wording, d.skills"
    " FROM session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id"
    f" JOIN {LISTED_AS}"
    f" WHERE g.id IN {LISTED} AND d.state <> '{SessionState.OPEN}'"
)


class Grades:
    """The grades, each with its details and failures, found in any order that people ask for.

    What else changes with a grade is the business of `pipeline.saving`.
    """

    def __init__(self, database: Database, sessions: SessionList, *, host: str) -> None:
        """`host` is kept with every grade."""
        self._database = database
        self._list = sessions
        self._host = host

    def put(self, grades: Sequence[NewGrade], *, replacing: Mapping[str, StoredGrade]) -> None:
        """Insert grades, each of another session, or replace those that are `stored`; call it inside a transaction.

        That a loop was told, or that the watch has seen a session, is not forgotten with the grade that is replaced.
        """
        many = self._database.connection.executemany
        if replacing:
            self._list.forget(list(replacing))
        many(_UPSERT_GRADE, [grade_row(new.grade) for new in grades])
        many(_REPLACE_DETAILS, [self._detail_row(new, replacing.get(new.grade.session_id)) for new in grades])
        many(
            "DELETE FROM session_failures WHERE session_id = ?",
            [(old.grade.session_id,) for old in replacing.values() if old.grade.failures],
        )
        many(_INSERT_FAILURES, [row for new in grades for row in failure_rows(new.grade)])
        self._list.add([new.grade.session_id for new in grades])

    def put_verdicts(self, grades: Sequence[Grade]) -> None:
        """Write what verdicts say now of grades of which nothing else changed; call it inside a transaction."""
        many = self._database.connection.executemany
        many(
            "UPDATE session_grades SET task_completed = ?, tool_calls_efficient = ?, response_quality = ?"
            " WHERE session_id = ?",
            [
                (grade.task_completed, grade.tool_calls_efficient, grade.response_quality, grade.session_id)
                for grade in grades
            ],
        )
        many(_UPDATE_VERDICT, [verdict_row(grade) for grade in grades])
        self._list.update_verdicts([grade.session_id for grade in grades])

    def remove(self, session_id: str) -> None:
        """Remove a grade; call it inside a transaction."""
        self._list.forget([session_id])
        for table in ("session_grades", "session_details", "session_failures"):
            self._database.connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def page(self, which: GradeFilter) -> Page:
        """List up to `which.limit` grades, and say where the list goes on.

        Raises:
            InputError: there is no word to look for in `which.text`.
        """
        limit = which.limit
        found = self._list.find(which if limit is None else msgspec.structs.replace(which, limit=limit + 1))
        listing = found[:limit]
        rows = self._database.rows(
            f"{_SELECT_GRADES} WHERE g.id IN {LISTED}", (listed([number for number, _ in listing]),)
        )
        grades = {stored.id: stored for stored in self._to_grades(rows)}
        return Page(
            grades=[grades[number] for number, _ in listing if number in grades],
            next=listing[-1][1] if listing and len(found) > len(listing) else None,
        )

    def places(self, which: GradeFilter) -> list[PageKey]:
        """Return the places of up to `which.limit` grades, in order; raises as `page` does."""
        return [place for _, place in self._list.find(which)]

    def stored(self, session_ids: Sequence[str]) -> dict[str, StoredGrade]:
        """Return the grades of those of `session_ids` that have one."""
        rows = self._database.rows(f"{_SELECT_GRADES} WHERE g.session_id IN {LISTED}", (listed(session_ids),))
        return {stored.grade.session_id: stored for stored in self._to_grades(rows)}

    def columns(self, session_ids: Sequence[str]) -> GradeColumns | None:
        """Return the grades of those of `session_ids` that have one, in a quarter of the time that `stored` takes.

        None where none has one.
        """
        rows = self._database.rows(f"{_SELECT_TO_SEND} WHERE g.session_id IN {LISTED}", (listed(session_ids),))
        if not rows:
            return None
        columns = to_columns(rows)
        names = (listed(columns["session_id"]),)
        failures = dict(self._database.rows(_FAILURES_OF, names))
        return GradeColumns(
            columns={**columns, "failures": [failures.get(name, "[]") for name in columns["session_id"]]},
            fingerprints={fingerprint for (fingerprint,) in self._database.rows(_FINGERPRINTS_OF, names)},
        )

    def find(self, prefix: str) -> StoredGrade:
        """Return the one grade whose session id is, or begins with, `prefix`.

        Raises:
            InputError: none or several do.
        """
        wanted = storable(prefix)
        rows = self._database.rows(f"{_SELECT_GRADES} WHERE g.session_id = ?", (wanted,)) or self._database.rows(
            f"{_SELECT_GRADES} WHERE g.session_id >= ?1 AND g.session_id < ?1 || char(1114111)"
            " ORDER BY g.session_id LIMIT 4",
            (wanted,),
        )
        if not rows:
            raise NotFoundError(f"no graded session has an id that begins with {prefix!r}")
        if len(rows) > 1:
            some = ", ".join(row[1] for row in rows[:3])
            raise InputError(f"several session ids begin with {prefix!r} ({some}, …); give more of it")
        return self._to_grades(rows)[0]

    def beside(self, session_id: str) -> tuple[str, str]:
        """Return the session ids before and after one in the order of their characters, "" where there is none."""
        row = self._database.rows(
            "SELECT (SELECT max(session_id) FROM session_grades WHERE session_id < ?1),"
            " (SELECT min(session_id) FROM session_grades WHERE session_id > ?1)",
            (session_id,),
        )[0]
        return row[0] or "", row[1] or ""

    def children(self, session_id: str, limit: int) -> list[StoredGrade]:
        """Return the grades of at most `limit` sessions that a session had begun, or that go on from it, by id."""
        rows = self._database.rows(
            "SELECT session_id FROM session_details WHERE parent = ? LIMIT ?", (session_id, limit)
        )
        found = self.stored([row[0] for row in rows])
        return [found[child] for child in sorted(found)]

    def was_loop_told(self, session_id: str) -> bool:
        """Return whether the loop risk of this session was told to people."""
        return bool(
            self._database.rows("SELECT 1 FROM session_details WHERE session_id = ? AND loop_told", (session_id,))
        )

    def last_ended_at(self) -> datetime | None:
        """Return the end of the newest session; None without any."""
        return to_moment(self._database.rows("SELECT max(ended_at) FROM session_details")[0][0])

    def finished_tasks(
        self, *, since: datetime, until: datetime | None = None, limit: int, kind: SessionKind = SessionKind.MAIN
    ) -> list[FinishedSession]:
        """Return the newest finished sessions of a kind that ended from `since` to before `until`: tasks of persons.

        Those whose model is known, and that have a verdict or ended badly: not those that a person stopped.
        """
        if kind is not SessionKind.MAIN and not self._database.rows(_HAS_KIND, (kind,)):
            return []  # the list would be looked through in vain
        rows = self._database.rows(_TASKS, (to_text(since), to_text(until) or _AFTER_ALL, kind, limit))
        return [task for row in rows if (task := _to_task(row)) is not None]

    def early_counts(self, *, since: datetime, limit: int) -> list[EarlyCount]:
        """Count the newest judged tasks of persons that ended since then, by errors in their first ten tool calls.

        At most `limit`, those with so many calls; the counts come in any order.
        """
        counted = Counter(self._database.rows(_EARLY, (to_text(since), limit)))
        return [EarlyCount(errors, bool(completed), tasks) for (errors, completed), tasks in counted.items()]

    def asked_alike(self, request: int | None, wording: bytes | None, *, limit: int) -> list[AskedAlike]:
        """Return finished sessions of this request, and those whose wording shares a band with this one, in any order.

        Of each kind, and of each band, at most `limit`: those that ended last, and those that were graded last.
        """
        rows = self._database.rows
        found: dict[int, None] = {}
        if request is not None:
            found |= dict.fromkeys(number for (number,) in rows(_SAME, (request, limit)))
        if wording is not None:
            for (band,) in rows(BANDS_OF, (wording,)):
                found |= dict.fromkeys(number for (number,) in rows(_NEAR, (band, limit)))
        return [_to_asked(row) for row in rows(_ROWS, (listed(list(found)),))]

    def verdicts_since(self, moment: datetime) -> dict[str, int]:
        """Count the grades made at `moment` or later by verdict; sessions that go on are "open"."""
        rows = self._database.rows(_VERDICTS_SINCE, (to_text(moment),))
        counted: Counter[str] = Counter()
        for state, completed, unsure, grades in rows:
            counted["open" if state == SessionState.OPEN else outcome_of(completed, unsure)] += grades
        return dict(counted)

    def batches(self) -> Iterator[list[Grade]]:
        """Go through all grades, some at a time."""
        after = 0
        while rows := self._database.rows(f"{_SELECT_GRADES} WHERE g.id > ? ORDER BY g.id LIMIT {_PAGE}", (after,)):
            yield [stored.grade for stored in self._to_grades(rows)]
            after = rows[-1][0]

    def _detail_row(self, new: NewGrade, old: StoredGrade | None) -> list[Any]:
        return detail_row(
            new,
            host=self._host,
            loop_told=new.loop_told or (old is not None and old.loop_told),
            watched=old is not None and old.watched,
        )

    def _to_grades(self, rows: Sequence[Any]) -> list[StoredGrade]:
        """Read rows of `_SELECT_GRADES`, with the failures of all in one more query."""
        failures = self._failures(rows)
        return [to_grade(row, tuple(failures.get(row[1], ()))) for row in rows]

    def _failures(self, rows: Sequence[Any]) -> dict[str, list[Failure]]:
        """Return the failures of rows of grades, by session."""
        failures: dict[str, list[Failure]] = {}
        if rows:
            for row in self._database.rows(
                f"SELECT {', '.join(FAILURE_COLUMNS)} FROM session_failures WHERE session_id IN {LISTED}"
                " ORDER BY session_id, message_index",
                (listed([row[1] for row in rows]),),
            ):
                failures.setdefault(row[0], []).append(to_failure(row))
        return failures


def _to_task(row: tuple[Any, ...]) -> FinishedSession | None:
    """Read a row of the list; None where its end is no time, as in rows that another program left."""
    session_id, ended_at, task_type, model, completed, p_completed, verdict_by, unsure, *others = row
    moment = to_moment(ended_at)
    if moment is None:
        return None
    others[-2:] = to_skills(others[-2]), to_flag(others[-1])
    return FinishedSession(
        session_id,
        moment,
        task_type,
        model,
        bool(completed),
        p_completed,
        _JUDGED[verdict_by],
        bool(unsure),
        *others,
    )


def _to_asked(row: tuple[Any, ...]) -> AskedAlike:
    session_id, ended_at, model, completed, unsure, ended_badly, asked, words, skills = row
    return AskedAlike(
        session_id,
        known_moment(ended_at),
        model,
        outcome_of(completed, unsure),
        to_flag(ended_badly),
        asked,
        words,
        to_skills(skills),
    )
