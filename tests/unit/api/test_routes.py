from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.domain.routing import RouteReason
from grader_daemon.errors import InputError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    """Debugging by two models: one completes a third for a cent, one nine of ten for a dollar."""
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path]) as opened:
        made = [
            grade(
                session_id=f"{model}-{number}",
                session_file=f"/{model}-{number}",
                model=model,
                task_type="debugging",
                task_completed=number < completed,
                ended_at=bootstrap.utc_now(),
                cost_usd=cost_usd,
            )
            for model, sessions, completed, cost_usd in (("cheap", 60, 20, 0.01), ("strong", 40, 36, 1.0))
            for number in range(sessions)
        ]
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            save_grades(store, [new_grade(one) for one in made])
        yield opened


def test_the_better_model_is_recommended(grader: SelfGrader) -> None:
    found = grader.recommend_model("debugging")

    assert (found.known, found.recommended, found.default) == (True, "strong", None)


def test_models_and_default_are_those_of_the_caller(grader: SelfGrader) -> None:
    assert grader.recommend_model("debugging", ["cheap"]).reason is RouteReason.ONE_MODEL
    assert grader.recommend_model("debugging", default="strong").reason is RouteReason.NOT_BETTER


def test_a_limit_of_cost_is_kept(grader: SelfGrader) -> None:
    route = grader.routing.route(default="strong", most_usd=0.5)

    assert route.task_types["debugging"].recommended == "cheap"


@pytest.mark.parametrize("most_usd", [0.0, -1.0, float("nan")])
def test_a_limit_that_is_none_is_refused(grader: SelfGrader, most_usd: float) -> None:
    with pytest.raises(InputError, match="above 0"):
        grader.routing.route(most_usd=most_usd)
