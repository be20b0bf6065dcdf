"""The thread of the periodic jobs. It has a database connection of its own, so grading never waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog

from grader_daemon.daemon.health import Pulse
from grader_daemon.errors import GraderError, StoreError, StoreReplacedError
from grader_daemon.jobs import Job
from grader_daemon.storage.sqlite.store import SqliteStore

_LONGEST_JOB_SECONDS = 900.0
"""The watch on degradation may have a year of sessions to look at."""

PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240))
"""Pauses after the first failure, the second, and so on; the last one for all that follow."""


class Scheduler:
    """Asks each job in turn, every `interval_seconds`, whether something is missing. A failing one stops no other."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        store: SqliteStore,
        clock: Callable[[], datetime],
        interval_seconds: float,
        pulse: Pulse,
    ) -> None:
        """`store` belongs to the scheduler, which closes it; `pulse` beats while the thread moves, and names it."""
        self._jobs = jobs
        self._store = store
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._pulse = pulse
        self._log = structlog.get_logger()
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=pulse.name, daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def wake(self) -> None:
        """Ask the jobs now, not only when the interval is over; called from any thread."""
        self._woken.set()

    def request_stop(self) -> None:
        """Begin no other job."""
        self._stopping.set()
        self.wake()

    def stop(self, within_seconds: float) -> bool:
        """Finish the job that runs; False if that takes longer than `within_seconds`."""
        self.request_stop()
        if self._thread.ident is None:
            self._store.close()
            return True
        self._thread.join(within_seconds)
        return not self._thread.is_alive()

    def run_once(self) -> None:
        """Run each job that may run, in the thread that calls."""
        for job in self._jobs:
            if self._stopping.is_set():
                return
            self._pulse.beat(next_within_seconds=_LONGEST_JOB_SECONDS)
            try:
                self._run_job(job)
            except StoreReplacedError:
                return  # the service tells it, and opens the database again
            except StoreError as error:
                self._log.error("store.failed", error=str(error), retry_seconds=self._interval_seconds)
            except Exception:  # noqa: BLE001  whatever it was, the other jobs go on
                self._log.exception("job.crashed", job=job.name)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.run_once()
            self._pulse.beat(next_within_seconds=self._interval_seconds)
            self._woken.wait(self._interval_seconds)
            self._woken.clear()
        self._store.close()

    def _run_job(self, job: Job) -> None:
        started_at = self._clock()
        history = self._store.job_runs.history(job.name)
        if not may_run(failures=history.failures, ended_at=history.ended_at, now=started_at):
            return
        failures = history.failures + 1
        trouble = {"job": job.name, "failures": failures, "retry_seconds": pause_after(failures).total_seconds()}
        try:
            did = job.run(started_at)
        except GraderError as error:
            self._log.error("job.failed", error=str(error), **trouble)
            self._save(job, started_at, str(error))
        except Exception as error:  # noqa: BLE001  a bug of ours: told with its traceback, the other jobs go on
            self._log.exception("job.crashed", **trouble)
            self._save(job, started_at, f"{type(error).__name__}: {error}")
        else:
            if did or history.failures:
                self._save(job, started_at, None)

    def _save(self, job: Job, started_at: datetime, error: str | None) -> None:
        with self._store.transaction():
            self._store.job_runs.save(job.name, started_at=started_at, finished_at=self._clock(), error=error)


def may_run(*, failures: int, ended_at: datetime | None, now: datetime) -> bool:
    """Return whether a job may run that failed `failures` times in a row, the last time at `ended_at`.

    A clock that went back does not stop it: what ended in the future ended long ago.
    """
    if not failures or ended_at is None or ended_at > now:
        return True
    return now - ended_at >= pause_after(failures)


def pause_after(failures: int) -> timedelta:
    """Return the pause after so many failures in a row, at least one."""
    return PAUSES[min(failures, len(PAUSES)) - 1]
