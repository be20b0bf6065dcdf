"""What changed in how agents are set up, asked for in Python."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.domain.routing import FinishedSession
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.skills.agent_setup import skill_advice
from grader_daemon.skills.skill_records import endings_by_type
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

HOUR = timedelta(hours=1)


def test_changes_alone_are_those_that_have_effects_in_order(tmp_path: Path) -> None:
    made = [
        grade(
            session_id=f"s{number}",
            session_file=f"/s/{number}.json",
            agent="hermes",
            model=f"model-{number // 40}",
            ended_at=NOW - (120 - number) * HOUR,
        )
        for number in range(120)
    ]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path], clock=lambda: NOW) as grader:
        alone, told = grader.setup.changes_alone(), grader.setup.changes()
        of_two_days = grader.setup.changes_alone(timedelta(days=2))

    assert [change.after for change in alone] == ["model-1", "model-2"]
    assert alone == [change for effect in told.effects[::-1] for change in effect.changes]
    assert of_two_days == alone[1:]


def test_advice_of_a_moment_counts_no_task_that_ended_later(tmp_path: Path) -> None:
    made = [
        grade(
            session_id=f"s{number}",
            session_file=f"/s/{number}.json",
            task_type="writing" if number % 2 else "debugging",
            ending=EndingKind.ANSWERED,
            standing=ResultStanding.CHECKED,
            ended_at=NOW - (100 - number) * HOUR,
        )
        for number in range(100)
    ]
    settings = load_settings(db_path=str(tmp_path / "grades.db"), watch_roots=[str(tmp_path)])
    with closing(SqliteStore(tmp_path / "grades.db")) as store:
        with store.transaction():
            save_grades(store, [new_grade(one) for one in made])
        tasks = [skill_advice(settings, store, NOW - hours * HOUR)("debugging").ended_badly for hours in (0, 50)]

    assert [each.sample for each in tasks] == [50, 25]


def test_all_tasks_are_counted_once_for_several_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report asks for each type that needs help, of 20,000 tasks."""
    counted: list[int] = []

    def counting(tasks: Sequence[FinishedSession]) -> dict[str, list[float]]:
        counted.append(len(tasks))
        return endings_by_type(tasks)

    monkeypatch.setattr("grader_daemon.skills.skill_book.endings_by_type", counting)
    settings = load_settings(db_path=str(tmp_path / "grades.db"), watch_roots=[str(tmp_path)])
    with closing(SqliteStore(tmp_path / "grades.db")) as store:
        with store.transaction():
            save_grades(store, [new_grade(grade(session_id="s", ended_at=NOW - HOUR))])
        advice = skill_advice(settings, store, NOW)
        asked = [advice(task_type).task_type for task_type in ("debugging", "writing")]

    assert (asked, counted) == (["debugging", "writing"], [1])
