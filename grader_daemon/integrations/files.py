"""Files that are left for other programs: whole or not at all, no link followed, by default for their owner alone."""

from __future__ import annotations

import errno
import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

OWNER_ONLY: Final = 0o600
_SUFFIX: Final = ".grader-tmp"
_LONGEST_SECONDS: Final = 3600.0
"""Longest time that a file takes to be written."""


def replace_file(path: Path, content: str, *, mode: int = OWNER_ONLY) -> None:
    """Replace a file in one step; a link that is there is replaced, what it leads to stays.

    Raises:
        OSError: it cannot be written there, or a device or a pipe is there, such as ``/dev/null``.
    """
    with replaced(path, mode=mode) as beside:
        beside.write_text(content, encoding="utf-8", errors="backslashreplace")


@contextmanager
def replaced(path: Path, *, mode: int = OWNER_ONLY) -> Iterator[Path]:
    """Hand out an empty file to be written in place of `path`, which it becomes at the end; see `replace_file`."""
    _refuse_device(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
    os.close(descriptor)
    beside = Path(name)
    try:
        _remove_leftovers(path, before=beside.stat().st_mtime - _LONGEST_SECONDS)
        yield beside
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink()
        raise


def _refuse_device(path: Path) -> None:
    """Refuse to put a file in the place of a device or a pipe, or of a link to one, which root could do."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # nothing is there
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EEXIST, "a device or a pipe is there, not a file", str(path))


def _remove_leftovers(path: Path, *, before: float) -> None:
    """Remove what processes left that were killed while they wrote; what is newer may still be written."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{_SUFFIX}"):
        with suppress(OSError):
            if left.lstat().st_mtime < before:
                left.unlink()
