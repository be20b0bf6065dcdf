"""What is kept of many sessions: sums, issues, reports, alerts, and what is told outside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from grader_daemon.domain.alert import Alert, Observation, Stream
from grader_daemon.domain.analysis import Category, ErrorSign
from grader_daemon.domain.calendar import Span
from grader_daemon.domain.calibration import Calibration
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.counting import Changes
from grader_daemon.domain.insight import Coverage, Example, FromPeople, IssueRow, StepCount, ToolStep
from grader_daemon.domain.quality import CheckOutcome, QualityCheck
from grader_daemon.domain.rollup import Dimension, Metric, Sums
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.storage.records import (
    OutboxMessage,
    Position,
    StoredReport,
)


class Rollups(Protocol):
    """Sums by day and group."""

    def apply(self, changes: Changes) -> None:
        """Add what grades changed; call it inside the transaction that saves them."""

    def groups(self, span: Span, dimensions: Collection[Dimension]) -> dict[tuple[Dimension, str], Sums]:
        """Sum each group of some dimensions over the days of a span."""

    def group(self, dimension: Dimension, name: str, span: Span) -> Sums:
        """Sum one group over the days of a span."""

    def days(self, span: Span, dimension: Dimension = Dimension.OVERALL, name: str = "") -> dict[date, Sums]:
        """Sum one group on each day of a span, in order, by default all sessions; days without any are left out."""

    def names(self, dimension: Dimension) -> list[str]:
        """Name the groups of a dimension that have finished sessions, those with most sessions first."""

    def tool_steps(self, span: Span) -> list[ToolStep]:
        """Sum what was tried next after failures of each tool, over the days of a span."""

    def days_with_sessions(self) -> list[date]:
        """Days on which finished sessions ended, answered or not, in order."""

    def revisions(self) -> dict[date, int]:
        """Return how often something changed on each day."""


class Signs(Protocol):
    """What error issues look like."""

    def save_signs(self, signs: Sequence[ErrorSign]) -> None:
        """Keep what issues look like; the first example stays."""


class Issues(Signs, Protocol):
    """Error issues: what failures have in common."""

    def signs(self, fingerprints: Collection[str]) -> list[ErrorSign]:
        """Return what those of these issues look like that are known, in order of their fingerprints."""

    def seen(self, span: Span) -> list[str]:
        """Fingerprints of the issues that occurred in a span, those in most sessions first."""

    def find(self, prefix: str) -> str:
        """Return the one fingerprint that is, or begins with, `prefix` (its version may be left out).

        Raises:
            InputError: none or several do.
        """

    def issue(self, fingerprint: str, span: Span, *, until: datetime) -> IssueRow | None:
        """Return an issue with its counts of a span; None when it did not occur then.

        `days` are all up to the end of the span; `last_seen` and `latest` regard sessions up to its end, which is
        before `until` whatever zone they were graded in. `named` is of its newest failures, no
        more than a list may read.
        """

    def tool_steps(self, span: Span, *, tool: str, category: Category, command: str | None) -> list[ToolStep]:
        """Sum what was tried next after failures of a tool for a cause, over the days of a span.

        `command` leaves out the failures of other commands, without it all count; those that belong to no issue do not.
        """

    def of_task_type(self, task_type: str, span: Span, limit: int) -> list[str]:
        """Fingerprints of the issues that sessions of a task type had in a span, those in most of them first."""

    def where_helped(self, fingerprint: str, task_type: str, step: StepCount, limit: int) -> tuple[str, ...]:
        """Return the last finished sessions of a task type in which an issue was recovered after a step."""

    def daily(self, fingerprints: Collection[str], span: Span) -> dict[str, dict[date, int]]:
        """Count the failures of issues on the days of a span; days and issues without any are left out."""

    def mark(self, fingerprint: str, *, resolved_at: datetime | None, ignored_at: datetime | None) -> None:
        """Note what a person said of an issue; None takes it back."""


class Reports(Protocol):
    """The weekly reports, and what else one needs to know that no sum holds."""

    def save(self, week: Span, content: str, *, basis: int, now: datetime) -> None:
        """Write the report of a week, in place of an earlier one."""

    def report(self, monday: date) -> StoredReport | None:
        """Return the report of the week that begins on `monday`; None when there is none that we made."""

    def kept(self, before: date, limit: int) -> list[str]:
        """Return the newest reports of weeks that began before a day, the newest first."""

    def bases(self) -> dict[date, int]:
        """Return what each report was made of, by the Monday of its week."""

    def installed_at(self) -> datetime | None:
        """Return the moment at which this program first used the database."""

    def note_basis(self, monday: date, basis: int) -> None:
        """Note that a report, made of other revisions, would say what it says."""

    def coverage(self, *, graded: int, open_sessions: int, since: datetime, until: datetime) -> Coverage:
        """Count the files that were written last from `since` until before `until` and have no grade, by why."""

    def from_people(self, span: Span) -> FromPeople:
        """Count what people said of the scored sessions of a span that are finished, and what was asked for again."""

    def verdicts(self, span: Span) -> VerdictCounts:
        """Count the verdicts on the tasks of people that finished in a span."""

    def examples(self, why: Example, span: Span) -> tuple[str, ...]:
        """Return up to three scored sessions that finished in a span and show `why`, those with most failures first."""


class AlertLog(Protocol):
    """The alerts."""

    def add(self, alert: Alert) -> Alert:
        """Keep a new alert; returns it with its number."""

    def replace(self, alert: Alert) -> None:
        """Keep what became of an alert."""

    def open(self) -> list[Alert]:
        """Alerts that are not resolved, the newest first."""

    def latest(self, limit: int) -> list[Alert]:
        """Return the newest alerts, open or not."""

    def between(self, since: datetime, until: datetime) -> list[Alert]:
        """Alerts that were open at some time from `since` until before `until`, the oldest first."""

    def find(self, number: int) -> Alert:
        """Return one alert.

        Raises:
            InputError: there is none of this number.
        """


class AlertWatch(Protocol):
    """How far the watch on degradation has read, and the state of its detectors."""

    def streams(self) -> dict[Stream, bytes]:
        """The state of each detector, as JSON, but for those of metrics that only another version knows."""

    def save_streams(self, states: Mapping[Stream, bytes], *, gone: Collection[Stream]) -> None:
        """Keep the state of detectors, and forget those of `gone`."""

    def forget(self, metric: Metric) -> None:
        """Have the detectors of a metric begin anew, because it is measured in another way from now on."""

    def position(self) -> Position | None:
        """Return how far the watch has read; None before it began."""

    def watched_from(self) -> datetime | None:
        """When the watch began; None before it began, and where that was not noted."""

    def begin(self, position: Position, *, now: datetime) -> None:
        """Note that the watch begins now, and reads from a position on."""

    def last_watched(self, until: datetime) -> Position | None:
        """Return the newest session that the watch has seen, of those that ended up to `until`."""

    def advance(self, position: Position, seen: Sequence[Observation]) -> None:
        """Note how far the watch has read, and which sessions it saw: one that is resumed does not count again."""

    def unseen(self, after: Position, *, until: datetime, limit: int) -> list[Observation]:
        """Return finished sessions with scores that ended after a position and not after `until`, in order.

        These are tasks of persons and runs that a schedule began. Those seen before are left out.
        """

    def ended(self, *, since: datetime, until: datetime, limit: int, scheduled: bool = False) -> list[Observation]:
        """Return the newest finished sessions with scores that ended from `since` until before `until`, in order.

        Tasks of persons, or `scheduled` runs.
        """


class Silences(Protocol):
    """Streams of which nothing is told for a while."""

    def silence(self, streams: Sequence[Stream], until: datetime) -> None:
        """Note that nothing is told of these streams until then."""

    def unsilence(self, streams: Sequence[Stream]) -> None:
        """Note that these streams are told of again."""

    def silenced(self, now: datetime) -> dict[Stream, datetime]:
        """Streams of which nothing is told, and until when."""


class Alerts(AlertLog, AlertWatch, Silences, Protocol):
    """Alerts, the watch that raises them, and silences."""


class Outbox(Protocol):
    """Messages that wait for their receivers."""

    def put(self, *, kind: str, subject: str, event: str, channel: str, payload: str, now: datetime) -> None:
        """Keep a message; call it inside the transaction that makes it true."""

    def next(self, channel: str) -> OutboxMessage | None:
        """Return the oldest message of a channel that is not delivered; those after it wait for it.

        One that was tried many times stands back: it may be a message that its receiver will never take.
        """

    def waiting(self, channels: Iterable[str]) -> int:
        """Count how many messages of these channels are not delivered."""

    def delivered(self, number: int, now: datetime) -> None:
        """Note that a message arrived."""

    def failed(self, number: int, error: str, *, again_at: datetime) -> None:
        """Note why a message did not arrive, and when to try again."""

    def forget_delivered(self, before: datetime) -> None:
        """Delete messages that were delivered before `before`."""


class Calibrations(Protocol):
    """What was learned from labels: added, never changed."""

    def add(self, made: Calibration) -> Calibration:
        """Keep a calibration; returns it with its number. Call it inside a transaction."""

    def newest_number(self) -> int:
        """Number the newest that was adopted, readable or not; 0 without any. Costs a few microseconds."""

    def adopted(self) -> Calibration | None:
        """Return the newest that was adopted."""

    def last_look(self) -> Calibration | None:
        """Return the newest that looked at labels or sessions, adopted or not."""

    def latest(self, limit: int) -> list[Calibration]:
        """Return the newest, adopted or not, the newest first."""

    def history(self, limit: int) -> list[tuple[float, ...]]:
        """Return the features of the newest finished sessions."""

    def finished(self, limit: int) -> int:
        """Count finished sessions whose features are known; no farther than to `limit`."""

    def model(self, version: str) -> CompletionModel | None:
        """Return the model of this version, if one of the calibrations made or used it."""


class ArchiveProgress(Protocol):
    """Which objects of archives were graded, by 64-bit digests of their names and versions."""

    def those_done(self, digests: Sequence[int]) -> set[int]:
        """Return those of them that were."""

    def note(self, digests: Sequence[int]) -> None:
        """Note that they are done; it is a transaction of its own."""


class QualityChecks(Protocol):
    """Calls of scorers outside and their answers."""

    def begin(
        self, session_id: str, *, scorer: str, digest: str | None, ours: int, now: datetime, budgeted: bool
    ) -> int:
        """Note that a scorer is about to be called; returns the number of the check."""

    def answered(self, number: int, quality: float) -> None:
        """Keep an answer, and how far it lies from ours."""

    def failed(self, number: int, error: str, outcome: CheckOutcome) -> None:
        """Keep why there is no answer."""

    def calls(self, since: datetime, until: datetime) -> int:
        """Count how many calls that have a budget began at or after `since` and before `until`."""

    def sample(self, scorer: str, *, since: datetime, until: datetime, limit: int) -> dict[str, str | None]:
        """Draw finished sessions with scores that ended from `since` until before `until`, each as likely as any other.

        Gives the digests of the files that they were graded from, by their ids, in the order of the draw. Left out are
        those of which this scorer has said something, or nothing of use, as they are now.
        """

    def disagreeing(self, *, by: float = 1.5, limit: int | None = None) -> list[str]:
        """Name the sessions whose last answer lies `by` or more from the quality they have now, newest answer first.

        Left out are those of which a person has said something, and those that went on since.
        """

    def settled(self, *, since: int, by: float) -> int:
        """Count the sessions on whose completion people said something after feedback number `since`.

        Only those count of which an answer lay `by` or more from our quality, and what was not taken back.
        """

    def of_session(self, session_id: str) -> QualityCheck | None:
        """Return the last answer about a session, or else the last call that had none."""

    def latest(self, scorer: str, limit: int) -> list[QualityCheck]:
        """Return the last calls of a scorer that ended, the newest first."""

    def check(self, number: int) -> QualityCheck:
        """Return one check by the number that `begin` gave."""
