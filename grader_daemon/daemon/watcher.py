"""Kernel events for the watched folders; the only module that knows watchdog.

Two lessons are built in. Without an event filter the watching itself makes events (opening a folder to list it), which
on large trees never ends. And a temporary file that is renamed gives only a *move* event for its final name.

Watching is an optimisation: whatever it misses, the next scan finds. So every trouble here ends in a call of `on_gap`.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

import structlog
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver

from grader_daemon.daemon.scan_plan import BLIND_PAUSE_SECONDS
from grader_daemon.sources.protocol import Watch
from grader_daemon.storage.disk import identity_of
from grader_daemon.storage.records import AWAITED, WATCHED
from grader_daemon.system.open_files import stored_path

_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileClosedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
if sys.platform == "darwin":  # there nothing tells that a file was closed
    _EVENTS.append(FileModifiedEvent)

_LOGGERS = ("watchdog", "fsevents")
"""Under which watchdog logs."""

_JOIN_SECONDS = 2.0
_NOT_STARTED = "not started"
_LIMITS = {
    errno.ENOSPC: "the limit of inotify watches is reached; raise fs.inotify.max_user_watches",
    errno.EMFILE: "the limit of inotify instances is reached; raise fs.inotify.max_user_instances",
}


class Watchers:
    """The watchers of all folders, and whether events can be relied on. The thread that owns them calls all of it.

    But for `compare` and `is_blind`: the thread that has scanned asks these.
    """

    def __init__(
        self,
        watches: Callable[[], Sequence[Watch]],
        *,
        expected: Collection[str],
        on_path: Callable[[str], None],
        on_gap: Callable[[str], None],
    ) -> None:
        """Set up.

        Args:
            watches: gives what is to be watched, each folder once; asked at each `check`.
            expected: the folders that somebody named; any other need not be there, and is waited for.
            on_path: see `RootWatcher`.
            on_gap: the same.
        """
        self._watches = watches
        self._expected = frozenset(expected)
        self._on_path = on_path
        self._on_gap = on_gap
        self._watchers: dict[Watch, RootWatcher] = {}
        self._short: str | None = None
        self._log = structlog.get_logger()

    @property
    def is_blind(self) -> bool:
        """True if there are folders of which no event tells."""
        seen = (WATCHED, AWAITED)
        return self._short is not None or any(watcher.state not in seen for watcher in self._watchers.values())

    def check(self) -> bool:
        """Start what is not watched; True if that changed anything."""
        wanted = self._watches()
        for watch in self._watchers.keys() - set(wanted):
            self._watchers[watch].stop()
        self._watchers = {watch: self._watchers.get(watch) or self._watcher(watch) for watch in wanted}
        changed = False
        for watcher in self._watchers.values():
            before = watcher.state
            if watcher.check():
                self._tell(watcher, before)
                changed = True
        return changed

    def compare(self, folders: Mapping[str, int]) -> None:
        """A limit that is reached below a folder is told by nobody, but it shows in the numbers.

        `folders` are those that could be read below each root, itself among them: others cannot be watched either.
        """
        counted = [
            (watcher.count_watches(), folders[watch.folder])
            for watch, watcher in list(self._watchers.items())
            if watch.recursive and watcher.state == WATCHED and watch.folder in folders
        ]
        lacking = [(watches, there) for watches, there in counted if watches is not None and watches < there]
        before, self._short = self._short, None
        if lacking:
            watches, there = (sum(numbers) for numbers in zip(*lacking, strict=True))
            self._short = f"{watches} of {there} folders are watched"
        if self._short is not None and before is None:
            self._log.warning(
                "watcher.degraded",
                reason=f"{self._short}; raise fs.inotify.max_user_watches",
                scan_seconds=BLIND_PAUSE_SECONDS,
            )

    def states(self) -> dict[str, str]:
        """Return for each folder `WATCHED`, `AWAITED`, or why it is not watched."""
        short = self._short or WATCHED
        return {each.root: short if each.state == WATCHED else each.state for each in self._watchers.values()}

    def stop(self) -> None:
        """Stop watching."""
        for watcher in self._watchers.values():
            watcher.stop()

    def _watcher(self, watch: Watch) -> RootWatcher:
        missing = "the folder does not exist" if watch.folder in self._expected else AWAITED
        return RootWatcher(watch, missing=missing, on_path=self._on_path, on_gap=self._on_gap)

    def _tell(self, watcher: RootWatcher, before: str) -> None:
        if watcher.state == WATCHED:
            if before not in (_NOT_STARTED, AWAITED):
                self._log.warning("watcher.restarted", root=watcher.root, reason=before)
        elif watcher.state != AWAITED:
            self._log.warning(
                "watcher.degraded", root=watcher.root, reason=watcher.state, scan_seconds=BLIND_PAUSE_SECONDS
            )


class RootWatcher:
    """Watches one folder. Owned by one thread, which calls `check` every few seconds; events arrive on another."""

    def __init__(
        self, watch: Watch, *, missing: str, on_path: Callable[[str], None], on_gap: Callable[[str], None]
    ) -> None:
        """Set up, without watching yet.

        Args:
            watch: the folder, and how it is watched.
            missing: what its state is called while it does not exist.
            on_path: told every path that was created, closed after writing, or moved to; or written to, if each write
                is to be told.
            on_gap: told when events may have been lost, and why; both are called from watchdog's threads.
        """
        self.root = watch.folder
        self.state = _NOT_STARTED
        self._watch = watch
        self._missing = missing
        self._on_path = on_path
        self._on_gap = on_gap
        self._observer: BaseObserver | None = None
        self._descriptors: frozenset[str] = frozenset()
        self._identity: tuple[int, int] | None = None

    def check(self) -> bool:
        """Start watching, or start again if the root or a thread is not what it was; True if that changed anything."""
        before = self.state
        identity = identity_of(self.root)
        if self._observer is not None and (identity != self._identity or not self._is_alive()):
            self.stop()
        restarted = False
        if self._observer is None:
            self._identity = identity
            self.state = self._start() if identity is not None else self._missing
            restarted = self.state == WATCHED
        return restarted or self.state != before

    def stop(self) -> None:
        """Stop watching; the threads get a moment to end."""
        observer, self._observer = self._observer, None
        self.state = "stopped"
        if observer is not None:
            observer.stop()
            observer.join(_JOIN_SECONDS)

    def count_watches(self) -> int | None:
        """Count its inotify watches, as the kernel sees them (proc(5)); None if it does not tell, or has no such."""
        if not self._descriptors:
            return None
        watches = 0
        try:
            for descriptor in self._descriptors:
                with open(f"/proc/self/fdinfo/{descriptor}", "rb") as info:
                    watches += info.read().count(b"inotify wd:")
        except OSError:
            return None
        return watches

    def _start(self) -> str:
        if not os.access(self.root, os.R_OK | os.X_OK):
            return "the folder is not readable"
        others = _inotify_descriptors()
        try:
            self._observer = _started(self._handler_here(), self._watch)
        except OSError as error:
            return _LIMITS.get(error.errno or 0, str(error))
        except (ImportError, RuntimeError, SystemError) as error:  # as FSEvents tell it
            return str(error)
        self._descriptors = _inotify_descriptors() - others
        return WATCHED

    def _handler_here(self) -> _Handler:
        """Return what hears the events, of which FSEvents tell the path as the file system has it."""
        told_as = stored_path(self.root) if sys.platform == "darwin" else self.root
        return _Handler(self._on_path, self._on_gap, root=self.root, told_as=told_as)

    def _is_alive(self) -> bool:
        observer = self._observer
        return observer is not None and observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)


class _Handler(FileSystemEventHandler):
    """Passes events on. It must never raise: an exception here would end the observer's thread without a word."""

    def __init__(
        self, on_path: Callable[[str], None], on_gap: Callable[[str], None], *, root: str = "", told_as: str = ""
    ) -> None:
        """Set up; of the folder `root`, events have the path `told_as`."""
        self._on_path = on_path
        self._on_gap = on_gap
        self._root = root
        self._told_as = told_as

    def dispatch(self, event: FileSystemEvent) -> None:
        """Report the path that now holds something new; a whole folder that came or went is a gap."""
        try:
            if event.is_directory:
                if not isinstance(event, DirDeletedEvent):
                    self._on_gap("a folder appeared")
            else:
                self._on_path(self._named(os.fsdecode(event.dest_path or event.src_path)))
        except Exception:  # noqa: BLE001  whatever it is, the scan makes up for it
            self._on_gap("an event could not be handled")

    def _named(self, path: str) -> str:
        """Return a path as the rest of the program knows it, below the root that somebody named."""
        is_told_so = self._told_as != self._root and path.startswith(f"{self._told_as}/")
        return f"{self._root.rstrip('/')}{path[len(self._told_as) :]}" if is_told_so else path


def _started(handler: FileSystemEventHandler, watch: Watch) -> BaseObserver:
    """Start to watch.

    On macOS only by FSEvents: kqueue, which watchdog may take in its place, opens every file.

    Raises:
        OSError: a limit is reached, or the folder is gone.
        ImportError: watchdog was built without FSEvents.
        RuntimeError: FSEvents refuse.
        SystemError: the same.
    """
    if sys.platform == "darwin":
        from watchdog.observers.fsevents import FSEventsObserver as Observer
    else:
        from watchdog.observers import Observer
    events = [*_EVENTS, FileModifiedEvent] if watch.writes else _EVENTS
    observer: BaseObserver = Observer()
    try:
        observer.schedule(handler, watch.folder, recursive=watch.recursive, event_filter=events)
        observer.start()
    except BaseException:
        observer.stop()
        raise
    return observer


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
        for logger in map(logging.getLogger, _LOGGERS):
            logger.addHandler(self)
            logger.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; what watchdog's threads say while they end is nobody's business."""
        for logger in map(logging.getLogger, _LOGGERS):
            logger.addHandler(logging.NullHandler())
            logger.removeHandler(self)


def _inotify_descriptors() -> frozenset[str]:
    """Return the descriptors of this process that hold inotify watches; none where the kernel does not tell."""
    found = set()
    with suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):
                if os.readlink(f"/proc/self/fd/{descriptor}") == "anon_inode:inotify":
                    found.add(descriptor)
    return frozenset(found)
