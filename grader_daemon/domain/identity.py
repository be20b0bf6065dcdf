"""Which of several files is the one to grade, when they hold the same conversation.

Hermes leaves a conversation behind more than once: a compression starts a new file under a new id and leaves the old
one unfinished, a ``/new`` copies the old conversation under the new id, and people copy and move folders.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from grader_daemon.domain.analysis import SessionState


class Identity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What tells a session from others that look like it."""

    session_id: str
    file: str
    state: SessionState
    messages: int
    started_at: datetime | None
    updated_at: datetime | None
    lineage: int | None
    opening: int | None
    conversation: int | None
    compacted: bool
    named_after_id: bool


class Verdict(StrEnum):
    """What a rival means for a new session."""

    INDEPENDENT = "independent"
    NEW_REPLACES_RIVAL = "new_replaces_rival"
    NEW_IS_COPY = "new_is_copy"
    RIVAL_IS_COPY = "rival_is_copy"
    NEW_IS_SUPERSEDED = "new_is_superseded"
    RIVAL_IS_SUPERSEDED = "rival_is_superseded"


class Identities:
    """Identities that can be found by what rivals share: the id, the lineage or the conversation."""

    def __init__(self, identities: Iterable[Identity] = ()) -> None:
        self._by_id: dict[str, Identity] = {}
        self._by_key: dict[tuple[str, int], set[str]] = {}
        for identity in identities:
            self.add(identity)

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
        """Give the one of this id."""
        return self._by_id.get(session_id)

    def rivals(self, new: Identity) -> list[Identity]:
        """Give those that share something with `new`, ordered by id; the one of its own id among them."""
        ids = {new.session_id} if new.session_id in self._by_id else set()
        for key in _keys(new):
            ids |= self._by_key.get(key, set())
        return [self._by_id[session_id] for session_id in sorted(ids)]


def _keys(identity: Identity) -> list[tuple[str, int]]:
    keys = (("lineage", identity.lineage), ("conversation", identity.conversation))
    return [(name, value) for name, value in keys if value is not None]


def compare(new: Identity, rival: Identity, *, rival_exists: bool) -> Verdict:
    """Judge a newly read session against one that is graded already.

    Args:
        new: just read.
        rival: graded before; shares the id, the lineage or the conversation.
        rival_exists: is the rival's file still there under its name?
    """
    if new.session_id == rival.session_id:
        return _compare_files(new, rival, rival_exists=rival_exists)
    if new.lineage is not None and (new.lineage, new.opening) == (rival.lineage, rival.opening):
        verdict = _compare_links(new, rival)
        if verdict is not Verdict.INDEPENDENT:
            return verdict
    if new.conversation is not None and new.conversation == rival.conversation:
        return _compare_conversations(new, rival)
    return Verdict.INDEPENDENT


def _compare_files(new: Identity, rival: Identity, *, rival_exists: bool) -> Verdict:
    """One id, two files: the one named after the id counts, of equals the newer, of equals the first seen."""
    if new.file == rival.file or not rival_exists:
        return Verdict.NEW_REPLACES_RIVAL
    if new.named_after_id != rival.named_after_id:
        return Verdict.NEW_REPLACES_RIVAL if new.named_after_id else Verdict.NEW_IS_COPY
    return Verdict.NEW_REPLACES_RIVAL if _age(new) > _age(rival) else Verdict.NEW_IS_COPY


def _compare_links(new: Identity, rival: Identity) -> Verdict:
    """A compression chain: the newest link counts, if the older one was left unfinished or the newer sums it up."""
    newer, older = (new, rival) if _age(new) > _age(rival) else (rival, new)
    if older.state is SessionState.COMPLETE and not newer.compacted:
        return Verdict.INDEPENDENT
    return Verdict.RIVAL_IS_SUPERSEDED if newer is new else Verdict.NEW_IS_SUPERSEDED


def _compare_conversations(new: Identity, rival: Identity) -> Verdict:
    """The same conversation under two ids: the one that began after the other had ended is its copy."""
    if _began_after(new, rival):
        return Verdict.NEW_IS_COPY
    if _began_after(rival, new):
        return Verdict.RIVAL_IS_COPY
    return Verdict.INDEPENDENT


def _began_after(later: Identity, earlier: Identity) -> bool:
    return later.started_at is not None and earlier.updated_at is not None and later.started_at >= earlier.updated_at


def _age(identity: Identity) -> tuple[float, int, str]:
    updated = identity.updated_at.timestamp() if identity.updated_at else 0.0
    return updated, identity.messages, identity.session_id
