"""What changed in how agents are set up, asked for in Python."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

from grader_daemon import SelfGrader
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.skills.agent_setup import skill_advice
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
