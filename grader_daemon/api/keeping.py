"""Backups of the database, and the way back."""

from __future__ import annotations

import os
from pathlib import Path

from grader_daemon import bootstrap
from grader_daemon.api.doctor.words import who_holds
from grader_daemon.errors import AlreadyRunningError, StoreBusyError
from grader_daemon.settings import Settings
from grader_daemon.storage.backup import Backup, Restored
from grader_daemon.storage.backup import back_up as copy_database
from grader_daemon.storage.backup import restore as put_back
from grader_daemon.storage.lock import DaemonLock


def back_up(settings: Settings, target: str | os.PathLike[str]) -> Backup:
    """Copy the database to the file `target` while programs go on writing to it.

    Raises:
        InputError: `target` is no place for a backup: the database itself, or a file that is none.
        StoreError: the database cannot be read, or `target` not be written.
    """
    return copy_database(settings.db_path, Path(os.path.abspath(target)))


def restore(settings: Settings, backup: str | os.PathLike[str]) -> Restored:
    """Put a copy of `backup` in the place of the database, which is kept beside it.

    Raises:
        InputError: `backup` is no backup.
        AlreadyRunningError: a daemon runs.
        StoreError: a program has the database open, or something cannot be read or written.
    """
    try:
        with DaemonLock(settings.db_path):
            return put_back(Path(os.path.abspath(backup)), settings.db_path, now=bootstrap.utc_now())
    except AlreadyRunningError as error:
        raise AlreadyRunningError(f"{error}; stop it first") from error
    except StoreBusyError as error:
        raise StoreBusyError(f"{error}{who_holds(settings.db_path)}") from error
