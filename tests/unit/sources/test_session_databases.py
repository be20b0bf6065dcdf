from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ReadError, VanishedFileError
from grader_daemon.sources.database_memory import DatabaseMemory, Entry
from grader_daemon.sources.session_databases import SessionDatabases
from grader_daemon.sources.sqlite_files import database_beside


class Answers(DatabaseMemory[object]):
    """A database that answers what it is told to."""

    strange = None

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def entries(self) -> Mapping[str, Entry]:
        if self.error is not None:
            raise self.error
        return {"a": Entry(b"1", 5, 3)}

    def changed(self) -> list[str]:
        return [*self.entries()]

    def entry(self, session_id: str) -> Entry:
        return self.entries()[session_id]


def databases(error: Exception | None = None, *, noted: bool = True) -> SessionDatabases[Answers]:
    return SessionDatabases("s", lambda _: Answers(error), deserves_a_note=lambda _: noted)


def test_sessions_are_told_as_their_database_has_them(tmp_path: Path) -> None:
    known, unit = databases(), Unit("s", str(tmp_path), "a")
    found = Found(unit, b"1", 5)

    assert known.at(str(tmp_path)) is known.at(str(tmp_path))
    assert known.touched(str(tmp_path)) == [unit]
    assert list(known.listed(str(tmp_path), tmp_path.stat())) == [found]
    assert known.look(unit) == found
    assert known.messages_of(unit) == 3


@pytest.mark.parametrize("error", [VanishedFileError("gone"), ChangingFileError("changing")], ids=["gone", "changing"])
def test_of_a_database_that_is_gone_or_changing_nothing_is_told(error: Exception, tmp_path: Path) -> None:
    known = databases(error)

    assert list(known.touched(str(tmp_path))) == []
    assert list(known.listed(str(tmp_path), tmp_path.stat())) == []


@pytest.mark.parametrize("noted", [True, False])
def test_a_database_that_cannot_be_read_is_told_itself_if_it_is_one_of_sessions(*, noted: bool, tmp_path: Path) -> None:
    known, unit = databases(ReadError("closed"), noted=noted), Unit("s", str(tmp_path))

    assert list(known.touched(str(tmp_path))) == ([unit] if noted else [])
    assert [each.unit for each in known.listed(str(tmp_path), tmp_path.stat())] == ([unit] if noted else [])
    assert known.messages_of(unit) == 0


@pytest.mark.parametrize("path", ["/h/state.db", "/h/state.db-wal", "/h/state.db-journal"])
def test_logs_and_journals_are_those_of_a_database(path: str) -> None:
    assert database_beside(path) == "/h/state.db"


def test_another_file_is_its_own() -> None:
    assert database_beside("/h/state.db-shm") == "/h/state.db-shm"
