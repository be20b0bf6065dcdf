"""Which of several files is the one to grade, when they hold the same conversation.

Hermes leaves a conversation behind more than once: a compression starts a new file under a new id and leaves the old
one unfinished, a ``/new`` copies the old conversation under the new id, and people copy and move folders.

What counts does not depend on the order in which files are read. The files of one session are ordered (`outranks`). Of
the sessions, one stands if none that stands beats it (`beaten_by`): beating leads to later links of a chain, or to a
conversation that began earlier, so it never leads back, and who is beaten through another is beaten.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Unit

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Identity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What tells a session from others that look like it.

    `updated_at` is never before `started_at`; for `written_ns` see `Found`.
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


class Fallen(NamedTuple):
    """A session that loses its grade to another one."""

    session_id: str
    reason: SkipReason


class Decision(NamedTuple):
    """What becomes of a session that was read: graded, or `lost` to another file or session.

    `own_falls`: it loses the grade that it may have had before, too. `fallen` are others that lose theirs to it; none
    if it is lost itself.
    """

    lost: SkipReason | None = None
    own_falls: bool = False
    fallen: tuple[Fallen, ...] = ()


class Identities:
    """Identities that can be found by what rivals share: the chain or the conversation."""

    def __init__(self) -> None:
        self._by_id: dict[str, Identity] = {}
        self._by_key: dict[tuple[int | None, ...], set[str]] = {}

    def add(self, identity: Identity) -> None:
        """Add one; it replaces the one of the same id."""
        self.remove(identity.session_id)
        self._by_id[identity.session_id] = identity
        for key in _keys(identity):
            self._by_key.setdefault(key, set()).add(identity.session_id)

    def remove(self, session_id: str) -> None:
        """Forget one; nothing happens if it is not there."""
        identity = self._by_id.pop(session_id, None)
        if identity is not None:
            for key in _keys(identity):
                self._by_key[key].discard(session_id)

    def get(self, session_id: str) -> Identity | None:
        """Return the one of this id."""
        return self._by_id.get(session_id)

    def rivals(self, new: Identity) -> list[Identity]:
        """Return the others that share a chain or a conversation with `new`."""
        ids: set[str] = set()
        for key in _keys(new):
            ids |= self._by_key.get(key, set())
        return [self._by_id[session_id] for session_id in ids - {new.session_id}]


def _keys(identity: Identity) -> list[tuple[int | None, ...]]:
    keys: list[tuple[int | None, ...]] = []
    if identity.lineage is not None:
        keys.append((identity.lineage, identity.opening))
    if identity.conversation is not None:
        keys.append((identity.conversation,))
    return keys


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
    """Does a session that was read again stand to others as it did before?"""
    return now == msgspec.structs.replace(before, unit=now.unit, written_ns=now.written_ns)


def outranks(one: Identity, other: Identity) -> bool:
    """Of two units of a session: does `one` count?

    The one named after the session does; of equals the newer by what it says, the longer, the one written later, the
    first by name.
    """
    rank, others = _rank(one), _rank(other)
    return rank > others or (rank == others and one.unit < other.unit)


def beaten_by(winner: Identity, loser: Identity) -> SkipReason | None:
    """Return why `loser` has no grade while `winner`, another session, has one; None if both may have one."""
    if _supersedes(winner, loser):
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
    ended, began = original.updated_at, copy.started_at
    if ended is None or began is None:
        return False
    return ended < began or (ended == began and (original.started_at or began) < began)


def _age(identity: Identity) -> tuple[datetime, int, str]:
    return identity.updated_at or _NEVER, identity.messages, identity.session_id


def _rank(identity: Identity) -> tuple[bool, datetime, int, int]:
    return identity.named_after_id, identity.updated_at or _NEVER, identity.messages, identity.written_ns


def _id(identity: Identity) -> str:
    return identity.session_id
