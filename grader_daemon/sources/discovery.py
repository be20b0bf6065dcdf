"""Finding units below a folder, at the speed of the directory listing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from grader_daemon.domain.unit import Found


class Walk:
    """One walk below a root.

    `folders` and `files` count what it has passed; `unreadable` names what it could not enter. Folders near the root
    come first; after `most_folders` it ends, and `is_cut` says that it did.
    """

    def __init__(
        self,
        root: str,
        *,
        claims: Callable[[str], bool],
        units_of: Callable[[str, os.stat_result], Iterable[Found]],
        enters: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`claims` tells of a path whether the file is of interest; `units_of` gives the units in one of this status.

        `enters` tells of a folder below the root whether there may be any in or below it.

        `units_of` may raise OSError: then the file is passed over.
        """
        self.folders = 0
        self.files = 0
        self.unreadable: list[str] = []
        self.most_folders: int | None = None
        self.is_cut = False
        self.root = root
        self._claims = claims
        self._units_of = units_of
        self._enters = enters

    def __iter__(self) -> Iterator[Found]:
        """Yield the units of every file that is claimed, links not followed, each folder's in order of their names.

        Names of sessions begin with their time, so that order is the one in which a database grows fastest.
        """
        pending = deque([self.root])
        while pending:
            if self.folders == self.most_folders:
                self.is_cut = True
                return
            folder = pending.popleft()
            try:
                paths = self._list(folder, pending)
            except OSError:
                self.unreadable.append(folder)
                continue
            self.folders += 1
            for path in paths:
                try:
                    units = self._units_of(path, os.lstat(path))
                except OSError:
                    continue
                self.files += 1
                yield from units

    def _list(self, folder: str, pending: deque[str]) -> list[str]:
        claims = self._claims
        claimed = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if self._enters(entry.path):
                        pending.append(entry.path)
                elif claims(entry.path):
                    claimed.append(entry.path)
        claimed.sort()
        return claimed
