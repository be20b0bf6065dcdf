"""Files that are not there any more, and what follows for others: rows that say nothing, copies that may count now.

A folder that is renamed back looks as if nothing had happened to it: every file is as the ledger knows it. Only that
its sessions are graded from files that are gone tells that there is something to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from grader_daemon.domain.ledger import FileStamp, FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.errors import ReadError, VanishedFileError
from grader_daemon.sources.reading import look_at
from grader_daemon.storage.protocol import SessionStore
from grader_daemon.storage.records import UngradedFile

_PASSED_OVER = frozenset({SkipReason.COPY, SkipReason.SUPERSEDED})
_UNGRADED = (FileState.SKIPPED, FileState.RETRY, FileState.DEAD)
_PAGE = 200


class Absence(NamedTuple):
    """Of files without a grade: those that are gone, and those passed over for a file that is gone."""

    gone: list[str]
    again: list[str]


def absences(store: SessionStore, roots: Sequence[Path]) -> Iterator[Absence]:
    """Look at all files without a grade, a few at a time. Below a root that is missing nothing counts as gone."""
    missing = tuple(os.path.join(root, "") for root in roots if not root.is_dir())
    for state in _UNGRADED:
        files = store.ungraded_files(state, after=None, limit=_PAGE)
        while files:
            yield compare(files, lambda path: not path.startswith(missing) and is_gone(path))
            files = store.ungraded_files(state, after=files[-1], limit=_PAGE)


def stamps(store: SessionStore, roots: Sequence[Path]) -> Callable[[str], FileStamp | None]:
    """Give what tells how the ledger knows a file: not at all if it was passed over for one that is gone."""
    again = {path for absence in absences(store, roots) for path in absence.again}
    return lambda path: None if path in again else store.file_stamp(path)


def compare(files: Iterable[UngradedFile], is_gone: Callable[[str], bool]) -> Absence:
    """Say what to do about files without a grade of their own; one whose session is graded from it stays as it is."""
    absence = Absence([], [])
    for file in files:
        if file.path == file.graded_file:
            continue
        if is_gone(file.path):
            absence.gone.append(file.path)
        elif file.reason in _PASSED_OVER and file.graded_file is not None and is_gone(file.graded_file):
            absence.again.append(file.path)
    return absence


def still_settled(store: SessionStore, known: Mapping[str, LedgerEntry]) -> dict[str, LedgerEntry]:
    """Leave out the rows of files passed over for one that is gone: what they say does not hold any more."""
    sessions = [entry.session_id for entry in known.values() if entry.session_id is not None and _is_passed_over(entry)]
    files = store.files_of_sessions(sessions) if sessions else {}
    gone = {session_id for session_id, file in files.items() if is_gone(file)}
    return {path: entry for path, entry in known.items() if not (_is_passed_over(entry) and entry.session_id in gone)}


def is_gone(path: str) -> bool:
    """Is there no such file? What cannot be looked at may be there."""
    try:
        look_at(path)
    except VanishedFileError:
        return True
    except ReadError:
        return False
    return False


def _is_passed_over(entry: LedgerEntry) -> bool:
    return entry.state is FileState.SKIPPED and entry.reason in _PASSED_OVER
