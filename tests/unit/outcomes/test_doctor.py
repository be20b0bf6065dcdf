from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.outcomes.doctor import outcomes
from grader_daemon.outcomes.model import SeenFate, Work
from grader_daemon.outcomes.store import Followed, OutcomesTable
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade


def found(database: Path, **given: Any) -> Finding:
    with DoctorContext(lambda: load_settings(db_path=str(database), **given), now=NOW) as context:
        return outcomes(context)


def follow(database: Path, trouble: str | None) -> None:
    with closing(SqliteStore(database)) as store, store.transaction():
        save_grades(store, [new_grade(grade(session_id="a", session_file="/a"))])
        fate = replace(SeenFate(looked_at=NOW), trouble=trouble)
        OutcomesTable(store).save(Followed("a", None, "/src", Work(began=NOW, ended=NOW), fate), due_at=None)


def test_off_and_not_looked_yet_are_well(tmp_path: Path) -> None:
    assert found(tmp_path / "a.db", outcomes_git=False) == ok("off, by the setting outcomes_git")
    assert found(tmp_path / "a.db") == ok("no session was checked yet")


@pytest.mark.parametrize("is_hidden", [True, False])
def test_folders_that_the_service_does_not_see_are_told(tmp_path: Path, *, is_hidden: bool) -> None:
    project = tmp_path / "project"
    if is_hidden:
        project.mkdir()
    follow(tmp_path / "a.db", f"{project}: it is not there, or hidden from the service")

    said = found(tmp_path / "a.db")

    if is_hidden:
        fix = "add your project folders to outcomes_roots, then: grader-daemon service install"
        assert said == warning(f"the service does not see 1 folder of projects: {project}", fix)
    else:
        assert said == ok("what becomes of the work of 1 session is tracked")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    follow(tmp_path / "a.db", "/src/.git: it belongs to another user")

    said = found(tmp_path / "a.db")

    assert said.found == "of 1 project not all could be seen: /src/.git: it belongs to another user"


def test_what_is_followed_is_counted(tmp_path: Path) -> None:
    follow(tmp_path / "a.db", None)

    assert found(tmp_path / "a.db") == ok("what becomes of the work of 1 session is tracked")
