"""The recipes of docs/sql.md run, and find something in a database that has a little of everything."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.api.backups import back_up
from grader_daemon.settings import load_settings
from tests import demo_home
from tests.reference.database import STABLE

_PAGE = (Path(__file__).parent.parent / "docs" / "sql.md").read_text("utf-8")
_PARTS = re.split(r"^```sql\n(.+?)^```$", _PAGE, flags=re.DOTALL | re.MULTILINE)
_RECIPES = [(text.strip().split("\n\n")[-1], sql) for text, sql in zip(_PARTS[:-1:2], _PARTS[1::2], strict=True)]
"""The paragraph before each piece of SQL, and the piece, whatever the paragraph looks like."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("asked")
    demo_home.make(home)
    back_up(load_settings(db_path=home / demo_home.DATABASE), home / "copy.db")
    return home / "copy.db"


@pytest.fixture
def connection(database: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as opened:
        yield opened


def test_there_are_more_than_ten_recipes() -> None:
    assert len(_RECIPES) >= 10


def test_every_question_in_bold_has_its_recipe_and_every_recipe_its_question() -> None:
    recipes = _PAGE.partition("## Recipes")[2].partition("\n## ")[0]

    assert [question for question, _ in _RECIPES] == re.findall(r"^\*\*.+?(?=\n\n)", recipes, re.DOTALL | re.MULTILINE)
    assert recipes.count("```") == 2 * len(_RECIPES)


@pytest.mark.parametrize(("question", "sql"), _RECIPES)
def test_recipe_finds_something(question: str, sql: str, connection: apsw.Connection) -> None:
    rows = list(connection.execute(sql))

    assert rows, question
    assert any(value is not None for value in rows[0])


@pytest.mark.parametrize(("question", "sql"), _RECIPES)
def test_recipe_asks_stable_tables_alone(question: str, sql: str) -> None:
    tables = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", sql)) - {"json_each"}

    assert tables <= STABLE, question


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 38), reason="the recipes take SQLite 3.38")
@pytest.mark.parametrize(("question", "sql"), _RECIPES)
def test_recipe_runs_in_the_sqlite_of_the_machine(question: str, sql: str, database: Path) -> None:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        assert opened.execute(sql).fetchall(), question
