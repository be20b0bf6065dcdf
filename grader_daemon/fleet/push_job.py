"""Sending grades to the fleet's database as the change feed tells, and taking what people there say of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.exported import Exported
from grader_daemon.domain.feedback import Feedback, FeedbackSource, FleetLabel
from grader_daemon.domain.fleet_hosts import FEED_FOLLOWER
from grader_daemon.domain.grade import Grade
from grader_daemon.fleet.server_writes import HostRows
from grader_daemon.pipeline.labels import take_labels
from grader_daemon.storage.records import ChangeKind, StoredGrade
from grader_daemon.storage.sqlite.store import SqliteStore

_AT_ONCE: Final = 500
_NOT_SAID_HERE: Final = frozenset({FeedbackSource.FLEET, FeedbackSource.REWARD, FeedbackSource.REVERT})
_GREETS_EVERY_SECONDS: Final = 60.0
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""NUL in JSON, whose backslash is no escaped one."""
_ESCAPED_NUL: Final = "\\u0000"
_AS_IT_IS: Final = frozenset({type(None), bool, bytes})
_MOST: Final = 10**12
_MOST_CHARACTERS: Final = 2_000
_MOST_BYTES: Final = 1024 * 1024
_YEARS: Final = range(1970, 2200)
"""Bounds of the fleet's database, see its migrations."""
_LISTS: Final = (list, tuple, dict)
_encode = msgspec.json.Encoder().encode

Documents = Callable[[list[StoredGrade]], list[Mapping[str, Any]]]
"""Function that makes the rows to be sent of grades: values by the names of the columns, in their order."""


class _Batch(NamedTuple):
    """Rows of what changed `after` a place in the feed up to and with `seq`, as `HostRows.save` is given them."""

    after: int
    seq: int
    rows: Sequence[Sequence[Any]]
    gone: Sequence[str]
    signs: Sequence[ErrorSign]
    is_full: bool


class FleetPush:
    """Reads the feed for the fleet. Its place is what both sides say they have: what one of them lost is sent again.

    The server has each batch whole or not at all, and a row for each session, so nothing is there twice. While it works
    on a batch, a thread makes the next one: what changes meanwhile stands behind it in the feed, and is sent again.
    """

    def __init__(self, store: SqliteStore, rows: HostRows, *, documents: Documents, texts: bool) -> None:
        """`texts`: what errors say is sent, too."""
        self._store = store
        self._rows = rows
        self._documents = documents
        self._texts = texts
        self._greeted_at: float | None = None
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="batch")
        """Its thread reads the database while `run` waits for the server, and at no other time."""
        self._next: _Batch | None = None

    def close(self) -> None:
        """Close the connection to the fleet's database; safe to call twice."""
        self._maker.shutdown()
        self._rows.close()

    def run(self) -> Exported:
        """Hand over the next batch, and keep what people of the team said.

        Raises:
            DeliveryError: it was not taken now.
            CallError: it was refused.
            StoreError: one of the databases cannot be used.
        """
        taken_up_to = self._rows.taken()
        self._take_labels()
        batch = self._batch_after(min(self._store.changes.position(FEED_FOLLOWER), taken_up_to))
        newest = self._store.changes.newest()
        if batch is None:
            self._send_labels()  # behind the grades that they are of
            self._greet(newest)
            return Exported()
        self._save(batch, newest=newest)
        self._greeted_at = time.monotonic()
        with self._store.transaction():
            self._store.changes.advance(FEED_FOLLOWER, batch.seq)
        return Exported(sessions=len(batch.rows) + len(batch.gone), more=True)

    def _save(self, batch: _Batch, *, newest: int) -> None:
        """Hand a batch to the server, and have the next one made meanwhile."""
        following = self._maker.submit(self._make, batch.seq) if batch.is_full else None
        try:
            self._rows.save(batch.rows, batch.gone, after=batch.after, seq=batch.seq, newest=newest, signs=batch.signs)
        finally:
            self._next = None if following is None else following.result()

    def _batch_after(self, place: int) -> _Batch | None:
        """Return the batch behind a place in the feed, which may be made already; None where nothing changed."""
        made, self._next = self._next, None
        return made if made is not None and made.after == place else self._make(place)

    def _make(self, after: int) -> _Batch | None:
        changes = self._store.changes.after(after, _AT_ONCE)
        if not changes:
            return None
        sessions = [change for change in changes if change.kind is not ChangeKind.ALERT and _has_room(change.subject)]
        places = {change.subject: change.seq for change in sessions}
        stored = self._store.grades.stored(list(places))
        there = [stored[name] for name in places if name in stored]
        documents = self._documents(there)
        return _Batch(
            after=after,
            seq=changes[-1].seq,
            rows=[[*_row(document), places[str(document["session_id"])]] for document in documents],
            gone=[name for name in places if name not in stored],
            signs=self._signs([each.grade for each in there]),
            is_full=len(changes) == _AT_ONCE,
        )

    def _take_labels(self) -> None:
        labels = self._rows.labels()
        if labels:
            with self._store.transaction():
                take_labels(self._store, labels)
            self._rows.note_taken(labels)

    def _send_labels(self) -> None:
        """Send what was said here, but for what came from elsewhere, and for rewards, which nobody said."""
        newest = self._store.feedback.newest_number()
        while (sent := self._rows.labels_sent()) < newest:
            said = self._store.feedback.said_after(sent, _AT_ONCE)
            known = {each.id: each for each in self._store.feedback.said([each.session_id for each in said])}
            here = [each for each in said if each.source not in _NOT_SAID_HERE and _has_room(each.session_id)]
            labels = [self._label(each, known) for each in here]
            self._rows.send_labels(labels, up_to=said[-1].id)

    def _label(self, said: Feedback, known: Mapping[int, Feedback]) -> FleetLabel:
        withdrawn = None if said.withdraws is None else known[said.withdraws]
        return FleetLabel(
            host="",
            session_id=said.session_id,
            given_by=_text(said.given_by),
            given_at=said.given_at,
            completed=said.completed,
            quality=said.quality,
            note=_text(said.note) if self._texts and said.note is not None else None,
            withdraws=None if withdrawn is None else withdrawn.given_at,
            withdraws_by=None if withdrawn is None else _text(withdrawn.given_by),
        )

    def _signs(self, grades: Iterable[Grade]) -> list[ErrorSign]:
        """Return what errors in grades look like; without what they say unless texts are sent."""
        seen = {failure.fingerprint for grade in grades for failure in grade.errors if failure.fingerprint is not None}
        signs = self._store.issues.signs(seen)
        sent = signs if self._texts else [replace(sign, signal="", example="") for sign in signs]
        return [replace(each, signal=_text(each.signal), example=_text(each.example)) for each in sent]

    def _greet(self, newest: int) -> None:
        now = time.monotonic()
        if self._greeted_at is None or now - self._greeted_at >= _GREETS_EVERY_SECONDS:
            self._rows.greet(newest=newest)
            self._greeted_at = now


def _row(document: Mapping[str, Any]) -> list[Any]:
    """Return what columns hold of a document; a hash is a number of any size."""
    return [
        value if type(value) in _AS_IT_IS or name == "request" else _cell(value) for name, value in document.items()
    ]


def _cell(value: Any) -> Any:
    """Return a value as a column holds it, within the bounds of the fleet's database: cut, or unknown.

    Lists and objects are JSON there, and texts without NUL, which PostgreSQL has not. Most values are unknown or texts,
    and hardly any has a NUL: those that look for one cost a third of all.
    """
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return max(0, min(value, _MOST))
    if isinstance(value, float):
        return value if 0 <= value <= _MOST else None
    if isinstance(value, _LISTS):
        told = _told(value)
        return _NUL.sub(r"\1", told) if _ESCAPED_NUL in told else told
    if isinstance(value, datetime):
        return value if value.year in _YEARS else None
    return value


def _text(value: str) -> str:
    cut = value[:_MOST_CHARACTERS]
    return cut.replace("\0", "") if "\0" in cut else cut


def _told(value: Any) -> str:
    """Return the JSON of a list, or of so much of its beginning as there is room for."""
    told = _encode(value)
    while len(told) > _MOST_BYTES and isinstance(value, list | tuple):
        value = value[: len(value) // 2]
        told = _encode(value)
    return told.decode()


def _has_room(session_id: str) -> bool:
    """Return whether the fleet's database can hold the row of a session of this name."""
    return len(session_id.encode("utf-8", "surrogatepass")) <= _MOST_CHARACTERS and "\0" not in session_id
