"""The session behind a grade, read again from where it lies: for those who show or judge its messages."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ParseError
from grader_daemon.sources.protocol import Sources

MOST_KEPT: Final = 8
MOST_KEPT_BYTES: Final = 32_000_000
"""Most bytes kept, in files; decoded they take about twice as much. A session of 20,000 messages has 20 MB."""


class Reread(msgspec.Struct, frozen=True):
    """A session, and the digest of what it is made from now."""

    session: Session
    digest: str


def read_again(grade: Grade, sources: Sources) -> Reread:
    """Read the session that was graded.

    Raises:
        ReadError: it is gone, or cannot be read now.
        ParseError: it is no session any more, or another one.
    """
    read = sources.read(grade.unit)
    if not isinstance(read.session, Session):
        raise ParseError("the file is no longer a session")
    if read.session.session_id != grade.session_id:
        raise ParseError("the file now contains another session")
    return Reread(read.session, read.digest or "")


class RecentSessions:
    """The sessions that were read last: whoever looks at one asks for it again, and reading a large one takes 0.2 s.

    Safe among threads.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._lock = Lock()
        self._kept: OrderedDict[Unit, _Kept] = OrderedDict()
        """The one that was asked for last stands last; guarded by `_lock`."""

    def read(self, grade: Grade) -> Reread:
        """Return the session that was graded as it lies there now; read again only where it changed since.

        Raises:
            ReadError, ParseError: see `read_again`.
        """
        found = self._sources.look(grade.unit)
        with self._lock:
            kept = self._kept.pop(grade.unit, None)
            if kept is not None and kept.found == found and kept.reread.session.session_id == grade.session_id:
                self._kept[grade.unit] = kept
                return kept.reread
        reread = read_again(grade, self._sources)
        # What is written meanwhile is kept under the stamp of before, so the next look tells that it changed.
        self._keep(_Kept(found, reread, self._sources.size_of(grade.unit)))
        return reread

    def _keep(self, read: _Kept) -> None:
        with self._lock:
            self._kept[read.found.unit] = read
            while len(self._kept) > MOST_KEPT or sum(kept.size for kept in self._kept.values()) > MOST_KEPT_BYTES:
                self._kept.popitem(last=False)


class _Kept(NamedTuple):
    """A session as it was found and read, and the bytes of its file."""

    found: Found
    reread: Reread
    size: int
