"""The queries to Hermes' ``state.db``, whatever its schema: a column that is not there is NULL.

Each is short, and all of one look go through one `Reader`. Of a session it costs least to ask for its row and, by
indexes alone, for how many messages it has: these tell whether it has changed, and its messages are read only then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.limits import LONGEST_NAME, Limits
from grader_daemon.errors import ParseError
from grader_daemon.sources.database_memory import Entry, SessionTable
from grader_daemon.sources.hermes.state_records import Delegation, MessageRow, SessionRow, Stored, UsageRow, Value
from grader_daemon.sources.hermes.state_rows import goes_on_from
from grader_daemon.sources.sqlite_files import Reader

_SESSION = SessionRow.__struct_fields__
_USAGE = UsageRow._fields
_MESSAGE = (*MessageRow._fields[:-1], "_compressed_summary")
_LONGEST_CHAIN = 1_000
_SLICE = 200
_MOST_DELEGATIONS = 1_000
_NEEDED = frozenset({"id", "started_at", "ended_at", "end_reason", "parent_session_id", "source"})
_DELEGATION = frozenset({"delegation_id", "state", "result_json", "parent_session_id", "origin_session"})
_AMONG = "IN (SELECT value FROM json_each(?))"


class Schema(NamedTuple):
    """The columns of the tables that are read; none of a table that is not there."""

    sessions: frozenset[str]
    messages: frozenset[str]
    session_model_usage: frozenset[str]
    async_delegations: frozenset[str]
    session_turn_leases: frozenset[str]
    system_prompts: frozenset[str]

    @property
    def is_hermes(self) -> bool:
        """True if there are sessions in it, with the columns that queries ask by."""
        return self.sessions >= _NEEDED and {"id", "session_id", "timestamp"} <= self.messages

    @property
    def has_delegations(self) -> bool:
        """True if sub-agents that were sent off are in it, in the form that is known."""
        return self.async_delegations >= _DELEGATION

    @property
    def has_prompts(self) -> bool:
        """True if system prompts have a table of their own, in the form that is known."""
        return "system_prompt_hash" in self.sessions and {"hash", "prompt"} <= self.system_prompts


class _Tally(NamedTuple):
    messages: int = 0
    last_id: Value = None
    active: Value = None
    last_at: Value = None


class Row(NamedTuple):
    """A session without its messages."""

    session: SessionRow
    tally: _Tally
    usage: tuple[UsageRow, ...]
    delegations: tuple[tuple[Value, Value], ...]
    continued: bool
    leased: bool

    @property
    def entry(self) -> Entry:
        """The entry to remember of it."""
        still = msgspec.structs.replace(self.session, last_activity_at=None)
        content = (
            msgspec.structs.astuple(still),
            self.tally,
            self.usage,
            self.delegations,
            self.continued,
            self.leased,
        )
        times = (self.session.started_at, self.session.ended_at, self.session.last_activity_at, self.tally.last_at)
        written = max((time for time in times if isinstance(time, int | float) and math.isfinite(time)), default=0)
        nanoseconds = int(max(-9e9, min(written, 9e9)) * 1e9)
        return Entry(xxhash.xxh3_128_digest(repr(content).encode()), nanoseconds, self.tally.messages)


class HermesQueries(SessionTable):
    """See `Queries`."""

    table = "sessions"
    growing = (("messages", "id"),)

    def schema(self, reader: Reader) -> Schema | None:
        schema = Schema(*(reader.columns(table) for table in Schema._fields))
        return schema if schema.is_hermes else None

    def is_strange(self, reader: Reader) -> bool:
        return all(reader.columns(table) for table in ("sessions", "messages"))

    def entries(self, reader: Reader, schema: Schema, ids: Iterable[str]) -> Mapping[str, Entry]:
        return {session_id: row.entry for session_id, row in rows_of(reader, schema, ids).items()}


def rows_of(reader: Reader, schema: Schema, ids: Iterable[str]) -> dict[str, Row]:
    """Return the sessions of these ids that are there, without their messages."""
    among = json.dumps([session_id for session_id in ids if 0 < len(session_id) <= LONGEST_NAME])
    goes_on = (
        "s.end_reason = 'compression' AND EXISTS (SELECT 1 FROM sessions AS c WHERE c.parent_session_id = s.id"
        " AND c.started_at >= s.ended_at AND c.source IS NOT 'subagent')"
    )
    columns = _selected(_SESSION, schema.sessions)
    sessions = reader.rows(f"SELECT {columns}, {goes_on} FROM sessions AS s WHERE id {_AMONG}", (among,))
    tallies = _tallies(reader, schema, among)
    usage = _usage(reader, schema, among)
    delegations = _delegations(reader, schema)
    leased = _leased(reader, schema)
    rows = {}
    for *values, continued in sessions:
        session = SessionRow(**dict(zip(_SESSION, values, strict=True)))  # type: ignore[arg-type]  # its id is text
        rows[session.id] = Row(
            session,
            tallies.get(session.id, _Tally()),
            tuple(usage.get(session.id, ())),
            tuple(delegations.get(session.id, ())),
            bool(continued),
            session.id in leased,
        )
    return rows


def read_messages(reader: Reader, schema: Schema, ids: Sequence[int]) -> list[MessageRow]:
    """Return the messages of these ids, in the order of their ids, as far as the look has time for them."""
    columns = _selected(_MESSAGE, schema.messages)
    messages: list[MessageRow] = []
    for start in range(0, len(ids), _SLICE):
        among = json.dumps(ids[start : start + _SLICE])
        found = reader.rows(f"SELECT {columns} FROM messages WHERE id {_AMONG} ORDER BY id", (among,))
        messages += [MessageRow(*row) for row in found]  # type: ignore[arg-type]  # an id is a number
        if reader.is_late:
            break
    return messages


def message_ids(reader: Reader, session_id: str, limits: Limits) -> list[int]:
    """Return the ids of a session's messages, in order.

    Raises:
        ParseError: there are more than `limits` allow.
    """
    found = reader.rows(
        "SELECT id FROM messages WHERE session_id = ? ORDER BY +id LIMIT ?", (session_id, limits.messages + 1)
    )
    if len(found) > limits.messages:
        raise ParseError(f"more than max_messages = {limits.messages:,} messages")
    return [row[0] for row in found if isinstance(row[0], int)]


def surroundings_of(reader: Reader, schema: Schema, row: Row) -> Stored:
    """Return a session with all that is around it, but without its messages."""
    chain: list[SessionRow] = []
    usage = list(row.usage)
    here = row.session
    parent = _parent(reader, schema, here)
    while goes_on_from(here, parent.session if parent else None) and parent and len(chain) < _LONGEST_CHAIN:
        here = parent.session
        chain.append(here)
        usage += parent.usage
        parent = _parent(reader, schema, here)
    session = row.session
    newest = None if parent is None else _newest(reader, parent)
    if newest is not None:
        first = chain[-1] if chain else session
        named = msgspec.structs.replace(first, parent_session_id=newest)
        chain, session = ([*chain[:-1], named], session) if chain else ([], named)
    return Stored(
        row=session,
        chain=tuple(chain),
        parent=parent.session if parent else None,
        usage=tuple(usage),
        delegations=_results(reader, session.id) if row.delegations else (),
        prompt=_prompt(reader, schema, session.id),
        marked="rewind_count" in schema.sessions,
        continued=row.continued,
        leased=row.leased,
    )


def _parent(reader: Reader, schema: Schema, row: SessionRow) -> Row | None:
    parent = row.parent_session_id
    return rows_of(reader, schema, [parent]).get(parent) if isinstance(parent, str) else None


def _newest(reader: Reader, row: Row) -> str | None:
    """Return the id of the last link of the chain that a session begins; None if it begins none."""
    newest, ended = row.session.id, row.session.ended_at
    for _ in range(_LONGEST_CHAIN):
        found = reader.rows(
            "SELECT c.id, c.ended_at FROM sessions AS p JOIN sessions AS c ON c.parent_session_id = p.id WHERE p.id = ?"
            " AND p.end_reason = 'compression' AND c.started_at >= ? AND c.source IS NOT 'subagent'"
            " ORDER BY c.started_at LIMIT 1",
            (newest, ended),
        )
        if not found or not isinstance(found[0][0], str):
            break
        newest, ended = found[0][0], found[0][1]
    return None if newest == row.session.id else newest


def _selected(names: Iterable[str], columns: frozenset[str]) -> str:
    return ", ".join(name if name in columns else "NULL" for name in names)


def _tallies(reader: Reader, schema: Schema, among: str) -> dict[Value, _Tally]:
    active = "sum(active)" if "active" in schema.messages else "NULL"
    found = reader.rows(
        f"SELECT session_id, count(*), max(id), {active}, max(timestamp) FROM messages WHERE session_id {_AMONG}"
        " GROUP BY session_id",
        (among,),
    )
    return {row[0]: _Tally(*row[1:]) for row in found}  # type: ignore[arg-type]  # a count is a number


def _usage(reader: Reader, schema: Schema, among: str) -> dict[str, list[UsageRow]]:
    usage: dict[str, list[UsageRow]] = {}
    if "session_id" in schema.session_model_usage:
        columns = _selected(_USAGE, schema.session_model_usage)
        for row in reader.rows(f"SELECT {columns} FROM session_model_usage WHERE session_id {_AMONG}", (among,)):
            usage.setdefault(str(row[0]), []).append(UsageRow(*row))  # type: ignore[arg-type]  # as that of sessions
    return usage


def _delegations(reader: Reader, schema: Schema) -> dict[Value, list[tuple[Value, Value]]]:
    """Return the states of the sub-agents that were sent off last, by session."""
    delegations: dict[Value, list[tuple[Value, Value]]] = {}
    if schema.has_delegations:
        found = reader.rows(
            "SELECT coalesce(parent_session_id, origin_session), delegation_id, state FROM async_delegations"
            " ORDER BY rowid DESC LIMIT ?",
            (_MOST_DELEGATIONS,),
        )
        for session_id, delegation_id, state in found:
            delegations.setdefault(session_id, []).append((delegation_id, state))
    return delegations


def _results(reader: Reader, session_id: str) -> tuple[Delegation, ...]:
    found = reader.rows(
        "SELECT delegation_id, state, result_json FROM async_delegations"
        " WHERE coalesce(parent_session_id, origin_session) = ? ORDER BY rowid DESC LIMIT ?",
        (session_id, _MOST_DELEGATIONS),
    )
    return tuple(Delegation(*row) for row in found)


def _leased(reader: Reader, schema: Schema) -> frozenset[Value]:
    if "conversation_id" not in schema.session_turn_leases:
        return frozenset()
    return frozenset(row[0] for row in reader.rows("SELECT conversation_id FROM session_turn_leases LIMIT 1000"))


def _prompt(reader: Reader, schema: Schema, session_id: str) -> str | None:
    """Return the system prompt of a session, which in newer schemas is kept once for all that have it."""
    if "system_prompt" not in schema.sessions:
        return None
    value = "system_prompt"
    if schema.has_prompts:
        value = "coalesce(system_prompt, (SELECT prompt FROM system_prompts WHERE hash = system_prompt_hash))"
    found = reader.rows(f"SELECT {value} FROM sessions WHERE id = ?", (session_id,))
    return found[0][0] if found and isinstance(found[0][0], str) else None
