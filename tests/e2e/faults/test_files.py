"""Session files that come, go, move and change in every way that a file system knows, while an agent is at work.

One daemon lives through all of it; each test and its agent have a part of the root to themselves.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.service_loop import Service
from grader_daemon.settings import load_settings
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.sources.hermes import snapshot
from grader_daemon.sources.hermes.snapshot import claims
from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, DaemonProcess, Row, query
from tests.e2e.faults.load import Load, harmless, undisturbed, wait_until_caught_up
from tests.e2e.session_files import ANSWER, Turns, content, failing, path_of, turns, write, write_many
from tests.waiting import wait_until

SELDOM = 3600
"""Seconds between two scans: whatever is seen was told by an event."""

DENIAL = "I could not fix it: too many tests still fail.".ljust(len(ANSWER))
REWRITES = 60
LARGE = "a line of a long log\n" * 400


class Scene:
    """A part of the root. The test works in the folder `own`, its agent beside it."""

    def __init__(self, daemon: DaemonProcess, folder: Path) -> None:
        self.daemon = daemon
        self.own = folder / "own"
        self._folder = folder

    def named(self, name: str) -> str:
        """Give a session id that no other test has."""
        return f"{self._folder.name[:40]}_{name}"

    def path(self, name: str) -> Path:
        """Where a session's file is."""
        return path_of(self.own, self.named(name))

    def write(self, name: str, messages: Turns | None = None) -> Path:
        """Write a session as Hermes does."""
        return write(self.own, self.named(name), messages)

    def content(self, name: str, messages: Turns | None = None) -> bytes:
        """What `write` would write."""
        return content(self.named(name), messages)

    def grade(self, name: str) -> Row:
        """Wait for a grade."""
        return self.daemon.wait_for_grade(self.named(name))

    def wait_until_caught_up(self) -> None:
        """Wait until the daemon knows the test's own files as they are."""
        wait_until_caught_up(self.daemon, self.own)

    def wait_for_denial(self, name: str) -> None:
        """Wait until a session counts as one that did not complete its task."""
        self.daemon.wait_for_rows(
            "SELECT 1 FROM session_grades WHERE session_id = ? AND NOT task_completed", self.named(name)
        )

    def harmless(self, *, gone: Mapping[str, Row] | None = None) -> AbstractContextManager[Load]:
        """See `tests.e2e.faults.load.harmless`."""
        return harmless(self.daemon, self._folder, name=self.named("load"), gone=gone)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """The daemon that lives through all of it."""
    home = tmp_path_factory.mktemp("files")
    (home / ".timmy").mkdir()
    daemon = DaemonProcess(home, settings={"max_wait_seconds": 1, "scan_seconds": SELDOM})
    daemon.wait_for_event("reconcile.finished")
    yield daemon
    daemon.end()
    assert daemon.strange_lines() == []
    assert daemon.events("worker.failed") == []


@pytest.fixture
def scene(shared: DaemonProcess, request: pytest.FixtureRequest) -> Scene:
    """The part of this test."""
    made = Scene(shared, shared.home / ".timmy" / str(request.node.name).removeprefix("test_"))
    made.own.mkdir(parents=True)
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that nobody watches."""
    made = tmp_path / "outside"
    made.mkdir()
    return made


# -- written in one step -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_folders_that_are_made_and_written_to_at_once(scene: Scene) -> None:
    """The making of a path races with the watch on each folder of it."""
    with scene.harmless():
        for number in range(100):
            sessions = scene.own / f"project_{number}" / "a" / "b" / "sessions"
            renamed, in_place = scene.named(f"renamed_{number}"), scene.named(f"in_place_{number}")
            write(sessions, renamed)
            path_of(sessions, in_place).write_bytes(content(in_place))
        scene.wait_until_caught_up()


def test_sessions_replaced_from_inside_and_outside_the_root(scene: Scene, outside: Path) -> None:
    with scene.harmless():
        for place in (scene.own, outside):
            path = scene.write(place.name)
            scene.wait_until_caught_up()
            elsewhere = place / "elsewhere.tmp"
            elsewhere.write_bytes(scene.content(place.name, failing(4)))
            os.replace(elsewhere, path)
            scene.wait_until_caught_up()


@pytest.mark.thorough
def test_a_session_that_is_rewritten_many_times(scene: Scene) -> None:
    pace = threading.Event()
    with scene.harmless():
        for rounds in range(1, REWRITES + 1):
            path = scene.write("x", turns(rounds))
            pace.wait(0.02)

    assert scene.daemon.wait_for_ledger(path, "graded")["grades"] <= REWRITES / 2


# -- changed in place --------------------------------------------------------------------------------------------------


def test_a_session_that_grows_while_it_is_read(scene: Scene) -> None:
    """It grows every millisecond, and reading it takes longer."""
    pace = threading.Event()
    path = scene.path("x")
    large = scene.content("x", turns(1500, output=LARGE))
    piece = len(large) // 800
    with scene.harmless(), path.open("wb", buffering=0) as file:
        for start in range(0, len(large), piece):
            assert scene.daemon.events("session.graded", path=str(path)) == []
            file.write(large[start : start + piece])
            pace.wait(0.001)


def test_a_session_that_is_cut_off_keeps_its_grade_until_it_is_whole_again(scene: Scene) -> None:
    with scene.harmless():
        path = scene.write("x")
        before = scene.grade("x")
        for size in (path.stat().st_size // 2, 0):
            with path.open("r+b") as file:
                file.truncate(size)
            seen = "SELECT 1 FROM session_files WHERE path = ? AND stamp = ?"
            scene.daemon.wait_for_rows(seen, str(path), stamp_of(path.stat()))
            assert scene.grade("x") == before
        path.write_bytes(scene.content("x", failing(3)))


def test_a_session_of_the_same_size_and_time_with_other_content(scene: Scene) -> None:
    with scene.harmless():
        path = scene.write("x")
        assert scene.grade("x")["task_completed"]
        _rewrite_unnoticed(path, scene.content("x", turns(answer=DENIAL)))
        scene.wait_for_denial("x")


def test_the_same_since_the_daemon_ended(start_daemon: StartDaemon, sessions: Path) -> None:
    """Only the time of the last change, which no program can set, tells that the file is another."""
    scene = Scene(start_daemon(scan_seconds=SELDOM), sessions)
    path = scene.write("x")
    assert scene.grade("x")["task_completed"]
    scene.daemon.stop()
    _rewrite_unnoticed(path, scene.content("x", turns(answer=DENIAL)))

    scene = Scene(start_daemon(scan_seconds=SELDOM), sessions)

    with scene.harmless():
        scene.wait_for_denial("x")


@pytest.mark.thorough
def test_an_inode_that_is_used_again(scene: Scene) -> None:
    """The file of a deleted session becomes that of another one: same inode, size and time."""
    gone: dict[str, Row] = {}
    with scene.harmless(gone=gone):
        old = scene.write("1")
        scene.wait_until_caught_up()
        gone |= undisturbed(scene.own)
        unnamed = old.rename(old.with_name("unnamed"))
        _rewrite_unnoticed(unnamed, scene.content("2", turns(answer=DENIAL)))
        unnamed.rename(scene.path("2"))
        scene.wait_for_denial("2")

    assert sorted(gone) == [scene.named("1")]


# -- moved, linked -----------------------------------------------------------------------------------------------------


def test_a_session_that_is_renamed_keeps_its_grade(scene: Scene) -> None:
    with scene.harmless():
        path = scene.write("x")
        before = scene.grade("x")
        path.rename(scene.path("renamed"))
        scene.wait_until_caught_up()
        assert scene.grade("x")["id"] == before["id"]


def test_a_session_that_is_linked_is_graded_once(scene: Scene) -> None:
    with scene.harmless():
        path = scene.write("x")
        before = scene.grade("x")
        scene.path("link").hardlink_to(path)
        assert scene.daemon.wait_for_ledger(scene.path("link"), "skipped")["reason"] == "copy"
        assert scene.grade("x") == before


def test_a_folder_that_is_moved_in_and_out(scene: Scene, outside: Path) -> None:
    write_many(outside / "away" / "sessions", 30)
    away, here, again = outside / "away", scene.own / "here", scene.own / "again"
    ids = "SELECT id, session_id FROM session_grades WHERE session_file LIKE ? ORDER BY id"
    with scene.harmless():
        away.rename(here)
        scene.wait_until_caught_up()
        write(here / "sessions", scene.named("here"))
        scene.wait_until_caught_up()
        before = scene.daemon.query(ids, f"{here}/%")
        here.rename(away)
        write(away / "sessions", scene.named("away"))
        scene.write("meanwhile")
        scene.wait_until_caught_up()
        assert scene.daemon.query("SELECT 1 FROM session_grades WHERE session_id = ?", scene.named("away")) == []
        away.rename(again)
        scene.wait_until_caught_up()
        write(again / "sessions", scene.named("again"))
        scene.wait_until_caught_up()
        assert scene.daemon.query(ids, f"{again}/%")[: len(before)] == before


def test_links_that_lead_in_circles_or_out(scene: Scene, outside: Path) -> None:
    target = write(outside / "sessions", scene.named("outside"))
    with scene.harmless():
        (scene.own / "itself").symlink_to(scene.own)
        (scene.own / "outside").symlink_to(outside)
        (scene.own / "one").mkdir()
        (scene.own / "one" / "other").symlink_to("../other")
        (scene.own / "other").symlink_to("one")
        scene.path("loop").symlink_to(scene.path("loop").name)
        scene.path("link").symlink_to(target)
        inside = write(scene.own / "one" / "sessions", scene.named("inside"))
        scene.wait_until_caught_up()

    for link in (scene.path("loop"), scene.path("link")):
        assert scene.daemon.wait_for_ledger(link, "skipped")["reason"] == "symbolic_link"
    found = scene.daemon.query("SELECT path FROM session_files WHERE path LIKE ?", f"%{inside.name}")
    assert found == [{"path": str(inside)}]


# -- a bug of ours -----------------------------------------------------------------------------------------------------


def test_an_exception_in_the_event_handler_costs_no_session(
    home: Path, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would end the observer's thread without a word."""
    unlucky = path_of(sessions, "unlucky")
    raised: list[str] = []

    def claim_badly(path: str) -> bool:
        if path == str(unlucky) and not raised:
            raised.append(path)
            raise RuntimeError(path)
        return claims(path)

    monkeypatch.setattr(snapshot, "claims", claim_badly)
    monkeypatch.setenv("HOME", str(home))
    service = Service(load_settings(quiet_seconds=0.2, scan_seconds=SELDOM), Notifier({}))
    running = threading.Thread(target=service.run, name="service")
    running.start()
    try:
        for session_id in ("first", "unlucky", "last"):
            write(sessions, session_id)
            _wait_for_session(home / DATABASE, session_id)
    finally:
        service.stop()
        running.join()
    assert raised


def _rewrite_unnoticed(path: Path, whole: bytes) -> None:
    """Put other content of the same size into a file and set its time back before it is closed."""
    before = path.stat()
    assert len(whole) == before.st_size
    with path.open("r+b", buffering=0) as file:
        file.write(whole)
        os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))


def _wait_for_session(database: Path, session_id: str) -> None:
    wait_until(
        lambda: query(database, "SELECT 1 FROM session_grades WHERE session_id = ?", session_id),
        f"{session_id} to be graded",
    )
