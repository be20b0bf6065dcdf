"""The choice of the file to grade, of several that hold the same conversation.

Hermes leaves a conversation behind more than once: a compression starts a new file under a new id and leaves the old
one unfinished, a ``/new`` copies the old conversation under the new id, and people copy and move folders. Agents that
fork a session, and some that resume one, copy its whole history under a new id. The ids of tool calls survive that: a
session whose calls are the beginning of another's is a part of that one, until it goes on by itself. Of two that both
went on, both stand, with what they share in each.

What counts does not depend on the order in which files are read. The files of one session are ordered (`outranks`). Of
the sessions, one stands if none that stands beats it (`beaten_by`): beating leads to later links of a chain, to a
conversation that began earlier, or to more calls, so it never leads back, and who is beaten through another is beaten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec
import xxhash

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import Session, SessionKind, SkipReason
from grader_daemon.domain.unit import Unit

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


MOST_COMPARED_CALLS: Final = 4_096
"""Calls of a session, from its first one, by which it is known in others; one with more is no part of another."""

_CALL_BYTES: Final = 4
_RANDOM_ID_LENGTH: Final = 9
_COUNTED_ID = re.compile(r"[A-Za-z_:.-]*\d{0,8}")


class Identity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Marks that tell a session from others that look like it.

    `updated_at` is never before `started_at`; for `written_ns` see `Found`. `first_call` and `calls` are what
    `calls_of` returns.
    """

    session_id: str
    unit: Unit
    written_ns: int
    state: SessionState
    messages: int
    started_at: datetime | None
    updated_at: datetime | None
    lineage: int | None
    opening: int | None
    conversation: int | None
    compacted: bool
    named_after_id: bool
    kind: SessionKind | None = None
    first_call: int | None = None
    calls: bytes = b""


class Fallen(NamedTuple):
    """A session that loses its grade to another one."""

    session_id: str
    reason: SkipReason


class Decision(NamedTuple):
    """The decision on a session that was read: graded, or `lost` to another file or session.

    `own_falls`: it loses the grade that it may have had before, too. `fallen` are others that lose theirs to it; none
    if it is lost itself.
    """

    lost: SkipReason | None = None
    own_falls: bool = False
    fallen: tuple[Fallen, ...] = ()


class Identities:
    """Identities that can be found by what rivals share: the chain, the conversation or the first call."""

    def __init__(self) -> None:
        self._by_id: dict[str, Identity] = {}
        self._by_key: dict[tuple[int | None, ...], set[str]] = {}

    def add(self, identity: Identity) -> None:
        """Add one; it replaces the one of the same id."""
        self.remove(identity.session_id)
        self._by_id[identity.session_id] = identity
        for key in rival_keys(identity):
            self._by_key.setdefault(key, set()).add(identity.session_id)

    def remove(self, session_id: str) -> None:
        """Forget one; nothing happens if it is not there."""
        identity = self._by_id.pop(session_id, None)
        if identity is not None:
            for key in rival_keys(identity):
                self._by_key[key].discard(session_id)

    def get(self, session_id: str) -> Identity | None:
        """Return the one of this id."""
        return self._by_id.get(session_id)

    def rivals(self, new: Identity) -> list[Identity]:
        """Return the others that share a chain, a conversation or the first call with `new`."""
        ids: set[str] = set()
        for key in rival_keys(new):
            ids |= self._by_key.get(key, set())
        return [self._by_id[session_id] for session_id in ids - {new.session_id}]


def rival_keys(identity: Identity) -> list[tuple[int | None, ...]]:
    """Return what a session shares with its rivals: a chain, a conversation, a first call; empty where nothing is."""
    keys: list[tuple[int | None, ...]] = []
    if identity.lineage is not None:
        keys.append((identity.lineage, identity.opening))
    if identity.conversation is not None:
        keys.append((identity.conversation,))
    if identity.first_call is not None:
        keys.append((identity.first_call, None, None))
    return keys


def calls_of(session: Session) -> tuple[int | None, bytes]:
    """Return by what a session is known in its forks: 63 bits of the id of its first call, and 4 bytes of each call's.

    None and nothing where that id does not look random, and for the links of a chain, which have an order of their own,
    and sessions of which is not known when they began.
    """
    if session.lineage is not None or session.started_at is None:
        return None, b""
    ids = [call.id or "" for message in session.messages for call in message.tool_calls or ()]
    if not ids or not is_random(ids[0]):
        return None, b""
    digests = [xxhash.xxh32_digest(call.encode("utf-8", "replace")) for call in ids[:MOST_COMPARED_CALLS]]
    return int(xxhash.xxh3_64_intdigest(ids[0].encode("utf-8", "replace"))) >> 1, b"".join(digests)


def is_random(call_id: str) -> bool:
    """Return whether the id of a call is too random to stand in two sessions by chance."""
    return len(call_id) >= _RANDOM_ID_LENGTH and _COUNTED_ID.fullmatch(call_id) is None


def decide(new: Identity, own: Identity | None, rivals: Iterable[Identity]) -> Decision:
    """Return what becomes of a session that was read, without doing it.

    Args:
        new: just read.
        own: the same session as it stands in another unit that is still there, if it does.
        rivals: other sessions that stand; at least those that can beat `new` or be beaten by it.
    """
    if own is not None and outranks(own, new):
        return Decision(lost=SkipReason.COPY)
    others = sorted(rivals, key=_id)
    for rival in others:
        lost = beaten_by(rival, new)
        if lost is not None:
            return Decision(lost=lost, own_falls=True)
    beaten = ((rival.session_id, beaten_by(new, rival)) for rival in others)
    return Decision(fallen=tuple(Fallen(session_id, reason) for session_id, reason in beaten if reason is not None))


def is_like(before: Identity, now: Identity) -> bool:
    """Return whether a session that was read again stands to others as it did before."""
    return now == msgspec.structs.replace(before, unit=now.unit, written_ns=now.written_ns)


def outranks(one: Identity, other: Identity) -> bool:
    """Return whether `one` is the unit to grade, of two units of a session.

    The one named after the session does; of equals the newer by what it says, the longer, the one written later, the
    first by name.
    """
    rank, others = _rank(one), _rank(other)
    return rank > others or (rank == others and one.unit < other.unit)


def beaten_by(winner: Identity, loser: Identity) -> SkipReason | None:
    """Return why `loser` has no grade while `winner`, another session, has one; None if both may have one."""
    if _supersedes(winner, loser) or _contains(winner, loser):
        return SkipReason.SUPERSEDED
    return SkipReason.COPY if _is_copied_in(winner, loser) else None


def _supersedes(newer: Identity, older: Identity) -> bool:
    """A compression chain: a link ends an older one that was left unfinished, one that sums up ends every older one.

    One that sums up is only ended by another one that does.
    """
    if newer.lineage is None or (newer.lineage, newer.opening) != (older.lineage, older.opening):
        return False
    is_left_behind = newer.compacted or not (older.compacted or older.state is SessionState.COMPLETE)
    return is_left_behind and _age(newer) > _age(older)


def _is_copied_in(original: Identity, copy: Identity) -> bool:
    """The same conversation under two ids: the one that began after the other had ended is its copy."""
    if original.conversation is None or original.conversation != copy.conversation:
        return False
    if bool(original.calls) != bool(copy.calls):
        return False  # so that chains and forks never meet, and beating never leads back
    ended, began = original.updated_at, copy.started_at
    if ended is None or began is None:
        return False
    return ended < began or (ended == began and (original.started_at or began) < began)


def _contains(whole: Identity, part: Identity) -> bool:
    """A fork: the calls of one are the beginning of the other's, or all of it and what follows is not longer.

    Of two that are the same in that, and not known as one conversation, the first by id stands.
    """
    if part.first_call is None or part.first_call != whole.first_call or not _may_fork(whole, part):
        return False
    if len(part.calls) >= MOST_COMPARED_CALLS * _CALL_BYTES or not whole.calls.startswith(part.calls):
        return False
    sizes, others = (len(whole.calls), whole.messages), (len(part.calls), part.messages)
    if sizes == others and whole.conversation is None and part.conversation is None:
        return whole.session_id < part.session_id
    return sizes > others


def _may_fork(one: Identity, other: Identity) -> bool:
    kinds = {each.kind or SessionKind.MAIN for each in (one, other)}
    return len(kinds) == 1 and one.unit.source == other.unit.source


def _age(identity: Identity) -> tuple[datetime, int, str]:
    return identity.updated_at or _NEVER, identity.messages, identity.session_id


def _rank(identity: Identity) -> tuple[bool, datetime, int, int]:
    return identity.named_after_id, identity.updated_at or _NEVER, identity.messages, identity.written_ns


def _id(identity: Identity) -> str:
    return identity.session_id
