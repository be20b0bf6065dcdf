"""The published contract of all sources, held by our own, and what is asked of those that read databases alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.bootstrap import SOURCES
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.errors import VanishedFileError
from grader_daemon.testing.source_contract import (
    FilesContract,
    Keeper,
    LinesContract,
    SourceContract,
    found_by,
    session_of,
)
from tests.unit.sources.contract.kept_by import (
    KEEPERS,
    AtifLines,
    ClineFile,
    OpenHandsFolder,
    PiFile,
)

_DATABASES = [kind for kind in KEEPERS if kind.is_database]
_LINES = [kind for kind in KEEPERS if kind.is_lines]
_DOCUMENTS = [kind for kind in KEEPERS if not kind.is_database and not kind.is_lines]
_IN_A_FILE = [kind for kind in (*_LINES, *_DOCUMENTS) if kind not in (AtifLines, OpenHandsFolder)]
"""Those that take no file, and no line with all of it, for each turn."""

_NEEDED = {
    "hermes-database": ("sessions", "end_reason"),
    "opencode-database": ("message", "time_updated"),
    "openclaw-database": ("transcript_events", "event_json"),
}
"""A table and a column of it without which no session can be read."""

_USUAL = (ClineFile, PiFile)
_MANY_TURNS = 5_001


def test_every_source_is_here() -> None:
    forms = re.compile("-(snapshot|database|lines|folder)$")
    assert {forms.sub("", kind.name) for kind in KEEPERS} == set(SOURCES)


@pytest.fixture
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
    made: Keeper = request.param(tmp_path)
    return made


def _of(kinds: Sequence[type[Keeper]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("keeper", kinds, ids=lambda kind: kind.name, indirect=True)


@_of(_DATABASES)
class TestDatabases(SourceContract):
    @pytest.fixture
    def keeper(self, request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
        made: Keeper = request.param(tmp_path)
        return made


@_of(_DOCUMENTS)
class TestDocuments(FilesContract):
    @pytest.fixture
    def keeper(self, request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
        made: Keeper = request.param(tmp_path)
        return made


@_of(_LINES)
class TestLines(LinesContract):
    @pytest.fixture
    def keeper(self, request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
        made: Keeper = request.param(tmp_path)
        return made


@pytest.mark.parametrize(
    "keeps",
    [pytest.param(kind, id=kind.name, marks=() if kind in _USUAL else pytest.mark.thorough) for kind in _IN_A_FILE],
)
def test_ten_thousand_and_two_messages_are_read(keeps: type[Keeper], tmp_path: Path) -> None:
    """More than fit into any round number of which a reader takes some at a time."""
    keeper = keeps(tmp_path)
    keeper.write(_MANY_TURNS)
    source = keeper.source()

    assert len(session_of(source, found_by(source, keeper).unit).messages) == 2 * _MANY_TURNS


@_of([*_IN_A_FILE, AtifLines])
def test_an_answer_that_was_cut_within_a_character_is_read(keeper: Keeper) -> None:
    """JavaScript cuts texts between the halves of a character, and writes what is left as an escape."""
    keeper.write(2)
    keeper.put(keeper.file.read_bytes().replace(b"Fixed 1.", rb"Fixed 1\ud83d"))
    source = keeper.source()

    session = session_of(source, found_by(source, keeper).unit)

    assert [message.text for message in session.messages][1::2] == ["Fixed 0.", "Fixed 1?"]


@_of(_DATABASES)
def test_a_database_whose_form_is_not_known_is_a_unit_that_says_so(keeper: Keeper) -> None:
    """As one of an agent that is newer: a column that is needed has another name."""
    keeper.write(1)
    source = keeper.source()
    session = found_by(source, keeper).unit
    table, column = _NEEDED[keeper.name]
    _run(keeper, f"ALTER TABLE {table} RENAME COLUMN {column} TO renamed")

    (found,) = source.walk(str(keeper.root))
    read = source.read(found)

    assert found == source.look(found.unit)
    assert (found.unit.locator, found.unit.key) == (session.locator, "")
    assert read.session == Skipped(SkipReason.UNREADABLE_VERSION)
    assert read.unknown is not None
    _run(keeper, f"ALTER TABLE {table} RENAME COLUMN renamed TO {column}")
    assert [each.unit for each in source.walk(str(keeper.root))] == [session]
    with pytest.raises(VanishedFileError):
        source.look(found.unit)


def _run(keeper: Keeper, statement: str) -> None:
    with closing(apsw.Connection(str(keeper.file))) as connection:
        connection.execute("PRAGMA legacy_alter_table = ON").fetchall()
        connection.execute(statement).fetchall()


@_of(_DATABASES)
def test_a_database_that_was_seen_before_its_tables_is_read_as_soon_as_they_are_there(keeper: Keeper) -> None:
    """The daemon sees an agent make its database: first the file, then, in a later transaction, the tables."""
    keeper.write(1)
    whole = keeper.file.rename(keeper.root / "whole")
    for beside in ("-wal", "-shm"):
        Path(f"{keeper.file}{beside}").unlink(missing_ok=True)
    with closing(apsw.Connection(str(keeper.file))) as connection:
        connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE project (id TEXT)").fetchall()
        source = keeper.source()
        assert list(source.touched(keeper.told)) == []
        connection.execute("ATTACH ? AS whole", (str(whole),))
        tables = connection.execute(
            "SELECT name, sql FROM whole.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        for name, statement in tables:
            connection.execute(f"{statement}; INSERT INTO main.{name} SELECT * FROM whole.{name}").fetchall()

        touched = list(source.touched(keeper.told))
        again = list(source.touched(keeper.told))

    assert touched == [found_by(source, keeper).unit]
    assert again == []
