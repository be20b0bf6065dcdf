"""Hermes' own ledger of checks, ``verification_evidence.db`` in its home: the last one of a session, as it noted it.

It has the tests, builds and linters that a session ran in a work tree, by their commands, and whether files were edited
since. Only kind, scope and status are read, neither commands nor output. Schema 1, of Hermes Agent 0.19 and later.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from grader_daemon.errors import ReadError
from grader_daemon.sources.sqlite_files import Reader, Value, look_into

_LEDGER: Final = "verification_evidence.db"
_LONGEST: Final = 40
_LAST: Final = (
    "SELECT e.kind, e.scope, e.status, s.last_edit_at FROM verification_state AS s"
    " JOIN verification_events AS e ON e.id = s.last_event_id WHERE s.session_id = ? ORDER BY e.id DESC LIMIT 1"
)
_STATES: Final = {"passed": True, "failed": False}


class NotedCheck(NamedTuple):
    """A check that Hermes noted: its kind, as in "test", its scope, and whether files were edited behind it."""

    kind: str
    scope: str
    passed: bool
    is_stale: bool


def noted_check(session_file: str, session_id: str) -> NotedCheck | None:
    """Return the last check of a session, from the ledger of the home that its file lies in.

    None without, or where it cannot be read now.
    """
    folder = os.path.dirname(session_file)
    for home in (folder, os.path.dirname(folder)):
        path = os.path.join(home, _LEDGER)
        if os.path.isfile(path):
            try:
                return look_into(path, lambda reader: _last(reader, session_id), roots=[home])
            except ReadError:
                return None  # it is being written to, or of another kind: perhaps at the next look
    return None


def _last(reader: Reader, session_id: str) -> NotedCheck | None:
    if not reader.columns("verification_events") or not reader.columns("verification_state"):
        return None
    return next((_check(row) for row in reader.rows(_LAST, (session_id,))), None)


def _check(row: tuple[Value, ...]) -> NotedCheck | None:
    kind, scope, status, edited_at = row
    if not isinstance(kind, str) or not isinstance(scope, str) or status not in _STATES:
        return None
    return NotedCheck(
        kind=kind[:_LONGEST], scope=scope[:_LONGEST], passed=_STATES[str(status)], is_stale=edited_at is not None
    )
