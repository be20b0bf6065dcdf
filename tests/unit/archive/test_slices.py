from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.archive import slices as read_slices
from grader_daemon.archive.objects import Archive, StoredObject
from grader_daemon.archive.slices import OpenReadings, Reading, Slice
from grader_daemon.errors import ReadError
from tests.unit.archive.conftest import tar_of


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of three files."""
    monkeypatch.setattr(read_slices, "SLICE_FILES", 3)


def archive_of(folder: Path, names: list[str]) -> tuple[Archive, StoredObject]:
    (folder / "in").mkdir()
    (folder / "in/t.tgz").write_bytes(tar_of(dict.fromkeys(names, b"x" * 700), links={"link": "x"}))
    archive = Archive(str(folder / "in"))
    [stored] = archive.objects()
    return archive, stored


def slices(archive: Archive, stored: StoredObject) -> Iterator[list[str]]:
    """The names in each slice, each read by somebody who has read none before."""
    number = 0
    while True:
        read = Reading(archive, stored)
        yield [file.name.removeprefix("t/") for file in read.files(number)]
        if read.has_ended:
            return
        read.close()
        number += 1


@pytest.mark.usefixtures("small")
def test_slices_hold_each_file_once_whoever_reads_them(tmp_path: Path) -> None:
    names = [f"{number}" for number in range(8)]
    archive, stored = archive_of(tmp_path, names)

    assert list(slices(archive, stored)) == [names[:3], names[3:6], [*names[6:], "link"]]


@pytest.mark.usefixtures("small")
def test_a_slice_ends_between_the_folders_of_sessions(tmp_path: Path) -> None:
    names = [f"job/trial-{trial}/{name}" for trial in range(4) for name in ("agent/t.json", "reward")]
    archive, stored = archive_of(tmp_path, names)

    assert list(slices(archive, stored)) == [names[:4], names[4:], ["link"]]


@pytest.mark.usefixtures("small")
def test_a_folder_that_is_too_large_is_cut(tmp_path: Path) -> None:
    names = ["a", "b/1", *(f"one/{number}" for number in range(10))]
    archive, stored = archive_of(tmp_path, names)

    assert [len(each) for each in slices(archive, stored)] == [6, 3, 3, 1]


@pytest.mark.usefixtures("small")
def test_one_that_was_read_goes_on_where_it_was_and_begins_again_for_an_earlier_slice(tmp_path: Path) -> None:
    archive, stored = archive_of(tmp_path, [f"{number}" for number in range(9)])
    readings = OpenReadings()
    first = readings.take(archive, Slice(stored, 0))
    assert len(list(first.files(0))) == 3
    readings.put_back(archive, Slice(stored, 0), first)

    second = readings.take(archive, Slice(stored, 1))
    assert second is first
    assert [file.name for file in second.files(1)] == ["t/3", "t/4", "t/5"]
    readings.put_back(archive, Slice(stored, 1), second)

    again = readings.take(archive, Slice(stored, 0))
    assert again is not first
    assert [file.name for file in again.files(0)] == ["t/0", "t/1", "t/2"]


@pytest.mark.usefixtures("small")
def test_what_has_ended_and_what_is_too_much_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_slices, "_MOST_OPEN", 1)
    archive, stored = archive_of(tmp_path, [f"{number}" for number in range(9)])
    other = StoredObject(name="t.tgz", bytes=1, written_ns=0, version="another")
    readings = OpenReadings()
    taken = [readings.take(archive, Slice(each)) for each in (stored, other, stored)]
    for piece, each in zip((Slice(stored), Slice(other), Slice(other)), taken, strict=True):
        list(each.files(0))
        readings.put_back(archive, piece, each)

    assert [each.has_ended for each in taken] == [True, True, False]
    ended = readings.take(archive, Slice(stored, 50))
    assert list(ended.files(50)) == []
    assert ended.has_ended
    readings.put_back(archive, Slice(stored, 50), ended)
    assert readings.take(archive, Slice(stored, 50)) is not ended
    readings.take(archive, Slice(other)).close()


@pytest.mark.usefixtures("small")
def test_files_and_the_time_of_a_slice_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, stored = archive_of(tmp_path, [f"{number}" for number in range(9)])
    monkeypatch.setattr(read_slices, "MOST_SLICES", 2)
    with pytest.raises(ReadError, match="more than 6 files in one object"):
        list(Reading(archive, stored).files(3))

    monkeypatch.setattr(read_slices, "MOST_SECONDS", -60)
    with pytest.raises(ReadError, match="took more than -1 minutes"):
        list(Reading(archive, stored).files(0))


def test_slices_and_objects_are_told_apart() -> None:
    stored = StoredObject(name="a.tar", bytes=1, written_ns=0, version="1")

    assert len({stored.digest, Slice(stored).digest, Slice(stored, 1).digest}) == 3
