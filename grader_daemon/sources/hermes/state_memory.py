"""What this process remembers of a ``state.db``, so that a new message costs one short look.

The database says nothing of what changed. New rows of messages and sessions show in their numbers; what moves no number
(tokens, an end, what a person takes back) happens to sessions that were written to lately, so these are compared each
time. A deletion shows in how many there are and who is the last; then, and once an hour, all are compared.
"""

from __future__ import annotations

import heapq
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from time import monotonic
from typing import TypeVar

import msgspec

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ChangingFileError, ParseError, VanishedFileError
from grader_daemon.sources.hermes import state_db
from grader_daemon.sources.hermes.snapshot import file_stem
from grader_daemon.sources.hermes.state_db import Entry, Mark, Row, Schema
from grader_daemon.sources.hermes.state_records import MessageRow, Stored
from grader_daemon.sources.sqlite_files import Reader, database_stamp, look_into

T = TypeVar("T")
_LATELY = 16
_SLICE = 500
_COMPARED_FOR_SECONDS = 3_600.0
_NOTHING = Schema(*(frozenset() for _ in Schema._fields))


class StateDatabase:
    """One database; any thread may ask. All that it remembers is guarded by `_lock`, but `_schema`."""

    def __init__(self, path: str, *, roots: Sequence[str], limits: Limits) -> None:
        """See `look_into` for `roots`."""
        self._path = path
        self._roots = roots
        self._limits = limits
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] | None = None
        self._stems: dict[str, str] = {}
        """Of sessions whose snapshots are not called as they are."""
        self._stamp = b""
        self._identity = (0, 0)
        self._schema: tuple[object, Schema] = (None, _NOTHING)
        """With the version of what it is; whoever reads may put another one here."""
        self._mark = Mark()
        self._lately: dict[str, None] = {}
        self._untold: dict[str, None] = {}
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

    def session_of(self, stem: str) -> str | None:
        """Return the session whose snapshot has this stem in its name.

        Raises:
            VanishedFileError, ChangingFileError, ReadError: see `look_into`.
        """
        with self._lock:
            entries = self._refreshed()
            return stem if stem in entries else self._stems.get(stem)

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

    def read(self, session_id: str, stamp: bytes) -> Stored:
        """Return a session that stands as `stamp` says.

        Raises:
            VanishedFileError: it is gone, or the database is.
            ChangingFileError: it is not as it was, or was written to meanwhile.
            ReadError: see `look_into`.
            ParseError: it is larger than the limits allow.
        """

        def begin(reader: Reader) -> tuple[Stored, list[int], list[MessageRow], bool]:
            schema = self._schema_now(reader)
            row = _as_it_was(reader, schema, session_id, stamp)
            stored = state_db.surroundings_of(reader, schema, row)
            ids = state_db.message_ids(reader, session_id, self._limits)
            messages = state_db.read_messages(reader, schema, ids)
            whole = not reader.is_late and len(messages) == len(ids)
            return stored, ids, messages, whole and bool(_as_it_was(reader, schema, session_id, stamp))

        def go_on(reader: Reader) -> list[MessageRow]:
            left = ids[bisect_right(ids, messages[-1].id) :]
            return state_db.read_messages(reader, self._schema_now(reader), left)

        stored, ids, messages, whole = self._look(begin)
        size = self._checked(messages, 0)
        while not whole and messages and messages[-1].id < ids[-1]:
            more = self._look(go_on)
            size = self._checked(more, size)
            messages += more
            if not more:
                break
        if not whole:
            self._look(lambda reader: _as_it_was(reader, self._schema_now(reader), session_id, stamp))
        return msgspec.structs.replace(stored, messages=tuple(messages))

    def _checked(self, messages: Iterable[MessageRow], size: int) -> int:
        size += sum(len(text) for row in messages for text in (row.content, row.tool_calls) if isinstance(text, str))
        if size > self._limits.bytes:
            raise ParseError(f"its messages are more than max_file_bytes = {self._limits.bytes:,}")
        return size

    def _refreshed(self) -> dict[str, Entry]:
        try:
            stamp = database_stamp(self._path)
            if self._entries is None or stamp != self._stamp:
                self._refresh()
                self._stamp = stamp  # as it was before, so that what came meanwhile is seen the next time
        except VanishedFileError:
            self._entries = None
            raise
        assert self._entries is not None
        return self._entries

    def _refresh(self) -> None:
        caught_up = self._entries is not None and monotonic() < self._compared_at + _COMPARED_FOR_SECONDS
        if not (caught_up and self._look(self._catch_up)):
            self._compare()

    def _catch_up(self, reader: Reader) -> bool:
        """Learn what is new; False if that is not all that there is to learn."""
        if reader.identity != self._identity:
            return False
        schema, mark = self._schema_now(reader), self._mark
        if not schema.is_hermes or state_db.id_at(reader, mark.row) != mark.last:
            return False
        now = state_db.mark_of(reader)
        grown, new = state_db.grown_since(reader, mark)
        if not mark.goes_on_in(now, new=new):
            return False
        rows = state_db.rows_of(reader, schema, dict.fromkeys([*grown, *self._lately]))
        self._learn({session_id: row.entry for session_id, row in rows.items()})
        self._mark = now
        return True

    def _compare(self) -> None:
        """Learn all sessions, in several looks."""
        began = monotonic()
        entries: dict[str, Entry] = {}
        identity, mark = self._look(self._begin_compare)
        last: str | None = ""
        while last is not None:
            found, last, seen = self._look(partial(self._entries_after, last=last))
            if seen != identity:
                raise ChangingFileError("the database was replaced while it was read")
            entries |= found
        before, self._entries = self._entries, {}
        if before is not None:
            self._untold |= dict.fromkeys(each for each in entries if before.get(each) != entries[each])
        self._stems = {stem: each for each in entries if (stem := file_stem(each)) != each}
        self._entries, self._identity, self._mark, self._compared_at = entries, identity, mark, began
        lately = heapq.nlargest(_LATELY, entries.items(), key=lambda item: item[1].written_ns)
        self._lately = dict.fromkeys(map(itemgetter(0), reversed(lately)))

    def _begin_compare(self, reader: Reader) -> tuple[tuple[int, int], Mark]:
        schema = self._schema_now(reader)
        return reader.identity, state_db.mark_of(reader) if schema.is_hermes else Mark()

    def _entries_after(self, reader: Reader, last: str) -> tuple[dict[str, Entry], str | None, tuple[int, int]]:
        """Return sessions whose ids follow `last`, and the last of these; None if there are no more."""
        entries: dict[str, Entry] = {}
        schema = self._schema_now(reader)
        while schema.is_hermes:
            ids = state_db.ids_after(reader, last, _SLICE)
            entries |= {each: row.entry for each, row in state_db.rows_of(reader, schema, ids).items()}
            if len(ids) < _SLICE:
                break
            last = ids[-1]
            if reader.is_late:
                return entries, last, reader.identity
        return entries, None, reader.identity

    def _schema_now(self, reader: Reader) -> Schema:
        """Return the columns of the tables, asked once for each version of the schema."""
        version = (reader.identity, reader.rows("PRAGMA schema_version"))
        known, schema = self._schema
        if version != known:
            schema = state_db.schema_of(reader)
            self._schema = (version, schema)
        return schema

    def _learn(self, found: Mapping[str, Entry]) -> None:
        assert self._entries is not None
        for session_id, entry in found.items():
            if self._entries.get(session_id) == entry:
                continue
            self._entries[session_id] = entry
            self._untold[session_id] = None
            self._lately.pop(session_id, None)
            self._lately[session_id] = None
            stem = file_stem(session_id)
            if stem != session_id:
                self._stems[stem] = session_id
        for session_id in list(self._lately)[:-_LATELY]:
            del self._lately[session_id]

    def _look(self, read: Callable[[Reader], T]) -> T:
        return look_into(self._path, read, roots=self._roots)


def _as_it_was(reader: Reader, schema: Schema, session_id: str, stamp: bytes) -> Row:
    if not schema.is_hermes:
        raise VanishedFileError("the session is gone from the database")
    row = state_db.rows_of(reader, schema, [session_id]).get(session_id)
    if row is None:
        raise VanishedFileError("the session is gone from the database")
    if row.entry.stamp != stamp:
        raise ChangingFileError("the session was written to while it was read")
    return row
