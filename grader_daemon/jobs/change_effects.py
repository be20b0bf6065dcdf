"""What changed in how agents are set up, and how their work went before and since, of what the database holds."""

from __future__ import annotations

from datetime import datetime

from grader_daemon.domain.calendar import beginning
from grader_daemon.domain.routing import MOST_SESSIONS, FinishedSession
from grader_daemon.domain.setup_changes import WINDOW, SetupChange, SetupChanges
from grader_daemon.patterns.setup_effects import effects
from grader_daemon.patterns.takeovers import SHOWN, file_changes, shown_changes, unsteady
from grader_daemon.patterns.votes import comparable_value, fairly_judged
from grader_daemon.pipeline.labels import labels
from grader_daemon.storage.protocol import Store


def setup_changes(store: Store, *, since: datetime, until: datetime) -> SetupChanges:
    """Return all changes from `since` to `until`, the newest first, each with its effect."""
    sessions = _sessions(store, since, until)
    changes = _changes(store, sessions, until)
    value = comparable_value(sessions, fairly_judged(labels(store)))
    return SetupChanges(
        since=since,
        sessions=len(sessions),
        known={kind: sum(source.value(session) is not None for session in sessions) for kind, source in SHOWN.items()},
        effects=tuple(effects(changes, sessions, value, since=since)[::-1]),
        unsteady=tuple(unsteady(sessions)),
    )


def changes_between(store: Store, since: datetime, until: datetime) -> list[SetupChange]:
    """Return all changes from `since` to `until`, in order, without their effects."""
    return [change for change in _changes(store, _sessions(store, since, until), until) if change.at >= since]


def _sessions(store: Store, since: datetime, until: datetime) -> list[FinishedSession]:
    """Read the sessions that changes since then are seen by, and compared with."""
    return store.grades.finished_tasks(since=beginning(WINDOW, since, None), until=until, limit=MOST_SESSIONS)[::-1]


def _changes(store: Store, sessions: list[FinishedSession], until: datetime) -> list[SetupChange]:
    found = [*shown_changes(sessions), *file_changes(store.observed.versions())]
    return sorted((change for change in found if change.at < until), key=lambda change: change.at)
