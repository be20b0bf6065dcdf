"""The wing's answer to who judges the quality of answers; see `api.parts.Scorers`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from grader_daemon.bootstrap import Clock, make_sources, open_store, utc_now
from grader_daemon.bootstrap.periodic import GRADING_MARGIN
from grader_daemon.domain.quality import QualityScorer
from grader_daemon.jobs import Job
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.scorers.job import Checker
    from grader_daemon.settings import Settings


class Scorers:
    """The scorer that the settings name, and what keeps its answers."""

    @staticmethod
    def of(settings: Settings) -> QualityScorer | None:
        """Return the scorer that is set, whether the daemon asks it or not; None without one."""
        if settings.quality_judge_url is not None:
            from grader_daemon.scorers.judge import JudgeScorer

            key = settings.quality_judge_key
            return JudgeScorer(
                settings.quality_judge_url,
                model=settings.quality_judge_model or "",
                key=None if key is None else key.get_secret_value(),
                timeout_seconds=settings.quality_timeout_seconds,
                most_characters=settings.quality_judge_characters,
            )
        if settings.quality_command:
            from grader_daemon.scorers.command import CommandScorer

            return CommandScorer(settings.quality_command, timeout_seconds=settings.quality_timeout_seconds)
        return None

    @staticmethod
    def checker(settings: Settings, store: SqliteStore, scorer: QualityScorer, *, clock: Clock) -> Checker:
        """Return everything between a grade and what a scorer says of it."""
        from grader_daemon.scorers.job import LARGEST_BYTES, Checker

        return Checker(
            store,
            scorer,
            discrepancy=settings.quality_discrepancy,
            sources=make_sources(settings, most_bytes=LARGEST_BYTES),
            settled_after=timedelta(minutes=settings.idle_minutes) + GRADING_MARGIN,
            clock=clock,
        )


def own_jobs(settings: Settings) -> Iterator[tuple[str, SqliteStore, list[Job]]]:
    """Yield the job that asks the scorer as often a day as is set, with a store of its own; none without one."""
    scorer = None if settings.scorer_setting is None else Scorers.of(settings)
    if scorer is None:
        return
    from grader_daemon.scorers.job import QualityJob

    store = open_store(settings)
    checker = Scorers.checker(settings, store, scorer, clock=utc_now)
    yield (
        "scorer",
        store,
        [QualityJob(store, checker, calls_per_day=settings.quality_checks_per_day, zone=settings.zone)],
    )
