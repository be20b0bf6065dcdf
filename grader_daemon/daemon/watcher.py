"""Kernel events for the watched folders; the only module that knows watchdog.

Two lessons are built in. Without an event filter the watching itself makes events (opening a folder to list it), which
on large trees never ends. And a temporary file that is renamed gives only a *move* event for its final name.

Watching is an optimisation: whatever it misses, the next scan finds. So every trouble here ends in a call of `on_gap`.
"""

from __future__ import annotations

import errno
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from grader_daemon.daemon.scan_plan import BLIND_PAUSE_SECONDS

WATCHED = "watched"
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileClosedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_JOIN_SECONDS = 2.0
_LIMITS = {
    errno.ENOSPC: "the limit of inotify watches is reached; raise fs.inotify.max_user_watches",
    errno.EMFILE: "the limit of inotify instances is reached; raise fs.inotify.max_user_instances",
}


class Watchers:
    """The watchers of all roots, and whether events can be relied on. The thread that owns them calls all of it.

    But for `compare` and `is_blind`: the thread that has scanned asks these.
    """

    def __init__(self, roots: Sequence[Path], *, on_path: Callable[[str], None], on_gap: Callable[[str], None]) -> None:
        """See `RootWatcher`."""
        self._watchers = [RootWatcher(root, on_path=on_path, on_gap=on_gap) for root in roots]
        self._short: str | None = None
        self._log = structlog.get_logger()

    @property
    def is_blind(self) -> bool:
        """Whether there are folders of which no event tells."""
        return self._short is not None or any(watcher.state != WATCHED for watcher in self._watchers)

    def check(self) -> bool:
        """Start what is not watched; True if that changed anything."""
        changed = False
        for watcher in self._watchers:
            before = watcher.state
            if watcher.check():
                self._tell(watcher, before)
                changed = True
        return changed

    def compare(self, watches: int | None, folders: int) -> None:
        """A limit that is reached below the root is told by nobody, but it shows in the numbers.

        `folders` are those that could be read: the others cannot be watched either.
        """
        watched = any(watcher.state == WATCHED for watcher in self._watchers)
        short = watched and watches is not None and watches < folders
        before, self._short = self._short, f"{watches} of {folders} folders are watched" if short else None
        if short and before is None:
            self._log.warning(
                "watcher.degraded",
                reason=f"{self._short}; raise fs.inotify.max_user_watches",
                scan_seconds=BLIND_PAUSE_SECONDS,
            )

    def states(self) -> dict[str, str]:
        """Return for each root `WATCHED`, or why not."""
        short = self._short or WATCHED
        return {str(each.root): short if each.state == WATCHED else each.state for each in self._watchers}

    def stop(self) -> None:
        """Stop watching."""
        for watcher in self._watchers:
            watcher.stop()

    def _tell(self, watcher: RootWatcher, before: str) -> None:
        root = str(watcher.root)
        if watcher.state != WATCHED:
            self._log.warning("watcher.degraded", root=root, reason=watcher.state, scan_seconds=BLIND_PAUSE_SECONDS)
        elif before != "not started":
            self._log.warning("watcher.restarted", root=root, reason=before)


class RootWatcher:
    """Watches one root. Owned by one thread, which calls `check` every few seconds; events arrive on another."""

    def __init__(self, root: Path, *, on_path: Callable[[str], None], on_gap: Callable[[str], None]) -> None:
        """Set up, without watching yet.

        Args:
            root: the folder.
            on_path: told every path that was created, closed after writing, or moved to.
            on_gap: told when events may have been lost, and why; both are called from watchdog's threads.
        """
        self.root = root
        self.state = "not started"
        self._handler = _Handler(on_path, on_gap)
        self._on_gap = on_gap
        self._observer: BaseObserver | None = None
        self._identity: tuple[int, int] | None = None

    def check(self) -> bool:
        """Start watching, or start again if the root or a thread is not what it was; True if that changed anything."""
        before = self.state
        identity = _identity(self.root)
        if self._observer is not None and (identity != self._identity or not self._is_alive()):
            self.stop()
        restarted = False
        if self._observer is None:
            self._identity = identity
            self.state = self._start() if identity is not None else "the folder does not exist"
            restarted = self.state == WATCHED
        return restarted or self.state != before

    def stop(self) -> None:
        """Stop watching; the threads get a moment to end."""
        observer, self._observer = self._observer, None
        self.state = "stopped"
        if observer is not None:
            observer.stop()
            observer.join(_JOIN_SECONDS)

    def _start(self) -> str:
        if not os.access(self.root, os.R_OK | os.X_OK):
            return "the folder is not readable"
        try:
            observer = Observer()
        except OSError as error:
            return _LIMITS.get(error.errno or 0, str(error))
        try:
            observer.schedule(self._handler, str(self.root), recursive=True, event_filter=_EVENTS)
            observer.start()
        except OSError as error:
            observer.stop()
            return _LIMITS.get(error.errno or 0, str(error))
        self._observer = observer
        return WATCHED

    def _is_alive(self) -> bool:
        observer = self._observer
        return observer is not None and observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)


class _Handler(FileSystemEventHandler):
    """Passes events on. It must never raise: an exception here would end the observer's thread without a word."""

    def __init__(self, on_path: Callable[[str], None], on_gap: Callable[[str], None]) -> None:
        self._on_path = on_path
        self._on_gap = on_gap

    def dispatch(self, event: FileSystemEvent) -> None:
        """Report the path that now holds something new; a whole folder that came or went is a gap."""
        try:
            if event.is_directory:
                if not isinstance(event, DirDeletedEvent):
                    self._on_gap("a folder appeared")
            else:
                self._on_path(os.fsdecode(event.dest_path or event.src_path))
        except Exception:  # noqa: BLE001  whatever it is, the scan makes up for it
            self._on_gap("an event could not be handled")


class OverflowListener(logging.Handler):
    """Hears watchdog's log, the only place where it tells that the kernel dropped events."""

    def __init__(self, on_gap: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._on_gap = on_gap

    def emit(self, record: logging.LogRecord) -> None:
        """Treat every warning as a gap."""
        overflow = "overflow" in record.getMessage()
        self._on_gap("the kernel's event queue overflowed" if overflow else "watchdog reported a problem")

    def __enter__(self) -> OverflowListener:
        """Listen, and keep watchdog's own lines and warnings (a folder that is registered twice) out of ours."""
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        logger = logging.getLogger("watchdog")
        logger.addHandler(self)
        logger.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; what watchdog's threads say while they end is nobody's business."""
        logger = logging.getLogger("watchdog")
        logger.addHandler(logging.NullHandler())
        logger.removeHandler(self)


def count_watches() -> int | None:
    """Count the inotify watches of this process, as the kernel sees them (proc(5)); None if it does not tell."""
    watches = 0
    try:
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):
                if os.readlink(f"/proc/self/fd/{descriptor}") == "anon_inode:inotify":
                    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as info:
                        watches += info.read().count(b"inotify wd:")
    except OSError:
        return None
    return watches


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
