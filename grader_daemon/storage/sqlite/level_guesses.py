"""Table of what a person guessed of the rate of completion: rows that are added, never changed."""

from __future__ import annotations

from datetime import datetime

from grader_daemon.domain.calibration import LevelGuess
from grader_daemon.storage.sqlite.database import Database
from grader_daemon.storage.sqlite.rows import known_moment, to_text


class LevelGuesses:
    """A person's guesses of the level; the last one stands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, rate: float | None, now: datetime) -> None:
        """Keep a guess, or with None that there is none any more; call it inside a transaction."""
        self._database.connection.execute(
            "INSERT INTO level_guesses (given_at, rate) VALUES (?, ?)", (to_text(now), rate)
        )

    def last(self) -> LevelGuess | None:
        """Return the guess that stands."""
        rows = self._database.rows("SELECT given_at, rate FROM level_guesses ORDER BY id DESC LIMIT 1")
        if not rows or rows[0][1] is None:
            return None
        return LevelGuess(rate=rows[0][1], given_at=known_moment(rows[0][0]))
