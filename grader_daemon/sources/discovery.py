"""Finding session files below a folder, at the speed of the directory listing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from grader_daemon.domain.ledger import FileStamp
from grader_daemon.errors import InputError
from grader_daemon.sources.decoding import recognise
from grader_daemon.sources.reading import stamp_of


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
        """Yield every file that a format claims, links not followed, each folder's in order of their names.

        Names of sessions begin with their time, so that order is the one in which a database grows fastest.
        """
        pending = [self._root]
        while pending:
            folder = pending.pop()
            try:
                paths = self._list(folder, pending)
            except OSError:
                self.unreadable.append(folder)
                continue
            self.folders += 1
            for path in paths:
                try:
                    found = FoundFile(path, stamp_of(os.lstat(path)))
                except OSError:
                    continue
                self.files += 1
                yield found

    def _list(self, folder: str, pending: list[str]) -> list[str]:
        claimed = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif recognise(entry.path) is not None:
                    claimed.append(entry.path)
        claimed.sort()
        return claimed


class FoundFile(msgspec.Struct, frozen=True, gc=False):
    """A file that looks like a session, and its stamp."""

    path: str
    stamp: FileStamp


def named_files(paths: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Give the files that a person names, and those of folders in the order of their names.

    Beside them stands what is wrong with each folder without any.

    Raises:
        InputError: a path does not exist.
    """
    files: list[str] = []
    empty: list[tuple[str, str]] = []
    for given in paths:
        path = os.path.abspath(given)
        if not given or not os.path.lexists(path):
            raise InputError(f"{path if given else 'an empty path'}: no such file or folder")
        if os.path.isdir(path) and not os.path.islink(path):
            walk = Walk(path)
            found = sorted(file.path for file in walk)
            files += found
            if not found:
                why = "it cannot be read" if path in walk.unreadable else "no session files are below it"
                empty.append((path, why))
        else:
            files.append(path)
    return files, empty
