from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Debugging by two models, and by one whose name is hostile."""
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    now = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
    made = [
        grade(
            session_id=f"{model}-{number}",
            session_file=f"/{model}-{number}",
            model=model,
            task_type="debugging",
            task_completed=number < completed,
            ended_at=now,
            cost_usd=0.5,
        )
        for model, sessions, completed in (("cheap", 60, 20), ("strong", 40, 36), ("evil\x1b[31m", 9, 3))
        for number in range(sessions)
    ]
    with closing(SqliteStore(tmp_path / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])
    return tmp_path


def test_models_are_shown_with_the_one_to_prefer(home: Path, run: Run) -> None:
    ended = run(home, "route", "--default", "cheap")

    lines = ended.stdout.splitlines()
    assert lines[0] == "109 sessions of the last 90 days."
    assert next(line for line in lines if "strong" in line).endswith("prefer it")
    assert next(line for line in lines if "cheap" in line).endswith("default")
    assert " 90 % " in next(line for line in lines if "strong" in line), "36 of 40 did not fail"
    assert lines[-1].startswith("not failed: share of sessions that no label")
    assert lines[-1].endswith("cost: per task that did not fail.")
    assert "\x1b" not in ended.stdout


def test_without_a_default_it_is_said_how_to_set_one(home: Path, run: Run) -> None:
    said = run(home, "route").stdout.splitlines()[-1]

    assert said.endswith(
        "against default: no default is set; give one with --default MODEL or the setting route_default."
    )


def test_without_a_better_model_the_default_says_why(home: Path, run: Run) -> None:
    ended = run(home, "route", "--default", "strong")

    assert "default; nothing better known: not better" in ended.stdout


@pytest.mark.parametrize(("sessions", "advice"), [(9, "prefer it*"), (10, "prefer it")])
def test_without_a_default_the_best_is_preferred(home: Path, run: Run, sessions: int, advice: str) -> None:
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        store.connection.execute(
            "UPDATE session_list SET task_type = 'research' WHERE session_id IN"
            " (SELECT session_id FROM session_list WHERE model = 'strong' ORDER BY session_id LIMIT ?)",
            (40 - sessions,),
        )

    ended = run(home, "route", "--task-type", "debugging")

    [line] = [line for line in ended.stdout.splitlines() if "strong" in line]
    assert line.endswith(f" {advice}")


def test_a_model_that_may_only_be_luckier_is_not_said_to_be_preferred(home: Path, run: Run) -> None:
    now = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
    made = [
        grade(
            session_id=f"rival-{number}", session_file=f"/r{number}", model="rival", task_type="debugging", ended_at=now
        )
        for number in range(14)
    ]
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])

    told = run(home, "route").stdout

    assert "prefer it" not in told
    assert next(line for line in told.splitlines() if line.startswith("debugging")).endswith("no difference shown")


def test_an_unknown_task_type_is_refused_with_those_that_are_known(home: Path, run: Run) -> None:
    ended = run(home, "route", "--task-type", "nosuch")

    assert ended.returncode == 2
    assert "unknown task type 'nosuch'; known: " in ended.stderr
    assert "debugging" in ended.stderr
    assert not ended.stdout


def test_models_without_sessions_of_a_type_are_counted_in_one_row(home: Path, run: Run) -> None:
    now = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
    made = [
        grade(session_id=f"s{name}", session_file=f"/{name}", model=f"model-{name}", task_type="research", ended_at=now)
        for name in range(17)
    ]
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])

    shown = run(home, "route", "--task-type", "debugging").stdout
    told = json.loads(run(home, "route", "--task-type", "debugging", "--json").stdout)

    assert shown.count("debugging ") == 4
    assert re.search(r"^debugging  17 other models .* no sessions$", shown, re.MULTILINE)
    assert len(told["task_types"]["debugging"]["models"]) == 20


def test_a_model_that_is_recommended_without_sessions_of_the_type_is_shown(home: Path, run: Run) -> None:
    now = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
    research = grade(session_id="r", session_file="/r", model="cheap", task_type="research", ended_at=now)
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(research)])

    shown = run(home, "route", "--task-type", "research").stdout

    assert re.search(r"^research +strong .* 0 .* prefer it\*$", shown, re.MULTILINE)


def test_a_default_without_sessions_is_said_to_have_none(home: Path, run: Run) -> None:
    assert "\nThe default new has no sessions, so" in run(home, "route", "--default", "new").stdout


def test_a_limit_of_cost_leaves_dear_models_unpreferred(home: Path, run: Run) -> None:
    assert "prefer it" not in run(home, "route", "--max-cost", "0.10").stdout
    assert run(home, "route", "--max-cost", "0").returncode == 2


@pytest.mark.parametrize("given", ["abc", "nan", "inf", "1e400", "-1", "0"])
def test_a_limit_of_cost_is_a_number_above_nothing(home: Path, run: Run, given: str) -> None:
    ended = run(home, "route", f"--max-cost={given}")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"'--max-cost': '{given}' is not a number above 0" in ended.stderr


def test_the_file_for_a_router_is_the_document(home: Path, run: Run) -> None:
    assert run(home, "route", "--out", "route.json").returncode == 0

    written = json.loads((home / "route.json").read_text())
    printed = json.loads(run(home, "route", "--json").stdout)
    assert written["task_types"]["debugging"]["recommended"] == "strong"
    assert written.keys() == printed.keys()
    assert (home / "route.json").stat().st_mode & 0o777 == 0o600


def test_only_the_type_that_is_asked_for_is_told_of(home: Path, run: Run) -> None:
    printed = json.loads(run(home, "route", "--json", "--task-type", "research").stdout)

    assert list(printed["task_types"]) == ["research"]


def test_a_database_without_sessions_says_so(home: Path, run: Run) -> None:
    (home / DATABASE).unlink()
    with closing(SqliteStore(home / DATABASE)):
        pass

    assert run(home, "route").stdout == "0 sessions of the last 90 days.\n"


def test_a_file_for_routers_says_which_models_are_too_dear(home: Path, run: Run) -> None:
    assert run(home, "route", "--max-cost", "0.10", "--out", "route.json").returncode == 0

    found = json.loads((home / "route.json").read_text())["task_types"]["debugging"]
    assert {score["reason"] for score in found["models"]} == {"too_dear"}


@pytest.mark.parametrize("when", ["2026-11-20 10:00:00", "2026-11-20 10:00:00 UTC", "lately"])
def test_rows_of_another_program_are_no_trouble(home: Path, run: Run, when: str) -> None:
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        store.connection.execute("UPDATE session_list SET ended_at = ? WHERE session_id = 'cheap-1'", (when,))

    ended = run(home, "route", "--json")

    assert (ended.returncode, ended.stderr) == (0, "")
