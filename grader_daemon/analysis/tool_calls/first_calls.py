"""The first calls of a session, as people may see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from grader_daemon.analysis.tool_calls.call_view import view_of
from grader_daemon.analysis.tool_calls.failure_trail import shown_command
from grader_daemon.domain.analysis import Called
from grader_daemon.domain.limits import LONGEST_NAME
from grader_daemon.domain.session import Session
from grader_daemon.redaction import Redactor

MOST: Final = 6
"""Number of first calls; further ones mostly tell how far a session got."""


def first_calls(session: Session, redactor: Redactor) -> tuple[Called, ...]:
    """Return the first `MOST` calls of tools, in order, without secrets."""
    return tuple(islice(_calls(session, redactor), MOST))


def _calls(session: Session, redactor: Redactor) -> Iterator[Called]:
    for message in session.messages:
        for wire in message.tool_calls or ():
            call = view_of(wire)
            if call.tool:
                yield Called(redactor.redact_name(call.tool[:LONGEST_NAME]), shown_command(call, redactor))
