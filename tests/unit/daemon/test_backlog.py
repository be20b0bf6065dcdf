from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.daemon import backlog as backlog_module
from grader_daemon.daemon.backlog import Backlog
from grader_daemon.daemon.scanner import ScanReport
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.units import hermes, unit, units


class World:
    """A backlog over one folder, and what it told."""

    def __init__(self, store: SqliteStore, root: Path, clock: Clock) -> None:
        self.root = root
        self.store = store
        self.clock = clock
        self.young: list[Unit] = []
        self.reports: list[ScanReport] = []
        self.backlog = Backlog(
            store=store,
            sources=hermes([root]),
            rules_version="new",
            quiet_seconds=2,
            longest_pause=timedelta(hours=1),
            clock=clock,
            on_young=self.young.append,
            on_scanned=self.reports.append,
        )

    def file(self, name: str, *, age: float) -> Unit:
        path = self.root / name
        path.touch()
        written = self.clock.now.timestamp() - age
        os.utime(path, (written, written))
        return unit(path)

    def know(self, one: Unit, **changes: object) -> None:
        fields = {"stamp": b"1", "written_ns": 4, "state": FileState.GRADED, "rules_version": "new"} | changes
        with self.store.transaction():
            self.store.save_entries([LedgerEntry(unit=one, **fields)], now=self.clock.now)  # type: ignore[arg-type]

    def take_all(self) -> list[Unit]:
        taken: list[Unit] = []
        while self.backlog.busy:
            taken += self.backlog.take(1)
            outdated = self.backlog.outdated(1)
            taken += [each.unit for each in outdated]
            self.backlog.pass_outdated(outdated)
        return taken


@pytest.fixture
def world(store: SqliteStore, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(backlog_module, "_SCAN_STEP_SECONDS", 60.0)  # a step ends when it found something
    root = tmp_path / "root"
    root.mkdir()
    return World(store, root, clock)


def test_a_scan_gives_quiet_files_and_tells_young_ones(world: World) -> None:
    quiet, young = world.file("session_a.json", age=2), world.file("session_b.json", age=1.9)
    future = world.file("session_c.json", age=-60)
    world.backlog.request_scan()

    assert (world.take_all(), world.young) == ([quiet, future], [young])
    assert [report.missing for report in world.reports] == [3]


def test_a_scan_asked_for_during_a_scan_follows_it(world: World) -> None:
    world.file("session_a.json", age=5)
    world.backlog.request_scan()
    world.take_all()
    world.backlog.request_scan()
    world.backlog.request_scan()

    world.take_all()

    assert len(world.reports) == 2


def test_what_is_new_comes_before_grades_that_are_made_again(world: World) -> None:
    graded = world.file("session_graded.json", age=60)
    world.know(graded, rules_version="old", stamp=stamp_of(Path(graded.locator).lstat()))
    new = world.file("session_new.json", age=60)
    world.backlog.request_scan()

    assert world.take_all() == [new, graded]


def test_grades_under_other_rules_are_made_again_once(world: World) -> None:
    world.know(unit("/a"), rules_version="old")
    world.know(unit("/b"))
    world.know(unit("/c"), rules_version="old")

    assert (world.take_all(), world.take_all()) == (units(["/a", "/c"]), [])


def test_what_could_not_be_made_again_is_found_again(world: World) -> None:
    world.know(unit("/a"), rules_version="old")

    assert world.backlog.outdated(9) == world.backlog.outdated(9) != []


def test_what_is_due_is_given_when_its_time_has_come(world: World) -> None:
    world.take_all()
    world.know(unit("/a"), state=FileState.RETRY, look_again_at=world.clock.now + timedelta(seconds=5))
    early = world.backlog.take(10)
    world.clock.now += timedelta(seconds=5)
    world.backlog._next_look = 0

    assert (early, world.backlog.take(10)) == ([], [unit("/a")])


def test_another_version_is_looked_for_from_the_beginning(world: World) -> None:
    known = [world.file(f"session_{name}.json", age=60) for name in "ab"]
    for one in known:
        world.know(one)
    assert world.take_all() == []
    world.backlog.begin_anew("newer")
    assert world.backlog.busy
    assert world.take_all() == known
