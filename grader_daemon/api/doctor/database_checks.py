"""Checks of the database: is it there, whole, private, in agreement with itself, and has it room?"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from time import monotonic

from grader_daemon import bootstrap
from grader_daemon.api.doctor.check_words import EARLIER, UPGRADE, reason, size, some, who_holds
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, problem, unknown, warning
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import GradeVersion
from grader_daemon.errors import StoreBusyError, StoreDamagedError, StoreError
from grader_daemon.integrations.machine import mount_of, space_at
from grader_daemon.rules import load_rules
from grader_daemon.storage.maintenance.atomic_swap import kept_copies, leftovers
from grader_daemon.storage.sqlite.database import holds_grades
from grader_daemon.storage.sqlite.schema import BEFORE_RELEASE, newest_version

_REPAIR = "grader-daemon doctor --repair"
_FULL = "grader-daemon doctor --full"
_STOPPED = f"stop the daemon, then: {_REPAIR}"
_MEND = f"{_STOPPED}; or restore a backup: grader-daemon backup restore FILE"
_MOVE_AWAY = "move it away, or set db_path to another file"
_AS_ITS_OWNER = "run this as the database's owner, or set db_path"
_NONE_YET = "no database yet"
_LARGE_LOG_BYTES = 64_000_000
"""A log is emptied at 16 MB (4,000 pages) unless somebody reads all the time."""
_SCARCE_BYTES, _LITTLE_BYTES = 100_000_000, 1_000_000_000
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def database(context: DoctorContext) -> Finding:
    """Check that there is a database that this program can use."""
    path = context.database
    try:
        status = path.lstat()
    except FileNotFoundError:
        return ok(f"{_NONE_YET}; the first run creates {path}")
    except OSError as error:
        return problem(f"{path}: {error.strerror}", _AS_ITS_OWNER)
    if not stat.S_ISREG(status.st_mode):
        return problem(f"{path} is a link, a folder or a device", _MOVE_AWAY)
    if not context.has_database:
        return ok(f"{path} is empty; the next run fills it")
    try:
        return _usable(context)
    except StoreDamagedError as error:
        return problem(f"{path}: {reason(error, path)}", _MEND)
    except StoreBusyError as error:
        return unknown(
            f"{path}: {reason(error, path)}{who_holds(context.database)}", "end that program, or wait for it"
        )
    except StoreError as error:
        return problem(f"{path}: {reason(error, path)}", _AS_ITS_OWNER)


def integrity(context: DoctorContext) -> Finding:
    """Check that SQLite finds the file whole."""
    if not context.has_database:
        return ok(_NONE_YET)
    began = monotonic()
    try:
        day = context.sampled_day
        damage = context.inspection.damage(day)
        pages = context.inspection.pages() if not damage else 0
    except StoreDamagedError as error:
        day, damage = None, [reason(error, context.database)]
    if damage:
        return problem(f"{count(len(damage), 'fault')}: {some(damage)}", _MEND)
    if day is not None:
        return ok(f"no error in a sample of {count(pages, 'page')}; to check all: {_FULL}")
    return ok(f"no error in {count(pages, 'page')}, checked in {monotonic() - began:.1f} s")


def privacy(context: DoctorContext) -> Finding:
    """Check that only its owner can read the database."""
    path = context.database
    if not path.parent.is_dir():
        return ok(_NONE_YET)
    folder, file = path.parent.stat(), path.lstat() if os.path.lexists(path) else None
    if file is not None and not stat.S_ISREG(file.st_mode):
        return ok(f"no file to protect: {path} is a link, a folder or a device")
    if file is not None and file.st_uid != os.geteuid():
        return problem(
            f"{path} belongs to user {file.st_uid}, this is {os.geteuid()}", "run grader-daemon as that user"
        )
    if file is not None and file.st_mode & _OTHERS:
        mode = stat.S_IMODE(file.st_mode)
        return problem(
            f"other users can access {path} (mode {mode:04o})", f"{_REPAIR}, or chmod 600 {shlex.quote(str(path))}"
        )
    if folder.st_mode & _OTHERS and may_close(path.parent, context):
        mode = stat.S_IMODE(folder.st_mode)
        return warning(f"other users can read {path.parent} (mode {mode:04o})", _REPAIR)
    return ok(
        f"database {stat.S_IMODE(file.st_mode) if file else 0o600:04o}, folder {stat.S_IMODE(folder.st_mode):04o}"
    )


def may_close(folder: Path, context: DoctorContext) -> bool:
    """Return whether only this program uses a folder, and keeps grades in it, so that its mode is ours to set."""
    status = folder.stat()
    shared = {Path("/"), *context.settings.watch_roots, *([context.home] if context.home else [])}
    holds_shared = any(each == folder or folder in each.parents for each in shared)
    holds_others = any(not entry.name.startswith(context.database.name) for entry in folder.iterdir())
    is_own = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX
    return is_own and not holds_shared and not holds_others and holds_grades(context.database)


def write_ahead_log(context: DoctorContext) -> Finding:
    """Check that the log has been emptied now and then."""
    log = Path(f"{context.database}-wal")
    length = log.stat().st_size if log.exists() else 0
    if length <= _LARGE_LOG_BYTES:
        return ok(size(length) if length else "empty")
    return warning(
        f"{size(length)}: a program keeps reading the database{who_holds(context.database)}",
        "end the programs that read it; then the daemon can empty the log",
    )


def sums(context: DoctorContext) -> Finding:
    """Check that the sums by day and month, which reports are made of, agree with the grades."""
    if not context.has_database:
        return ok(_NONE_YET)
    if context.is_earlier:
        return unknown(EARLIER)
    day = context.sampled_day
    wrong = context.inspection.miscounted(day)
    if wrong:
        said = ", ".join(f"{number:,} {name}" for name, number in wrong.items())
        return problem(f"they differ from the grades: {said}", _REPAIR)
    if day is not None:
        return ok(f"for a random day, {day}, stored counts agree with the grades; to check all: {_FULL}")
    return ok(f"stored counts by day, month and error group agree with {count(context.inspection.grades(), 'grade')}")


def ledger(context: DoctorContext) -> Finding:
    """Check that every file that is called graded has its grade."""
    if not context.has_database:
        return ok(_NONE_YET)
    day = context.sampled_day
    half = context.inspection.half_graded(day)
    there = [path for path in half if os.path.lexists(path)]
    if there:
        found = f"{count(len(there), 'file')} recorded as graded, but without a complete grade: {some(there)}"
        return problem(found, f"{_REPAIR} lets the daemon grade them again")
    gone = f"; {count(len(half), 'grade')} incomplete, from deleted files" if half else ""
    graded = context.store.file_counts().get("graded", 0)
    if day is not None:
        return ok(f"{count(graded, 'graded file')}, those of {day} have their grades; to check all: {_FULL}{gone}")
    return ok(f"{count(graded, 'graded file')}, {'its grade is' if graded == 1 else 'their grades are'} stored{gone}")


def grader(context: DoctorContext) -> Finding:
    """Check whether the grades are by the rules and the model that are in force."""
    if not context.has_database:
        return ok(_NONE_YET)
    rules = load_rules(context.settings.rules_file).version
    now = f"{rules}+{bootstrap.make_policy(context.settings, context.store).version}"
    graded_by = context.inspection.graded_by()
    graded, others = sum(graded_by.values()), sum(files for by, files in graded_by.items() if by != now)
    if not others:
        return ok(f"{count(graded, 'graded file')} by {GradeVersion.read(now)}")
    return ok(
        f"{others:,} of {count(graded, 'graded file')} by other rules or another model; existing files are graded again"
    )


def other_programs(context: DoctorContext) -> Finding:
    """Check whether other programs keep something in the database."""
    if not context.has_database:
        return ok(_NONE_YET)
    tables, rows = context.inspection.foreign_tables(), context.inspection.foreign_grades(context.sampled_day)
    said = [
        *([f"{count(rows, 'grade')} written by another program (left unchanged)"] if rows else []),
        *([f"{count(len(tables), 'table')} of other programs: {some(tables)}"] if tables else []),
    ]
    return ok("; ".join(said) or "no rows or tables of other programs")


def disk_space(context: DoctorContext) -> Finding:
    """Check that there is room for more grades."""
    room = space_at(context.database.parent)
    found = f"{size(room.free_bytes)} of {size(room.total_bytes)} free at {context.database.parent}"
    if room.is_read_only:
        return problem(f"{context.database.parent} is on a read-only file system", "mount it read-write")
    if room.free_bytes < _SCARCE_BYTES:
        return problem(found, "free some space; until then the daemon cannot save grades")
    return warning(found, "free some space") if room.free_bytes < _LITTLE_BYTES else ok(found)


def database_place(context: DoctorContext) -> Finding:
    """Check that the database is on a disk of this machine, under one name."""
    mount = mount_of(context.database, context.mounts)
    if mount is None:
        return unknown("the kernel does not list its mounts")
    if mount.is_remote:
        return problem(
            f"{context.database} is on {mount.kind} at {mount.point}, where SQLite's locks are unreliable",
            "set db_path to a file on a local disk",
        )
    names = context.database.lstat().st_nlink if context.has_database else 1
    if names > 1:
        return warning(
            f"{context.database} has {names} names (hard links); programs that open different names damage it",
            f"keep one name only; find them: sudo find / -xdev -samefile {shlex.quote(str(context.database))}",
        )
    return ok(f"{mount.kind} at {mount.point}")


def copies(context: DoctorContext) -> Finding:
    """Check what backups and repairs left beside the database."""
    if not context.database.parent.is_dir():
        return ok("none")
    kept, left = kept_copies(context.database), leftovers(context.database)
    found = f"{count(len(kept), 'former database')}, {size(_bytes_of(kept))}: {some([k.name for k in kept])}"
    if left:
        return warning(f"{count(len(left), 'temporary file')} of an interrupted copy, {size(_bytes_of(left))}", _REPAIR)
    return ok(f"{found}; delete them when everything works" if kept else "none")


def _usable(context: DoctorContext) -> Finding:
    path, schema = context.database, context.inspection.schema()
    if schema is None:
        return problem(f"{path} is a database of another program", _MOVE_AWAY)
    if schema > newest_version():
        damage = context.inspection.damage()
        if damage:
            return problem(f"{path}: damaged ({damage[0]})", _MEND)
        return problem(f"its schema {schema} is newer than this program's {newest_version()}", "update grader-daemon")
    grades, held = count(context.inspection.grades(), "grade"), size(path.stat().st_size)
    if schema == BEFORE_RELEASE:
        return warning(f"{grades}, {held}: {path}; it is from a build before the first release", _STOPPED)
    if context.is_earlier:
        left = f"it is from an earlier version of grader-daemon (schema {schema}, this one has {newest_version()})"
        return warning(f"{grades}, {held}: {path}; {left}", UPGRADE)
    return ok(f"{grades}, schema {schema}, {held}: {path}")


def _bytes_of(files: list[Path]) -> int:
    return sum(file.lstat().st_size for file in files if os.path.lexists(file))
