"""Table of what was learned from labels: a row for each calibration, and for each change of who decides."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from grader_daemon.domain.calibration import Calibration, Evidence, LevelGuess
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.features import to_features
from grader_daemon.storage.sqlite.rows import PERSONS_TASK, known_moment, to_text

_COLUMNS = ("made_at", "adopted", "verdict_by", "policy", "labels", "model", "evidence")
_SELECT = f"SELECT id, {', '.join(_COLUMNS)} FROM calibrations"
_INSERT = f"INSERT INTO calibrations ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_SEES = "evidence ->> 'seen' > 0 OR evidence ->> 'sessions' > 0"
_FINISHED = (
    "FROM session_details AS d WHERE state <> 'open' AND features IS NOT NULL"
    f" AND NOT (state = 'interrupted' AND NOT unsure) AND {PERSONS_TASK}"
)
"""Without those that were cut short: an outage must not move what is ordinary."""
_ABOVE_ALL = 2**63 - 1
_encode = msgspec.json.Encoder().encode
_decode_model = msgspec.json.Decoder(CompletionModel).decode
_decode_evidence = msgspec.json.Decoder(Evidence).decode


class Calibrations(Table):
    """Calibrations learned from labels: added, never changed.

    A row that another version wrote, and this one cannot read, is passed over.
    """

    def add(self, made: Calibration) -> Calibration:
        """Keep a calibration; returns it with its number. Call it inside a transaction."""
        connection = self._database.connection
        connection.execute(
            _INSERT,
            (
                to_text(made.made_at),
                made.adopted,
                made.verdict_by,
                made.policy,
                made.labels,
                _encode(made.model).decode(),
                _encode(made.evidence).decode(),
            ),
        )
        return msgspec.structs.replace(made, number=connection.last_insert_rowid())

    def newest_number(self) -> int:
        """Number the newest that was adopted, readable or not; 0 without any. Costs a few microseconds."""
        rows = self._database.rows("SELECT id FROM calibrations WHERE adopted ORDER BY id DESC LIMIT 1")
        return int(rows[0][0]) if rows else 0

    def adopted(self) -> Calibration | None:
        """Return the newest that was adopted."""
        return self._newest("adopted")

    def last_look(self) -> Calibration | None:
        """Return the newest that looked at labels or sessions, adopted or not."""
        return self._newest(_SEES)

    def latest(self, limit: int) -> list[Calibration]:
        """Return the newest, adopted or not, the newest first."""
        rows = self._database.rows(f"{_SELECT} ORDER BY id DESC LIMIT ?", (limit,))
        return [read for row in rows if (read := _to_calibration(row)) is not None]

    def history(self, limit: int) -> list[tuple[float, ...]]:
        """Return the features of the newest finished sessions."""
        rows = self._database.rows(f"SELECT features {_FINISHED} ORDER BY ended_at DESC LIMIT ?", (limit,))
        return [tuple(to_features(row[0])) for row in rows]

    def finished(self, limit: int) -> int:
        """Count finished sessions whose features are known; no farther than to `limit`."""
        return int(self._database.rows(f"SELECT count(*) FROM (SELECT 1 {_FINISHED} LIMIT ?)", (limit,))[0][0])

    def model(self, version: str) -> CompletionModel | None:
        """Return the model of this version, if one of the calibrations made or used it."""
        found = self._newest("model ->> 'version' = ?", version)
        return None if found is None else found.model

    def _newest(self, condition: str, *values: str) -> Calibration | None:
        """Return the newest that meets a condition, of those that can be read; few cannot."""
        sql = f"{_SELECT} WHERE ({condition}) AND id < ? ORDER BY id DESC LIMIT 1"
        rows = self._database.rows(sql, (*values, _ABOVE_ALL))
        while rows and (read := _to_calibration(rows[0])) is None:
            rows = self._database.rows(sql, (*values, rows[0][0]))
        return read if rows else None


def _to_calibration(row: tuple[Any, ...]) -> Calibration | None:
    try:
        return Calibration(
            number=row[0],
            made_at=known_moment(row[1]),
            adopted=bool(row[2]),
            verdict_by=VerdictBy(row[3]),
            policy=VerdictSetting(row[4]),
            labels=row[5],
            model=_decode_model(row[6]),
            evidence=_decode_evidence(row[7]),
        )
    except (ValueError, msgspec.MsgspecError):
        return None


class LevelGuesses(Table):
    """A person's guesses of the level; the last one stands."""

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
