"""Sending grades to the fleet's database: what the change feed tells, from where both sides have it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from grader_daemon.jobs.export import Exported
from grader_daemon.storage.postgres.host_rows import HostRows
from grader_daemon.storage.protocol import Store
from grader_daemon.storage.records import ChangeKind, StoredGrade

_AT_ONCE: Final = 500
_FOLLOWER: Final = "fleet"
_GREETS_EVERY_SECONDS: Final = 60.0
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""NUL in JSON, whose backslash is no escaped one."""
_encode = msgspec.json.Encoder().encode

Documents = Callable[[list[StoredGrade]], list[Mapping[str, Any]]]
"""What makes of grades what is sent of each: values by the names of the columns, in their order."""


class FleetPush:
    """Reads the feed for the fleet. Its place is what both sides say they have: what one of them lost is sent again.

    The server has each batch whole or not at all, and a row for each session, so nothing is there twice.
    """

    def __init__(self, store: Store, rows: HostRows, *, documents: Documents) -> None:
        self._store = store
        self._rows = rows
        self._documents = documents
        self._greeted_at: float | None = None

    def close(self) -> None:
        """Close the connection to the fleet's database; safe to call twice."""
        self._rows.close()

    def run(self) -> Exported:
        """Hand over the next batch.

        Raises:
            DeliveryError: it was not taken now.
            CallError: it was refused.
            StoreError: one of the databases cannot be used.
        """
        after = min(self._store.changes.position(_FOLLOWER), self._rows.taken())
        changes = self._store.changes.after(after, _AT_ONCE)
        newest = self._store.changes.newest()
        if not changes:
            self._greet(newest)
            return Exported()
        places = {change.subject: change.seq for change in changes if change.kind is not ChangeKind.ALERT}
        stored = self._store.grades.stored(list(places))
        documents = self._documents([stored[name] for name in places if name in stored])
        rows = [[*map(_cell, document.values()), places[str(document["session_id"])]] for document in documents]
        gone = [name for name in places if name not in stored]
        self._rows.save(rows, gone, after=after, seq=changes[-1].seq, newest=newest)
        self._greeted_at = time.monotonic()
        with self._store.transaction():
            self._store.changes.advance(_FOLLOWER, changes[-1].seq)
        return Exported(sessions=len(rows) + len(gone), more=True)

    def _greet(self, newest: int) -> None:
        now = time.monotonic()
        if self._greeted_at is None or now - self._greeted_at >= _GREETS_EVERY_SECONDS:
            self._rows.greet(newest=newest)
            self._greeted_at = now


def _cell(value: Any) -> Any:
    """Return a value as a column holds it: lists and objects as JSON, texts without NUL, which PostgreSQL has not."""
    if isinstance(value, str):
        return value.replace("\0", "")
    return _NUL.sub(r"\1", _encode(value).decode()) if isinstance(value, list | tuple | dict) else value
