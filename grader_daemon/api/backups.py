"""Backups of the database, and the way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from grader_daemon import bootstrap
from grader_daemon.api.doctor.check_words import who_holds
from grader_daemon.errors import AlreadyRunningError, InputError, StoreBusyError
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.maintenance.backup import Backup, Restored
from grader_daemon.storage.maintenance.backup import back_up as copy_database
from grader_daemon.storage.maintenance.backup import restore as put_back

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_DATED = f"grades-{'[0-9]' * 8}T{'[0-9]' * 6}Z.db"
"""Names of backups that are made one after the other; no other file is ever removed."""


def back_up(settings: Settings, target: str | os.PathLike[str]) -> Backup:
    """Copy the database to the file `target` while programs go on writing to it.

    Raises:
        InputError: `target` is no place for a backup: the database itself, or a file that is none.
        StoreError: the database cannot be read, or `target` not be written.
    """
    return copy_database(settings.db_path, Path(os.path.abspath(target)))


def back_up_into(settings: Settings, folder: str | os.PathLike[str], *, keep: int, clock: bootstrap.Clock) -> Backup:
    """Make a backup in `folder` that is named by its time, then remove the older ones of that kind but for `keep` - 1.

    Raises:
        InputError: `folder` is none.
        StoreError: see `back_up`; then nothing is removed.
    """
    into = Path(os.path.abspath(folder))
    if not into.is_dir():
        raise InputError(f"{into}: no such folder")
    made = back_up(settings, into / f"grades-{clock():%Y%m%dT%H%M%SZ}.db")
    for old in sorted(into.glob(_DATED))[:-keep]:
        old.unlink(missing_ok=True)
    return made


def restore(settings: Settings, backup: str | os.PathLike[str], *, clock: bootstrap.Clock) -> Restored:
    """Replace the database by a copy of `backup`; it is kept beside it.

    Raises:
        InputError: `backup` is no backup.
        AlreadyRunningError: a daemon runs.
        StoreError: a program has the database open, or something cannot be read or written.
    """
    try:
        with DaemonLock(settings.db_path):
            return put_back(Path(os.path.abspath(backup)), settings.db_path, now=clock())
    except AlreadyRunningError as error:
        raise AlreadyRunningError(f"{error}; stop it first") from error
    except StoreBusyError as error:
        raise StoreBusyError(f"{error}{who_holds(settings.db_path)}") from error
