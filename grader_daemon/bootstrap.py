"""The composition root: settings in, working parts out. The only module that reads the wall clock.

What only grading needs is imported where it is made: it costs as much time as everything that reading grades does.
"""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from grader_daemon.settings import Settings
from grader_daemon.storage import Store

if TYPE_CHECKING:
    from grader_daemon.pipeline.examine import Examiner
    from grader_daemon.pipeline.ingest import Ingest


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  the one place


def make_examiner(settings: Settings) -> Examiner:
    """Rules, analyzer and grader; no database.

    Raises:
        ConfigurationError: the rules file is wrong.
    """
    from grader_daemon.pipeline.examine import Examiner
    from grader_daemon.rules import load_rules

    return Examiner(
        load_rules(settings.rules_file),
        zone=settings.zone,
        idle=timedelta(minutes=settings.idle_minutes),
        max_bytes=settings.max_file_bytes,
    )


def open_store(settings: Settings, *, read_only: bool = False) -> Store:
    """Open the database that the settings name.

    Raises:
        StoreError: it cannot be used.
    """
    return Store(settings.db_path, host=socket.gethostname(), read_only=read_only)


def make_ingest(settings: Settings, store: Store) -> Ingest:
    """Everything between a path and its row.

    Raises:
        ConfigurationError: the rules file is wrong.
    """
    from grader_daemon.pipeline.ingest import Ingest
    from grader_daemon.pipeline.record import Recorder

    pauses = tuple(timedelta(seconds=seconds) for seconds in settings.retry_seconds)
    return Ingest(
        examiner=make_examiner(settings), recorder=Recorder(store, retry_pauses=pauses), store=store, clock=utc_now
    )
