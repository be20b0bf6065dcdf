"""The session behind a grade, read again from its file: for those who show or judge its messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import msgspec
import xxhash

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.errors import ParseError
from grader_daemon.sources.reading import look_at, read_file, read_session


class Reread(msgspec.Struct, frozen=True):
    """A session, and the digest of the file that holds it now."""

    session: Session
    digest: str


def read_again(grade: Grade, *, zone: tzinfo | None, limits: Limits, roots: Sequence[str]) -> Reread:
    """Read the session that was graded; below one of `roots`, no link is followed on the way to its file.

    Raises:
        ReadError: its file is gone, or cannot be read now.
        ParseError: it is no session any more, or another one.
    """
    path = grade.session_file
    content = read_file(path, look_at(path), limits=limits, roots=roots)
    session = read_session(content, path, zone=zone, limits=limits)
    if not isinstance(session, Session):
        raise ParseError("the file is no session any more")
    if session.session_id != grade.session_id:
        raise ParseError("the file holds another session now")
    return Reread(session, xxhash.xxh3_128_hexdigest(content))
