"""Files that the ledger need not know: named ones that are no sessions, and those that are to be forgotten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.sqlite.store import SqliteStore

_SESSIONS = frozenset({SkipReason.COPY, SkipReason.SUPERSEDED, SkipReason.REVIEW_FORK})


class Fate(StrEnum):
    """Result of forgetting a file."""

    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"
    GRADED = "graded"


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """One file to forget. `comes_back`: it is there and watched, so the next scan finds it again."""

    file: str
    fate: Fate
    comes_back: bool = False


def forget(store: SqliteStore, paths: Sequence[str], sources: Sources) -> list[Forgotten]:
    """Remove the ledger rows of files; one that holds a grade keeps its rows, as the grade stays."""
    files = [os.path.abspath(path) for path in paths]
    known = {file: _entries(store, file, sources) for file in files}
    told = [_fate(file, list(known[file].values()), sources) for file in files]
    _remove(store, [unit for each in told if each.fate is Fate.FORGOTTEN for unit in known[each.file]])
    return told


def leave_no_trace(store: SqliteStore, files: Sequence[str], sources: Sources) -> None:
    """Forget those files that a person named and that are no sessions, but for what is watched.

    A failure to read a file as one of another agent is forgotten too: it says nothing about the file's own session.
    """
    _remove(store, _misread(store, files, sources))
    known = [_entries(store, file, sources) for file in files if not _is_below(file, sources)]
    _remove(store, [unit for entries in known for unit, entry in entries.items() if not _is_session(entry)])


def _misread(store: SqliteStore, files: Sequence[str], sources: Sources) -> list[Unit]:
    """Return the troubled units of these files, or below these folders, that are not what the files are taken for."""
    troubled = [entry.unit for entry in store.troubled_entries()]
    named = [unit for unit in troubled if not {unit.locator, *map(str, Path(unit.locator).parents)}.isdisjoint(files)]
    return [unit for unit in named if all(unit.source != own.source for own in sources.named(unit.locator))]


def _entries(store: SqliteStore, file: str, sources: Sources) -> dict[Unit, LedgerEntry]:
    return store.ledger_entries([unit.storable() for unit in sources.named(file)])


def _remove(store: SqliteStore, units: Sequence[Unit]) -> None:
    if units:
        with store.transaction():
            store.forget_units(units)


def _fate(file: str, entries: Sequence[LedgerEntry], sources: Sources) -> Forgotten:
    if not entries:
        return Forgotten(file=file, fate=Fate.UNKNOWN)
    if any(entry.state is FileState.GRADED for entry in entries):
        return Forgotten(file=file, fate=Fate.GRADED)
    found = os.path.lexists(file) and sources.claims(file)
    return Forgotten(file=file, fate=Fate.FORGOTTEN, comes_back=found and _is_below(file, sources))


def _is_below(file: str, sources: Sources) -> bool:
    return any(Path(file).is_relative_to(os.path.abspath(root)) for root in sources.roots())


def _is_session(entry: LedgerEntry) -> bool:
    """Return whether a file was a session once, or is one that is graded from another file."""
    if entry.state is FileState.SKIPPED:
        return entry.reason in _SESSIONS
    return entry.session_id is not None
