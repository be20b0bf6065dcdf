"""Calibration: what people's labels and sessions teach, looked at once a week, and the record of who decides.

All of it is in the rows of `calibrations`: a daemon that runs takes up the newest that was adopted, whoever wrote it.
Nothing is written but one row at the end, in one transaction, so a crash or a second calibration at the same time loses
nothing and adopts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec
import structlog

from grader_daemon.calibration.training import TrainingContext, is_due, policy_record, train
from grader_daemon.domain.calibration import Calibration, GraderChange
from grader_daemon.domain.rollup import Metric
from grader_daemon.pipeline.grader_changes import days_before, grader_changes
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.reports.verdicts import shares_words
from grader_daemon.storage.sqlite.store import SqliteStore

_SECONDS_A_DAY = 86400
_SETTLES_AFTER = timedelta(minutes=2)
"""A daemon takes up another grader within a minute; then all is queued to be graded again."""

_HISTORY = 2000
"""Number of the newest finished sessions that show what is ordinary."""


class CalibrationJob:
    """Looks at labels and sessions when there are new ones, and when nothing waits to be graded.

    Once a week at most; once a day where people settled what a scorer and the grader do not agree on.
    """

    name = "calibration"

    def __init__(
        self, calibrator: Calibrator, *, is_settled: Callable[[], bool], on_adopted: Callable[[], None] = lambda: None
    ) -> None:
        """`on_adopted` is called when another judge is in force."""
        self._calibrator = calibrator
        self._is_settled = is_settled
        self._on_adopted = on_adopted
        self._told = calibrator.newest_number()
        self._log = structlog.get_logger()

    def run(self, now: datetime) -> bool:
        """Record who decides, if that changed, and learn from new labels and sessions.

        Returns:
            whether anything was recorded.
        """
        is_news = self._calibrator.note_policy(now) is not None
        self._tell_change(now)
        if self._is_settled() and self._calibrator.is_due(now):
            if self._calibrator.calibrate(now).adopted:
                self._on_adopted()
            return True
        return is_news

    def _tell_change(self, now: datetime) -> None:
        """Log how the last days read by another grader, once all that waited has been graded by it."""
        change = self._calibrator.newest_change(now)
        if change is None or not self._is_settled() or self._calibrator.newest_number() <= self._told:
            return
        self._told = self._calibrator.newest_number()
        self._log.info(
            "calibration.applied",
            level="notice",
            labels=change.labels,
            why=change.why,
            before=shares_words(change.before),
            now=shares_words(change.now or change.before),
        )


class Calibrator:
    """Learns from the labels in a database."""

    def __init__(
        self, store: SqliteStore, context: TrainingContext, *, discrepancy: float, zone: tzinfo | None = UTC
    ) -> None:
        """Set it up. From `discrepancy` on, a scorer of quality and the grader disagree; days begin in `zone`."""
        self._zone = zone
        self._store = store
        self._context = context
        self._discrepancy = discrepancy

    def newest_number(self) -> int:
        """Number the newest calibration that was adopted."""
        return self._store.calibrations.newest_number()

    def newest_change(self, now: datetime) -> GraderChange | None:
        """Return the last change of the grader, if it is a few minutes old at least, and a day at most."""
        recent = grader_changes(self._store, since=now - timedelta(days=1), zone=self._zone)
        return recent[0] if recent and recent[0].at <= now - _SETTLES_AFTER else None

    def note_policy(self, now: datetime) -> Calibration | None:
        """Record the policy in force if the newest record tells of another, or of another setting."""
        with self._store.transaction():
            standing = self._store.calibrations.adopted()
            record = policy_record(standing, self._context, now)
            return None if record is None else self._keep(standing, record)

    def is_due(self, now: datetime) -> bool:
        """Return whether labels or sessions are new since the last calibration, and it was long enough ago."""
        last = self._store.calibrations.last_look()
        seen = 0 if last is None else last.evidence.seen
        return is_due(
            last,
            newest=self._store.feedback.newest_number(),
            disputed=self._store.quality.settled(since=seen, by=self._discrepancy),
            sessions=self._store.calibrations.finished(_HISTORY),
            prior=self._context.prior,
            age_days=0.0 if last is None else (now - last.made_at).total_seconds() / _SECONDS_A_DAY,
        )

    def calibrate(self, now: datetime) -> Calibration:
        """Learn from all labels that stand, and adopt what is shown to be better.

        Returns:
            what was found; `evidence.why` says in a sentence what was decided. `number` is None if another calibration
            was adopted meanwhile: then nothing was recorded.
        """
        found, standing = self._look(now)
        with self._store.transaction():
            if self._store.calibrations.adopted() == standing:
                return self._keep(standing, found)
        return msgspec.structs.replace(found, adopted=False)

    def try_out(self, now: datetime) -> Calibration:
        """Return what `calibrate` would do; nothing is written."""
        return self._look(now)[0]

    def _look(self, now: datetime) -> tuple[Calibration, Calibration | None]:
        standing = self._store.calibrations.adopted()
        seen = self._store.feedback.newest_number()
        found = train(
            labels(self._store),
            standing,
            self._context,
            history=self._store.calibrations.history(_HISTORY),
            now=now,
            seen=seen,
        )
        return found, standing

    def _keep(self, standing: Calibration | None, record: Calibration) -> Calibration:
        """Write a record. What is normal for endings is learned anew where other rules read them from now on."""
        policies = [each.completion_policy for each in (standing, record) if each is not None]
        has_other_rules = standing is not None and standing.evidence.rules_version != self._context.rules_version
        is_other = standing is None or has_other_rules or len({policy.version for policy in policies}) > 1
        if record.adopted and has_other_rules:
            self._store.alerts.forget(Metric.ENDED_BADLY)
        return self._store.calibrations.add(self._noted(record, is_news=is_other and standing is not None))

    def _noted(self, record: Calibration, *, is_news: bool) -> Calibration:
        """Note the rules, and how the grader before judged the last days: after it everything is graded again."""
        verdicts = None
        if record.adopted and is_news:
            verdicts = self._store.rollups.verdicts(days_before(record.made_at, self._zone))
        rules = self._context.rules_version
        evidence = msgspec.structs.replace(record.evidence, rules_version=rules, verdicts=verdicts)
        return msgspec.structs.replace(record, evidence=evidence)
