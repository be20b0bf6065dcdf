"""Save the findings on a unit: the second half of an ingest, inside a transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Fallen, Identities, Identity, decide, is_like
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Stamp, Unit
from grader_daemon.pipeline.examine import (
    BusyUnit,
    Examined,
    GradedUnit,
    SkippedUnit,
    TroubledUnit,
    UnchangedUnit,
    VanishedUnit,
)
from grader_daemon.pipeline.save_labels import keep_rewards
from grader_daemon.pipeline.saving import grades_of_units, retract, save_grades, save_verdicts
from grader_daemon.storage.records import NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore


class IngestOutcome(StrEnum):
    """Outcome of a unit's ingest."""

    GRADED = "graded"
    SKIPPED = "skipped"
    RETRY_SCHEDULED = "retry_scheduled"
    QUARANTINED = "quarantined"
    UNCHANGED = "unchanged"
    VANISHED = "vanished"
    BUSY = "busy"
    UNRECORDED = "unrecorded"


class IngestResult(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The result of one ingest, in words for people.

    An `UNRECORDED` file could not even be put aside, by a bug of ours: the next scan finds it again.
    `reason` says why there is no grade, `fallen` names the sessions whose grades it took back, and why;
    `instead_of` is the unit by which the same session was graded before.
    `loop_risk` is set once a session: when it runs and is first seen to look like a loop.
    """

    unit: Unit
    outcome: IngestOutcome
    grade: Grade | None = None
    reason: str | None = None
    session_id: str | None = None
    attempts: int = 0
    retry_at: datetime | None = None
    fallen: tuple[Fallen, ...] = ()
    instead_of: Unit | None = None
    loop_risk: bool = False

    @property
    def path(self) -> str:
        """Place of the session, as people are told."""
        return str(self.unit)


class Commit:
    """Writes ingests; the pauses between tries of a troubled file grow along `retry_pauses`.

    A request is asked again when a session of it begins within `asked_again_within` after another one has ended.
    """

    def __init__(
        self, store: SqliteStore, *, retry_pauses: tuple[timedelta, ...], asked_again_within: timedelta
    ) -> None:
        self._store = store
        self._retry_pauses = retry_pauses
        self._asked_again_within = asked_again_within

    def record(
        self,
        gathered: Sequence[tuple[Examined, LedgerEntry | None]],
        *,
        now: datetime,
        redecide: Callable[[Grade], Grade],
        is_there: Callable[[Unit], bool],
    ) -> list[IngestResult]:
        """Write many ingests, each with the unit's ledger row before; call it inside `SqliteStore.transaction`.

        `redecide` gives the grade of a session that cannot be read any more, as it would be judged now; `is_there`
        tells whether another unit that holds the same session still lies where it did.
        """
        batch = _Batch(
            self._store,
            now,
            retry_pauses=self._retry_pauses,
            asked_again_within=self._asked_again_within,
            redecide=redecide,
            is_there=is_there,
        )
        return batch.record(gathered)


class _Batch:
    """Gathers rows, so that many go to the database in one statement; `_gathered` are those that are not there yet."""

    def __init__(
        self,
        store: SqliteStore,
        now: datetime,
        *,
        retry_pauses: tuple[timedelta, ...],
        asked_again_within: timedelta,
        redecide: Callable[[Grade], Grade],
        is_there: Callable[[Unit], bool],
    ) -> None:
        self._store = store
        self._now = now
        self._retry_pauses = retry_pauses
        self._asked_again_within = asked_again_within
        self._redecide = redecide
        self._is_there = is_there
        self._unreadable: list[Unit] = []
        self._gathered = Identities()
        self._grades: dict[str, NewGrade] = {}
        self._entries: dict[Unit, LedgerEntry] = {}
        self._rewards: dict[str, float] = {}
        self._graded: dict[Unit, Stamp] = {}
        """Units of the batch, and what was graded: events and the search of folders may both tell of one."""
        self._skipped: dict[str | None, set[Unit]] = defaultdict(set)
        """Units of `_entries` that were passed over, by the session in them."""
        self._related: frozenset[str] | None = None
        """Sessions of the batch that the database may know, or a rival of them; None: it is asked for each."""
        self._regraded: set[str] = set()
        """Sessions that have a grade in the database."""

    def record(self, gathered: Sequence[tuple[Examined, LedgerEntry | None]]) -> list[IngestResult]:
        """Write many ingests."""
        new = [examined.identity for examined, _ in gathered if isinstance(examined, GradedUnit)]
        self._related = self._store.rivals.related(new)
        recorded = [self._record(examined, known) for examined, known in gathered]
        self._flush()
        return recorded

    def _flush(self) -> None:
        """Write what was gathered; those that follow may be related to it."""
        save_grades(self._store, list(self._grades.values()), asked_again_within=self._asked_again_within)
        if self._rewards:
            keep_rewards(self._store, self._rewards, now=self._now)
        self._store.save_entries(list(self._entries.values()), now=self._now)
        self._gathered, self._grades, self._entries, self._rewards = Identities(), {}, {}, {}
        self._skipped.clear()
        self._related = None
        self._redecide_unreadable()

    def _record(self, examined: Examined, known: LedgerEntry | None) -> IngestResult:
        """Gather the rows of one ingest."""
        match examined:
            case GradedUnit() if self._graded.get(examined.unit) == examined.found.stamp:
                return IngestResult(unit=examined.unit, outcome=IngestOutcome.UNCHANGED)
            case GradedUnit():
                self._graded[examined.unit] = examined.found.stamp
                return self._record_grade(examined)
            case SkippedUnit():
                return self._record_skip(examined)
            case TroubledUnit():
                return self._record_trouble(examined, known)
            case UnchangedUnit():
                self._store.restamp(examined.found)
                return IngestResult(unit=examined.unit, outcome=IngestOutcome.UNCHANGED)
            case VanishedUnit():
                self._store.forget_retry(examined.unit)
                self._unreadable.append(examined.unit)
                return IngestResult(unit=examined.unit, outcome=IngestOutcome.VANISHED)
            case BusyUnit():
                return IngestResult(unit=examined.unit, outcome=IngestOutcome.BUSY)
        assert_never(examined)

    def _redecide_unreadable(self) -> None:
        """Grades whose files are gone keep what was read of them; only the verdict follows model and policy."""
        units, self._unreadable = self._unreadable, []
        if units:
            stored = grades_of_units(self._store, units)
            redecided = [(grade, self._redecide(grade)) for grade in stored]
            save_verdicts(self._store, [(old, new) for old, new in redecided if old != new])

    def _record_grade(self, examined: GradedUnit) -> IngestResult:
        identity = examined.identity
        if examined.reward is not None:
            self._rewards[identity.session_id] = examined.reward  # of the session, whichever file stands for it
        before = self._standing(identity.session_id)
        elsewhere = before.unit if before is not None and before.unit != identity.unit else None
        own = before if elsewhere is not None and self._is_there(elsewhere) else None
        decision = decide(identity, own, self._rivals(identity))
        if decision.lost is not None:
            if before is not None and decision.own_falls:
                self._retract(identity.session_id, decision.lost)
            return self._record_loss(examined, decision.lost)
        for session_id, reason in decision.fallen:
            self._retract(session_id, reason)
        if elsewhere is not None:
            self._leave(elsewhere, is_there=own is not None)
        if before is None or (elsewhere is not None and own is None):
            self._compare_others(identity)
        recorded = self._gather_grade(examined, decision.fallen, elsewhere)
        if before is not None and not is_like(before, identity):
            self._flush()  # so that those that follow do not find it as it was
        return recorded

    def _standing(self, session_id: str) -> Identity | None:
        """Return the session of this id that has a grade."""
        gathered = self._gathered.get(session_id)
        if gathered is not None:
            return gathered
        stored = self._store.rivals.standing(session_id) if self._may_be_related(session_id) else None
        if stored is not None:
            self._regraded.add(session_id)
        return stored

    def _rivals(self, identity: Identity) -> list[Identity]:
        stored = self._store.rivals.of(identity) if self._may_be_related(identity.session_id) else []
        return [rival for rival in stored if rival.session_id not in self._grades] + self._gathered.rivals(identity)

    def _may_be_related(self, session_id: str) -> bool:
        return self._related is None or session_id in self._related

    def _is_new_loop_risk(self, grade: Grade) -> bool:
        """Return whether a running session looks like a loop, which was not told before."""
        if not grade.had_infinite_loop_risk or grade.state is not SessionState.OPEN:
            return False
        gathered = self._grades.get(grade.session_id)
        told = gathered is not None and gathered.loop_told
        return not told and not (
            self._may_be_related(grade.session_id) and self._store.grades.was_loop_told(grade.session_id)
        )

    def _gather_grade(self, examined: GradedUnit, fallen: tuple[Fallen, ...], elsewhere: Unit | None) -> IngestResult:
        grade, identity = examined.grade, examined.identity
        loop_risk = self._is_new_loop_risk(grade)
        self._gathered.add(identity)
        self._grades[grade.session_id] = NewGrade(
            grade=grade, identity=identity, digest=examined.digest, signs=examined.signs, loop_told=loop_risk
        )
        self._entries[examined.unit] = LedgerEntry(
            unit=examined.unit,
            stamp=examined.found.stamp,
            written_ns=examined.found.written_ns,
            state=FileState.GRADED,
            digest=examined.digest,
            session_id=grade.session_id,
            look_again_at=examined.look_again_at,
            rules_version=grade.rules_version,
        )
        return IngestResult(
            unit=examined.unit,
            outcome=IngestOutcome.GRADED,
            grade=grade,
            session_id=grade.session_id,
            fallen=fallen,
            instead_of=elsewhere,
            loop_risk=loop_risk,
        )

    def _retract(self, session_id: str, reason: SkipReason) -> None:
        """Withdraw the grade of a session, whether it was written already or not."""
        gathered = self._grades.pop(session_id, None)
        if gathered is not None:
            self._gathered.remove(session_id)
            self._pass_over(gathered.identity.unit, reason)
        if gathered is None or session_id in self._regraded:
            retract(self._store, session_id, reason, asked_again_within=self._asked_again_within)

    def _leave(self, unit: Unit, *, is_there: bool) -> None:
        """Note that a session is graded from another unit than before. One that is gone is new if it comes back."""
        if is_there:
            self._pass_over(unit, SkipReason.COPY)
            return
        self._entries.pop(unit, None)
        self._graded.pop(unit, None)
        self._store.pass_over(unit, SkipReason.COPY)
        self._store.forget_units([unit])

    def _pass_over(self, unit: Unit, reason: SkipReason) -> None:
        """Note that a unit has no grade any more."""
        entry = self._entries.get(unit)
        if entry is None:
            self._store.pass_over(unit, reason)
        else:
            self._gather_skipped(
                msgspec.structs.replace(
                    entry, state=FileState.SKIPPED, reason=reason, look_again_at=None, rules_version=None
                )
            )

    def _compare_others(self, identity: Identity) -> None:
        """Have the other units of a session looked at again: none stood for it when this one was read."""
        if self._may_be_related(identity.session_id):
            self._store.compare_again(identity.session_id, but=identity.unit, now=self._now)
        for unit in self._skipped.get(identity.session_id, ()):
            self._entries[unit] = msgspec.structs.replace(self._entries[unit], look_again_at=self._now)

    def _record_loss(self, examined: GradedUnit, reason: SkipReason) -> IngestResult:
        """Record a session that is graded from another file, or goes on in one."""
        skipped = Skipped(reason, examined.grade.session_id)
        return self._record_skip(SkippedUnit(found=examined.found, digest=examined.digest, skipped=skipped))

    def _record_skip(self, examined: SkippedUnit) -> IngestResult:
        skipped = examined.skipped
        self._gather_skipped(
            LedgerEntry(
                unit=examined.unit,
                stamp=examined.found.stamp,
                written_ns=examined.found.written_ns,
                state=FileState.SKIPPED,
                digest=examined.digest,
                session_id=skipped.session_id,
                reason=skipped.reason,
            )
        )
        return IngestResult(
            unit=examined.unit, outcome=IngestOutcome.SKIPPED, reason=skipped.reason, session_id=skipped.session_id
        )

    def _gather_skipped(self, entry: LedgerEntry) -> None:
        self._entries[entry.unit] = entry
        self._skipped[entry.session_id].add(entry.unit)

    def _record_trouble(self, examined: TroubledUnit, known: LedgerEntry | None) -> IngestResult:
        """Try again after a growing pause while that can help; then the file is dead until its content changes."""
        tried = known.attempts if known is not None and known.stamp == examined.found.stamp else 0
        attempts = tried + 1
        pauses = self._retry_pauses
        again = examined.hope and bool(pauses) and (examined.always or attempts <= len(pauses))
        retry_at = self._now + pauses[min(attempts, len(pauses)) - 1] if again else None
        entry = LedgerEntry(
            unit=examined.unit,
            stamp=examined.found.stamp,
            written_ns=examined.found.written_ns,
            state=FileState.RETRY if again else FileState.DEAD,
            session_id=known.session_id if known is not None else None,
            reason=examined.error,
            attempts=attempts,
            look_again_at=retry_at,
        )
        self._entries[examined.unit] = entry
        self._unreadable.append(examined.unit)
        return IngestResult(
            unit=examined.unit,
            outcome=IngestOutcome.RETRY_SCHEDULED if again else IngestOutcome.QUARANTINED,
            reason=examined.error,
            attempts=attempts,
            retry_at=retry_at,
        )
