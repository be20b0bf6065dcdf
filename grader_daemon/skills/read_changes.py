"""Changes in how agents are set up, and their work before and since, of what the database holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from grader_daemon.domain.calendar import beginning
from grader_daemon.domain.routing import MOST_SESSIONS, FinishedSession
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import WINDOW, SetupChange, SetupChanges, SetupEffect
from grader_daemon.patterns.votes import comparable_value, fairly_judged, nearly_all_judged
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.skills.setup_effects import by_labels, effects, settled
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.skills.takeovers import SHOWN, file_changes, shown_changes, unsteady
from grader_daemon.storage.sqlite.store import SqliteStore


def setup_changes(store: SqliteStore, since: datetime, until: datetime) -> SetupChanges:
    """Return all changes from `since` to `until`, the newest first, each with its effect.

    Runs that a schedule began are compared among themselves: they do other work than persons ask for.
    """
    sessions, runs = (_sessions(store, since, until, kind) for kind in (SessionKind.MAIN, SessionKind.CRON))
    fair = fairly_judged(labels(store))

    seen = [(_of_tasks(store, sessions), sessions), (_of_runs(runs), runs)]
    found = [effect for changes, of in seen for effect in told(_ended(changes, until), of, fair, since=since)]
    return SetupChanges(
        since=since,
        sessions=len(sessions),
        scheduled=len(runs),
        known={kind: sum(source.value(session) is not None for session in sessions) for kind, source in SHOWN.items()},
        effects=tuple(sorted(found, key=lambda effect: effect.changes[0].at)[::-1]),
        unsteady=tuple(unsteady(sessions)),
    )


def told(
    changes: Sequence[SetupChange],
    sessions: Sequence[FinishedSession],
    judged_fairly: Collection[str],
    *,
    since: datetime,
) -> list[SetupEffect]:
    """Return the effects of changes, in order: by labels, and by the facts of sessions."""
    found = effects(changes, sessions, comparable_value(sessions, judged_fairly), since=since)
    if nearly_all_judged(sessions, judged_fairly):
        judged = {session.session_id for session in sessions if session.judged}
        return settled([replace(effect, by_words=True) for effect in found], sessions, judged)
    return settled(by_labels(found, sessions, judged_fairly), sessions, judged_fairly)


def changes_between(store: SqliteStore, since: datetime, until: datetime) -> list[SetupChange]:
    """Return all changes from `since` to `until`, in order, without their effects."""
    sessions, runs = (_sessions(store, since, until, kind) for kind in (SessionKind.MAIN, SessionKind.CRON))
    found = _ended([*_of_tasks(store, sessions), *_of_runs(runs)], until)
    return [change for change in found if change.at >= since]


def _sessions(store: SqliteStore, since: datetime, until: datetime, kind: SessionKind) -> list[FinishedSession]:
    """Read the sessions that changes since then are seen by, and compared with."""
    begin = beginning(WINDOW, since, None)
    return store.grades.finished_tasks(since=begin, until=until, limit=MOST_SESSIONS, kind=kind)[::-1]


def _of_tasks(store: SqliteStore, sessions: list[FinishedSession]) -> list[SetupChange]:
    return [*shown_changes(sessions), *file_changes(ObservedVersions(store).versions())]


def _of_runs(runs: list[FinishedSession]) -> list[SetupChange]:
    return [replace(change, scheduled=True) for change in shown_changes(runs)]


def _ended(changes: Iterable[SetupChange], until: datetime) -> list[SetupChange]:
    return sorted((change for change in changes if change.at < until), key=lambda change: change.at)
