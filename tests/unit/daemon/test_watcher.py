from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from watchdog.events import DirCreatedEvent, DirDeletedEvent, FileCreatedEvent, FileMovedEvent, FileSystemEvent

from grader_daemon.daemon.watcher import WATCHED, OverflowListener, RootWatcher, _Handler, count_watches
from tests.waiting import PATIENCE_SECONDS


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
    watcher = RootWatcher(root, on_path=lambda _: seen.set(), on_gap=lambda _: None)
    try:
        missing = (watcher.check(), watcher.state)
        root.mkdir()
        watched = (watcher.check(), watcher.state, watcher.check())
        (root / "session_a.json").touch()

        assert seen.wait(PATIENCE_SECONDS)
        assert missing == (True, "the folder does not exist")
        assert watched == (True, WATCHED, False)
        assert (count_watches() or 0) >= 1

        root.rename(tmp_path / "elsewhere")
        assert (watcher.check(), watcher.state) == (True, "the folder does not exist")
    finally:
        watcher.stop()
