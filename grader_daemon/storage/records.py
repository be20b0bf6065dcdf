"""Values that the store takes and gives, besides those of the domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from grader_daemon.domain.analysis import Category, ErrorSign, Subcategory
from grader_daemon.domain.claims import Support
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.ledger import BEHIND
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.domain.work_fate import WorkFate

PageKey = tuple[float | str, ...]
"""Where a page ended: what its last session is sorted by, its end and its id."""


class SortKey(StrEnum):
    """Keys that sessions can be sorted by; equals by their end, in the same direction.

    `WORST`: what was not done by proof, then what is the least likely done; last what a person or a reward judged.
    """

    ENDED = "ended"
    PROBABILITY = "probability"
    EFFICIENCY = "efficiency"
    QUALITY = "quality"
    ERRORS = "errors"
    CALLS = "calls"
    COST = "cost"
    WORST = "worst"


class GradeFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filter and order of a list of grades.

    `since` and `until` (exclusive) are about the end of sessions. Of several models any is meant. `tool` was used,
    `error` occurred, `claim` says that there is a claim of this support, `ending` and `standing` how it ended and how
    its result stands, `outcome` what became of its work in git, `job` the key of its scheduled job. `host` and `user`
    are of a fleet. `issue` is a whole fingerprint. `unsure` are the sessions of this outcome, `verdict` those of any
    (see `Outcome`). `text` are words, or beginnings of words, of what was asked for; all of them must be there. What is
    not known, a filter never finds, and sorting puts it last; but of the `kind` main are those too whose file does not
    say. `lowest_first` turns the order about. `before` goes on behind a page of the same filter.
    """

    since: datetime | None = None
    until: datetime | None = None
    state: str | None = None
    task_type: str | None = None
    agent: str | None = None
    model: str | tuple[str, ...] | None = None
    platform: str | None = None
    project: str | None = None
    kind: SessionKind | None = None
    host: str | None = None
    user: str | None = None
    completed: bool | None = None
    verdict_by: VerdictBy | None = None
    unsure: bool | None = None
    verdict: Outcome | None = None
    claim: Support | None = None
    ending: EndingKind | None = None
    standing: ResultStanding | None = None
    job: str | None = None
    outcome: WorkFate | None = None
    tool: str | None = None
    error: Category | Subcategory | None = None
    issue: str | None = None
    text: str | None = None
    sort: SortKey = SortKey.ENDED
    lowest_first: bool = False
    before: PageKey | None = None
    limit: int | None = None


class StoredGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A grade with its row id. Rows that the original program wrote have no details (`detailed` is False).

    `digest` is of its file. `loop_told` says that its loop risk was logged while it ran, `watched` that the watch on
    degradation has seen it.
    """

    id: int
    grade: Grade
    detailed: bool
    digest: str | None
    loop_told: bool
    watched: bool


class GradeColumns(msgspec.Struct, frozen=True, kw_only=True):
    """Grades as their columns hold them, for those who hand them on: times are text, lists and failures JSON.

    `columns` are by the fields of a grade, with `id`, of all grades in the same order; `fingerprints` of their errors.
    """

    columns: Mapping[str, Sequence[Any]]
    fingerprints: Collection[str]


class NewGrade(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A grade to be saved: with the identity of its session, the digest of its file and the signs of its failures.

    `loop_told` says that its loop risk was told to people when it is saved.
    """

    grade: Grade
    identity: Identity
    digest: str
    signs: tuple[ErrorSign, ...] = ()
    loop_told: bool = False


class FleetCopyState(msgspec.Struct, frozen=True, kw_only=True):
    """Fleet that a store is a copy of, when it had all, None: never yet, and which version of its decisions it has.

    `version` is that of the program that read it.
    `labels_at` is when the last label came in, by the clock of the fleet's database, that it has.
    """

    fleet: str
    version: str
    read_at: datetime | None = None
    decisions: int = 0
    labels_at: datetime | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some grades of a list; `next` is `GradeFilter.before` of the page behind it, None on the last."""

    grades: list[StoredGrade]
    next: PageKey | None


class ChangeKind(StrEnum):
    """Kind of change: a new or changed grade, a label, a withdrawn grade, or an alert."""

    GRADE = "grade"
    LABEL = "label"
    RETRACTION = "retraction"
    ALERT = "alert"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `seq` only grows; `subject` is the id of the session, or the number of the alert.

    For each subject only the last change of a kind is stored; the database has the present state.
    """

    seq: int
    kind: ChangeKind
    subject: str


class MonthMark(msgspec.Struct, frozen=True):
    """Mark of a month: `sessions` that ended in it, and the number of their last change: another one, if any changed.

    `seq` is 0 where none of the changes that were looked at is one of them.
    """

    sessions: int
    seq: int


WATCHED: Final = "watched"
AWAITED: Final = "not there yet"
"""Of a folder that need not be there: the agent makes it when it runs for the first time."""


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Last recorded status of the daemon. `watching` maps each folder to "watched", "not there yet", or the reason.

    `waiting_since` is the start of the longest wait of a file to be graded, None if none waits. `compared_at` is
    the end of the last comparison of all folders with the database in which no source failed; None if there was none
    since the start. `failures` counts failures since the start by source, caused by bugs in grader-daemon. `failing`
    names the sources that are unreliable at the moment.
    """

    pid: int
    started_at: datetime
    said_at: datetime
    backlog: int
    watching: dict[str, str]
    waiting_since: datetime | None = None
    compared_at: datetime | None = None
    failures: dict[str, int] = {}
    failing: tuple[str, ...] = ()

    @property
    def blind(self) -> dict[str, str]:
        """The folders of which no event tells though they should be there, each with the reason."""
        return {folder: how for folder, how in self.watching.items() if how not in (WATCHED, AWAITED)}

    @property
    def longest_wait(self) -> timedelta | None:
        """Wait of the oldest file when this was said, if it is longer than in a daemon that keeps up; else None."""
        waited = self.said_at - (self.waiting_since or self.said_at)
        return waited if waited >= BEHIND else None


class OutdatedUnit(NamedTuple):
    """A unit graded under other rules; the version of these and the number of its row tell its place among such."""

    rules_version: str
    row: int
    unit: Unit


class UngradedUnit(NamedTuple):
    """A unit without a grade; its time and the number of its row tell its place among those of its state.

    `reason`: why it was skipped. `graded_from`: from which unit its session is graded, if that is known and it is.
    """

    written_ns: int
    row: int
    unit: Unit
    reason: str | None
    graded_from: Unit | None


class LastGrade(NamedTuple):
    """Time at which a file was graded, and how many seconds that is after its last write."""

    session_id: str | None
    graded_at: datetime
    lag_seconds: float


class Position(msgspec.Struct, frozen=True):
    """Position of the watch: the session that it saw last."""

    ended_at: datetime
    session_id: str


class OutboxMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message to one receiver. `number` stays the same however often it is sent; `payload` is a JSON document.

    It is not to be sent before `next_at`.
    """

    number: int
    channel: str
    payload: str
    attempts: int
    next_at: datetime


class JobHistory(msgspec.Struct, frozen=True):
    """History of a job: `failures` in a row, and when it last ended. Times are None when it never ran."""

    ended_at: datetime | None = None
    failures: int = 0


class StoredReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report as it was written: its JSON, and the revisions of its days that it was made of."""

    content: str
    basis: int
