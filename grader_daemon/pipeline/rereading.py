"""The session behind a grade, read again from where it lies: for those who show or judge its messages."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import Session
from grader_daemon.errors import ParseError
from grader_daemon.sources.protocol import Sources


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
        raise ParseError("the file is no session any more")
    if read.session.session_id != grade.session_id:
        raise ParseError("the file holds another session now")
    return Reread(read.session, read.digest or "")
