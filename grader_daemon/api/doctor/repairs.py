"""What `doctor --repair` does: each repair looks whether it is needed, and says in one line what it did."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.doctor.case import Case
from grader_daemon.api.doctor.database import may_close
from grader_daemon.api.doctor.words import who_holds
from grader_daemon.domain.ledger import ledger_path
from grader_daemon.errors import AlreadyRunningError, GraderError, StoreBusyError, StoreDamagedError, StoreError
from grader_daemon.reports.numbers import count
from grader_daemon.settings import Settings
from grader_daemon.storage.database import is_ours
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.placing import leftovers
from grader_daemon.storage.repair import grade_again, rebuild, rebuild_indexes, recount, try_dead_again
from grader_daemon.storage.salvage import SavedTable

_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077
_ABANDONED = timedelta(hours=1)
"""A copy that is still being made is written to all the time."""


class Repair(msgspec.Struct, frozen=True):
    """What a repair did, or why it could not, in one line."""

    done: bool
    what: str


def repair(read_settings: Callable[[], Settings]) -> list[Repair]:
    """Repair what needs no judgement. Deletes nothing but temporary files of this program."""
    repairs: list[Repair] = []
    for step in (_delete_leftovers, _close_to_others, _mend_file, _mend_rows):
        with Case(read_settings, now=bootstrap.utc_now()) as case:
            repairs += [made for made in _done(step, case) if made not in repairs]
    return repairs


def _done(step: Callable[[Case], Iterator[str]], case: Case) -> Iterator[Repair]:
    try:
        for what in step(case):
            yield Repair(done=True, what=ledger_path(what))
    except GraderError as error:
        yield Repair(done=False, what=ledger_path(str(error)))
    except OSError as error:
        yield Repair(done=False, what=ledger_path(f"{error.filename}: {error.strerror}"))


def _delete_leftovers(case: Case) -> Iterator[str]:
    """Temporary files of copies that were interrupted."""
    if not case.database.parent.is_dir():
        return
    for file in leftovers(case.database):
        if case.now.timestamp() - file.lstat().st_mtime > _ABANDONED.total_seconds():
            file.unlink()
            yield f"deleted {file}, which an interrupted copy left"


def _close_to_others(case: Case) -> Iterator[str]:
    """Modes of the database and of its folder."""
    folder = case.database.parent
    for path, mode in ((case.database, _PRIVATE_FILE), (folder, _PRIVATE_FOLDER)):
        if not path.exists() or path.is_symlink() or (path == folder and not may_close(folder, case)):
            continue
        if path == case.database and not is_ours(path):
            continue
        before = path.stat().st_mode
        if before & _OTHERS and path.is_dir() == (path == folder):
            path.chmod(mode)
            yield f"mode of {path}: {before & 0o7777:04o} is now {mode:04o}"


def _mend_file(case: Case) -> Iterator[str]:
    """A damaged index, or a damaged database."""
    if not case.has_database:
        return
    if not is_ours(case.database):
        raise StoreError(f"{case.database} is no database, and left as it is: set db_path to another file")
    if _is_damaged(case):
        yield from _rebuild(case)
    elif case.inspection.schema():
        with closing(bootstrap.open_store(case.settings)) as store:
            names = rebuild_indexes(store)
        if names:
            yield f"built {count(len(names), 'index', 'indexes')} again: {', '.join(names)}"


def _mend_rows(case: Case) -> Iterator[str]:
    """Sums that are not those of the rows, grades that are not whole, files that were given up."""
    if not case.has_database or not case.inspection.schema():
        return
    miscounted = case.inspection.miscounted()
    half, dead = _present(case.inspection.half_graded()), _present(case.inspection.dead())
    if not (miscounted or half or dead):
        return
    with closing(bootstrap.open_store(case.settings)) as store:
        if miscounted:
            recount(store)
            yield f"counted the sums of {', '.join(miscounted)} again"
        if half:
            yield f"{count(grade_again(store, now=case.now), 'file')} will be graded again by the daemon"
        if dead:
            yield f"{count(try_dead_again(store, now=case.now), 'dead file')} will be tried once more by the daemon"


def _is_damaged(case: Case) -> bool:
    try:
        return bool(case.inspection.damage())
    except StoreDamagedError:
        return True


def _rebuild(case: Case) -> Iterator[str]:
    """Put a new database in the place of a damaged one."""
    path = case.database
    case.close()
    try:
        with DaemonLock(path):
            rebuilt = rebuild(path, now=case.now)
    except AlreadyRunningError as error:
        raise StoreError(f"database {path}: not repaired: {error}; stop it first") from error
    except StoreBusyError as error:
        raise StoreBusyError(f"{error}{who_holds(path)}") from error
    yield f"database {path} was damaged; it is kept as {rebuilt.kept}"
    if not rebuilt.tables:
        yield "nothing in it could be read; a new database is in its place"
    for table in rebuilt.tables:
        yield _saved(table)
    yield "the next run of the daemon grades again what is missing, from the session files"


def _saved(table: SavedTable) -> str:
    lost = "; how many are lost nobody can tell" if table.lost is None else f", {table.lost:,} lost"
    return f"{table.name}: {count(table.saved, 'row')} saved{lost}"


def _present(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(path)]
