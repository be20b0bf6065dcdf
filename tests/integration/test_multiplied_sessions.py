"""The database that `python -m tests.benchmarks.million` asks is one that the daemon could have made."""

from __future__ import annotations

from pathlib import Path

from grader_daemon.settings import load_settings
from grader_daemon.storage.maintenance.inspection import Inspection
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks.multiplied import SELDOM, make_database


def test_the_sums_of_a_multiplied_database_are_those_of_its_rows(tmp_path: Path) -> None:
    root = tmp_path / "root"
    settings = load_settings(db_path=str(tmp_path / "grades.db"), watch_roots=[str(root)])

    made = make_database(settings, root, sessions=120, graded=30)

    with Inspection(settings.db_path) as inspection:
        assert (made, inspection.grades(), inspection.foreign_grades()) == (120, 120, 0)
        assert (inspection.miscounted(), inspection.half_graded(), inspection.damage()) == ({}, [], [])
    store = SqliteStore(settings.db_path, read_only=True)
    ended = [row[0] for row in store.rows("SELECT ended_at FROM session_list ORDER BY 1")]
    found = store.grades.page(GradeFilter(model=SELDOM)).grades
    store.close()
    assert len(set(ended)) == 120
    assert [each.grade.model for each in found] == [SELDOM]
