from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grader_daemon.daemon.crash_marker import CrashMarker
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError
from tests.units import unit


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "session_grades.db"


@pytest.fixture(autouse=True)
def files_of_the_dead(database: Path) -> Iterator[None]:
    """Close, as the kernel does, what a daemon had open that died."""
    yield
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if os.readlink(link).startswith(str(database)):
                os.close(int(link.name))


def crash_while_reading(database: Path, *paths: str) -> None:
    """What a daemon leaves that dies: nobody closes anything."""
    mark = CrashMarker(database)
    mark.open()
    for path in paths:
        mark.set(unit(path) if path else None)


def test_the_first_daemon_suspects_nothing(database: Path) -> None:
    assert CrashMarker(database).open() is None


@pytest.mark.parametrize(
    ("paths", "poison_file"),
    [
        pytest.param(["/s/a.json"], "/s/a.json", id="the-only-one"),
        pytest.param(["/s/a_long_name.json", "/s/b"], "/s/b", id="a-shorter-name-after-a-longer"),
        pytest.param(["/s/line\nbreak"], "/s/line\nbreak", id="with-a-line-break"),
        pytest.param(["/s/\udcff"], "/s/\udcff", id="not-utf-8"),
        pytest.param(["/s/a.json", ""], None, id="done-with"),
    ],
)
def test_after_a_crash_the_file_that_was_read_is_known(
    database: Path, paths: list[str], poison_file: str | None
) -> None:
    crash_while_reading(database, *paths)
    assert CrashMarker(database).open() == (poison_file and unit(poison_file))


def test_of_many_sessions_in_a_file_the_one_is_known(database: Path) -> None:
    mark = CrashMarker(database)
    mark.open()
    mark.set(Unit("lines", "/s/all.jsonl", "number 7"))
    mark.set(Unit("lines", "/s/all.jsonl", "7"))
    assert CrashMarker(database).open() == Unit("lines", "/s/all.jsonl", "7")


def test_what_an_older_version_left_says_nothing(database: Path) -> None:
    database.with_name("session_grades.db.reading").write_bytes(b"/s/b.json\0name.json\0")
    assert CrashMarker(database).open() is None


def test_after_an_orderly_end_nothing_is_suspected(database: Path) -> None:
    mark = CrashMarker(database)
    mark.open()
    mark.set(unit("/s/a.json"))
    mark.close()
    mark.set(unit("/s/b.json"))
    assert CrashMarker(database).open() is None


def test_the_mark_is_private(database: Path) -> None:
    CrashMarker(database).open()
    made = database.with_name("session_grades.db.reading")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_link_in_its_place_is_not_followed(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    os.symlink(target, database.with_name("session_grades.db.reading"))
    with pytest.raises(StoreError, match="reading: "):
        CrashMarker(database).open()
    assert target.read_text() == "precious"
