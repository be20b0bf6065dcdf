"""Whether telling helps: by how sessions were drawn."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.hook.store import FoundClaim, HookTable, Trial
from grader_daemon.hook.trial import effect_of, is_drawn
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW

TRIAL = Trial(1, NOW, None, "salt")
SESSIONS = [f"session-{number}" for number in range(400)]
FOUND = [FoundClaim(name, "All tests pass", NOW, "codex", Mode.TELL, is_told=False, trial=1) for name in SESSIONS]


def test_about_one_session_of_two_is_drawn_and_always_the_same() -> None:
    drawn = [is_drawn(TRIAL, name) for name in SESSIONS]
    assert 160 < sum(drawn) < 240
    assert drawn == [is_drawn(TRIAL, name) for name in SESSIONS]
    assert drawn != [is_drawn(TRIAL._replace(salt="another"), name) for name in SESSIONS]


def test_the_effect_is_the_difference_of_those_that_ended() -> None:
    ended = SESSIONS[:200]
    told = {name for name in ended if is_drawn(TRIAL, name)}
    effect = effect_of(TRIAL, FOUND, ended=ended, against=set(ended) - told)
    assert (effect.told, effect.untold) == (len(told), 200 - len(told))
    assert (effect.against.now.value, effect.against.before.value) == (0.0, 1.0)
    assert effect.against.change.value == -1.0


@pytest.mark.parametrize("ended", [[], SESSIONS[:6]])
def test_of_too_few_nothing_is_said(ended: list[str]) -> None:
    effect = effect_of(TRIAL, FOUND, ended=ended, against=set())
    assert effect.told + effect.untold == len(ended)
    assert effect.against.change.value is None


def test_trials_follow_each_other(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "a.db")) as store:
        table = HookTable(store)
        assert table.running() is None
        with store.transaction():
            table.begin_trial(NOW)
        first = table.running()
        with store.transaction():
            table.end_trial(NOW)
        assert table.running() is None
        with store.transaction():
            table.begin_trial(NOW)
        assert first is not None
        assert [trial.number for trial in table.trials()] == [2, 1]
        assert table.trials()[1] == first._replace(ended_at=NOW)
        assert table.trials()[0].salt != first.salt
