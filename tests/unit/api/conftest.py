"""The parts of a grader on a store and a clock of the test; there is no database at the path of the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import grade, new_grade

AUCKLAND = "Pacific/Auckland"


@pytest.fixture
def context(tmp_path: Path, store: SqliteStore, clock: Clock) -> GraderContext:
    settings = load_settings(watch_roots=(tmp_path / "sessions",), db_path=tmp_path / "none.db", timezone=AUCKLAND)
    return GraderContext(settings, clock=clock, store=store)


Save = Callable[..., None]


@pytest.fixture
def save(store: SqliteStore) -> Save:
    """Save a good grade, but for what is said."""

    def saved(session_id: str, **changes: object) -> None:
        made = grade(session_id=session_id, session_file=f"/s/{session_id}.json", **changes)
        with store.transaction():
            save_grades(store, [new_grade(made)])

    return saved
