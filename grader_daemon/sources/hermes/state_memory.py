"""In-process memory of a ``state.db``, and the reading of its sessions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ParseError
from grader_daemon.sources.database_memory import DatabaseMemory
from grader_daemon.sources.hermes import state_db
from grader_daemon.sources.hermes.snapshot import file_stem
from grader_daemon.sources.hermes.state_db import HermesQueries, Schema
from grader_daemon.sources.hermes.state_records import MessageRow, Stored
from grader_daemon.sources.sqlite_files import Reader


class StateDatabase(DatabaseMemory[Schema]):
    """One database; any thread may ask."""

    def __init__(self, path: str, *, roots: Sequence[str], limits: Limits) -> None:
        """See `look_into` for `roots`."""
        super().__init__(path, HermesQueries(), roots=roots)
        self._limits = limits
        self._stems: dict[str, str] = {}
        """Ids of sessions whose snapshots have other names, by the stem of the file."""

    def session_of(self, stem: str) -> str | None:
        """Return the session whose snapshot has this stem in its name.

        Raises:
            VanishedFileError, ChangingFileError, ReadError: see `look_into`.
        """
        with self._lock:
            entries = self._refreshed()
            named = stem if stem in entries else self._stems.get(stem)
            return named if named in entries else None

    def read(self, session_id: str, stamp: bytes) -> Stored:
        """Return a session that stands as `stamp` says.

        Raises:
            VanishedFileError: it is gone, or the database is.
            ChangingFileError: it is not as it was, or was written to meanwhile.
            ReadError: see `look_into`.
            ParseError: it is larger than the limits allow.
        """

        def begin(reader: Reader) -> tuple[Stored, list[int], list[MessageRow], bool]:
            schema = self.as_it_was(reader, session_id, stamp)
            row = state_db.rows_of(reader, schema, [session_id])[session_id]
            stored = state_db.surroundings_of(reader, schema, row)
            ids = state_db.message_ids(reader, session_id, self._limits)
            messages = state_db.read_messages(reader, schema, ids)
            whole = not reader.is_late and len(messages) == len(ids)
            if whole:
                self.as_it_was(reader, session_id, stamp)
            return stored, ids, messages, whole

        def go_on(reader: Reader) -> list[MessageRow]:
            left = ids[bisect_right(ids, messages[-1].id) :]
            schema = self.schema_now(reader)
            return [] if schema is None else state_db.read_messages(reader, schema, left)

        stored, ids, messages, whole = self.look(begin)
        size = self._checked(messages, 0)
        while not whole and messages and messages[-1].id < ids[-1]:
            more = self.look(go_on)
            size = self._checked(more, size)
            messages += more
            if not more:
                break
        if not whole:
            self.look(lambda reader: self.as_it_was(reader, session_id, stamp))
        return msgspec.structs.replace(stored, messages=tuple(messages))

    def _checked(self, messages: Iterable[MessageRow], size: int) -> int:
        size += sum(len(text) for row in messages for text in (row.content, row.tool_calls) if isinstance(text, str))
        if size > self._limits.bytes:
            raise ParseError(f"its messages are more than max_file_bytes = {self._limits.bytes:,}")
        return size

    def _noted(self, session_ids: Iterable[str]) -> None:
        self._stems |= {stem: each for each in session_ids if (stem := file_stem(each)) != each}
