"""Repairs of `doctor --repair`: each looks whether it is needed, and says in one line what it did."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.doctor.check_words import who_holds
from grader_daemon.api.doctor.database_checks import may_close
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.text import count
from grader_daemon.domain.unit import shown_path
from grader_daemon.errors import AlreadyRunningError, GraderError, StoreBusyError, StoreDamagedError, StoreError
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.maintenance.atomic_swap import leftovers
from grader_daemon.storage.maintenance.repair import grade_again, rebuild, rebuild_indexes, recount, try_dead_again
from grader_daemon.storage.maintenance.salvage import SavedTable
from grader_daemon.storage.maintenance.unreleased import carry_over
from grader_daemon.storage.maintenance.upgrade import Upgrade
from grader_daemon.storage.sqlite.database import holds_grades, is_ours
from grader_daemon.storage.sqlite.schema import BEFORE_RELEASE

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077
Made = TypeVar("Made")
_ABANDONED = timedelta(hours=1)
"""A copy that is still being made is written to all the time."""


class Repair(msgspec.Struct, frozen=True):
    """Result of a repair: what it did, or why it could not, in one line."""

    done: bool
    what: str


def repair(read_settings: Callable[[], Settings], *, clock: bootstrap.Clock) -> list[Repair]:
    """Repair what needs no judgement. Deletes nothing but temporary files of this program."""
    repairs: list[Repair] = []
    for step in (_delete_leftovers, _close_to_others, _mend_file, _mend_rows):
        with DoctorContext(read_settings, now=clock()) as context:
            repairs += [made for made in _done(step, context) if made not in repairs]
    return repairs


def _done(step: Callable[[DoctorContext], Iterator[str]], context: DoctorContext) -> Iterator[Repair]:
    try:
        for what in step(context):
            yield Repair(done=True, what=shown_path(what))
    except GraderError as error:
        yield Repair(done=False, what=shown_path(str(error)))
    except OSError as error:
        yield Repair(done=False, what=shown_path(f"{error.filename}: {error.strerror}"))


def _delete_leftovers(context: DoctorContext) -> Iterator[str]:
    """Temporary files of copies that were interrupted."""
    if not context.database.parent.is_dir():
        return
    for file in leftovers(context.database):
        if context.now.timestamp() - file.lstat().st_mtime > _ABANDONED.total_seconds():
            file.unlink()
            yield f"deleted {file}, left by an interrupted copy"


def _close_to_others(context: DoctorContext) -> Iterator[str]:
    """Modes of the database and of its folder, if it is one of ours."""
    if not holds_grades(context.database):
        return
    folder = context.database.parent
    for path, mode in ((context.database, _PRIVATE_FILE), (folder, _PRIVATE_FOLDER)):
        if not path.exists() or path.is_symlink() or (path == folder and not may_close(folder, context)):
            continue
        before = path.stat().st_mode
        if before & _OTHERS and path.is_dir() == (path == folder):
            path.chmod(mode)
            yield f"mode of {path}: {before & 0o7777:04o} is now {mode:04o}"


def _mend_file(context: DoctorContext) -> Iterator[str]:
    """A damaged index, or a damaged database."""
    if not context.has_database:
        return
    if not is_ours(context.database):
        raise StoreError(f"{context.database} is not a database, and was not changed: set db_path to another file")
    if _is_damaged(context):
        yield from _rebuild(context)
    elif context.inspection.schema() == BEFORE_RELEASE:
        yield from _carry_over(context)
    elif context.inspection.schema():
        upgrades: list[Upgrade] = []
        with closing(bootstrap.open_store(context.settings, on_upgrade=upgrades.append)) as store:
            names = rebuild_indexes(store)
        yield from map(str, upgrades)
        if names:
            yield f"built {count(len(names), 'index', 'indexes')} again: {', '.join(names)}"


def _mend_rows(context: DoctorContext) -> Iterator[str]:
    """Sums that are not those of the rows, grades that are not whole, files that were given up."""
    if not context.has_database or (context.inspection.schema() or 0) <= 0:
        return
    miscounted = context.inspection.miscounted()
    half, dead = _present(context.inspection.half_graded()), _present(context.inspection.dead())
    if not (miscounted or half or dead):
        return
    with closing(bootstrap.open_store(context.settings)) as store:
        if miscounted:
            recount(store)
            yield f"recounted the totals of {', '.join(miscounted)} again"
        if half:
            yield f"{count(grade_again(store, now=context.now), 'file')} will be graded again by the daemon"
        if dead:
            given_up = count(try_dead_again(store, now=context.now), "file")
            yield f"{given_up} that failed will be retried once"


def _is_damaged(context: DoctorContext) -> bool:
    try:
        return bool(context.inspection.damage())
    except StoreDamagedError:
        return True


def _rebuild(context: DoctorContext) -> Iterator[str]:
    """Swap in a new database for a damaged one."""
    rebuilt = _alone(context, rebuild)
    yield f"database {context.database} was damaged; it is kept as {rebuilt.kept}"
    if not rebuilt.tables:
        yield "nothing in it could be read; a new database replaces it"
    for table in rebuilt.tables:
        yield _saved(table)
    yield "the daemon's next run grades missing sessions again, from the session files"


def _carry_over(context: DoctorContext) -> Iterator[str]:
    """Swap in a database of this version for one of before the first release."""
    carried = _alone(context, carry_over)
    yield f"database {context.database} was from a build before the first release; it is kept as {carried.kept}"
    rows = ", ".join(f"{name} {number:,}" for name, number in carried.rows.items())
    yield f"the new database has all its rows: {rows}" if rows else "it had no rows"
    yield "the daemon's next run grades sessions with other rules again, from the session files"


def _alone(context: DoctorContext, change: Callable[..., Made]) -> Made:
    """Change the database while no other program has it."""
    path = context.database
    context.close()
    try:
        with DaemonLock(path):
            return change(path, now=context.now)
    except AlreadyRunningError as error:
        raise StoreError(f"database {path}: not repaired: {error}; stop it first") from error
    except StoreBusyError as error:
        raise StoreBusyError(f"{error}{who_holds(path)}") from error


def _saved(table: SavedTable) -> str:
    lost = "; the number of lost rows is unknown" if table.lost is None else f", {table.lost:,} lost"
    return f"{table.name}: {count(table.saved, 'row')} saved{lost}"


def _present(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(path)]
