"""Finding session files below a folder, at the speed of the directory listing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from grader_daemon.domain.ledger import FileStamp
from grader_daemon.parsing import recognise
from grader_daemon.pipeline.reading import stamp_of


class Walk:
    """One walk below a root.

    `folders` and `files` count what it has passed; `unreadable` names what it could not enter.
    """

    def __init__(self, root: str) -> None:
        self.folders = 0
        self.files = 0
        self.unreadable: list[str] = []
        self._root = root

    def __iter__(self) -> Iterator[FoundFile]:
        """Yield every file that a format claims, links not followed."""
        pending = [self._root]
        while pending:
            folder = pending.pop()
            try:
                entries = os.scandir(folder)
            except OSError:
                self.unreadable.append(folder)
                continue
            self.folders += 1
            with entries:
                yield from self._files_of(entries, pending)

    def _files_of(self, entries: Iterable[os.DirEntry[str]], pending: list[str]) -> Iterator[FoundFile]:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif recognise(entry.path) is not None:
                    found = FoundFile(entry.path, stamp_of(entry.stat(follow_symlinks=False)))
                    self.files += 1
                    yield found
            except OSError:
                continue


class FoundFile(msgspec.Struct, frozen=True, gc=False):
    """A file that looks like a session, and its stamp."""

    path: str
    stamp: FileStamp
