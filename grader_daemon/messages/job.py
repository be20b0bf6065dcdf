"""The job that keeps the index of messages: the newest sessions first, in one percent of a processor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from grader_daemon.bootstrap import make_sources
from grader_daemon.errors import GraderError
from grader_daemon.messages.store import MessageIndex, remove, sessions_since
from grader_daemon.messages.texts import texts_of
from grader_daemon.pipeline.rereading import read_again
from grader_daemon.redaction import redactor_of
from grader_daemon.rules import load_rules
from grader_daemon.storage.records import StoredGrade
from grader_daemon.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_AT_MOST_EVERY: Final = timedelta(minutes=1)
_AT_LEAST_EVERY: Final = timedelta(hours=6)
"""Sessions become too old though none is graded."""
_FORGETS_EVERY: Final = timedelta(days=1)
"""All that is left is written anew then."""
_CPU_SHARE: Final = 0.01
_AT_ONCE: Final = 50
_LONGEST_ROUND_SECONDS: Final = 5.0


class MessagesJob:
    """Adds sessions of the last days to the index while nothing waits to be graded, and removes those that left."""

    name = "messages"

    def __init__(self, store: SqliteStore, settings: Settings, *, is_settled: Callable[[], bool]) -> None:
        """Raises ConfigurationError: the rules file is wrong."""
        self._store = store
        self._sources = make_sources(settings)
        self._redactor = redactor_of(load_rules(settings.rules_file).redaction)
        self._database = settings.db_path
        self._days = timedelta(days=settings.message_search_days)
        self._is_settled = is_settled
        self._ran_at: datetime | None = None
        self._forgot_at: datetime | None = None
        self._pause = _AT_MOST_EVERY
        self._change: int | None = None
        """The newest change of the database of which all is in the index; None where something is left."""

    def run(self, now: datetime) -> bool:
        """Add what is due, once a minute at most; return whether anything was.

        Raises:
            StoreError: it cannot be kept.
        """
        change = self._store.changes.newest()
        if not self._is_due(now, change):
            return False
        began = time.thread_time()
        with closing(MessageIndex(self._database)) as index:
            due, gone = self._difference(index, now)
            forgets = bool(gone) and (self._forgot_at is None or now - self._forgot_at >= _FORGETS_EVERY)
            if forgets:
                index.forget(gone)
                self._forgot_at = now
            done = sum(1 for _ in self._put(index, due, until=time.monotonic() + _LONGEST_ROUND_SECONDS))
        self._ran_at, self._change = now, change if done == len(due) else None
        self._pause = max(_AT_MOST_EVERY, timedelta(seconds=(time.thread_time() - began) / _CPU_SHARE))
        return bool(done or forgets)

    def _is_due(self, now: datetime, change: int) -> bool:
        if self._ran_at is None or now < self._ran_at:
            return self._is_settled()
        age = now - self._ran_at
        return age >= self._pause and (change != self._change or age >= _AT_LEAST_EVERY) and self._is_settled()

    def _difference(self, index: MessageIndex, now: datetime) -> tuple[list[str], list[str]]:
        """Return the sessions that are to be put in, the newest first, and those that are to be taken out."""
        wanted = {name: digest for name, digest, _ in sessions_since(self._store, now - self._days)}
        known = index.digests()
        due = [session_id for session_id, digest in wanted.items() if known.get(session_id) != digest]
        return due, [session_id for session_id in known if session_id not in wanted]

    def _put(self, index: MessageIndex, session_ids: Sequence[str], *, until: float) -> Iterator[str]:
        """Add sessions, until a moment of the monotonic clock; yield each that is done."""
        for begin in range(0, len(session_ids), _AT_ONCE):
            part = session_ids[begin : begin + _AT_ONCE]
            stored = self._store.grades.stored(part)
            for session_id in part:
                if time.monotonic() >= until:
                    return
                texts = self._texts(stored[session_id])
                grade = stored[session_id].grade
                index.add(session_id, stored[session_id].digest or "", grade.ended_at or grade.graded_at, texts)
                yield session_id

    def _texts(self, stored: StoredGrade) -> list[str]:
        """Return the texts of a session; none where its file is gone, or another one now."""
        with suppress(GraderError):
            read = read_again(stored.grade, self._sources)
            if read.digest == stored.digest:
                return texts_of(read.session, self._redactor)
        return []


def message_jobs(settings: Settings, store: SqliteStore, *, is_settled: Callable[[], bool]) -> list[MessagesJob]:
    """Return the job that keeps the index; where `message_search_days` is 0 none, and the index goes.

    Raises:
        ConfigurationError: the rules file is wrong.
        StoreError: the index cannot be deleted.
    """
    if settings.message_search_days:
        return [MessagesJob(store, settings, is_settled=is_settled)]
    remove(settings.db_path)
    return []
