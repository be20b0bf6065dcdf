"""Files that the ledger need not know: named ones that are no sessions, and those that are to be forgotten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from grader_daemon.domain.ledger import FileState, LedgerEntry, ledger_path
from grader_daemon.domain.session import SkipReason
from grader_daemon.sources.decoding import recognise
from grader_daemon.storage.protocol import Store

_SESSIONS = frozenset({SkipReason.COPY, SkipReason.SUPERSEDED, SkipReason.REVIEW_FORK})


class Fate(StrEnum):
    """What forgetting a file came to."""

    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"
    GRADED = "graded"


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was to be forgotten. `comes_back`: it is there and watched, so the next scan finds it again."""

    file: str
    fate: Fate
    comes_back: bool = False


def forget(store: Store, paths: Sequence[str], roots: Sequence[Path]) -> list[Forgotten]:
    """Remove the ledger rows of files; one that is graded keeps its row, as its grade stays."""
    files = [os.path.abspath(path) for path in paths]
    known = store.ledger_entries([ledger_path(file) for file in files])
    told = [_fate(file, known.get(ledger_path(file)), roots) for file in files]
    _remove(store, [each.file for each in told if each.fate is Fate.FORGOTTEN])
    return told


def leave_no_trace(store: Store, files: Sequence[str], roots: Sequence[Path]) -> None:
    """Forget those files that a person named and that are no sessions, but for what is watched."""
    strangers = [ledger_path(file) for file in files if not _is_below(file, roots)]
    known = store.ledger_entries(strangers)
    _remove(store, [path for path, entry in known.items() if not _is_session(entry)])


def _remove(store: Store, files: Sequence[str]) -> None:
    if files:
        with store.transaction():
            store.forget_files([ledger_path(file) for file in files])


def _fate(file: str, entry: LedgerEntry | None, roots: Sequence[Path]) -> Forgotten:
    if entry is None:
        return Forgotten(file=file, fate=Fate.UNKNOWN)
    if entry.state is FileState.GRADED:
        return Forgotten(file=file, fate=Fate.GRADED)
    found = os.path.lexists(file) and recognise(file) is not None
    return Forgotten(file=file, fate=Fate.FORGOTTEN, comes_back=found and _is_below(file, roots))


def _is_below(file: str, roots: Sequence[Path]) -> bool:
    return any(Path(file).is_relative_to(os.path.abspath(root)) for root in roots)


def _is_session(entry: LedgerEntry) -> bool:
    """Was it a session once, or is it one that is graded from another file?"""
    if entry.state is FileState.SKIPPED:
        return entry.reason in _SESSIONS
    return entry.session_id is not None
