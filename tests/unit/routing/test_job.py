from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.routing import RouteReason
from grader_daemon.errors import OutputError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.routing.job import RouteJob, Routes, route_jobs, write_route
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "grades.db")) as opened:
        yield opened


def settings(tmp_path: Path, **given: Any) -> Settings:
    return load_settings(db_path=tmp_path / "grades.db", watch_roots=(tmp_path,), **given)


def save(store: SqliteStore, model: str, *, sessions: int, completed: int) -> None:
    made = [
        grade(
            session_id=f"{model}-{number}",
            session_file=f"/{model}-{number}",
            model=model,
            task_type="debugging",
            task_completed=number < completed,
            ended_at=NOW - MINUTE,
        )
        for number in range(sessions)
    ]
    with store.transaction():
        save_grades(store, [new_grade(one) for one in made])


def job(store: SqliteStore, tmp_path: Path, *, is_settled: bool = True) -> RouteJob:
    routes = Routes(store, settings(tmp_path))
    return RouteJob(store, routes, tmp_path / "route.json", is_settled=lambda: is_settled)


def test_without_the_setting_there_is_no_job(store: SqliteStore, tmp_path: Path) -> None:
    assert route_jobs(settings(tmp_path), store, is_settled=lambda: True) == []
    assert route_jobs(settings(tmp_path, route_file=tmp_path / "r.json"), store, is_settled=lambda: True)


def test_the_file_says_which_model_to_prefer_to_its_owner_alone(store: SqliteStore, tmp_path: Path) -> None:
    save(store, "cheap", sessions=60, completed=20)
    save(store, "strong", sessions=40, completed=36)

    assert job(store, tmp_path).run(NOW)

    written = json.loads((tmp_path / "route.json").read_text("utf-8"))
    found = written["task_types"]["debugging"]
    assert (written["schema_version"], found["recommended"], found["default"]) == (1, "strong", None)
    assert written["coverage"] == {"sessions": 100, "graded": 0, "waiting": 0}
    assert (tmp_path / "route.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", [None, "cheap"])
def test_the_default_is_that_of_the_settings(store: SqliteStore, tmp_path: Path, given: str | None) -> None:
    save(store, "cheap", sessions=40, completed=20)
    save(store, "strong", sessions=60, completed=54)
    routes = Routes(store, settings(tmp_path, route_default=given))

    assert RouteJob(store, routes, tmp_path / "route.json", is_settled=lambda: True).run(NOW)

    found = json.loads((tmp_path / "route.json").read_text("utf-8"))["task_types"]["debugging"]
    assert (found["default"], found["prefer"]) == (given, "strong")
    assert routes.recommend(NOW, "debugging", models=None, default=None).default == given


def test_limit_of_cost_and_share_that_explores_are_those_of_the_settings(store: SqliteStore, tmp_path: Path) -> None:
    save(store, "cheap", sessions=40, completed=20)
    set_so = Routes(store, settings(tmp_path, route_max_cost=0.5, route_explore=0.05))

    assert set_so.route(NOW).explore == 0.05
    assert set_so.recommend(NOW, "debugging", models=None, default=None).models[0].reason is RouteReason.TOO_DEAR
    assert Routes(store, settings(tmp_path)).route(NOW).explore == 0


def test_the_file_is_written_again_when_grades_changed_and_once_a_minute_at_most(
    store: SqliteStore, tmp_path: Path
) -> None:
    kept = job(store, tmp_path)

    assert kept.run(NOW)
    assert not kept.run(NOW + 2 * MINUTE)
    save(store, "cheap", sessions=1, completed=1)
    assert kept.run(NOW + 2 * MINUTE)
    save(store, "strong", sessions=1, completed=1)
    assert not kept.run(NOW + 2.5 * MINUTE)
    assert kept.run(NOW + 3 * MINUTE)


def test_while_sessions_wait_to_be_graded_the_file_stays(store: SqliteStore, tmp_path: Path) -> None:
    kept = job(store, tmp_path, is_settled=False)

    assert kept.run(NOW)
    save(store, "cheap", sessions=1, completed=1)
    assert not kept.run(NOW + 2 * MINUTE)


@pytest.mark.parametrize(
    "later", [pytest.param(timedelta(hours=12), id="it-is-old"), pytest.param(-timedelta(days=9), id="clock-set-back")]
)
def test_the_file_is_written_again_though_nothing_changed(store: SqliteStore, tmp_path: Path, later: timedelta) -> None:
    kept = job(store, tmp_path)
    kept.run(NOW)

    assert kept.run(NOW + later)


def test_a_file_that_is_gone_is_written_again(store: SqliteStore, tmp_path: Path) -> None:
    kept = job(store, tmp_path)
    kept.run(NOW)
    os.unlink(tmp_path / "route.json")

    assert kept.run(NOW + MINUTE)


def test_a_place_that_cannot_be_written_to_is_told(store: SqliteStore, tmp_path: Path) -> None:
    route = Routes(store, settings(tmp_path)).route(NOW)

    with pytest.raises(OutputError, match="No such file or directory"):
        write_route(tmp_path / "nowhere" / "route.json", route)


def test_a_type_without_sessions_is_told_of_when_it_is_asked_for(store: SqliteStore, tmp_path: Path) -> None:
    save(store, "cheap", sessions=60, completed=20)
    save(store, "strong", sessions=40, completed=36)

    route = Routes(store, settings(tmp_path, route_aliases=["fast=cheap"])).route(NOW, task_type="research")

    assert (route.task_types["research"].known, route.task_types["research"].reason) == (False, "too_few")
    assert route.others.recommended is None
    assert route.aliases == {"fast": "cheap"}


def test_an_empty_database_recommends_nothing(store: SqliteStore, tmp_path: Path) -> None:
    route = Routes(store, settings(tmp_path)).route(NOW)

    assert (route.task_types, route.others.reason) == ({}, RouteReason.TOO_FEW)
