"""Changes to another model, or another verdict, while the daemon runs: whoever calibrates leaves a row in the database.

Only the worker's thread looks, so no file is examined while the examiner changes. That costs one row in ten seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

import structlog

from grader_daemon.daemon.backlog import Backlog
from grader_daemon.domain.calibration import Calibration
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.storage.sqlite.store import SqliteStore

_LOOK_SECONDS = 10.0


class ModelReload:
    """Hands the ingest another examiner, and the backlog work, when another policy came into force."""

    def __init__(
        self, *, store: SqliteStore, ingest: Ingest, backlog: Backlog, make_policy: Callable[[], CompletionPolicy]
    ) -> None:
        """`make_policy` gives the policy that is in force now.

        Raises:
            StoreError: the database cannot be read.
        """
        self._store = store
        self._ingest = ingest
        self._backlog = backlog
        self._make_policy = make_policy
        self._log = structlog.get_logger()
        self._seen = store.calibrations.newest_number()
        self._next_look = 0.0
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        """True if another policy was adopted that is not taken up yet."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Make the next `look` a real one; any thread may call it."""
        self._asked.set()

    def look(self) -> bool:
        """See whether anything was adopted since the last look, and take it up.

        Returns:
            whether everything is to be graded again.

        Raises:
            StoreError: the database cannot be read.
        """
        if monotonic() < self._next_look and not self.asked:
            return False
        self._next_look = monotonic() + _LOOK_SECONDS
        newest = self._store.calibrations.newest_number()
        adopted = self._store.calibrations.adopted() if newest != self._seen else None
        is_other = adopted is not None and (adopted.number or 0) > self._seen and self._take_up(adopted)
        self._seen = newest
        self._asked.clear()
        return is_other

    def _take_up(self, adopted: Calibration) -> bool:
        examiner = self._ingest.examiner.with_policy(self._make_policy())
        is_other = examiner.rules_version != self._ingest.examiner.rules_version
        if is_other:
            self._ingest.examiner = examiner
            self._backlog.begin_anew(examiner.rules_version)
        self._tell(adopted)
        return is_other

    def _tell(self, adopted: Calibration) -> None:
        gain = adopted.evidence.gain.value
        self._log.info(
            "calibration.updated",
            level="notice",
            before=adopted.evidence.before,
            now=adopted.completion_policy.version,
            policy=adopted.policy,
            labels=adopted.labels,
            better_by=None if gain is None else round(gain, 4),
            why=adopted.evidence.why,
        )
