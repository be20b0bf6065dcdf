"""Questions about grades; loads nothing that only grading needs, so that `status` answers at once."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.unwatched import UnwatchedAgent, unwatched_agent
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calendar import beginning, day_of, end_of, last_days, start_of
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.rollup import Dimension
from grader_daemon.errors import InputError, NoDatabaseError
from grader_daemon.integrations.scorers import name_of
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.lock import holder_pid, is_running
from grader_daemon.storage.records import DaemonStatus, GradeFilter, Page, SortKey, StoredGrade
from grader_daemon.storage.sqlite.store import Store

if TYPE_CHECKING:
    from grader_daemon.domain.check import Check
    from grader_daemon.storage.maintenance.backup import Backup

_PAGE = 500
_TOLD_NAMES = 10
_NAMED = (
    ("model", Dimension.MODEL),
    ("task_type", Dimension.TASK_TYPE),
    ("platform", Dimension.PLATFORM),
    ("tool", Dimension.TOOL),
)
"""Fields of a filter that name what sessions are grouped by."""

__all__ = ["GradeFilter", "GradeReader", "Page", "QualityStatus", "SortKey", "Status", "StoredGrade"]


class QualityStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the scorer of quality does: `calls` today of `calls_per_day`; `error` says why the last call had no answer.

    `disagreeing` counts the sessions for which people are asked to look.
    """

    scorer: str
    calls: int
    calls_per_day: int
    disagreeing: int
    last_at: datetime | None
    error: str | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Is the daemon up, and how far is it? `files` counts the ledger by state.

    `lag_seconds` is how long after its last write that session was graded which was the last to be written, and then
    graded for the first time, while the daemon ran: history that is graded later, or again, says nothing of it.
    `last_ended_at` is the end of the newest session, `silent_days` how many whole days ago that was. `open_alerts`
    counts alerts that are not resolved, `undelivered` messages about alerts that no receiver has got yet. `quality` is
    None unless the daemon asks a scorer. `elsewhere` is an agent at work outside of the `roots`.
    """

    running: bool
    pid: int | None
    roots: tuple[str, ...]
    elsewhere: UnwatchedAgent | None
    database: str
    daemon: DaemonStatus | None
    files: dict[str, int]
    skipped: dict[str, int]
    last_session_id: str | None
    last_graded_at: datetime | None
    lag_seconds: float | None
    last_ended_at: datetime | None
    silent_days: int | None
    open_alerts: int
    undelivered: int
    quality: QualityStatus | None
    troubled: list[LedgerEntry]


class GradeReader:
    """Answers questions about grades; safe beside a running daemon and among threads.

    Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        *,
        db_path: str | os.PathLike[str] | None = None,
        watch_roots: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Use the daemon's own settings, but for what is given here; a single text is one folder.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        self.settings = settings or load_settings(
            db_path=None if db_path is None else os.fspath(db_path),
            watch_roots=None if watch_roots is None else paths_of(watch_roots),
        )
        self._lock = threading.RLock()
        self._opened: Store | None = None
        self._changing: Store | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; from then on nothing can be asked."""
        with self._lock:
            self._closed = True
            for store in (self._opened, self._changing):
                if store is not None:
                    store.close()
            self._opened = self._changing = None

    def migrate(self) -> None:
        """Bring a database of an older version up to this one, as all that writes does by itself; there may be none."""
        if self.settings.db_path.exists():
            self._open_to_write()

    def grades(
        self,
        *,
        days: float | None = None,
        since: datetime | None = None,
        state: str | None = None,
        task_type: str | None = None,
        model: str | None = None,
        completed: bool | None = None,
        limit: int | None = None,
    ) -> list[StoredGrade]:
        """List grades, the session that ended last first; of the last `days` days, or that ended from `since` on.

        `state` is complete, interrupted or open. At most `limit`, without one all.

        Raises:
            InputError: `days` or `limit` is no number above 0, or no session has this state, task type or model; the
                text names those that there are.
        """
        if state is not None and state not in list(SessionState):
            raise InputError(f"there is no state {state!r}; known are {', '.join(SessionState)}")
        if limit is not None and limit < 1:
            raise InputError(f"a limit is a number above 0, not {limit}")
        which = GradeFilter(
            since=self.begin_of(days) if days is not None else since,
            state=state,
            task_type=task_type,
            model=model,
            completed=completed,
            limit=limit,
        )
        return self.page(which).grades

    def page(self, which: GradeFilter) -> Page:
        """List the grades that a filter asks for, up to its limit, and say where the list goes on.

        Raises:
            InputError: its text has no word to search for, or a name in it is one that no session has.
        """
        page = self._store.page(which)
        if not page.grades and which.before is None:
            self._check_names(which)
        return page

    def all_grades(self, which: GradeFilter) -> Iterator[StoredGrade]:
        """Give every grade that a filter asks for, read in pages.

        Raises:
            InputError: see `page`.
        """
        place = which.before
        while True:
            page = self.page(msgspec.structs.replace(which, before=place, limit=_PAGE))
            yield from page.grades
            place = page.next
            if place is None:
                return

    def find_issue(self, prefix: str) -> str:
        """Give the whole fingerprint of the one error issue whose id begins with `prefix`.

        Raises:
            InputError: none or several do.
        """
        return self._store.issues.find(prefix)

    def known_names(self, dimension: Dimension) -> list[str]:
        """Name the models (or tools, task types, …) of finished sessions, the commonest first."""
        return self._store.rollups.names(dimension)

    def _check_names(self, which: GradeFilter) -> None:
        """Refuse a filter that nothing can meet: it names what no finished session has, probably by mistake."""
        for field, dimension in _NAMED:
            given = getattr(which, field)
            known = [] if given is None else self.known_names(dimension)
            if known and given not in known:
                more = f" and {len(known) - _TOLD_NAMES} more" if len(known) > _TOLD_NAMES else ""
                words = field.replace("_", " ")
                raise InputError(f"no session has the {words} {given!r}; known: {', '.join(known[:_TOLD_NAMES])}{more}")

    def begin_of(self, span: float | timedelta | datetime) -> datetime:
        """Give when a span begins: of days up to and with today, of time up to now; or a moment, in UTC.

        Days begin at midnight where the person lives (setting `timezone`), and a moment without a zone is meant there.

        Raises:
            InputError: it is no number of days.
        """
        now, zone = bootstrap.utc_now(), self.settings.zone
        if isinstance(span, timedelta | datetime):
            return beginning(span, now, zone)
        return start_of(last_days(math.ceil(check_days(span)), day_of(now, zone)).first, zone)

    def find_grade(self, prefix: str) -> StoredGrade:
        """Give the grade of the one session whose id begins with `prefix`.

        Raises:
            InputError: none or several do.
        """
        return self._store.find_grade(prefix)

    def trust(self) -> Trust:
        """Say how far the automatic verdicts of today can be trusted."""
        try:
            store = self._store
        except NoDatabaseError:
            store = None
        return bootstrap.read_trust(self.settings, store)

    def quality_check(self, session_id: str) -> QualityCheck | None:
        """Give what a scorer of quality said last of a session; None when none was asked."""
        return self._store.quality.of_session(session_id)

    def status(self) -> Status:
        """Say whether the daemon runs on this database, and what it has done. Never creates a database."""
        settings = self.settings
        running = is_running(settings.db_path)
        store = self._store if settings.db_path.exists() else None
        last = store.last_grade(live=False) if store is not None else None
        live = store.last_grade(live=True) if store is not None else None
        ended = store.last_ended_at() if store is not None else None
        said = store.status() if store is not None else None
        return Status(
            running=running,
            pid=holder_pid(settings.db_path) if running else None,
            roots=tuple(str(root) for root in settings.watch_roots),
            elsewhere=unwatched_agent(settings),
            database=str(settings.db_path),
            daemon=said,
            files=store.file_counts() if store is not None else {},
            skipped=store.skip_counts() if store is not None else {},
            last_session_id=last.session_id if last else None,
            last_graded_at=last.graded_at if last else None,
            lag_seconds=live.lag_seconds if live else None,
            last_ended_at=ended,
            silent_days=None if ended is None else max(0, (bootstrap.utc_now() - ended).days),
            open_alerts=len(store.alerts.open()) if store is not None else 0,
            undelivered=store.outbox.waiting(settings.channels) if store is not None else 0,
            quality=quality_status(settings, store, bootstrap.utc_now()) if store is not None else None,
            troubled=store.troubled_entries(limit=20) if store is not None else [],
        )

    def doctor(self) -> list[Check]:
        """Check the machine and the set-up; each check that is not ok says what to do. Changes nothing."""
        from grader_daemon.api.doctor import examine  # what it loads, no other question needs

        return examine(lambda: self.settings)

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Copy the database to the file `path` while programs go on writing to it; an older backup is replaced.

        Raises:
            InputError: `path` is the database itself, or a file that is no backup.
            StoreError: the database cannot be read, or `path` not be written.
        """
        from grader_daemon.api.backups import back_up

        return back_up(self.settings, path)

    @property
    def _store(self) -> Store:
        with self._lock:
            self._check_open()
            if self._changing is not None:
                return self._changing
            if self._opened is None:
                self._check_there()
                self._opened = bootstrap.open_store(self.settings, read_only=True)
            return self._opened

    @property
    def _writable(self) -> Store:
        """The database to write to, which is there."""
        with self._lock:
            if self._changing is None:
                self._check_there()
            return self._open_to_write()

    def _open_to_write(self) -> Store:
        """Give the database to write to, made if there is none."""
        with self._lock:
            self._check_open()
            if self._changing is None:
                self._changing = bootstrap.open_store(self.settings)
            return self._changing

    def _check_there(self) -> None:
        path = self.settings.db_path
        if not path.exists():
            raise NoDatabaseError(f"no database at {path}: nothing was graded yet")

    def _check_open(self) -> None:
        if self._closed:
            raise InputError(f"this {type(self).__name__} is closed; make another one")


def paths_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Give several paths; a single text is one of them, never its characters."""
    return tuple(os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths))


def quality_status(settings: Settings, store: Store, now: datetime) -> QualityStatus | None:
    """Say how the scorer does that the daemon asks; None when it asks nobody."""
    scorer = bootstrap.make_scorer(settings) if settings.scorer_setting is not None else None
    if scorer is None:
        return None
    name, day = name_of(scorer), day_of(now, settings.zone)
    last = next(iter(store.quality.latest(name, 1)), None)
    return QualityStatus(
        scorer=name,
        calls=store.quality.calls(start_of(day, settings.zone), end_of(day, settings.zone)),
        calls_per_day=settings.quality_checks_per_day,
        disagreeing=len(store.quality.disagreeing(by=settings.quality_discrepancy)),
        last_at=None if last is None else last.checked_at,
        error=None if last is None else last.error,
    )


def check_days(days: float) -> float:
    """Give a number of days as it is.

    Raises:
        InputError: it is none.
    """
    if not (math.isfinite(days) and days > 0):
        raise InputError(f"{days} is no number of days; give one above 0")
    return days
