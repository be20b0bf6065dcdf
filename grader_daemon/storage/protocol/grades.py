"""What is kept of sessions and of where they lie, and what people said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from grader_daemon.domain.early import EarlyCount
from grader_daemon.domain.feedback import Candidate, Feedback, JudgedSession
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.installed import ObservedVersion
from grader_daemon.domain.ledger import FileState, LagSpan, LedgerEntry
from grader_daemon.domain.repeats import Place, Stretch
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session import SessionKind, SkipReason
from grader_daemon.domain.similar import AskedAlike
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.storage.records import (
    Change,
    ChangeKind,
    GradeFilter,
    LastGrade,
    MonthMark,
    NewGrade,
    OutdatedUnit,
    Page,
    StoredGrade,
    UngradedUnit,
)


class Grades(Protocol):
    """The grades, each with its details and failures, found in any order that people ask for."""

    def put(self, grades: Sequence[NewGrade], *, replacing: Mapping[str, StoredGrade]) -> None:
        """Insert grades, each of another session, or replace those that are `stored`; call it inside a transaction.

        That a loop was told, or that the watch has seen a session, is not forgotten with the grade that is replaced.
        """

    def put_verdicts(self, grades: Sequence[Grade]) -> None:
        """Write what verdicts say now of grades of which nothing else changed; call it inside a transaction."""

    def remove(self, session_id: str) -> None:
        """Remove a grade; call it inside a transaction."""

    def page(self, which: GradeFilter) -> Page:
        """List up to `which.limit` grades, and say where the list goes on.

        Raises:
            InputError: there is no word to look for in `which.text`.
        """

    def stored(self, session_ids: Sequence[str]) -> dict[str, StoredGrade]:
        """Return the grades of those of `session_ids` that have one."""

    def find(self, prefix: str) -> StoredGrade:
        """Return the one grade whose session id is, or begins with, `prefix`.

        Raises:
            InputError: none or several do.
        """

    def beside(self, session_id: str) -> tuple[str, str]:
        """Return the session ids before and after one in the order of their characters, "" where there is none."""

    def children(self, session_id: str, limit: int) -> list[StoredGrade]:
        """Return the grades of at most `limit` sessions that a session had begun, or that go on from it, by id."""

    def was_loop_told(self, session_id: str) -> bool:
        """Whether the loop risk of this session was told to people."""

    def last_ended_at(self) -> datetime | None:
        """Return the end of the newest session; None without any."""

    def finished_tasks(
        self, *, since: datetime, until: datetime | None = None, limit: int, kind: SessionKind = SessionKind.MAIN
    ) -> list[FinishedSession]:
        """Return the newest finished sessions of a kind that ended from `since` to before `until`: tasks of persons.

        Those whose model and verdict are known.
        """

    def early_counts(self, *, since: datetime, limit: int) -> list[EarlyCount]:
        """Count the newest finished tasks of persons that ended since then, by errors in their first ten tool calls.

        At most `limit`, those with so many calls whose verdict is known; the counts come in any order.
        """

    def asked_alike(self, request: int | None, wording: bytes | None, *, limit: int) -> list[AskedAlike]:
        """Return finished sessions of this request, and those whose wording shares a band with this one, in any order.

        Of each kind, and of each band, at most `limit`: those that ended last, and those that were graded last.
        """


class Ledger(Protocol):
    """What became of every unit."""

    def ledger_entry(self, unit: Unit) -> LedgerEntry | None:
        """Return what became of a unit; None when it was never seen."""

    def ledger_entries(self, units: Sequence[Unit]) -> dict[Unit, LedgerEntry]:
        """Return what became of those of `units` that were ever seen."""

    def unit_stamps(self, units: Sequence[Unit]) -> list[Stamp | None]:
        """Return what each unit was like when it was last looked at; the cheap half of `ledger_entries`."""

    def due_units(self, now: datetime, *, longest_pause: timedelta, limit: int) -> list[Unit]:
        """Units that are to be looked at again though nothing changed, the longest due first.

        What is due later than after `longest_pause` was noted by a clock that was set back since: it is due too.
        """

    def outdated_units(self, rules_version: str, *, after: OutdatedUnit | None, limit: int) -> list[OutdatedUnit]:
        """Graded units whose grade was made under other rules, from the one behind `after` on."""

    def ungraded_units(self, state: FileState, *, after: UngradedUnit | None, limit: int) -> list[UngradedUnit]:
        """Units of a state that is not `graded`, from the one behind `after` on."""

    def units_of_sessions(self, session_ids: Sequence[str]) -> dict[str, Unit]:
        """From which units those of the sessions are graded that are."""

    def graded_paths(self, *, but_of: str | None = None, since: datetime | None = None) -> list[str]:
        """Graded files in order of path, but those of one version; `since`: of sessions that ended from then on."""

    def save_entries(self, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
        """Write ledger rows; counts a grade for those whose state is `graded`."""

    def restamp(self, found: Found) -> None:
        """Note that a unit was touched or moved about without a change of content."""

    def forget_retry(self, unit: Unit) -> None:
        """Stop looking for a unit that is gone; its grade, if it has one, stays."""

    def forget_units(self, units: Sequence[Unit]) -> None:
        """Remove rows as if the units had never been seen, but not those of graded ones."""

    def note_rules(self, graded: Sequence[tuple[Unit, str]]) -> None:
        """Note for graded units by which version of the rules their grades are now."""

    def pass_over(self, unit: Unit, reason: SkipReason) -> None:
        """Note that a unit has no grade any more: that of its session comes from another one."""

    def pass_over_session(self, session_id: str, reason: SkipReason) -> None:
        """Note the same of the unit that a session was graded from."""

    def compare_again(self, session_id: str, *, but: Unit, now: datetime) -> None:
        """Have the units looked at again in which a session was passed over, but for one."""

    def file_counts(self) -> dict[str, int]:
        """Files by state."""

    def skip_counts(self) -> dict[str, int]:
        """Skipped files by reason."""

    def last_grade(self, *, live: bool) -> LastGrade | None:
        """Return the grade made last; `live`: that of a file written, and then graded for the first time, as it ran."""

    def live_lags(self) -> list[LagSpan]:
        """Return how long after their last write files were graded that were written while it ran, shortest first."""

    def troubled_entries(self, *, limit: int | None = None) -> list[LedgerEntry]:
        """Files that could not be graded, newest first."""


class Rivals(Protocol):
    """Identities of graded sessions that may be the same as another one."""

    def standing(self, session_id: str) -> Identity | None:
        """Return the session of this id; None if it has no grade of ours."""

    def related(self, new: Sequence[Identity]) -> frozenset[str]:
        """Return the ids of those that have a grade, share something with one, or were found in a unit that has none.

        What they share is a chain, a conversation or the first call.
        """

    def of(self, new: Identity) -> list[Identity]:
        """Return the other sessions that can beat `new` or be beaten by it."""


class Repeats(Protocol):
    """Sessions of one request, in the order in which they ended."""

    def shared(self, places: Sequence[Place]) -> list[Place]:
        """Return those of some places whose request another session shares."""

    def around(self, place: Place, *, reach: int) -> Stretch:
        """Return the sessions of its request around a place: at most `reach` before it, one more at and behind it."""

    def note(self, changes: Sequence[tuple[str, str | None]]) -> None:
        """Write for some sessions in which other one the same was asked for again; call it inside a transaction."""


class ChangeFeed(Protocol):
    """What changed, in one order: a row for each thing, which moves to the end when it changes again."""

    def note(self, kind: ChangeKind, subjects: Iterable[str]) -> None:
        """Note that these changed; call it inside the transaction that changes them."""

    def after(self, seq: int, limit: int) -> list[Change]:
        """Return what changed behind a place in the order, the first changes first."""

    def newest(self) -> int:
        """Number the newest change; 0 before anything changed."""

    def months(self, after: int = 0) -> dict[str, MonthMark]:
        """Return a mark for each month (UTC, as in 2026-11) in which graded sessions ended, the first month first.

        Of the changes, only those behind a place in the order are looked at, which spares going through all of them.
        """

    def position(self, follower: str) -> int:
        """Return how far a follower has read that keeps its place here; 0 before it read anything."""

    def advance(self, follower: str, seq: int) -> None:
        """Keep the place of a follower, which never goes back; call it inside a transaction."""


class ObservedVersions(Protocol):
    """Versions of skills and configuration files as they were seen on disk."""

    def save(self, versions: Iterable[ObservedVersion]) -> None:
        """Keep versions; of one that is kept, by path and when it was first seen, when it was last seen, and gone."""

    def versions(self, since: datetime | None = None) -> list[ObservedVersion]:
        """Return the versions that were seen since a moment, by default all, in the order in which they came."""

    def forget(self, path: str, *, keep: int) -> None:
        """Forget the versions of one path but for the newest `keep`, at least one."""


class FeedbackLog(Protocol):
    """What people said of sessions: added, never changed."""

    def add(self, given: Feedback) -> Feedback:
        """Keep what was said of a grade; returns it with its number. Call it inside a transaction."""

    def newest_number(self) -> int:
        """Number what was said last; 0 before anybody said anything."""

    def said(self, session_ids: Sequence[str] | None = None) -> list[Feedback]:
        """Return all that was ever said of some sessions, or of any, in order."""

    def said_after(self, number: int, limit: int) -> list[Feedback]:
        """Return what was said after a number, in order."""

    def said_of_reviewed(self, since: datetime) -> list[Feedback]:
        """Return all that was ever said of sessions that were judged in a review since then, in order."""

    def judged(self, session_ids: Sequence[str] | None = None) -> list[JudgedSession]:
        """Return the sessions, of some or of all, that have a grade and of which anything was ever said."""

    def finished(self, *, since: datetime | None, limit: int) -> list[Candidate]:
        """Return the newest finished sessions with scores that ended since then, or ever."""

    def judged_requests(self) -> frozenset[int]:
        """Return the digests of what was asked for in the sessions that were ever judged."""
