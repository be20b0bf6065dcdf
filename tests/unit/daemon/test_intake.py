from __future__ import annotations

import threading
from pathlib import Path

import pytest

from grader_daemon.daemon.intake import TOO_MANY, Intake
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.protocol import Sources
from tests.lines_source import NAME, Line, Lines, write_lines
from tests.waiting import wait_until


class Changing(Lines):
    """Tells of a file only what changed since it was asked last, as a database does; raises where it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__([root])
        self.changed: list[str] = []
        self.fails = False

    def touched(self, path: str) -> list[Unit]:
        """See `Source`."""
        if self.fails:
            raise ValueError(path)
        changed, self.changed = self.changed, []
        return [Unit(NAME, path, key) for key in changed]


class World:
    """An intake over one source, and the gaps that it told of."""

    def __init__(self, root: Path, *, capacity: int = 9, quiet_seconds: float = 0.02) -> None:
        self.source = Changing(root)
        self.path = str(root / "all.lines")
        self.gaps: list[str] = []
        self.failed: list[str] = []
        sources = Sources([self.source])
        sources.guard(lambda source, error: self.failed.append(f"{source}: {error}"))
        self.intake = Intake(
            sources,
            quiet_seconds=quiet_seconds,
            max_wait_seconds=60,
            capacity=capacity,
            noticed=threading.Condition(),
            on_gap=self.gaps.append,
        )

    def units(self, count: int) -> list[str]:
        """Give the keys of so many units as they become quiet, in the order of their names."""
        found: list[str] = []

        def is_enough() -> bool:
            self.intake.look()
            found.extend(unit.key for unit in self.intake.pop_quiet())
            return len(found) >= count

        wait_until(is_enough, "quiet units")
        return sorted(found)


@pytest.fixture
def world(tmp_path: Path) -> World:
    write_lines(tmp_path / "all.lines", Line("a"), Line("b"))
    return World(tmp_path)


def test_what_a_change_touches_waits_as_units_though_the_source_tells_of_each_once(world: World) -> None:
    world.source.changed = ["a", "b"]
    world.intake.notice_path(world.path)

    assert world.units(2) == ["a", "b"]
    assert (len(world.intake), world.intake.next_due()) == (0, [])


def test_a_busy_unit_comes_again_though_its_file_has_nothing_new_to_tell(world: World) -> None:
    world.intake.notice_unit(Unit(NAME, world.path, "a"))

    assert world.units(1) == ["a"]


def test_a_file_that_nobody_claims_is_not_kept(world: World) -> None:
    world.intake.notice_path(str(Path(world.path).with_suffix(".db-wal")))

    assert len(world.intake) == 0


def test_a_source_that_fails_on_a_change_ends_nothing_and_is_told(world: World) -> None:
    world.source.fails = True
    world.intake.notice_path(world.path)

    def is_told() -> bool:
        world.intake.look()
        return bool(world.failed)

    wait_until(is_told, "the failure")
    assert (world.failed, world.gaps) == ([f"lines: {world.path}"], [])


def test_what_does_not_fit_is_a_gap(tmp_path: Path) -> None:
    world = World(tmp_path, capacity=1)
    world.source.changed = ["a", "b"]
    world.intake.notice_path(world.path)
    world.units(1)

    assert world.gaps == [TOO_MANY]


def test_what_is_held_waits_until_it_changes_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.intake.hold(Unit(NAME, world.path, "a"), 3600)
    world.intake.hold(Unit(NAME, world.path, "b"), 0.01)
    assert world.units(1) == ["b"]

    world.source.changed = ["a"]
    world.intake.notice_path(world.path)

    assert world.units(1) == ["a"]
