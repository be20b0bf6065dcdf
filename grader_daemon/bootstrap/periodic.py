"""Periodic jobs of the daemon, and the scorers and receivers that it asks and tells: put together from settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from grader_daemon.bootstrap import make_context, open_store, read_prior, read_trust, utc_now
from grader_daemon.wings import given_by_all, part

if TYPE_CHECKING:
    from grader_daemon.integrations.receivers import Receiver
    from grader_daemon.jobs import Job
    from grader_daemon.jobs.calibration_job import Calibrator
    from grader_daemon.jobs.weekly import WeeklyReports
    from grader_daemon.settings import Settings
    from grader_daemon.storage.sqlite.store import SqliteStore

GRADING_MARGIN = timedelta(minutes=2)
"""So long at most after it went idle is a session graded as cut short; the watch must not have passed it by then."""


def make_jobs(
    settings: Settings, *, is_settled: Callable[[], bool], on_adopted: Callable[[], None], on_news: Callable[[], None]
) -> Iterator[tuple[str, SqliteStore, list[Job]]]:
    """Return the periodic jobs, those that may wait for a receiver apart from the others: each list with its own store.

    `on_adopted` is called when another judge is in force, `on_news` when there is an alert to be sent.

    Raises:
        ConfigurationError: the rules file is wrong.
        StoreError: the database cannot be used.
    """
    from grader_daemon.jobs.calibration_job import CalibrationJob
    from grader_daemon.jobs.degradation import DegradationWatch
    from grader_daemon.jobs.weekly import ReportJob
    from grader_daemon.rules import load_rules

    receivers = make_receivers(settings)
    store = open_store(settings)
    watch = DegradationWatch(
        store,
        load_rules(settings.rules_file).alerts,
        channels=tuple(receivers),
        zone=settings.zone,
        settled_after=timedelta(minutes=settings.idle_minutes) + GRADING_MARGIN,
        is_settled=is_settled,
        changes=partial(part("changes"), store),
        on_news=on_news,
    )
    calibration = CalibrationJob(make_calibrator(settings, store), is_settled=is_settled, on_adopted=on_adopted)
    reports = ReportJob(make_reports(settings, store), is_settled=is_settled)
    jobs: list[Job] = [calibration, watch, reports]
    for make in given_by_all("jobs"):
        jobs += make(settings, store, is_settled=is_settled)
    yield "scheduler", store, jobs
    if receivers:
        from grader_daemon.jobs.delivery import Delivery

        delivering = open_store(settings)
        yield "delivery", delivering, [Delivery(delivering, receivers, clock=utc_now)]
    for make in given_by_all("own_jobs"):
        yield from make(settings)


def make_reports(settings: Settings, store: SqliteStore) -> WeeklyReports:
    """Return the maker of weekly reports."""
    from grader_daemon.jobs.weekly import WeeklyReports

    return WeeklyReports(
        store,
        zone=settings.zone,
        trust=partial(read_trust, settings, store),
        changes=partial(part("effects"), store),
        work=partial(part("outcomes"), store),
        skill_advice=partial(part("skill_advice"), settings, store),
    )


def make_calibrator(settings: Settings, store: SqliteStore) -> Calibrator:
    """Return the calibrator, which learns from the labels in `store`.

    Raises:
        ConfigurationError: the prior cannot be read.
    """
    from grader_daemon.jobs.calibration_job import Calibrator

    context = make_context(settings, read_prior(settings))
    return Calibrator(store, context, discrepancy=settings.quality_discrepancy, zone=settings.zone)


def make_receivers(settings: Settings) -> dict[str, Receiver]:
    """Return who is told of alerts, by channel; nobody unless it is set."""
    receivers: dict[str, Receiver] = {}
    if not settings.channels:
        return receivers
    from grader_daemon.integrations.receivers import Command, Webhook

    timeout = settings.alert_timeout_seconds
    if settings.alert_webhook_url is not None:
        secret = settings.alert_webhook_secret
        receivers["webhook"] = Webhook(
            settings.alert_webhook_url,
            secret=None if secret is None else secret.get_secret_value(),
            timeout_seconds=timeout,
            form=settings.alert_webhook_format,
        )
    if settings.alert_command:
        receivers["command"] = Command(settings.alert_command, timeout_seconds=timeout)
    return receivers
