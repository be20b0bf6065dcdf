from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from grader_daemon.daemon import backlog as backlog_module
from grader_daemon.daemon.backlog import Backlog, Progress
from grader_daemon.daemon.scanner import ScanReport
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.discovery import Walk
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


class SteppedClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    made = SteppedClock()
    monkeypatch.setattr(backlog_module, "monotonic", made)
    return made


def test_how_many_and_how_fast_and_how_long_is_told_every_few_seconds(tmp_path: Path, stepped: SteppedClock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        for seconds, done in ((0, 0), (2, 50), (4, 90), (7.5, 175)):
            stepped.now = 1000.0 + seconds
            progress.tell(done, settled=False)

    assert [tuple(each.values()) for each in told] == [
        (300, False, "backlog.found", "info"),
        (50, 300, 25, 10, "backlog.progress", "info"),  # 50 in 2 s, and 250 are left
        (175, 300, 23, 5, "backlog.progress", "info"),  # 175 in 7.5 s, and 125 are left
    ]


def test_the_end_is_told_once(tmp_path: Path, stepped: SteppedClock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        stepped.now += 1
        for _ in range(3):
            progress.tell(301, settled=True)
            stepped.now += 60

    assert [(each["event"], each.get("seconds_left")) for each in told] == [
        ("backlog.found", None),
        ("backlog.progress", 0),
    ]


def test_of_few_files_nothing_is_told(tmp_path: Path, stepped: SteppedClock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 199))
        stepped.now += 60
        progress.tell(7, settled=False)
        progress.tell(199, settled=True)

    assert told == []


def test_a_pace_is_that_of_the_last_half_minute(tmp_path: Path, stepped: SteppedClock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 1000))
        for done in (1, 2, 3, 4, 5, 6, 106, 206, 306, 406, 506, 606):
            stepped.now += 5
            progress.tell(done, settled=False)

    assert told[-1]["per_second"] == 20
    assert told[-1]["seconds_left"] == 20  # 394 are left


def test_of_more_than_are_counted_nobody_knows_how_long(
    tmp_path: Path, stepped: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog_module, "_MOST", 250)
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        stepped.now += 5
        progress.tell(100, settled=False)

    assert [told[0]["files"], told[0]["is_more"], told[1]["seconds_left"]] == [250, True, None]


def _walks(folder: Path, files: int) -> Iterator[Walk]:
    for number in range(files):
        (folder / f"session_{number}.json").touch()
    return hermes([folder]).walks()
