"""What a watch notices, and what it survives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.api.change_watch import NOTHING, ChangeWatch
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grades.db"


@pytest.fixture
def watch(path: Path) -> Iterator[ChangeWatch]:
    made = ChangeWatch(load_settings(db_path=path, watch_roots=(path.parent,)))
    yield made
    made.close()


def _save(path: Path, session_id: str) -> None:
    store = SqliteStore(path)
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id=session_id, session_file=f"/s/{session_id}.json"))])
    store.close()


def test_a_grade_that_another_program_commits_is_noticed_once(watch: ChangeWatch, path: Path) -> None:
    _save(path, "a")
    first = watch.look()
    assert watch.look() == first
    _save(path, "b")
    second = watch.look()
    assert second != first
    assert watch.look() == second


def test_what_changes_no_grade_is_none(watch: ChangeWatch, path: Path) -> None:
    _save(path, "a")
    before = watch.look()
    store = SqliteStore(path)
    with store.transaction():
        store.job_runs.save("j", started_at=grade().graded_at, finished_at=grade().graded_at, error=None)
    store.close()
    assert watch.look() == before


def test_a_database_that_comes_goes_and_comes_again_is_noticed(watch: ChangeWatch, path: Path) -> None:
    assert watch.look() == NOTHING
    _save(path, "a")
    first = watch.look()
    assert first != NOTHING
    other = path.with_name("other.db")
    _save(other, "a")
    other.replace(path)
    assert watch.look() not in (NOTHING, first)
    path.unlink()
    assert watch.look() == NOTHING


def test_a_damaged_database_is_nothing(watch: ChangeWatch, path: Path) -> None:
    path.write_bytes(b"no database")
    assert watch.look() == NOTHING
