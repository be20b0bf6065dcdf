"""The recipes of docs/export.md, in DuckDB, Polars and pandas, on a real export."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.tables import TableForm
from grader_daemon.push.month_files import export_months
from grader_daemon.settings import load_settings
from tests import demo_home
from tests.documents import page
from tests.needs import require_table_readers

RECIPES = page("docs/export.md").blocks("python")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside an export of a made-up home."""
    python, folder = require_table_readers(), tmp_path_factory.mktemp("analyst")
    assert python.exists()
    demo_home.make(folder / "home")
    settings = load_settings(db_path=folder / "home" / demo_home.DATABASE)
    with closing(GraderContext(settings)) as context:
        export_months(context, folder / "grades", TableForm.PARQUET)
    return folder


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.split()[1] for recipe in RECIPES])
def test_a_recipe_finds_something(folder: Path, recipe: str) -> None:
    ended = subprocess.run(
        [require_table_readers(), "-c", recipe], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") > 3, ended.stdout
