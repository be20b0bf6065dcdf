"""Looks at what lies in the folders of a source, bounded: nobody waits for a home with a million files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import GraderError
from grader_daemon.sources.discovery import could_not_read

if TYPE_CHECKING:
    from grader_daemon.sources.protocol import Read, Source

MANY = 100_000
_MANY_FOLDERS = 20_000
_LARGEST_READ = 4_000_000


class Seen(NamedTuple):
    """Result of a look: sessions, whether there are more, those that were active, the newest; what can't be read.

    `unreadable` are databases that do not say what is in them, `closed` the folders and files without permission.
    """

    sessions: int
    is_more: bool
    active: int
    newest: Found | None
    unreadable: tuple[Unit, ...]
    closed: tuple[str, ...]


def look(
    source: Source,
    roots: Iterable[str],
    *,
    sessions: int = MANY,
    folders: int = _MANY_FOLDERS,
    active_since: datetime | None = None,
    passing: Callable[[Found], object] = lambda _: None,
) -> Seen:
    """Count what lies there, up to so many sessions and in so many folders; `active_since` some moment is counted.

    `passing` is called with each session that is counted.
    Where there are more, those whose names come last are counted: most agents name sessions by their time.
    """
    from grader_daemon.sources.session_files import SessionFiles  # where nothing lies, nobody need wait for it

    count = active = 0
    newest: Found | None = None
    unreadable: list[Unit] = []
    is_more = False
    walks = []
    since_ns = 0 if active_since is None else active_since.timestamp() * 1e9
    for root in roots:
        walk = source.walk(root)
        walks.append(walk)
        walk.most_folders, walk.newest_first = folders, True
        for found in walk:
            if isinstance(source, SessionFiles) and source.skipped_by_name(found.unit.locator) is not None:
                continue
            if not found.written_ns:  # a database that does not say what is in it
                unreadable.append(found.unit)
                continue
            if count == sessions:
                is_more = True
                break
            count += 1
            active += found.written_ns >= since_ns
            passing(found)
            if newest is None or found.written_ns > newest.written_ns:
                newest = found
        is_more = is_more or walk.is_cut
    return Seen(count, is_more, active, newest, tuple(unreadable), could_not_read(walks))


def read_newest(source: Source, found: Found | None) -> Read | None:
    """Read a session to see which version wrote it, if it is small enough for that, and can be read."""
    if found is None or source.size_of(found.unit) > _LARGEST_READ:
        return None
    try:
        return source.read(found)
    except GraderError:
        return None
