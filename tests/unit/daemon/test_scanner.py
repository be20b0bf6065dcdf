from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.daemon.scanner import Scanner, ScanReport


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"session_{number}.json").touch()
    (tmp_path / "notes.json").touch()
    return tmp_path


def _scan(scanner: Scanner, limit: int) -> tuple[list[str], ScanReport]:
    names: list[str] = []
    scanner.start()
    while True:
        missing, report = scanner.step(limit, within_seconds=10)
        assert len(missing) <= limit
        names += [Path(file.path).name for file in missing]
        if report is not None:
            return names, report


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_steps_of_any_length_find_the_same(root: Path, limit: int) -> None:
    names, report = _scan(Scanner([root], lambda _: None), limit)

    assert names == [f"session_{number}.json" for number in range(5)]
    assert (report.folders, report.files, report.missing, report.unreadable) == (1, 5, 5, ())


def test_a_root_that_is_not_there_is_told(tmp_path: Path) -> None:
    _, report = _scan(Scanner([tmp_path / "nowhere"], lambda _: None), 10)

    assert report.unreadable == (str(tmp_path / "nowhere"),)


def test_without_a_start_there_is_nothing(root: Path) -> None:
    assert Scanner([root], lambda _: None).step(10, within_seconds=1) == ([], None)
