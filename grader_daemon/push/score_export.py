"""Handing scores to other programs: what the change feed tells, from where it was read last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import tenacity

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.exported import Exported, PassedOver
from grader_daemon.errors import DeliveryError
from grader_daemon.push.evaluations import Evaluated, ScoreSink, evaluations
from grader_daemon.storage.records import Change, ChangeKind
from grader_daemon.storage.sqlite.store import SqliteStore

_ASKED: Final = 10
"""A receiver that knows none of so many knows less than 26 % of all, with 95 % confidence: 1 − .05 ** .1."""

_TRIES: Final = 4
_ABOUT_GRADES: Final = frozenset((ChangeKind.GRADE, ChangeKind.LABEL))


class Recognized(msgspec.Struct, frozen=True, kw_only=True):
    """Number of the newest finished sessions that a receiver was `asked` for, and of those that are `known` there."""

    asked: int = 0
    known: int = 0


class ScoreExport:
    """Reads the feed for one follower, and keeps its place when the other side has taken what was sent.

    So each score arrives at least once; what is sent when all is interrupted before that is sent again.
    """

    def __init__(
        self, store: SqliteStore, sink: ScoreSink, *, follower: str, trust: Callable[[], Trust], at_once: int
    ) -> None:
        """`trust` says how far verdicts can be trusted now; a batch is of at most `at_once` changes."""
        self._store = store
        self._sink = sink
        self._follower = follower
        self._trust = trust
        self._at_once = at_once

    def recognized(self) -> Recognized:
        """Ask whether it knows our newest sessions: scores under other ids would hang on nothing. Raises like `run`."""
        sample = [one.session_id for one in self._store.feedback.finished(since=None, limit=_ASKED)]
        answers = [self._patiently()(self._sink.knows, session_id) for session_id in sample]
        return Recognized(asked=sum(one is not None for one in answers), known=sum(one is True for one in answers))

    def begin_now(self) -> None:
        """Skip all changes so far."""
        self._keep_place(self._store.changes.newest())

    def run(self) -> Exported:
        """Hand over the next batch.

        Raises:
            DeliveryError: it was not taken now, after some tries within seconds.
            CallError: it was refused.
        """
        changes = self._store.changes.after(self._store.changes.position(self._follower), self._at_once)
        if not changes:
            return Exported()
        batch = self._evaluated(changes)
        passed_over = self._patiently()(self._sink.send, batch) if batch else PassedOver()
        self._keep_place(changes[-1].seq)
        return Exported(sessions=len(batch) - passed_over.sessions, passed_over=passed_over, more=True)

    def _evaluated(self, changes: Sequence[Change]) -> list[Evaluated]:
        places = {change.subject: change.seq for change in changes if change.kind in _ABOUT_GRADES}
        trust = self._trust()
        stored = self._store.grades.stored(list(places))
        made = (
            Evaluated(grade=stored[name].grade, change=seq, evaluations=evaluations(stored[name].grade, trust))
            for name, seq in places.items()
            if name in stored
        )
        return [one for one in made if one.evaluations]

    def _keep_place(self, seq: int) -> None:
        with self._store.transaction():
            self._store.changes.advance(self._follower, seq)

    def _patiently(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(DeliveryError),
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_random_exponential(0.5, max=8),
            reraise=True,
        )
