"""In-process memory of a database of sessions, so that a change costs one short look.

Databases of agents do not say what changed. New rows show in their numbers; what moves no number (tokens, an end, what
a person takes back) happens to sessions that were written to lately, so these are compared each time. A deletion shows
in how many there are and who is the last; then, and once an hour, all are compared.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from time import monotonic
from typing import Generic, NamedTuple, Protocol, TypeVar

import xxhash

from grader_daemon.errors import ChangingFileError, VanishedFileError
from grader_daemon.sources.sqlite_files import Reader, Value, database_stamp, look_into, number_of

S = TypeVar("S")
T = TypeVar("T")
_LATELY = 16
_SLICE = 500
_COMPARED_FOR_SECONDS = 3_600.0


class Entry(NamedTuple):
    """A remembered session: a digest that differs if it does, the time of the last write, and its length."""

    stamp: bytes
    written_ns: int
    messages: int


class Mark(NamedTuple):
    """State of a database: how far it has come.

    version: of its schema.
    rows: the last numbers of rows that only grow; none of a database that had no tables of its agent.
    sessions: how many it has.
    row: the last of these, and `last` the id of the session in it.

    Numbers of rows are given anew to others after a deletion, and all of them by a VACUUM, which makes the version of
    the schema another.
    """

    version: Value = None
    rows: tuple[int, ...] = ()
    sessions: int = 0
    row: int = 0
    last: Value = None

    def goes_on_in(self, now: Mark, *, new: int) -> bool:
        """Return whether until `now` only rows were added, `new` of them of sessions."""
        grown = all(row >= before for row, before in zip(now.rows, self.rows, strict=True))
        return grown and now.sessions == self.sessions + new and now.version == self.version


class Queries(Protocol[S]):
    """Queries of a database; `S` is what is known of its tables."""

    def schema(self, reader: Reader) -> S | None:
        """Return what is known of its tables; None where it has no sessions of this kind, or none that can be read."""

    def is_strange(self, reader: Reader) -> bool:
        """Return whether a database without a `schema` has the tables of sessions, in a form that is not known."""

    def mark(self, reader: Reader) -> Mark:
        """Return how far it has come."""

    def id_at(self, reader: Reader, row: int) -> Value:
        """Return the id of the session in the row of this number; None where there is none."""

    def grown_since(self, reader: Reader, mark: Mark) -> tuple[list[str], int]:
        """Return the ids of sessions that are new or have new rows, and how many rows of sessions are new."""

    def ids_after(self, reader: Reader, last: str, limit: int) -> list[str]:
        """Return the next session ids in their order."""

    def entries(self, reader: Reader, schema: S, ids: Iterable[str]) -> Mapping[str, Entry]:
        """Return the entries of those of these sessions that are there."""


class SessionTable:
    """The queries that a table of sessions and tables of their rows answer alike, whatever the agent; see `Queries`.

    Attributes:
        table: the table of sessions.
        id_name: its column with the ids.
        growing: the tables whose rows name their session, each with the column that numbers the rows.
    """

    table: str
    id_name = "id"
    growing: Sequence[tuple[str, str]]

    def table_in(self, reader: Reader) -> str:
        """Return the table of sessions of a database."""
        return self.table

    def named_in_row(self, reader: Reader, table: str) -> str:
        """Return the columns with ids of sessions that a new row of the table concerns."""
        return self.id_name

    def mark(self, reader: Reader) -> Mark:
        ((version,),) = reader.rows("PRAGMA schema_version")
        table = self.table_in(reader)
        numbers = ", ".join(f"(SELECT max({number}) FROM {name})" for name, number in self.growing)
        (found,) = reader.rows(f"SELECT {numbers}, (SELECT max(rowid) FROM {table}), (SELECT count(*) FROM {table})")
        *rows, row, sessions = map(number_of, found)
        return Mark(version, tuple(rows), sessions, row, self.id_at(reader, row))

    def id_at(self, reader: Reader, row: int) -> Value:
        found = reader.rows(f"SELECT {self.id_name} FROM {self.table_in(reader)} WHERE rowid = ?", (row,))
        return found[0][0] if found else None

    def grown_since(self, reader: Reader, mark: Mark) -> tuple[list[str], int]:
        table = self.table_in(reader)
        new = reader.rows(f"SELECT {self.named_in_row(reader, table)} FROM {table} WHERE rowid > ?", (mark.row,))
        grown = [
            row
            for (name, number), last in zip(self.growing, mark.rows, strict=True)
            for row in reader.rows(f"SELECT DISTINCT session_id FROM {name} NOT INDEXED WHERE {number} > ?", (last,))
        ]
        return list(dict.fromkeys(value for row in (*grown, *new) for value in row if isinstance(value, str))), len(new)

    def ids_after(self, reader: Reader, last: str, limit: int) -> list[str]:
        name = self.id_name
        found = reader.rows(
            f"SELECT {name} FROM {self.table_in(reader)} WHERE {name} > ? AND typeof({name}) = 'text'"
            f" ORDER BY {name} LIMIT ?",
            (last, limit),
        )
        return [str(row[0]) for row in found]


class DatabaseMemory(Generic[S]):
    """One database; any thread may ask. All that it remembers is guarded by `_lock`, but `_schema` and `_doubted`."""

    def __init__(self, path: str, queries: Queries[S], *, roots: Iterable[str]) -> None:
        """See `look_into` for `roots`."""
        self.path = path
        self._queries = queries
        self._roots = tuple(roots)
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] | None = None
        self._stamp = b""
        self._identity = (0, 0)
        self._schema: tuple[object, S | None, bool] = (None, None, False)
        """The schema, with the version it was read at, and whether it is strange; whoever reads may put another here.
        """
        self._mark = Mark()
        self._lately: dict[str, None] = {}
        self._untold: dict[str, None] = {}
        self._doubted: dict[str, None] = {}
        """Sessions that did not stand as they are remembered; whoever reads adds one, and `_refresh` takes it out."""
        self._compared_at = 0.0

    def entries(self) -> Mapping[str, Entry]:
        """Return all sessions.

        Raises:
            VanishedFileError, ChangingFileError, ReadError: see `look_into`.
        """
        with self._lock:
            return dict(self._refreshed())

    def changed(self) -> list[str]:
        """Return the sessions that are not as they were when this was last asked; the first time, all.

        Raises:
            VanishedFileError, ChangingFileError, ReadError: see `look_into`.
        """
        with self._lock:
            first = self._entries is None
            self._stamp = b""  # times of files are coarse: who asks knows that something was written
            entries = self._refreshed()
            untold, self._untold = self._untold, {}
            return list(entries) if first else [session_id for session_id in untold if session_id in entries]

    def entry(self, session_id: str) -> Entry:
        """Return what tells how a session stands.

        Raises:
            VanishedFileError: it is gone, or the database is.
            ChangingFileError, ReadError: see `look_into`.
        """
        with self._lock:
            entry = self._refreshed().get(session_id)
        if entry is None:
            raise VanishedFileError("the session is gone from the database")
        return entry

    @property
    def strange(self) -> bytes | None:
        """A stamp of a database with sessions of an unknown form; None if it has a known one, or no sessions."""
        version, _, is_strange = self._schema
        return xxhash.xxh3_128_digest(repr(version).encode()) if is_strange else None

    def look(self, read: Callable[[Reader], T]) -> T:
        """Look into it; see `look_into`."""
        return look_into(self.path, read, roots=self._roots)

    def schema_now(self, reader: Reader) -> S | None:
        """Return what is known of the tables, asked once for each version of the schema."""
        version = (reader.identity, reader.rows("PRAGMA schema_version"))
        known, schema, _ = self._schema
        if version != known:
            schema = self._queries.schema(reader)
            self._schema = (version, schema, schema is None and self._queries.is_strange(reader))
        return schema

    def as_it_was(self, reader: Reader, session_id: str, stamp: bytes) -> S:
        """Return what is known of the tables if a session stands as `stamp` says, within a look.

        Raises:
            VanishedFileError: it is gone.
            ChangingFileError: it is not as it was.
        """
        schema = self.schema_now(reader)
        entry = None if schema is None else self._queries.entries(reader, schema, [session_id]).get(session_id)
        if schema is None or entry is None:
            raise VanishedFileError("the session is gone from the database")
        if entry.stamp != stamp:
            self._doubted[session_id] = None
            raise ChangingFileError("the session was written to while it was read")
        return schema

    def _noted(self, session_ids: Iterable[str]) -> None:
        """Called with the sessions that were learned of, with `_lock` held."""

    def _refreshed(self) -> dict[str, Entry]:
        try:
            stamp = database_stamp(self.path)
            if self._entries is None or stamp != self._stamp or self._doubted:
                self._refresh()
                self._stamp = stamp  # as it was before, so that what came meanwhile is seen the next time
        except VanishedFileError:
            self._entries = None
            raise
        assert self._entries is not None
        return self._entries

    def _refresh(self) -> None:
        caught_up = self._entries is not None and monotonic() < self._compared_at + _COMPARED_FOR_SECONDS
        doubted = list(self._doubted)
        if not (caught_up and self.look(partial(self._catch_up, doubted=doubted))):
            self._compare()
        for session_id in doubted:
            self._doubted.pop(session_id, None)

    def _catch_up(self, reader: Reader, *, doubted: Sequence[str]) -> bool:
        """Learn what is new, and what became of `doubted`; False if that is not all that there is to learn."""
        if reader.identity != self._identity:
            return False
        schema, mark = self.schema_now(reader), self._mark
        if schema is None or not mark.rows or self._queries.id_at(reader, mark.row) != mark.last:
            return False
        now = self._queries.mark(reader)
        grown, new = self._queries.grown_since(reader, mark)
        if not mark.goes_on_in(now, new=new):
            return False
        self._learn(self._queries.entries(reader, schema, dict.fromkeys([*grown, *self._lately, *doubted])))
        self._mark = now
        return True

    def _compare(self) -> None:
        """Learn all sessions, in several looks."""
        began = monotonic()
        entries: dict[str, Entry] = {}
        identity, mark = self.look(self._begin_compare)
        last: str | None = ""
        while last is not None:
            found, last, seen = self.look(partial(self._entries_after, last=last))
            if seen != identity:
                raise ChangingFileError("the database was replaced while it was read")
            entries |= found
        before, self._entries = self._entries, entries
        if before is not None:
            self._untold |= dict.fromkeys(each for each in entries if before.get(each) != entries[each])
        self._noted(entries)
        self._identity, self._mark, self._compared_at = identity, mark, began
        lately = heapq.nlargest(_LATELY, entries.items(), key=lambda item: item[1].written_ns)
        self._lately = dict.fromkeys(map(itemgetter(0), reversed(lately)))

    def _begin_compare(self, reader: Reader) -> tuple[tuple[int, int], Mark]:
        is_known = self.schema_now(reader) is not None
        return reader.identity, self._queries.mark(reader) if is_known else Mark()

    def _entries_after(self, reader: Reader, last: str) -> tuple[dict[str, Entry], str | None, tuple[int, int]]:
        """Return sessions whose ids follow `last`, and the last of these; None if there are no more."""
        entries: dict[str, Entry] = {}
        schema = self.schema_now(reader)
        while schema is not None:
            ids = self._queries.ids_after(reader, last, _SLICE)
            entries |= self._queries.entries(reader, schema, ids)
            if len(ids) < _SLICE or ids[-1] <= last:  # which no order of ids gives, but a hostile file may
                break
            last = ids[-1]
            if reader.is_late:
                return entries, last, reader.identity
        return entries, None, reader.identity

    def _learn(self, found: Mapping[str, Entry]) -> None:
        assert self._entries is not None
        for session_id, entry in found.items():
            if self._entries.get(session_id) == entry:
                continue
            self._entries[session_id] = entry
            self._untold[session_id] = None
            self._lately.pop(session_id, None)
            self._lately[session_id] = None
            self._noted((session_id,))
        for session_id in list(self._lately)[:-_LATELY]:
            del self._lately[session_id]
