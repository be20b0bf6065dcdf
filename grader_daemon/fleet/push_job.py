"""Sending grades to the fleet's database as the change feed tells, and taking what people there say of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.exported import Exported
from grader_daemon.domain.feedback import Feedback, FeedbackSource, FleetLabel
from grader_daemon.domain.fleet_hosts import FEED_FOLLOWER
from grader_daemon.fleet.sent_rows import bounded_text, has_room
from grader_daemon.fleet.sent_sums import changed_days
from grader_daemon.fleet.server_sums import SummedDays
from grader_daemon.fleet.server_writes import HostRows
from grader_daemon.pipeline.save_labels import take_labels
from grader_daemon.storage.records import ChangeKind, GradeColumns
from grader_daemon.storage.sqlite.store import SqliteStore

_AT_ONCE: Final = 1_000
"""Changes in a batch, of about two megabytes: a tenth faster than 500, and slow lines still send it in time."""
_NOT_SAID_HERE: Final = frozenset({FeedbackSource.FLEET, FeedbackSource.REWARD, FeedbackSource.REVERT})
_GREETS_EVERY_SECONDS: Final = 60.0
MakeRows = Callable[[GradeColumns], Sequence[Sequence[Any]]]
"""Function that makes the rows to be sent of grades, in their order."""


class _Batch(NamedTuple):
    """Changes behind a place in the feed, `after`, up to and with `seq`, as `HostRows.save` is given them."""

    after: int
    seq: int
    rows: Sequence[Sequence[Any]]
    gone: Sequence[str]
    signs: Sequence[ErrorSign]
    days: SummedDays
    is_full: bool


class FleetPush:
    """Reads the feed for the fleet. Its place is what both sides say they have: what one of them lost is sent again.

    The server has each batch whole or not at all, and a row for each session, so nothing is there twice. While it works
    on a batch, a thread makes the next one: what changes meanwhile stands behind it in the feed, and is sent again. The
    thread begins when all rows are handed over, because it would take turns with what writes them.
    """

    def __init__(self, store: SqliteStore, rows: HostRows, *, make_rows: MakeRows, texts: bool) -> None:
        """`texts`: what errors say is sent, too."""
        self._store = store
        self._rows = rows
        self._make_rows = make_rows
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
        making: list[Future[_Batch | None]] = []

        known = {**self._summed_at(batch.after), **batch.days.revisions}

        def make_next() -> None:
            if batch.is_full:
                making.append(self._maker.submit(self._make, batch.seq, known))

        try:
            self._rows.save(
                *(batch.rows, batch.gone),
                after=batch.after,
                seq=batch.seq,
                newest=newest,
                signs=batch.signs,
                days=batch.days,
                meanwhile=make_next,
            )
        finally:
            self._next = making[0].result() if making else None

    def _batch_after(self, place: int) -> _Batch | None:
        """Return the batch behind a place in the feed, which may be made already; None where nothing changed."""
        made, self._next = self._next, None
        return made if made is not None and made.after == place else self._make(place, self._summed_at(place))

    def _summed_at(self, place: int) -> Mapping[date, int]:
        """Return of which days the server has sums; what begins at 0 takes the place of all."""
        return self._rows.summed() if place else {}

    def _make(self, after: int, known: Mapping[date, int]) -> _Batch | None:
        changes = self._store.changes.after(after, _AT_ONCE)
        days = changed_days(self._store.rollups, known)
        if not changes and not (after and days.revisions):
            return None
        sessions = [change for change in changes if change.kind is not ChangeKind.ALERT and has_room(change.subject)]
        places = {change.subject: change.seq for change in sessions}
        graded = self._store.grades.columns(list(places))
        there = () if graded is None else graded.columns["session_id"]
        rows = () if graded is None else self._make_rows(graded)
        gone = places.keys() - set(there)
        return _Batch(
            after=after,
            seq=changes[-1].seq if changes else after,
            rows=[(*row, places[name]) for name, row in zip(there, rows, strict=True)],
            gone=sorted(gone),
            signs=[] if graded is None else self._signs(graded.fingerprints),
            days=days,
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
            here = [each for each in said if each.source not in _NOT_SAID_HERE and has_room(each.session_id)]
            labels = [self._label(each, known) for each in here]
            self._rows.send_labels(labels, up_to=said[-1].id)

    def _label(self, said: Feedback, known: Mapping[int, Feedback]) -> FleetLabel:
        withdrawn = None if said.withdraws is None else known[said.withdraws]
        return FleetLabel(
            host="",
            session_id=said.session_id,
            given_by=bounded_text(said.given_by),
            given_at=said.given_at,
            completed=said.completed,
            quality=said.quality,
            note=bounded_text(said.note) if self._texts and said.note is not None else None,
            withdraws=None if withdrawn is None else withdrawn.given_at,
            withdraws_by=None if withdrawn is None else bounded_text(withdrawn.given_by),
        )

    def _signs(self, fingerprints: Collection[str]) -> list[ErrorSign]:
        """Return what errors look like; without what they say unless texts are sent."""
        signs = self._store.issues.signs(fingerprints)
        sent = signs if self._texts else [replace(sign, signal="", example="") for sign in signs]
        return [replace(each, signal=bounded_text(each.signal), example=bounded_text(each.example)) for each in sent]

    def _greet(self, newest: int) -> None:
        now = time.monotonic()
        if self._greeted_at is None or now - self._greeted_at >= _GREETS_EVERY_SECONDS:
            self._rows.greet(newest=newest)
            self._greeted_at = now
