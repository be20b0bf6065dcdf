"""Files that a session wrote outside of git: still as they were when first seen, changed, or gone.

Of a file that was never seen nothing is said: it may be hidden from the service, or was there for a moment only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import xxhash
from msgspec.structs import replace

from grader_daemon.outcomes.budget import Budget
from grader_daemon.outcomes.look import file_content
from grader_daemon.outcomes.model import OutsideFile, OutsideState

_MOST: Final = 20


def look_outside(paths: Sequence[str], before: Sequence[OutsideFile], budget: Budget) -> tuple[OutsideFile, ...]:
    """Return how files are now that were seen `before`, and how those are that are seen for the first time."""
    known = {each.path: each for each in before}
    found = []
    for path in list(dict.fromkeys((*known, *paths)))[:_MOST]:
        seen = _again(known[path], budget) if path in known else _first(path, budget)
        if seen is not None:
            found.append(seen)
    return tuple(found)


def _first(path: str, budget: Budget) -> OutsideFile | None:
    digest, folder = _digest(path, budget), _folder(path)
    if digest is None or folder is None:
        return None
    return OutsideFile(path=path, digest=digest, folder=folder)


def _again(file: OutsideFile, budget: Budget) -> OutsideFile:
    digest = _digest(file.path, budget)
    if digest is not None:
        return replace(file, state=OutsideState.THERE if digest == file.digest else OutsideState.CHANGED)
    if os.path.lexists(file.path) or _folder(file.path) != file.folder:
        return file  # it cannot be read now, or what lies in its place is another folder: nothing is known
    return replace(file, state=OutsideState.GONE)


def _digest(path: str, budget: Budget) -> str | None:
    content = file_content(path, os.path.dirname(path), budget)
    return None if content is None else xxhash.xxh3_64_hexdigest(content)


def _folder(path: str) -> int | None:
    """Return the inode of the folder of a file, of 63 bits; None where it cannot be looked at."""
    try:
        return os.stat(os.path.dirname(path)).st_ino >> 1
    except OSError:
        return None
