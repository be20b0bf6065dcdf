from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from grader_daemon.daemon.scanner import Scanner, ScanReport
from grader_daemon.domain.unit import Stamp, Unit
from grader_daemon.sources.file_reading import stamp_of
from tests.units import hermes, unit, units


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"session_{number}.json").touch()
    (tmp_path / "notes.json").touch()
    return tmp_path


def _nothing_known(units: Sequence[Unit]) -> list[Stamp | None]:
    return [None] * len(units)


def _as_they_are(units: Sequence[Unit]) -> list[Stamp | None]:
    return [stamp_of(Path(one.locator).lstat()) for one in units]


def _no_orphans() -> Iterator[list[Unit]]:
    return iter(())


def _scan(scanner: Scanner, limit: int) -> tuple[list[str], ScanReport]:
    names: list[str] = []
    scanner.start()
    while True:
        missing, report = scanner.step(limit, within_seconds=10)
        assert len(missing) <= limit
        names += [Path(each.unit.locator).name for each in missing]
        if report is not None:
            return names, report


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_steps_of_any_length_find_the_same(root: Path, limit: int) -> None:
    names, report = _scan(Scanner(hermes([root]), _nothing_known, _no_orphans), limit)

    assert names == [f"session_{number}.json" for number in range(5)]
    assert (report.told["folders"], report.files, report.missing, report.unreadable) == (1, 5, 5, ())


def test_a_root_that_cannot_be_read_is_told_and_one_that_is_not_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    roots = hermes([tmp_path / "nowhere", tmp_path / "file"])

    _, report = _scan(Scanner(roots, _nothing_known, _no_orphans), 10)

    assert report.unreadable == (str(tmp_path / "file"),)


def test_a_root_behind_a_closed_folder_is_told_by_that_folder(
    tmp_path: Path, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0)
    roots = hermes([closed / "a", closed / "b" / "c", tmp_path / "nowhere"])

    with rights_of_owner():
        _, report = _scan(Scanner(roots, _nothing_known, _no_orphans), 10)

    assert report.unreadable == (str(closed),)


def test_without_a_start_there_is_nothing(root: Path) -> None:
    assert Scanner(hermes([root]), _nothing_known, _no_orphans).step(10, within_seconds=1) == ([], None)


@pytest.mark.parametrize("seconds", [0, 10])
def test_orphans_are_given_though_they_are_as_the_ledger_knows_them(root: Path, seconds: float) -> None:
    orphans = [[], [unit(root / "session_1.json")], units([root / "session_3.json", root / "gone.json"])]
    scanner = Scanner(hermes([root]), _as_they_are, lambda: iter(orphans))
    scanner.start()

    steps = [scanner.step(10, within_seconds=seconds) for _ in range(3)]
    steps.append(scanner.step(10, within_seconds=10))

    names = [Path(each.unit.locator).name for missing, _ in steps for each in missing]
    assert names == ["session_1.json", "session_3.json"]
