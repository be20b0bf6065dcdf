from __future__ import annotations

from datetime import timedelta

from grader_daemon.domain.calibration import LevelGuess
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW


def test_the_last_guess_stands(store: SqliteStore) -> None:
    assert store.level_guesses.last() is None
    with store.transaction():
        store.level_guesses.add(0.7, NOW)
        store.level_guesses.add(0.4, NOW + timedelta(days=1))
    assert store.level_guesses.last() == LevelGuess(rate=0.4, given_at=NOW + timedelta(days=1))


def test_a_guess_that_is_taken_back_does_not_stand(store: SqliteStore) -> None:
    with store.transaction():
        store.level_guesses.add(0.7, NOW)
        store.level_guesses.add(None, NOW)
    assert store.level_guesses.last() is None
