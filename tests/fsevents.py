"""FSEvents without a Mac: the module that watchdog calls there, over a folder that is looked through again and again.

As Apple describes it: events come late and in lots, what happened to a file meanwhile is one event with several flags,
paths have no links in them, what lies below is told too, and nothing tells that a file was closed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Final

from watchdog.utils.dirsnapshot import DirectorySnapshot, DirectorySnapshotDiff

ROOT_CHANGED: Final = 0x20
CREATED: Final = 0x100
REMOVED: Final = 0x200
META: Final = 0x400
RENAMED: Final = 0x800
MODIFIED: Final = 0x1000
OF_FILE: Final = 0x10000
OF_FOLDER: Final = 0x20000
"""Flags of an event: kFSEventStreamEventFlag… in FSEvents.h."""

_FLAGS: Final = {
    "is_root_changed": ROOT_CHANGED,
    "is_created": CREATED,
    "is_removed": REMOVED,
    "is_inode_meta_mod": META,
    "is_renamed": RENAMED,
    "is_modified": MODIFIED,
    "is_owner_change": 0x4000,
    "is_xattr_mod": 0x8000,
    "is_file": OF_FILE,
    "is_directory": OF_FOLDER,
}
_LATE_SECONDS: Final = 0.02

_Callback = Callable[[list[str], list[int], list[int], list[int]], None]


class NativeEvent:
    """One event."""

    def __init__(self, path: str, inode: int, flags: int, event_id: int) -> None:
        self.path, self.inode, self.flags, self.event_id = path, inode, flags, event_id

    def __getattr__(self, name: str) -> bool:
        return bool(self.flags & _FLAGS[name])


class Stream:
    """A stream of events below one folder."""

    def __init__(self, paths: list[str], **_: float) -> None:
        self._folder = os.path.realpath(paths[0])
        self._ended = threading.Event()

    def run(self, callback: _Callback, started: Callable[[], None]) -> None:
        """Tell what happens until the stream is stopped."""
        before = DirectorySnapshot(self._folder)
        started()
        while not self._ended.wait(_LATE_SECONDS):
            try:
                after = DirectorySnapshot(self._folder)
            except OSError:
                callback([self._folder], [0], [ROOT_CHANGED], [0])
                return
            self._tell(callback, _events(DirectorySnapshotDiff(before, after), before, after))
            before = after

    def stop(self) -> None:
        """End it."""
        self._ended.set()

    def _tell(self, callback: _Callback, events: Iterable[tuple[str, int, int]]) -> None:
        if found := list(events):
            paths, inodes, flags = (list(each) for each in zip(*found, strict=True))
            callback(paths, inodes, flags, list(range(len(paths))))


def _events(
    difference: DirectorySnapshotDiff, before: DirectorySnapshot, after: DirectorySnapshot
) -> Iterable[tuple[str, int, int]]:
    for kind, created, deleted, modified, moved in (
        (OF_FOLDER, difference.dirs_created, difference.dirs_deleted, [], difference.dirs_moved),
        (
            OF_FILE,
            difference.files_created,
            difference.files_deleted,
            difference.files_modified,
            difference.files_moved,
        ),
    ):
        for path in created:
            yield str(path), after.inode(path)[0], kind | CREATED | (MODIFIED if after.size(path) else 0)
        for path in modified:
            yield str(path), after.inode(path)[0], kind | MODIFIED | META
        for path in deleted:
            yield str(path), before.inode(path)[0], kind | REMOVED
        for old, new in moved:
            yield str(old), after.inode(new)[0], kind | RENAMED
            yield str(new), after.inode(new)[0], kind | RENAMED


def install() -> None:
    """Put it where watchdog looks for its own."""
    module = ModuleType("_watchdog_fsevents")
    vars(module).update(NativeEvent=NativeEvent, Stream=Stream)
    sys.modules.setdefault(module.__name__, module)
