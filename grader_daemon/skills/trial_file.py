"""The trials of a user, in a folder beside the settings.

`changes trial run` does what they say where agents read. So they are not beside the database, whose folder is the
daemon's.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

import msgspec

from grader_daemon.domain.unit import shown_path
from grader_daemon.errors import ConfigurationError, InputError, OutputError
from grader_daemon.integrations.files import replaced
from grader_daemon.setting_sources import absolute
from grader_daemon.skills.switched_file import SwitchedFile
from grader_daemon.storage.lock import only_one

_FOLDER: Final = "~/.config/grader-daemon/trials"
_MOST_BYTES: Final = 16_777_216


class TrialEnd(StrEnum):
    """Reason for the end of a trial: a person stopped it; else the file is not what or where it was."""

    STOPPED = "stopped"
    EDITED = "edited"
    REPLACED = "replaced"
    GONE = "gone"
    MOVED = "moved"
    FULL = "full"


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """A draw: whether sessions have the file from then on.

    at: written down before the file is switched.
    is_done: the file was switched. Sessions after a draw that was cut off count nowhere.
    """

    at: datetime
    on: bool
    is_done: bool = False


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial of a skill or a prompt file.

    number: 1 and up.
    name: the skill's, or the file's.
    agent: whose sessions are compared.
    file: the file that is switched.
    end: reason for its end; None while it runs.
    draws: in order.
    """

    number: int
    name: str
    agent: str
    file: SwitchedFile
    began_at: datetime
    ended_at: datetime | None = None
    end: TrialEnd | None = None
    draws: tuple[Draw, ...] = ()

    @property
    def runs(self) -> bool:
        """True until it ends."""
        return self.end is None


class TrialFile:
    """The file with all trials. It is read and written whole."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of all files of trials, and made with the first one."""
        self._folder = folder
        self._path = folder / "trials.json"

    @classmethod
    def of_user(cls) -> Self:
        """Return that of this user.

        Raises:
            ConfigurationError: the home folder is not known.
        """
        try:
            return cls(absolute(Path(_FOLDER)))
        except ValueError as error:
            raise ConfigurationError(f"trials: {error}; set HOME") from error

    def trials(self) -> tuple[Trial, ...]:
        """Return all trials, in order; none without the file.

        Raises:
            InputError: it cannot be read.
        """
        try:
            with self._path.open("rb") as opened:
                content = opened.read(_MOST_BYTES + 1)
            return msgspec.json.decode(content, type=tuple[Trial, ...])
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise InputError(f"{self._path}: not a file of trials: {error}") from error

    def running(self, name: str | None = None) -> list[Trial]:
        """Return the trials that run, or that one of this name that does."""
        return [trial for trial in self.trials() if trial.runs and name in (None, trial.name)]

    def save(self, trial: Trial) -> None:
        """Add or replace a trial, and have it on disk before anything else; call it inside `changing`.

        Raises:
            OutputError: it cannot be written.
        """
        others = [each for each in self.trials() if each.number != trial.number]
        try:
            with replaced(self._path) as beside, beside.open("wb") as opened:
                opened.write(msgspec.json.encode(sorted([*others, trial], key=lambda each: each.number)))
                opened.flush()
                os.fsync(opened.fileno())
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written: {error.strerror}") from error

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep other processes from changing it meanwhile.

        Raises:
            StoreError: another one does, for seconds.
            OutputError: the folder cannot be made.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot be made: {error.strerror}") from error
        with only_one(self._folder / "lock"):
            yield

    def session_lock(self, trial: Trial) -> int:
        """Open the lock that each session of a trial holds; programs that are run have it open, too.

        Raises:
            OutputError: it cannot be made.
        """
        path = self._folder / f"sessions-{trial.number}.lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from error
        os.set_inheritable(descriptor, True)  # noqa: FBT003  positional only
        return descriptor


def is_free(session_lock: int) -> bool:
    """Return whether no other session holds the lock, and take it then; call it inside `changing`."""
    try:
        fcntl.flock(session_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share(session_lock: int) -> None:
    """Hold the lock beside other sessions."""
    fcntl.flock(session_lock, fcntl.LOCK_SH)


def paths_of(trials: Sequence[Trial]) -> frozenset[str]:
    """Return the files of trials and their folders, as paths are shown: one of these is a skill."""
    files = [trial.file.path for trial in trials]
    return frozenset(map(shown_path, [*files, *map(os.path.dirname, files)]))
