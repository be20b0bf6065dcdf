"""The disk that a database lies on."""

from __future__ import annotations

import os
from pathlib import Path

_LEAST_FREE_BYTES = 65_536
"""SQLite asks for 32 KB at once for the file that its connections share; a disk without them is full."""


def is_disk_full(path: Path) -> bool:
    """Return whether the disk of a database has no room for a write."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES


def identity_of(path: str | Path) -> tuple[int, int] | None:
    """Return device and inode of the file or folder at `path`; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
