"""The queries to ``openclaw-agent.sqlite``: sessions and their lines; no other table is ever read.

There are tables with keys of providers and with memories beside them. How a session stands, its row, the number of its
lines and the last of them tell, and a mark that changes when its lines are written anew. A session without lines never
began, or they were put away: it is not there.

Long lines are packed (zstandard), each by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.limits import LONGEST_NAME, Limits
from grader_daemon.errors import ParseError
from grader_daemon.sources.database_memory import DatabaseMemory, Entry, SessionTable
from grader_daemon.sources.decoding import name_of
from grader_daemon.sources.openclaw.session_windows import Window
from grader_daemon.sources.sqlite_files import Reader, Value, number_of

_WINDOWS: Final = ("session_windows", "sessions")
"""The table of sessions, and what it was called before."""

_LINES: Final = "transcript_events"
_REWRITTEN: Final = "transcript_rewrite_watermarks"
_COLUMNS: Final = ("session_key", "previous_session_id", "status", "model", "channel", "spawned_by")
_WENT_BACK: Final = "('rewind', 'switch')"
"""Reasons for which a session takes the place of another one, with a copy of all its lines."""

_NEEDED: Final = frozenset({"session_id", "seq", "event_json", "created_at"})
_AMONG: Final = "IN (SELECT value FROM json_each(?))"
_ROWS: Final = 64
_MOST_UNPACKED: Final = 16_777_216
_WINDOW_BITS: Final = 27
_MILLISECOND: Final = 1_000_000
_LATEST: Final = 9_000_000_000_000


class Schema(NamedTuple):
    """The table of sessions, and its columns; which of the others there are."""

    windows: str
    columns: frozenset[str]
    has_packed: bool
    has_marks: bool


class _Row(NamedTuple):
    """A row of the table of sessions: `mark` is another one when the lines were written anew."""

    name: str
    mark: Value
    written: int
    window: Window


class Stored(NamedTuple):
    """A session as it is stored: its row, and its lines."""

    window: Window
    lines: bytes


class OpenClawQueries(SessionTable):
    """See `Queries`. A session that takes the place of another one changes that, too."""

    id_name = "session_id"
    growing = ((_LINES, "rowid"),)

    def table_in(self, reader: Reader) -> str:
        return next((name for name in _WINDOWS if "session_id" in reader.columns(name)), _WINDOWS[0])

    def named_in_row(self, reader: Reader, table: str) -> str:
        previous = "previous_session_id" in reader.columns(table)
        return "session_id, previous_session_id" if previous else "session_id"

    def schema(self, reader: Reader) -> Schema | None:
        lines = reader.columns(_LINES)
        for name in _WINDOWS:
            columns = reader.columns(name)
            if {"session_id", "session_key"} <= columns and lines >= _NEEDED:
                return Schema(name, columns, "event_zstd" in lines, "generation" in reader.columns(_REWRITTEN))
        return None

    def is_strange(self, reader: Reader) -> bool:
        return bool(reader.columns(_LINES))

    def entries(self, reader: Reader, schema: Schema, ids: Iterable[str]) -> Mapping[str, Entry]:
        among = json.dumps([each for each in ids if 0 < len(each) <= LONGEST_NAME])
        tallies = {
            row[0]: row[1:]
            for row in reader.rows(
                f"SELECT session_id, count(*), max(seq) FROM {_LINES} WHERE session_id {_AMONG} GROUP BY session_id",
                (among,),
            )
        }
        entries = {}
        for row in _rows_of(reader, schema, among):
            tally = tallies.get(row.name)
            if tally is not None:
                stamp = xxhash.xxh3_128_digest(repr((row, tally)).encode("utf-8", "replace"))
                entries[row.name] = Entry(stamp, min(row.written, _LATEST) * _MILLISECOND, number_of(tally[0]))
        return entries


def read_stored(memory: DatabaseMemory[Schema], session_id: str, stamp: bytes, *, limits: Limits) -> Stored:
    """Return a session that stands as `stamp` says.

    Raises:
        VanishedFileError: it is gone, or the database is.
        ChangingFileError: it is not as it was, or was written to meanwhile.
        ReadError: see `look_into`.
        ParseError: it is larger than the limits allow.
    """
    lines: list[bytes] = []
    size = 0
    last: int | None = -1
    while last is not None:
        rows, last = memory.look(partial(_some_lines, memory, session_id, last))
        lines += map(_line, rows)
        size += sum(map(len, lines[len(lines) - len(rows) :]))
        if size > limits.bytes:
            raise ParseError(f"its lines are more than max_file_bytes = {limits.bytes:,}")

    def end(reader: Reader) -> Window:
        schema = memory.as_it_was(reader, session_id, stamp)
        (row,) = _rows_of(reader, schema, json.dumps([session_id]))
        return row.window

    return Stored(memory.look(end), b"\n".join([*lines, b""]))


def _some_lines(
    memory: DatabaseMemory[Schema], session_id: str, last: int, reader: Reader
) -> tuple[list[tuple[Value, ...]], int | None]:
    """Return lines behind the one of number `last`, and the number of the last of these; None if that was all."""
    schema = memory.schema_now(reader)
    packed = "event_zstd" if schema is not None and schema.has_packed else "NULL"
    statement = (
        f"SELECT seq, event_json, {packed} FROM {_LINES} WHERE session_id = ? AND seq > ? AND typeof(seq) = 'integer'"
        f" ORDER BY seq LIMIT {_ROWS}"
    )
    found: list[tuple[Value, ...]] = []
    while schema is not None:
        rows = reader.rows(statement, (session_id, last))
        found += rows
        if len(rows) < _ROWS:
            break
        last = number_of(rows[-1][0])
        if reader.is_late:
            return found, last
    return found, None


def _line(row: Sequence[Value]) -> bytes:
    """Return a line in one line; what cannot be unpacked is none."""
    _, text, packed = row
    if isinstance(text, str):
        return text.encode("utf-8", "replace").replace(b"\n", b" ")
    return _unpacked(packed).replace(b"\n", b" ") if isinstance(packed, bytes) else b""


def _unpacked(packed: bytes) -> bytes:
    from grader_daemon.system import zstd  # only long lines are packed

    try:
        unpacking = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_BITS})
        unpacked = unpacking.decompress(packed, _MOST_UNPACKED + 1)
    except (zstd.ZstdError, MemoryError):
        return b"?"  # so that it is told as a line that is broken
    return unpacked if len(unpacked) <= _MOST_UNPACKED else b"?"


def _rows_of(reader: Reader, schema: Schema, among: str) -> list[_Row]:
    """Return those of these sessions that are there."""
    windows = schema.windows
    told = ", ".join(f"w.{name}" if name in schema.columns else "NULL" for name in _COLUMNS)
    mark = f"(SELECT generation FROM {_REWRITTEN} r WHERE r.session_id = w.session_id)" if schema.has_marks else "NULL"
    time = f"(SELECT created_at FROM {_LINES} e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1)"
    statement = f"SELECT w.session_id, {mark}, {time}, {told} FROM {windows} w WHERE w.session_id {_AMONG}"
    rows = reader.rows(statement, (among,))
    replaced = _replaced(reader, schema, among)
    begun = _begun(reader, schema, {row[-1] for row in rows if row[-1] is not None})
    return [
        _Row(str(row[0]), row[1], number_of(row[2]), _window(row[3:], begun.get(row[-1]), row[0] in replaced))
        for row in rows
    ]


def _replaced(reader: Reader, schema: Schema, among: str) -> set[Value]:
    """Return those of these sessions whose place another one took."""
    if not {"previous_session_id", "reason"} <= schema.columns:
        return set()
    statement = f"SELECT previous_session_id FROM {schema.windows} WHERE reason IN {_WENT_BACK}"
    return {row[0] for row in reader.rows(f"{statement} AND previous_session_id {_AMONG}", (among,))}


def _begun(reader: Reader, schema: Schema, keys: Set[Value]) -> dict[Value, Value]:
    """Return the newest session of each of these conversations."""
    if not keys:
        return {}
    statement = f"SELECT session_key, session_id FROM {schema.windows} WHERE session_key {_AMONG} ORDER BY rowid"
    return {row[0]: row[1] for row in reader.rows(statement, (json.dumps([str(key) for key in keys]),))}


def _window(told: Sequence[Value], begun_by: Value, replaced: bool) -> Window:  # noqa: FBT001  what the rows say
    named = dict(zip(_COLUMNS, map(name_of, told), strict=True))
    return Window(
        key=named["session_key"] or "",
        begun_by=name_of(begun_by) or named["spawned_by"],
        previous=named["previous_session_id"],
        replaced=replaced,
        status=named["status"],
        model=named["model"],
        channel=named["channel"],
    )


def digest_of(stored: Stored) -> str:
    """Return a digest of all that a session is made from."""
    digest = xxhash.xxh3_128(stored.lines)
    digest.update(msgspec.json.encode(stored.window))
    return digest.hexdigest()
