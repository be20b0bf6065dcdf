from __future__ import annotations

import pytest

from grader_daemon.domain.grade import session_score
from grader_daemon.domain.unit import Unit
from tests.strategies import grade


@pytest.mark.parametrize(
    ("efficiency", "quality", "completed", "score"),
    [
        pytest.param(5, 5, True, 5.0, id="best"),
        pytest.param(1, 1, False, 1.0, id="worst"),
        pytest.param(5, 3, True, 13 / 3, id="completed-counts-five"),
        pytest.param(4, 3, False, 8 / 3, id="not-completed-counts-one"),
    ],
)
def test_score_is_the_mean_of_three_on_one_scale(efficiency: int, quality: int, completed: bool, score: float) -> None:
    made = grade(tool_calls_efficient=efficiency, response_quality=quality, task_completed=completed)
    assert made.score == pytest.approx(score)


def test_score_takes_a_rate_as_well_as_a_verdict() -> None:
    assert session_score(3, 3, completed=0.5) == pytest.approx(3.0)


@pytest.mark.parametrize(("told", "source"), [("codex", "codex"), ("unknown", "hermes")])
def test_a_grade_knows_the_unit_of_its_session(told: str, source: str) -> None:
    assert grade(format=told, session_file="/s/a.json", unit_key="k").unit == Unit(source, "/s/a.json", "k")
