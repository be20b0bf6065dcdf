from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
)
from watchdog.observers.api import EventQueue, ObservedWatch

from grader_daemon.daemon.watcher import _EVENTS, OverflowListener, RootWatcher, Watchers, _Handler
from grader_daemon.sources.protocol import Watch
from grader_daemon.storage.records import AWAITED, WATCHED
from tests import fsevents
from tests.fsevents import CREATED, META, MODIFIED, OF_FILE, OF_FOLDER, REMOVED, RENAMED, ROOT_CHANGED
from tests.waiting import PATIENCE_SECONDS

fsevents.install()

_by_inotify = pytest.mark.skipif(sys.platform != "linux", reason="FSEvents have no watches, and tell every write")


@pytest.mark.parametrize(
    ("event", "paths", "gaps"),
    [
        pytest.param(FileCreatedEvent("/r/a"), ["/r/a"], 0, id="a-new-file"),
        pytest.param(FileMovedEvent("/r/.tmp", "/r/a"), ["/r/a"], 0, id="a-rename-tells-the-new-name"),
        pytest.param(FileCreatedEvent(b"/r/a\xff"), ["/r/a\udcff"], 0, id="a-name-that-is-not-utf-8"),
        pytest.param(DirCreatedEvent("/r/d"), [], 1, id="a-folder-may-hold-files-already"),
        pytest.param(DirDeletedEvent("/r/d"), [], 0, id="a-folder-that-is-gone-holds-none"),
    ],
)
def test_events_become_paths_and_gaps(event: FileSystemEvent, paths: list[str], gaps: int) -> None:
    seen: list[str] = []
    told: list[str] = []

    _Handler(seen.append, told.append).dispatch(event)

    assert (seen, len(told)) == (paths, gaps)


def test_an_error_in_handling_is_a_gap_and_not_the_end() -> None:
    told: list[str] = []

    def fail(_: str) -> None:
        raise ValueError

    _Handler(fail, told.append).dispatch(FileCreatedEvent("/r/a"))

    assert told == ["an event could not be handled"]


def test_an_overflow_in_the_log_is_a_gap() -> None:
    told: list[str] = []

    with OverflowListener(told.append):
        logging.getLogger("watchdog.observers").warning("Inotify queue overflowed")
    logging.getLogger("watchdog.observers").debug("after")

    assert told == ["the kernel's event queue overflowed"]


def test_a_root_is_watched_lost_and_watched_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    seen = threading.Event()
    watcher = RootWatcher(
        Watch(str(root)), missing="the folder does not exist", on_path=lambda _: seen.set(), on_gap=lambda _: None
    )
    try:
        missing = (watcher.check(), watcher.state)
        root.mkdir()
        watched = (watcher.check(), watcher.state, watcher.check())
        (root / "session_a.json").touch()

        assert seen.wait(PATIENCE_SECONDS)
        assert missing == (True, "the folder does not exist")
        assert watched == (True, WATCHED, False)
        assert watcher.count_watches() == (1 if sys.platform == "linux" else None)

        root.rename(tmp_path / "elsewhere")
        assert (watcher.check(), watcher.state) == (True, "the folder does not exist")
    finally:
        watcher.stop()


class Watching:
    """Watchers of what a test wants watched, and what they say of folders that nobody named."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.paths: list[str] = []
        self.heard = threading.Condition()
        self.watchers = Watchers(lambda: self.watches, expected=(), on_path=self._note, on_gap=lambda _: None)

    def _note(self, path: str) -> None:
        with self.heard:
            self.paths.append(path)
            self.heard.notify()

    def hears(self, path: Path) -> bool:
        with self.heard:
            return self.heard.wait_for(lambda: str(path) in self.paths, PATIENCE_SECONDS)


@pytest.fixture
def watching() -> Iterator[Watching]:
    made = Watching()
    yield made
    made.watchers.stop()


@_by_inotify
def test_a_write_to_a_file_that_stays_open_is_told_where_writes_are_asked_for(
    watching: Watching, tmp_path: Path
) -> None:
    (told, quiet) = (tmp_path / "told", tmp_path / "quiet")
    for folder in (told, quiet):
        folder.mkdir()
        (folder / "a").touch()
    watching.watches = [Watch(str(told), writes=True), Watch(str(quiet))]
    watching.watchers.check()

    with (quiet / "a").open("ab", buffering=0) as unheard, (told / "a").open("ab", buffering=0) as heard:
        unheard.write(b"line\n")
        heard.write(b"line\n")
        assert watching.hears(told / "a")
        assert str(quiet / "a") not in watching.paths


def test_below_a_folder_that_is_not_watched_recursively_nothing_is_heard(watching: Watching, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    watching.watches = [Watch(str(tmp_path), recursive=False)]
    watching.watchers.check()
    (tmp_path / "below" / "b").touch()
    (tmp_path / "a").touch()

    assert watching.hears(tmp_path / "a")
    assert str(tmp_path / "below" / "b") not in watching.paths
    assert not watching.watchers.is_blind
    watching.watchers.compare({str(tmp_path): 2})
    assert watching.watchers.states() == {str(tmp_path): WATCHED}


def test_a_folder_that_an_agent_has_not_made_yet_is_waited_for(watching: Watching, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    watching.watches = [Watch(str(folder))]
    watching.watchers.check()
    assert (watching.watchers.states(), watching.watchers.is_blind) == ({str(folder): AWAITED}, False)
    folder.mkdir()
    assert watching.watchers.check()
    (folder / "a").touch()

    assert watching.hears(folder / "a")


def test_what_is_to_be_watched_may_change(watching: Watching, tmp_path: Path) -> None:
    (first, second) = (tmp_path / "first", tmp_path / "second")
    first.mkdir()
    second.mkdir()
    watching.watches = [Watch(str(first))]
    watching.watchers.check()
    watching.watches = [Watch(str(second))]
    watching.watchers.check()
    (first / "a").touch()
    (second / "a").touch()

    assert watching.hears(second / "a")
    assert watching.paths == [str(second / "a")] * len(watching.paths)


@_by_inotify
def test_watches_that_are_missing_below_one_folder_are_not_made_up_for_by_another(
    watching: Watching, tmp_path: Path
) -> None:
    """The numbers are compared folder by folder."""
    (short, rich) = (tmp_path / "short", tmp_path / "rich")
    (short / "below").mkdir(parents=True)
    (rich / "one").mkdir(parents=True)
    watching.watches = [Watch(str(short)), Watch(str(rich))]
    watching.watchers.check()

    watching.watchers.compare({str(short): 3, str(rich): 1})

    assert watching.watchers.is_blind
    assert set(watching.watchers.states().values()) == {"2 of 3 folders are watched"}


_WRITTEN = CREATED | MODIFIED | OF_FILE


@pytest.mark.parametrize(
    ("lots", "paths", "gaps"),
    [
        pytest.param([[("a", _WRITTEN)]], ["a"], 0, id="made-and-written-in-one-event"),
        pytest.param([[("a", MODIFIED | META | OF_FILE)]], ["a"], 0, id="a-line-more"),
        pytest.param([[(".a.tmp", RENAMED | _WRITTEN), ("a", RENAMED | OF_FILE)]], ["a"], 0, id="replaced-in-one-lot"),
        pytest.param(
            [[(".a.tmp", RENAMED | OF_FILE)], [("a", RENAMED | OF_FILE)]], ["a"], 0, id="replaced-in-two-lots"
        ),
        pytest.param([[("a", RENAMED | OF_FILE)]], ["a"], 0, id="moved-here-from-elsewhere"),
        pytest.param([[("d/a", _WRITTEN), ("d", CREATED | OF_FOLDER)]], ["d/a"], 1, id="a-folder-told-after-its-file"),
        pytest.param([[("gone", CREATED | REMOVED | OF_FILE)]], ["gone"], 0, id="made-and-removed"),
        pytest.param([[("a", META | OF_FILE)]], [], 0, id="another-mode"),
        pytest.param([[("gone", REMOVED | OF_FILE)]], [], 0, id="removed"),
        pytest.param([[("", ROOT_CHANGED)]], [], 0, id="the-root-is-gone"),
    ],
)
def test_what_fsevents_tell_becomes_paths_below_the_root_that_was_named(
    tmp_path: Path, lots: list[list[tuple[str, int]]], paths: list[str], gaps: int
) -> None:
    """Lists by the words of FSEvents.h and of Apple's guide to them, of a root that is named by a link."""
    from watchdog.observers.fsevents import FSEventsEmitter

    (tmp_path / "d").mkdir()
    for name in ("a", "d/a"):
        (tmp_path / name).touch()
    queue, heard, told = EventQueue(), list[str](), list[str]()
    watch = ObservedWatch(str(tmp_path), recursive=True)
    emitter: Any = FSEventsEmitter(queue, watch, event_filter=[*_EVENTS, FileModifiedEvent])
    for lot in lots:
        found = [(str(tmp_path / name), flags) for name, flags in lot]
        inode = (tmp_path / lot[0][0].replace(".a.tmp", "a").replace("gone", "")).stat().st_ino
        inodes = [inode if len(lot) > 1 and flags & RENAMED else _inode(path) for path, flags in found]
        emitter.events_callback([path for path, _ in found], inodes, [flags for _, flags in found], [0] * len(lot))
    handler = _Handler(heard.append, told.append, root="/named", told_as=str(tmp_path))
    while not queue.empty():
        handler.dispatch(queue.get()[0])

    expected = [f"/named/{path}" for path in paths]
    assert ([path for path in dict.fromkeys(heard) if ".tmp" not in path], len(told)) == (expected, gaps)


def _inode(path: str) -> int:
    return Path(path).stat().st_ino if Path(path).exists() else 1


@pytest.mark.parametrize("error", [SystemError("cannot start"), RuntimeError("cannot start"), ImportError("no module")])
def test_where_fsevents_refuse_the_folder_is_scanned(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("grader_daemon.daemon.watcher._started", refuse)
    watching.watches = [Watch(str(tmp_path))]
    watching.watchers.check()

    assert (watching.watchers.states(), watching.watchers.is_blind) == ({str(tmp_path): str(error)}, True)


def test_watching_by_fsevents_hears_what_is_written_by_a_link_to_the_folder(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    (tmp_path / "private").mkdir()
    (tmp_path / "tmp").symlink_to("private")
    watching.watches = [Watch(str(tmp_path / "tmp"))]
    watching.watchers.check()
    (tmp_path / "tmp" / "a").write_bytes(b"{}")

    assert watching.hears(tmp_path / "tmp" / "a")
    watching.watchers.compare({str(tmp_path / "tmp"): 3})
    assert not watching.watchers.is_blind
