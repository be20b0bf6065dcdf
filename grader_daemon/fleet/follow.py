"""Following a fleet: its copy is kept up to date, and one of those who watch it raises its alerts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import structlog

from grader_daemon import bootstrap
from grader_daemon.bootstrap import periodic
from grader_daemon.cli.following import pauses as retry_pauses
from grader_daemon.domain.fleet_hosts import is_unwatched
from grader_daemon.errors import DeliveryError, GraderError, StoreBusyError, StoreReplacedError
from grader_daemon.fleet.copy_settings import make_fleet_copy
from grader_daemon.jobs import Job
from grader_daemon.rules import load_rules
from grader_daemon.storage.sqlite.store import SqliteStore
from grader_daemon.wings import part

if TYPE_CHECKING:
    from grader_daemon.fleet.copy_job import FleetCopy
    from grader_daemon.settings import Settings

_LOOKS_EVERY_SECONDS: Final = 2.0
_TELLS_EVERY_SECONDS: Final = 3600.0
_FIRST_TELLS_AFTER_SECONDS: Final = 60.0
"""The first round of whoever leads has ended by then."""
_LAG: Final = timedelta(hours=1)
"""So long after it ended is a session of a fleet taken up: machines sleep, and networks are cut for a while."""


def follow_fleet(settings: Settings, stop: threading.Event) -> None:
    """Keep the copy of a fleet, whose settings these are, up to date until `stop`, whatever goes wrong; that is logged.

    A copy that was deleted is made anew.
    """
    pauses = retry_pauses()
    while not stop.is_set():
        try:
            with closing(bootstrap.open_store(settings)) as store, closing(make_fleet_copy(settings, store)) as copy:
                _Follower(copy, (), job_seconds=settings.job_seconds).run(stop)
        except StoreReplacedError:
            pauses = retry_pauses()
        except GraderError as error:
            pause = next(pauses)
            structlog.get_logger().warning("fleet.away", error=str(error), retry_seconds=pause)
            stop.wait(pause)


def watch_fleet(settings: Settings, stop: threading.Event) -> None:
    """Follow, and raise alerts, tell of them and write reports while nobody else does.

    A copy that was deleted is made anew.

    Raises:
        CallError, StoreError: it cannot be helped by waiting.
    """
    while not stop.is_set():
        with suppress(StoreReplacedError), closing(bootstrap.open_store(settings)) as store:
            jobs = _jobs(settings, store)
            with closing(make_fleet_copy(settings, store)) as copy:
                _Follower(copy, jobs, job_seconds=settings.job_seconds).run(stop)


def _jobs(settings: Settings, store: SqliteStore) -> list[Job]:
    """Return what whoever watches does with the copy: alerts, their receivers, and weekly reports."""
    from grader_daemon.jobs.degradation import DegradationWatch
    from grader_daemon.jobs.delivery import Delivery
    from grader_daemon.jobs.weekly import ReportJob

    receivers = periodic.make_receivers(settings)
    watch = DegradationWatch(
        store,
        load_rules(settings.rules_file).alerts,
        channels=tuple(receivers),
        zone=settings.zone,
        settled_after=_LAG,
        is_settled=lambda: True,
        changes=partial(part("changes"), store),
    )
    reports = ReportJob(periodic.make_reports(settings, store), is_settled=lambda: True)
    return [watch, Delivery(store, receivers, clock=bootstrap.utc_now), reports]


class _Follower:
    """Reads when a host has sent something; the jobs run every `job_seconds`, with all that was read before."""

    def __init__(self, copy: FleetCopy, jobs: Sequence[Job], *, job_seconds: float) -> None:
        self._copy = copy
        self._jobs = jobs
        self._job_seconds = job_seconds
        self._jobs_at = 0.0
        self._leads: bool | None = None
        self._told_at = monotonic() + _FIRST_TELLS_AFTER_SECONDS
        self._log = structlog.get_logger()

    def run(self, stop: threading.Event) -> None:
        pauses = retry_pauses()
        while not stop.is_set():
            try:
                self._follow(stop)
                pauses = retry_pauses()
                self._copy.rows.wait(_LOOKS_EVERY_SECONDS)
            except DeliveryError as error:
                pause = next(pauses)
                self._leads = None
                self._log.warning("fleet.away", error=str(error), retry_seconds=pause)
                stop.wait(pause)

    def _follow(self, stop: threading.Event) -> None:
        try:
            for _ in self._copy.catch_up(bootstrap.utc_now):
                if stop.is_set():
                    return
                if self._leads:  # of much to read nobody must think that it ended
                    self._copy.rows.leads()
        except StoreBusyError:  # another program reads into this copy
            return
        self._tell_what_cannot_be_read()
        if self._jobs and self._is_leader() and monotonic() >= self._jobs_at:
            self._jobs_at = monotonic() + self._job_seconds
            with self._copy.deciding():
                for job in self._jobs:
                    self._do(job)
            self._copy.rows.note_work()
        self._tell_if_unwatched()

    def _tell_what_cannot_be_read(self) -> None:
        told, self._copy.told = self._copy.told, None
        if told is not None:
            self._log.warning("fleet.decisions_unreadable", error=told)

    def _tell_if_unwatched(self) -> None:
        """Warn, once an hour, where nobody came to an end with watching."""
        if monotonic() >= self._told_at:
            self._told_at = monotonic() + _TELLS_EVERY_SECONDS
            watch = self._copy.rows.watch()
            if is_unwatched(watch, bootstrap.utc_now()):
                self._log.warning("fleet.unwatched", member=watch.member, last_at=watch.worked_at)

    def _is_leader(self) -> bool:
        leads = self._copy.rows.leads()
        if leads is not self._leads:
            self._leads = leads
            if leads:
                self._log.info("fleet.watching")
            else:
                self._log.info("fleet.standing_by")
        return leads

    def _do(self, job: Job) -> None:
        try:
            job.run(bootstrap.utc_now())
        except DeliveryError:
            raise
        except GraderError as error:
            self._log.error("job.failed", job=job.name, error=str(error), retry_seconds=self._job_seconds)
