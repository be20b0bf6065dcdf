"""What sessions say of a trial."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.skills.switched_file import Position, switched_file
from grader_daemon.skills.trial_file import Draw, Trial, TrialEnd
from grader_daemon.skills.trial_state import TrialState, trial_states
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade

MINUTE = timedelta(minutes=1)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """Draws ten minutes apart: with the file, without it, one that was cut off, and with it again."""
    (tmp_path / "AGENTS.md").write_text("x")
    draws = tuple(
        Draw(at=NOW + 10 * MINUTE * number + timedelta(milliseconds=300), on=number != 1, is_done=number != 2)
        for number in range(4)
    )
    file = switched_file(str(tmp_path / "AGENTS.md"))
    return Trial(number=1, name="AGENTS.md", agent="codex", file=file, began_at=NOW, draws=draws)


def keep(store: SqliteStore, name: str, minutes: float, **changes: object) -> None:
    """Save a session that started so many minutes after the first draw, and ended a minute later."""
    start = NOW + minutes * MINUTE
    made = grade(
        session_id=name,
        session_file=f"/s/{name}",
        **{
            "agent": "codex",
            "session_start": start,
            "ended_at": start + MINUTE,
            "ending": EndingKind.ANSWERED,
            "standing": ResultStanding.CHECKED,
            **changes,
        },
    )
    with store.transaction():
        save_grades(store, [new_grade(made)])


def state(store: SqliteStore, trial: Trial) -> TrialState:
    return trial_states(store, [trial]).trials[0]


def sides(store: SqliteStore, trial: Trial) -> tuple[int, int]:
    effect = state(store, trial).effect
    return effect.sessions_with, effect.sessions_without


def test_a_session_belongs_to_the_last_draw_before_its_start_however_long_it_goes_on(
    store: SqliteStore, trial: Trial
) -> None:
    keep(store, "with", 0, ended_at=NOW + 500 * MINUTE)  # its agent writes whole seconds
    keep(store, "without", 10)
    keep(store, "without-too", 19.9)
    keep(store, "with-again", 30)
    assert sides(store, trial) == (2, 2)


@pytest.mark.parametrize(
    ("minutes", "changes"),
    [
        pytest.param(-1, {}, id="before-the-first-draw"),
        pytest.param(25, {}, id="after-a-draw-that-was-cut-off"),
        pytest.param(1, {"agent": "hermes"}, id="of-another-agent"),
        pytest.param(1, {"session_start": None}, id="whose-start-is-not-known"),
        pytest.param(1, {"ending": None, "standing": None}, id="whose-end-is-not-known"),
        pytest.param(35, {}, id="after-the-end-of-the-trial"),
    ],
)
def test_other_sessions_count_nowhere(
    store: SqliteStore, trial: Trial, minutes: float, changes: dict[str, object]
) -> None:
    keep(store, "x", minutes, **changes)
    assert sides(store, replace(trial, ended_at=NOW + 35 * MINUTE, end=TrialEnd.STOPPED)) == (0, 0)


def test_a_clock_that_was_set_back_leaves_sessions_to_the_draw_that_was_made_last(
    store: SqliteStore, trial: Trial
) -> None:
    ahead = [Draw(at=NOW + minutes * MINUTE, on=True, is_done=True) for minutes in (0, 500, 510)]
    since = [Draw(at=NOW + minutes * MINUTE, on=False, is_done=True) for minutes in (20, 30)]
    keep(store, "before", 10)
    keep(store, "since", 25)
    keep(store, "since-too", 40)
    assert sides(store, replace(trial, draws=(*ahead, *since))) == (1, 2)


def test_bad_endings_are_compared(store: SqliteStore, trial: Trial) -> None:
    draws = tuple(Draw(at=NOW + number * MINUTE, on=number % 2 == 0, is_done=True) for number in range(40))
    for number in range(40):
        standing = ResultStanding.CHECK_FAILED if number % 2 else ResultStanding.CHECKED
        keep(store, f"s-{number}", number, standing=standing)
    found = state(store, replace(trial, draws=draws))
    assert (found.effect.failed.now.value, found.effect.failed.before.value) == (0, 1)
    assert (found.effect.is_sure, found.by_labels) == (True, False)


def test_it_says_where_the_file_is_without_a_database(trial: Trial) -> None:
    found = trial_states(None, [trial]).trials[0]
    assert (found.position, found.draws, found.last_draw) == (Position.ON, 4, trial.draws[-1].at)
    assert found.effect.sessions_with == 0
