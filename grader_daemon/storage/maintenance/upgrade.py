"""A database of an earlier version: a copy of it that stays when it is upgraded, and one upgraded to look at alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from grader_daemon.errors import StoreError
from grader_daemon.storage.maintenance.atomic_swap import kept_copies, publish, temporary_beside
from grader_daemon.storage.maintenance.backup import BACKUP_MARK, check_copy, copy_pages, settle
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.sqlite.schema import newest_version, refuse_unreleased

_WHY: Final = "before-upgrade"
_KEPT: Final = 2
"""Copies of earlier versions that stay: one more than the way back takes."""


class Upgrade(NamedTuple):
    """An upgrade of a database: the schema before and since, and the copy of how it was."""

    before: int
    since: int
    kept: Path

    def __str__(self) -> str:
        return (
            f"upgraded the database (schema {self.before} to {self.since}), a copy of the old one is kept; to go back:"
            f" install the earlier version, then: grader-daemon backup restore {shlex.quote(str(self.kept))}"
        )


@contextmanager
def upgrading(path: Path, *, now: datetime) -> Iterator[Upgrade | None]:
    """Keep a copy of a database of an earlier version while what is inside upgrades it; None: there is nothing to.

    If the upgrade fails, the database is as it was, and the copy goes. Only the newest two copies stay.

    Raises:
        StoreError: the copy cannot be made, so nothing may be upgraded.
    """
    made = _keep(path, now)
    try:
        yield made
    except BaseException:
        if made is not None and _earlier(path) is not None:
            made.kept.unlink(missing_ok=True)
        raise
    if made is not None:
        former = [each for each in kept_copies(path) if each.name.startswith(f"{path.name}.{_WHY}-")]
        for old in former[:-_KEPT]:
            old.unlink(missing_ok=True)


@contextmanager
def upgraded_copy(path: Path) -> Iterator[Path]:
    """Hand out a copy of a database as this version would upgrade it; it goes at the end, the database stays as it is.

    Raises:
        StoreError: it cannot be made, or a build before the first release left the database.
    """
    with Inspection(path) as inspection:
        refuse_unreleased(inspection.schema() or 0, str(path))
    with temporary_beside(path) as copy:
        copy_pages(path, copy, target=copy, mark=0)
        settle(copy)
        yield copy


def _keep(path: Path, now: datetime) -> Upgrade | None:
    if _earlier(path) is None:
        return None
    kept = path.with_name(f"{path.name}.{_WHY}-{now:%Y%m%dT%H%M%SZ}")
    with temporary_beside(path) as copy:
        copy_pages(path, copy, target=kept, mark=BACKUP_MARK)
        before = _earlier(copy)
        if before is None:  # another program was faster
            return None
        check_copy(copy, of=path)
        publish(copy, kept)
    return Upgrade(before=before, since=newest_version(), kept=kept)


def _earlier(path: Path) -> int | None:
    """Return the schema of a database of an earlier release; None of any other file: who opens it says what it is."""
    if not path.is_file() or path.is_symlink() or not path.stat().st_size:
        return None
    with suppress(StoreError), Inspection(path) as inspection:
        schema = inspection.schema()
        return schema if schema is not None and 0 <= schema < newest_version() else None
    return None
