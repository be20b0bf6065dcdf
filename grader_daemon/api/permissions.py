"""Places that others may change though the daemon relies on them: told by `run` in its log, and by `doctor`."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


class Exposed(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder in which others may write, with its mode in octal; the command `fix` ends that."""

    path: str
    mode: str
    fix: str


def exposed_places(settings: Settings) -> list[Exposed]:
    """Look at the folder of the database, and at the configuration."""
    return [*_exposed(settings.db_path.parent), *exposed_configuration(settings)]


def exposed_configuration(settings: Settings) -> list[Exposed]:
    """Look at the configuration file and its folder: who writes there can name programs that the daemon runs."""
    file = settings.given.file
    return [*_exposed(file), *_exposed(file.parent)] if file.is_file() else []


def _exposed(place: Path) -> Iterator[Exposed]:
    """Yield the place if others may write in it; in a sticky folder they cannot replace what is ours."""
    try:
        status = place.stat()
    except OSError:
        return
    foreign_group = status.st_mode & stat.S_IWGRP and status.st_gid != os.getgid()
    if (status.st_mode & stat.S_IWOTH or foreign_group) and not status.st_mode & stat.S_ISVTX:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        yield Exposed(path=str(place), mode=mode, fix=f"chmod go-w {shlex.quote(str(place))}")
