"""What was found out about a file, into the database: the second half of an ingest, inside a transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identities, Verdict, compare
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.pipeline.examine import (
    BusyFile,
    Examined,
    GradedFile,
    SkippedFile,
    TroubledFile,
    UnchangedFile,
    VanishedFile,
)
from grader_daemon.storage import NewGrade, Store

_LOST = {Verdict.NEW_IS_COPY: SkipReason.COPY, Verdict.NEW_IS_SUPERSEDED: SkipReason.SUPERSEDED}
_WON = {Verdict.RIVAL_IS_COPY: SkipReason.COPY, Verdict.RIVAL_IS_SUPERSEDED: SkipReason.SUPERSEDED}


class Happened(StrEnum):
    """What a file's ingest came to."""

    GRADED = "graded"
    SKIPPED = "skipped"
    RETRY_SCHEDULED = "retry_scheduled"
    QUARANTINED = "quarantined"
    UNCHANGED = "unchanged"
    VANISHED = "vanished"
    BUSY = "busy"
    UNRECORDED = "unrecorded"


class Recorded(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One ingest as it is told to people.

    An `UNRECORDED` file could not even be put aside, by a bug of ours: the next scan finds it again.
    `reason` says why there is no grade, `superseded` names the sessions whose grade it took back.
    `loop_risk` is set once a session: when it runs and is first seen to look like a loop.
    """

    path: str
    happened: Happened
    grade: Grade | None = None
    reason: str | None = None
    session_id: str | None = None
    attempts: int = 0
    retry_at: datetime | None = None
    superseded: tuple[str, ...] = ()
    loop_risk: bool = False


class Recorder:
    """Writes ingests; the pauses between tries of a troubled file grow along `retry_pauses`.

    A request is asked again when a session of it begins within `asked_again_within` after another one has ended.
    """

    def __init__(self, store: Store, *, retry_pauses: tuple[timedelta, ...], asked_again_within: timedelta) -> None:
        self._store = store
        self._retry_pauses = retry_pauses
        self._asked_again_within = asked_again_within

    def record(
        self,
        gathered: Sequence[tuple[Examined, LedgerEntry | None]],
        *,
        now: datetime,
        rejudge: Callable[[Grade], Grade],
    ) -> list[Recorded]:
        """Write many ingests, each with the file's ledger row before; call it inside `Store.transaction`.

        `rejudge` gives the grade of a session whose file cannot be read any more, as it would be judged now.
        """
        identities = [examined.identity for examined, _ in gathered if isinstance(examined, GradedFile)]
        graded = Identities(self._store.rivals(identities))
        batch = _Batch(
            self._store,
            now,
            graded,
            retry_pauses=self._retry_pauses,
            asked_again_within=self._asked_again_within,
            rejudge=rejudge,
        )
        recorded = [batch.record(examined, known) for examined, known in gathered]
        batch.flush()
        return recorded


class _Batch:
    """Gathers rows, so that many go to the database in one statement; `graded` knows those that are not there yet."""

    def __init__(
        self,
        store: Store,
        now: datetime,
        graded: Identities,
        *,
        retry_pauses: tuple[timedelta, ...],
        asked_again_within: timedelta,
        rejudge: Callable[[Grade], Grade],
    ) -> None:
        self._store = store
        self._now = now
        self._retry_pauses = retry_pauses
        self._asked_again_within = asked_again_within
        self._graded = graded
        self._rejudge = rejudge
        self._unreadable: list[str] = []
        self._grades: list[NewGrade] = []
        self._entries: list[LedgerEntry] = []

    def flush(self) -> None:
        """Write what was gathered."""
        self._store.save_grades(self._grades, asked_again_within=self._asked_again_within)
        self._store.save_entries(self._entries, now=self._now)
        self._grades, self._entries = [], []
        self._rejudge_unreadable()

    def record(self, examined: Examined, known: LedgerEntry | None) -> Recorded:
        """Gather the rows of one ingest."""
        match examined:
            case GradedFile():
                return self._record_grade(examined)
            case SkippedFile():
                return self._record_skip(examined)
            case TroubledFile():
                return self._record_trouble(examined, known)
            case UnchangedFile():
                self._store.restamp(examined.path, examined.stamp)
                return Recorded(path=examined.path, happened=Happened.UNCHANGED)
            case VanishedFile():
                self._store.forget_retry(examined.path)
                self._unreadable.append(examined.path)
                return Recorded(path=examined.path, happened=Happened.VANISHED)
            case BusyFile():
                return Recorded(path=examined.path, happened=Happened.BUSY)
        assert_never(examined)

    def _rejudge_unreadable(self) -> None:
        """Grades whose files are gone keep what was read of them; only the verdict follows model and policy."""
        paths, self._unreadable = self._unreadable, []
        if paths:
            stored = self._store.grades_of_files(paths)
            rejudged = [(grade, self._rejudge(grade)) for grade in stored]
            self._store.save_verdicts([(old, new) for old, new in rejudged if old != new])

    def _record_grade(self, examined: GradedFile) -> Recorded:
        identity = examined.identity
        superseded: list[str] = []
        for rival in self._graded.rivals(identity):
            if rival.file == identity.file and rival.session_id == identity.session_id:
                continue
            verdict = compare(identity, rival, rival_exists=os.path.lexists(rival.file))
            if verdict in _LOST:
                return self._record_loss(examined, _LOST[verdict])
            if verdict in _WON:
                self._retract(rival.session_id, _WON[verdict])
                superseded.append(rival.session_id)
            elif verdict is Verdict.NEW_REPLACES_RIVAL:
                self.flush()
                self._store.retract_file(rival.file, SkipReason.COPY)
        loop_risk = self._is_new_loop_risk(examined.grade)
        self._gather_grade(examined, loop_risk=loop_risk)
        return Recorded(
            path=examined.path,
            happened=Happened.GRADED,
            grade=examined.grade,
            session_id=identity.session_id,
            superseded=tuple(superseded),
            loop_risk=loop_risk,
        )

    def _is_new_loop_risk(self, grade: Grade) -> bool:
        """Does a running session look like a loop, and was that not told before?"""
        if not grade.had_infinite_loop_risk or grade.state is not SessionState.OPEN:
            return False
        told = any(new.loop_told for new in self._grades if new.grade.session_id == grade.session_id)
        return not told and not self._store.was_loop_told(grade.session_id)

    def _gather_grade(self, examined: GradedFile, *, loop_risk: bool) -> None:
        grade, identity = examined.grade, examined.identity
        self._graded.add(identity)
        self._grades.append(
            NewGrade(grade=grade, identity=identity, digest=examined.digest, signs=examined.signs, loop_told=loop_risk)
        )
        self._entries.append(
            LedgerEntry(
                path=examined.path,
                stamp=examined.stamp,
                state=FileState.GRADED,
                digest=examined.digest,
                session_id=grade.session_id,
                look_again_at=examined.look_again_at,
                rules_version=grade.rules_version,
            )
        )

    def _retract(self, session_id: str, reason: SkipReason) -> None:
        self.flush()
        self._graded.remove(session_id)
        self._store.retract(session_id, reason, asked_again_within=self._asked_again_within)

    def _record_loss(self, examined: GradedFile, reason: SkipReason) -> Recorded:
        """The session is graded from another file, or goes on in one."""
        session_id = examined.grade.session_id
        own = self._graded.get(session_id)
        if own is not None and own.file == examined.path:
            self._retract(session_id, reason)
        skipped = SkippedFile(
            path=examined.path, stamp=examined.stamp, digest=examined.digest, skipped=Skipped(reason, session_id)
        )
        return self._record_skip(skipped)

    def _record_skip(self, examined: SkippedFile) -> Recorded:
        skipped = examined.skipped
        self._entries.append(
            LedgerEntry(
                path=examined.path,
                stamp=examined.stamp,
                state=FileState.SKIPPED,
                digest=examined.digest,
                session_id=skipped.session_id,
                reason=skipped.reason,
            )
        )
        return Recorded(
            path=examined.path, happened=Happened.SKIPPED, reason=skipped.reason, session_id=skipped.session_id
        )

    def _record_trouble(self, examined: TroubledFile, known: LedgerEntry | None) -> Recorded:
        """Try again after a growing pause while that can help; then the file is dead until its content changes."""
        tried = known.attempts if known is not None and known.stamp == examined.stamp else 0
        attempts = tried + 1
        pauses = self._retry_pauses
        again = examined.hope and bool(pauses) and (examined.always or attempts <= len(pauses))
        retry_at = self._now + pauses[min(attempts, len(pauses)) - 1] if again else None
        entry = LedgerEntry(
            path=examined.path,
            stamp=examined.stamp,
            state=FileState.RETRY if again else FileState.DEAD,
            session_id=known.session_id if known is not None else None,
            reason=examined.error,
            attempts=attempts,
            look_again_at=retry_at,
        )
        self._entries.append(entry)
        self._unreadable.append(examined.path)
        return Recorded(
            path=examined.path,
            happened=Happened.RETRY_SCHEDULED if again else Happened.QUARANTINED,
            reason=examined.error,
            attempts=attempts,
            retry_at=retry_at,
        )
