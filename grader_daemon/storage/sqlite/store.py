"""The store: grades with their details and failures, the daemon's status, and the parts that other modules bring."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from grader_daemon.domain.analysis import Failure
from grader_daemon.domain.counting import Changes
from grader_daemon.domain.feedback import NOTHING_SAID, Feedback, Said, apply_override
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.text import storable
from grader_daemon.errors import InputError
from grader_daemon.storage.records import DaemonStatus, GradeFilter, NewGrade, Page, StoredGrade
from grader_daemon.storage.sqlite.alerts import Alerts
from grader_daemon.storage.sqlite.calibrations import Calibrations
from grader_daemon.storage.sqlite.database import LISTED, listed
from grader_daemon.storage.sqlite.feedback import Feedbacks
from grader_daemon.storage.sqlite.issues import Issues
from grader_daemon.storage.sqlite.jobs import JobRuns
from grader_daemon.storage.sqlite.ledger import Ledger
from grader_daemon.storage.sqlite.listing import SessionList
from grader_daemon.storage.sqlite.outbox import Outbox
from grader_daemon.storage.sqlite.quality import QualityChecks
from grader_daemon.storage.sqlite.repeats import Repeats, places_of
from grader_daemon.storage.sqlite.reports import Reports
from grader_daemon.storage.sqlite.rivals import Rivals
from grader_daemon.storage.sqlite.rollups import Rollups
from grader_daemon.storage.sqlite.rows import (
    DETAIL_COLUMNS,
    FAILURE_COLUMNS,
    GRADE_COLUMNS,
    VERDICT_COLUMNS,
    detail_row,
    failure_rows,
    grade_row,
    to_failure,
    to_grade,
    to_moment,
    to_text,
    verdict_row,
)

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
_UPDATE_VERDICT = (
    f"UPDATE session_details SET {', '.join(f'{column} = ?' for column in VERDICT_COLUMNS)} WHERE session_id = ?"
)
_SELECT_GRADES = (
    f"SELECT g.id, {', '.join(f'g.{column}' for column in GRADE_COLUMNS)},"
    f" {', '.join(f'd.{column}' for column in DETAIL_COLUMNS)}"
    " FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id"
)
_INSERT_FAILURES = (
    f"INSERT OR REPLACE INTO session_failures ({', '.join(FAILURE_COLUMNS)})"
    f" VALUES ({', '.join('?' * len(FAILURE_COLUMNS))})"
)


class Store(Ledger):
    """One connection to the database of grades."""

    def __init__(self, path: Path, *, host: str = "", read_only: bool = False) -> None:
        """See `Database`. `host` is kept with every grade."""
        super().__init__(path, read_only=read_only)
        self._host = host
        self.list = SessionList(self)
        self.rollups = Rollups(self)
        self.feedback = Feedbacks(self)
        self.issues = Issues(self)
        self.reports = Reports(self)
        self.alerts = Alerts(self)
        self.outbox = Outbox(self)
        self.job_runs = JobRuns(self)
        self.calibrations = Calibrations(self)
        self.repeats = Repeats(self)
        self.quality = QualityChecks(self)
        self.rivals = Rivals(self)
        if not read_only and self._lacks_rollups():
            with self.transaction():
                if self._lacks_rollups():
                    self.recount()

    # -- grades ----------------------------------------------------------------------------------------------------

    def save_grades(self, grades: Sequence[NewGrade], *, asked_again_within: timedelta | None = None) -> None:
        """Insert or replace grades with their details and failures, and count them in the roll-ups.

        What people said of these sessions stands above the new grades. `asked_again_within`: so soon must the same be
        asked for again to count; None leaves `asked_again` as it is.
        """
        many = self.connection.executemany
        grades = self._keep_overrides(list({new.grade.session_id: new for new in grades}.values()))
        session_ids = [new.grade.session_id for new in grades]
        replaced = self.stored(session_ids)
        told = {session_id for session_id, old in replaced.items() if old.loop_told}
        watched = {session_id for session_id, old in replaced.items() if old.watched}
        self._count(added=[new.grade for new in grades], removed=[old.grade for old in replaced.values()])
        self.list.forget(list(replaced))
        many(_UPSERT_GRADE, [grade_row(new.grade) for new in grades])
        many(
            _REPLACE_DETAILS,
            [
                detail_row(
                    new.grade,
                    new.identity,
                    digest=new.digest,
                    host=self._host,
                    loop_told=new.loop_told or new.grade.session_id in told,
                    watched=new.grade.session_id in watched,
                )
                for new in grades
            ],
        )
        many(
            "DELETE FROM session_failures WHERE session_id = ?",
            [(old.grade.session_id,) for old in replaced.values() if old.grade.failures],
        )
        many(_INSERT_FAILURES, [row for new in grades for row in failure_rows(new.grade)])
        self.list.add(session_ids)
        self.issues.save_signs([sign for new in grades for sign in new.signs])
        if asked_again_within is not None:
            moved = [old.grade for old in replaced.values()]
            places = dict.fromkeys([*places_of([new.grade for new in grades]), *places_of(moved)])
            self.repeats.settle(list(places), within=asked_again_within)

    def grades_of_files(self, paths: Sequence[str]) -> list[Grade]:
        """Give the grades that were made of those of `paths` that the ledger knows."""
        entries = self.ledger_entries(paths)
        stored = self.stored([entry.session_id for entry in entries.values() if entry.session_id is not None])
        return [each.grade for each in stored.values() if each.detailed and each.grade.session_file in entries]

    def save_verdicts(self, changes: Sequence[tuple[Grade, Grade]]) -> None:
        """Let grades say what they would say by another policy (each as it was and as it is), and count them so."""
        self._count(added=[new for _, new in changes], removed=[old for old, _ in changes])
        many = self.connection.executemany
        many(
            "UPDATE session_grades SET task_completed = ?, response_quality = ? WHERE session_id = ?",
            [(new.task_completed, new.response_quality, new.session_id) for _, new in changes],
        )
        many(_UPDATE_VERDICT, [verdict_row(new) for _, new in changes])
        many(
            "UPDATE session_files SET rules_version = ? WHERE path = ? AND state = 'graded'",
            [(new.rules_version, new.session_file) for _, new in changes],
        )
        self.list.update_verdicts([new.session_id for _, new in changes])

    def add_feedback(self, said: Sequence[Said], *, now: datetime) -> list[Feedback]:
        """Keep what people say of graded sessions, of each once, and let it stand; call it inside a transaction.

        Raises:
            InputError: one of them has no grade that we made.
        """
        known = self.stored([each.session_id for each in said])
        for each in said:
            if each.session_id not in known or not known[each.session_id].detailed:
                raise InputError(f"session {each.session_id!r} has no grade of this program to say anything of")
        given = [self.feedback.add(each, known[each.session_id], now=now) for each in said]
        self._apply_overrides([old.grade for old in known.values()])
        return given

    def _apply_overrides(self, grades: Sequence[Grade]) -> None:
        """Let what people say now stand over stored grades, or what is automatic where nobody says anything more."""
        said = self.feedback.standing([grade.session_id for grade in grades])
        laid = [apply_override(grade, said.get(grade.session_id, NOTHING_SAID)) for grade in grades]
        self.save_verdicts(list(zip(grades, laid, strict=True)))

    def _keep_overrides(self, grades: Sequence[NewGrade]) -> Sequence[NewGrade]:
        """Give new grades with what people said of their sessions above them."""
        said = self.feedback.standing([new.grade.session_id for new in grades])
        if not said:
            return grades
        return [
            msgspec.structs.replace(new, grade=apply_override(new.grade, said.get(new.grade.session_id, NOTHING_SAID)))
            for new in grades
        ]

    def _lacks_rollups(self) -> bool:
        """Are there grades that an older version, or the original program, saved without counting them?"""
        return not self.rows("SELECT 1 FROM daily_rollups LIMIT 1") and bool(
            self.rows("SELECT 1 FROM session_grades LIMIT 1")
        )

    def recount(self) -> None:
        """Make the list of sessions and the roll-ups anew from the grades; call it inside a transaction."""
        self.list.rebuild()
        self.rollups.clear()
        after = 0
        while rows := self.rows(f"{_SELECT_GRADES} WHERE g.id > ? ORDER BY g.id LIMIT {_PAGE}", (after,)):
            self._count(added=[stored.grade for stored in self._to_grades(rows)], removed=[])
            after = rows[-1][0]

    def was_loop_told(self, session_id: str) -> bool:
        """Was the loop risk of this session told to people?"""
        return bool(self.rows("SELECT 1 FROM session_details WHERE session_id = ? AND loop_told", (session_id,)))

    def retract(self, session_id: str, reason: SkipReason, *, asked_again_within: timedelta | None = None) -> None:
        """Take a grade back because another file holds the session; its own file's ledger row says why.

        For `asked_again_within` see `save_grades`.
        """
        removed = [old.grade for old in self.stored([session_id]).values()]
        self._count(added=[], removed=removed)
        self.list.forget([session_id])
        self._delete_grade(session_id)
        if asked_again_within is not None:
            self.repeats.settle(places_of(removed), within=asked_again_within)
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            " WHERE session_id = ? AND state = 'graded'",
            (reason, session_id),
        )

    def retract_file(self, path: str, reason: SkipReason) -> None:
        """Note that the grade of a session now comes from another file than `path`."""
        self.connection.execute(
            "UPDATE session_files SET state = 'skipped', reason = ?, retry_at = NULL, rules_version = NULL"
            " WHERE path = ? AND state = 'graded'",
            (reason, path),
        )

    def grades(self, which: GradeFilter) -> list[StoredGrade]:
        """List grades; see `GradeFilter`."""
        return self.page(which).grades

    def page(self, which: GradeFilter) -> Page:
        """List up to `which.limit` grades, and say where the list goes on.

        Raises:
            InputError: there is no word to look for in `which.text`.
        """
        limit = which.limit
        found = self.list.find(which if limit is None else msgspec.structs.replace(which, limit=limit + 1))
        listing = found[:limit]
        rows = self.rows(f"{_SELECT_GRADES} WHERE g.id IN {LISTED}", (listed([number for number, _ in listing]),))
        grades = {stored.id: stored for stored in self._to_grades(rows)}
        return Page(
            grades=[grades[number] for number, _ in listing if number in grades],
            next=listing[-1][1] if listing and len(found) > len(listing) else None,
        )

    def stored(self, session_ids: Sequence[str]) -> dict[str, StoredGrade]:
        """Give the grades of those of `session_ids` that have one."""
        rows = self.rows(f"{_SELECT_GRADES} WHERE g.session_id IN {LISTED}", (listed(session_ids),))
        return {stored.grade.session_id: stored for stored in self._to_grades(rows)}

    def find_grade(self, prefix: str) -> StoredGrade:
        """Give the one grade whose session id is, or begins with, `prefix`.

        Raises:
            InputError: none or several do.
        """
        wanted = storable(prefix)
        rows = self.rows(f"{_SELECT_GRADES} WHERE g.session_id = ?", (wanted,)) or self.rows(
            f"{_SELECT_GRADES} WHERE g.session_id >= ?1 AND g.session_id < ?1 || char(1114111)"
            " ORDER BY g.session_id LIMIT 4",
            (wanted,),
        )
        if not rows:
            raise InputError(f"no graded session has an id that begins with {prefix!r}")
        if len(rows) > 1:
            some = ", ".join(row[1] for row in rows[:3])
            raise InputError(f"several session ids begin with {prefix!r} ({some}, …); give more of it")
        return self._to_grades(rows)[0]

    def last_ended_at(self) -> datetime | None:
        """Give the end of the newest session; None without any."""
        return to_moment(self.rows("SELECT max(ended_at) FROM session_details")[0][0])

    # -- the daemon ------------------------------------------------------------------------------------------------

    def save_status(self, status: DaemonStatus) -> None:
        """Keep what the daemon says of itself."""
        self.connection.execute(
            "INSERT OR REPLACE INTO daemon_status (id, pid, started_at, said_at, backlog, watching, waiting_since)"
            " VALUES (1, ?, ?, ?, ?, ?, ?)",
            (
                status.pid,
                to_text(status.started_at),
                to_text(status.said_at),
                status.backlog,
                msgspec.json.encode(status.watching).decode(),
                to_text(status.waiting_since),
            ),
        )

    def status(self) -> DaemonStatus | None:
        """What the daemon said of itself last; None when none ever ran."""
        rows = self.rows("SELECT pid, started_at, said_at, backlog, watching, waiting_since FROM daemon_status")
        if not rows:
            return None
        pid, started_at, said_at, backlog, watching, waiting_since = rows[0]
        return DaemonStatus(
            pid=pid,
            started_at=datetime.fromisoformat(started_at),
            said_at=datetime.fromisoformat(said_at),
            backlog=backlog,
            watching=msgspec.json.decode(watching, type=dict[str, str]),
            waiting_since=to_moment(waiting_since),
        )

    def _delete_grade(self, session_id: str) -> None:
        for table in ("session_grades", "session_details", "session_failures"):
            self.connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def _count(self, *, added: Sequence[Grade], removed: Sequence[Grade]) -> None:
        changes = Changes()
        for grade in removed:
            changes.remove(grade)
        for grade in added:
            changes.add(grade)
        self.rollups.apply(changes)

    def _to_grades(self, rows: Sequence[Any]) -> list[StoredGrade]:
        """Read rows of `_SELECT_GRADES`, with the failures of all in one more query."""
        failures: dict[str, list[Failure]] = {}
        if rows:
            for row in self.rows(
                f"SELECT {', '.join(FAILURE_COLUMNS)} FROM session_failures WHERE session_id IN {LISTED}"
                " ORDER BY session_id, message_index",
                (listed([row[1] for row in rows]),),
            ):
                failures.setdefault(row[0], []).append(to_failure(row))
        return [to_grade(row, tuple(failures.get(row[1], ()))) for row in rows]
