"""The queries to ``opencode.db``: sessions, their messages and the parts of these; no other table is ever read.

There are tables with accounts and keys beside them. How a session stands, its row and those of its messages tell: a
part that is written moves neither, but a turn ends with a message that is written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import xxhash

from grader_daemon.domain.limits import LONGEST_NAME, Limits
from grader_daemon.errors import ParseError
from grader_daemon.sources.database_memory import DatabaseMemory, Entry, SessionTable
from grader_daemon.sources.decoding import UNREADABLE, decoded_or, name_of
from grader_daemon.sources.opencode.session_parts import (
    MESSAGE,
    PART,
    Head,
    Info,
    Part,
    PassedOver,
    Revert,
    Stored,
    Times,
)
from grader_daemon.sources.sqlite_files import Reader, Value, number_of

T = TypeVar("T", Head, Part)
_SESSION = ("id", "parent_id", "directory", "version", "cost", "revert", "time_created", "time_updated")
_NEEDED = {
    "session": {"id", "time_created", "time_updated"},
    "message": {"id", "session_id", "data", "time_updated"},
    "part": {"id", "message_id", "data"},
}
_AMONG = "IN (SELECT value FROM json_each(?))"
_SLICE = 100
_NANOSECONDS = 1_000_000
_LATEST = 9_000_000_000_000

_head = msgspec.json.Decoder(Head).decode
_part = msgspec.json.Decoder(Part).decode
_revert = msgspec.json.Decoder(Revert).decode

Schema = frozenset[str]
"""The columns of the table of sessions."""


class OpenCodeQueries(SessionTable):
    """See `Queries`."""

    table = "session"
    growing = (("message", "rowid"), ("part", "rowid"))

    def schema(self, reader: Reader) -> Schema | None:
        columns = {table: reader.columns(table) for table in _NEEDED}
        return columns["session"] if all(needed <= columns[table] for table, needed in _NEEDED.items()) else None

    def is_strange(self, reader: Reader) -> bool:
        return all(reader.columns(table) for table in _NEEDED)

    def entries(self, reader: Reader, schema: Schema, ids: Iterable[str]) -> Mapping[str, Entry]:
        among = json.dumps([each for each in ids if 0 < len(each) <= LONGEST_NAME])
        tallies = {
            row[0]: row[1:]
            for row in reader.rows(
                "SELECT session_id, count(*), max(time_updated), max(id) FROM message"
                f" WHERE session_id {_AMONG} GROUP BY session_id",
                (among,),
            )
        }
        entries = {}
        for row in _sessions(reader, schema, among):
            tally = tallies.get(row[0], (0, None, None))
            stamp = xxhash.xxh3_128_digest(repr((row, tally)).encode("utf-8", "replace"))
            written = max(number_of(row[-1]), number_of(tally[1]))
            entries[str(row[0])] = Entry(stamp, min(written, _LATEST) * _NANOSECONDS, number_of(tally[0]))
        return entries


def read_stored(
    memory: DatabaseMemory[Schema], session_id: str, stamp: bytes, *, limits: Limits, passed: PassedOver
) -> Stored:
    """Return a session that stands as `stamp` says, with its messages; those that are not read are told `passed`.

    Raises:
        VanishedFileError: it is gone, or the database is.
        ChangingFileError: it is not as it was, or was written to meanwhile.
        ReadError: see `look_into`.
        ParseError: it is larger than the limits allow.
    """

    def begin(reader: Reader) -> tuple[Info, list[tuple[Value, ...]]]:
        schema = memory.as_it_was(reader, session_id, stamp)
        (row,) = _sessions(reader, schema, json.dumps([session_id]))
        statement = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id LIMIT ?"
        return _info(row), reader.rows(statement, (session_id, limits.messages + 1))

    info, rows = memory.look(begin)
    if len(rows) > limits.messages:
        raise ParseError(f"more than max_messages = {limits.messages:,} messages")
    found = (_decoded(_head, row[0], row[1], kind=MESSAGE, passed=passed) for row in rows)
    heads = [head for head in found if head is not None]
    parts = _parts_of(memory, [head.id for head in heads], limits, passed)
    memory.look(lambda reader: memory.as_it_was(reader, session_id, stamp))
    return Stored(info, tuple((head, tuple(parts.get(head.id, ()))) for head in heads))


def _parts_of(
    memory: DatabaseMemory[Schema], ids: Sequence[str], limits: Limits, passed: PassedOver
) -> dict[str, list[Part]]:
    parts: dict[str, list[Part]] = {}
    size = done = 0

    def some(reader: Reader) -> tuple[list[tuple[Value, ...]], int]:
        found: list[tuple[Value, ...]] = []
        at = done
        while at < len(ids) and (at == done or not reader.is_late):
            among = json.dumps(ids[at : at + _SLICE])
            statement = f"SELECT message_id, id, data FROM part WHERE message_id {_AMONG} ORDER BY message_id, id"
            found += reader.rows(statement, (among,))
            at += _SLICE
        return found, at

    while done < len(ids):
        rows, done = memory.look(some)
        for message_id, part_id, data in rows:
            size += len(data) if isinstance(data, str) else 0
            if size > limits.bytes:
                raise ParseError(f"its messages are more than max_file_bytes = {limits.bytes:,}")
            part = _decoded(_part, part_id, data, kind=PART, passed=passed)
            if part is not None:
                parts.setdefault(str(message_id), []).append(part)
    return parts


def _sessions(reader: Reader, schema: Schema, among: str) -> list[tuple[Value, ...]]:
    columns = ", ".join(name if name in schema else "NULL" for name in _SESSION)
    return reader.rows(f"SELECT {columns} FROM session WHERE id {_AMONG}", (among,))


def _info(row: Sequence[Value]) -> Info:
    named = dict(zip(_SESSION, row, strict=True))
    revert = named["revert"]
    return msgspec.convert(
        {
            "id": named["id"],
            "directory": name_of(named["directory"]),
            "version": name_of(named["version"]),
            "parentID": _name(named["parent_id"]),
            "revert": decoded_or(_revert, revert, None) if isinstance(revert, str) and revert else None,
            "time": Times(created=number_of(named["time_created"]), updated=number_of(named["time_updated"])),
            "cost": named["cost"] if isinstance(named["cost"], int | float) else None,
        },
        Info,
    )


def _decoded(decode: Callable[[bytes], T], row_id: Value, data: Value, *, kind: str, passed: PassedOver) -> T | None:
    """Return a row as what it holds; None where it is not of the shape that is known."""
    try:
        decoded = passed.unless_strange(decode, data.encode() if isinstance(data, str) else b"", kind=kind)
    except UNREADABLE:
        passed.add_broken()
        return None
    return None if decoded is None else msgspec.structs.replace(decoded, id=str(row_id))


def _name(value: Value) -> str | None:
    """Return the id of a session; None where it is none that a session can have."""
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME else None
