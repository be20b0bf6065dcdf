"""Tables of values that know what they held when a unit of work began."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from threading import RLock
from typing import NamedTuple, TypeVar

from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.counting import GroupKey, ToolStepKey
from grader_daemon.domain.feedback import Feedback
from grader_daemon.domain.identity import Identity, rival_keys
from grader_daemon.domain.installed import ObservedVersion
from grader_daemon.domain.ledger import LagSpan, LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError
from grader_daemon.storage.records import ChangeKind, LastGrade, StoredGrade

Key = TypeVar("Key")
Value = TypeVar("Value")
Undo = Callable[[], None]


class Row(NamedTuple):
    """A grade with the identity of its session, and when it ended."""

    stored: StoredGrade
    identity: Identity

    @property
    def ended_at(self) -> datetime:
        """By what sessions are listed: the end, or when they were graded."""
        return self.stored.grade.ended_at or self.stored.grade.graded_at

    @property
    def listed_at(self) -> datetime:
        """`ended_at`; one of the future, by the clock of another machine, an hour behind when it was graded."""
        if self.ended_at <= self.stored.grade.graded_at:
            return self.ended_at
        try:
            latest = self.stored.grade.graded_at + timedelta(hours=1, microseconds=500)  # SQLite rounds to milliseconds
        except OverflowError:
            return self.ended_at
        return min(self.ended_at, latest.replace(microsecond=0))


class File(NamedTuple):
    """A row of the ledger; `number` tells its place among those of equal rank."""

    number: int
    entry: LedgerEntry
    seen_at: datetime


class Table(dict[Key, Value]):
    """A table by its key. Every change goes through `put` or `drop`, which note how to take it back."""

    def __init__(self, journal: list[Undo]) -> None:
        super().__init__()
        self._journal = journal

    def put(self, key: Key, value: Value) -> None:
        """Insert or replace a row."""
        self._remember(key)
        self[key] = value

    def drop(self, key: Key) -> None:
        """Delete a row; nothing happens if it is not there."""
        if key in self:
            self._remember(key)
            del self[key]

    def _remember(self, key: Key) -> None:
        if key in self:
            before = self[key]
            self._journal.append(lambda: self.__setitem__(key, before))
        else:
            self._journal.append(lambda: self.__delitem__(key))


class GradeTable(Table[str, Row]):
    """The grades, found by what sessions share as well: a chain, a conversation, a first call, or a request."""

    def __init__(self, journal: list[Undo]) -> None:
        super().__init__(journal)
        self._alike: dict[object, dict[str, None]] = {}

    def __setitem__(self, session_id: str, row: Row) -> None:
        """Insert or replace a row."""
        if session_id in self:
            del self[session_id]
        super().__setitem__(session_id, row)
        for key in _shared_by(row):
            self._alike.setdefault(key, {})[session_id] = None

    def __delitem__(self, session_id: str) -> None:
        """Delete a row."""
        for key in _shared_by(self[session_id]):
            del self._alike[key][session_id]
        super().__delitem__(session_id)

    def rivals(self, new: Identity) -> list[Row]:
        """Return the other sessions that share a chain, a conversation or a first call with one."""
        found = {session_id: None for key in rival_keys(new) for session_id in self._alike.get(key, ())}
        return [self[session_id] for session_id in found if session_id != new.session_id]

    def of_request(self, request: int) -> list[Row]:
        """Return the sessions in which the same was asked for."""
        return [self[session_id] for session_id in self._alike.get(request, ())]


def _shared_by(row: Row) -> list[object]:
    request = row.stored.grade.request
    return [*rival_keys(row.identity), *(() if request is None else (request,))]


class Tables:
    """All that the store holds."""

    def __init__(self, *, host: str) -> None:
        """`host` is that of every grade."""
        journal: list[Undo] = []
        self._journal = journal
        self._busy = False
        self.lock = RLock()
        self.host = host
        self.numbers: Table[str, int] = Table(journal)
        self.grades = GradeTable(journal)
        self.files: Table[Unit, File] = Table(journal)
        self.last_grades: Table[str, LastGrade] = Table(journal)
        self.live_lags: Table[float, LagSpan] = Table(journal)
        self.groups: Table[GroupKey, tuple[int, ...]] = Table(journal)
        self.tool_steps: Table[ToolStepKey, tuple[int, ...]] = Table(journal)
        self.revisions: Table[date, int] = Table(journal)
        self.signs: Table[str, ErrorSign] = Table(journal)
        self.changes: Table[tuple[ChangeKind, str], int] = Table(journal)
        self.positions: Table[str, int] = Table(journal)
        self.feedback: Table[int, Feedback] = Table(journal)
        self.observed: Table[tuple[str, datetime], ObservedVersion] = Table(journal)

    def number(self, table: str) -> int:
        """Return the next number of a table; none is given twice."""
        last = self.numbers.get(table, 0) + 1
        self.numbers.put(table, last)
        return last

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens, or nothing of it."""
        with self.lock:
            if self._busy:
                raise StoreError("cannot start a transaction within a transaction")
            self._busy = True
            try:
                yield
            except BaseException:
                while self._journal:
                    self._journal.pop()()
                raise
            finally:
                self._journal.clear()
                self._busy = False


class Part:
    """A part of the store: what is done with some of the tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
