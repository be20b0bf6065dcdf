from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import StoreError
from grader_daemon.pipeline.crash_marks import CrashMarks
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
    marks = CrashMarks(database)
    marks.open()
    for path in paths:
        marks.set(unit(path) if path else None)


def suspects(database: Path) -> list[Unit]:
    return CrashMarks(database).open()


def test_the_first_daemon_suspects_nothing(database: Path) -> None:
    assert suspects(database) == []


@pytest.mark.parametrize(
    ("paths", "suspect"),
    [
        pytest.param(["/s/a.json"], "/s/a.json", id="the-only-one"),
        pytest.param(["/s/a_long_name.json", "/s/b"], "/s/b", id="a-shorter-name-after-a-longer"),
        pytest.param(["/s/line\nbreak"], "/s/line\nbreak", id="with-a-line-break"),
        pytest.param(["/s/\udcff"], "/s/\udcff", id="not-utf-8"),
        pytest.param(["/s/a.json", ""], None, id="done-with"),
    ],
)
def test_after_a_crash_the_file_that_was_read_is_known(database: Path, paths: list[str], suspect: str | None) -> None:
    crash_while_reading(database, *paths)
    assert suspects(database) == ([unit(suspect)] if suspect else [])


def test_of_many_sessions_in_a_file_the_one_is_known(database: Path) -> None:
    marks = CrashMarks(database)
    marks.open()
    marks.set(Unit("lines", "/s/all.jsonl", "number 7"))
    marks.set(Unit("lines", "/s/all.jsonl", "7"))
    assert suspects(database) == [Unit("lines", "/s/all.jsonl", "7")]


def test_what_an_older_version_left_says_nothing(database: Path) -> None:
    database.with_name("session_grades.db.reading").write_bytes(b"/s/b.json\0name.json\0")
    assert suspects(database) == []


def test_after_an_orderly_end_nothing_is_suspected(database: Path) -> None:
    marks = CrashMarks(database)
    marks.open()
    marks.set(unit("/s/a.json"))
    marks.close()
    marks.set(unit("/s/b.json"))
    assert suspects(database) == []


def test_the_mark_is_private(database: Path) -> None:
    CrashMarks(database).open()
    made = database.with_name("session_grades.db.reading")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_link_in_its_place_is_not_followed(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    os.symlink(target, database.with_name("session_grades.db.reading"))
    with pytest.raises(StoreError, match="reading: "):
        CrashMarks(database).open()
    assert target.read_text() == "precious"


def test_what_helpers_read_is_known_too(database: Path) -> None:
    marks = CrashMarks(database)
    marks.open()
    for slot, path in enumerate(["/s/here.json", "/s/a.json", "/s/b.json"]):
        marks.of(slot).set(unit(path))
    marks.of(1).set(None)
    assert marks.of(2).read() == unit("/s/b.json")
    assert suspects(database) == [unit("/s/here.json"), unit("/s/b.json")]


def test_one_that_two_helpers_read_is_one_suspect(database: Path) -> None:
    marks = CrashMarks(database)
    marks.open()
    for slot in (1, 2):
        marks.of(slot).set(unit("/s/a.json"))

    assert suspects(database) == [unit("/s/a.json")]


def test_a_single_suspect_stays_one_until_something_else_is_read(database: Path) -> None:
    marks = CrashMarks(database)
    marks.open()
    marks.of(2).set(unit("/s/a.json"))
    assert suspects(database) == suspects(database) == [unit("/s/a.json")]

    crash_while_reading(database, "")
    assert suspects(database) == []


def test_without_a_database_it_is_in_memory() -> None:
    marks = CrashMarks()
    marks.of(1).set(unit("/s/a.json"))
    assert marks.of(1).read() == unit("/s/a.json")
    marks.close()
