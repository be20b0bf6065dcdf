from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from grader_daemon.daemon import progress as progress_module
from grader_daemon.daemon.progress import Progress
from grader_daemon.sources.discovery import Walk
from tests.units import hermes


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress_module, "monotonic", made)
    return made


def _walks(folder: Path, files: int) -> Iterator[Walk]:
    for number in range(files):
        (folder / f"session_{number}.json").touch()
    return hermes([folder]).walks()


def test_how_many_and_how_fast_and_how_long_is_told_every_few_seconds(tmp_path: Path, clock: Clock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        for seconds, done in ((0, 0), (2, 50), (4, 90), (7.5, 175)):
            clock.now = 1000.0 + seconds
            progress.tell(done, settled=False)

    assert [tuple(each.values()) for each in told] == [
        (300, False, "backlog.found", "info"),
        (50, 300, 25, 10, "backlog.progress", "info"),  # 50 in 2 s, and 250 are left
        (175, 300, 23, 5, "backlog.progress", "info"),  # 175 in 7.5 s, and 125 are left
    ]


def test_the_end_is_told_once(tmp_path: Path, clock: Clock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        clock.now += 1
        for _ in range(3):
            progress.tell(301, settled=True)
            clock.now += 60

    assert [(each["event"], each.get("seconds_left")) for each in told] == [
        ("backlog.found", None),
        ("backlog.progress", 0),
    ]


def test_of_few_files_nothing_is_told(tmp_path: Path, clock: Clock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 199))
        clock.now += 60
        progress.tell(7, settled=False)
        progress.tell(199, settled=True)

    assert told == []


def test_a_pace_is_that_of_the_last_half_minute(tmp_path: Path, clock: Clock) -> None:
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 1000))
        for done in (1, 2, 3, 4, 5, 6, 106, 206, 306, 406, 506, 606):
            clock.now += 5
            progress.tell(done, settled=False)

    assert told[-1]["per_second"] == 20
    assert told[-1]["seconds_left"] == 20  # 394 are left


def test_of_more_than_are_counted_nobody_knows_how_long(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "_MOST", 250)
    progress = Progress()
    with capture_logs() as told:
        progress.begin(_walks(tmp_path, 300))
        clock.now += 5
        progress.tell(100, settled=False)

    assert [told[0]["files"], told[0]["is_more"], told[1]["seconds_left"]] == [250, True, None]
