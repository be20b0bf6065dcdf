"""Calibration: what people's labels and sessions teach, looked at once a week, and the record of who decides.

All of it is in the rows of `calibrations`: a daemon that runs takes up the newest that was adopted, whoever wrote it.
Nothing is written but one row at the end, in one transaction, so a crash or a second calibration at the same time loses
nothing and adopts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from grader_daemon.calibration.training import TrainingContext, is_due, policy_record, train
from grader_daemon.domain.calibration import Calibration
from grader_daemon.domain.rollup import Metric
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.pipeline.labels import labels
from grader_daemon.storage.protocol import Store

_SECONDS_A_DAY = 86400
_HISTORY = 2000
"""So many of the newest finished sessions say what is ordinary."""


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

    def run(self, now: datetime) -> bool:
        """Record who decides, if that changed, and learn from new labels and sessions.

        Returns:
            whether anything was recorded.
        """
        is_news = self._calibrator.note_policy(now) is not None
        if self._is_settled() and self._calibrator.is_due(now):
            if self._calibrator.calibrate(now).adopted:
                self._on_adopted()
            return True
        return is_news


class Calibrator:
    """Learns from the labels in a database."""

    def __init__(self, store: Store, context: TrainingContext, *, discrepancy: float) -> None:
        """From `discrepancy` on, a scorer of quality and the grader do not agree."""
        self._store = store
        self._context = context
        self._discrepancy = discrepancy

    def note_policy(self, now: datetime) -> Calibration | None:
        """Record the policy in force if the newest record tells of another, or of another setting."""
        with self._store.transaction():
            standing = self._store.calibrations.adopted()
            record = policy_record(standing, self._context, now)
            return None if record is None else self._keep(standing, record)

    def is_due(self, now: datetime) -> bool:
        """Are there labels or sessions that no calibration has seen, and was the last one long enough ago?"""
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
        """Write a record. What is normal for completion is learned anew where other verdicts are given from now on."""
        policies = [each.completion_policy for each in (standing, record) if each is not None]
        is_other = len({policy.version for policy in policies}) > 1 or standing is None
        if record.adopted and is_other and any(policy.by is VerdictBy.MODEL for policy in policies):
            self._store.alerts.forget(Metric.COMPLETION_RATE)
        return self._store.calibrations.add(record)
