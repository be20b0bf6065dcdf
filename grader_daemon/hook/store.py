"""The tables of hooks: claims that the record spoke against when an agent wanted to stop, and trials of telling it."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Final, NamedTuple

from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_MOST: Final = 100_000
_SALT_BYTES: Final = 8


class FoundClaim(NamedTuple):
    """One claim that the record spoke against at a stop.

    claim: what was claimed, in a few words.
    is_told: it was told, by `mode`; else the trial, the mode or the time forbade it.
    trial: the number of the trial that ran then; None without one.
    """

    session_id: str
    claim: str
    found_at: datetime
    agent: str
    mode: Mode
    is_told: bool
    trial: int | None = None


class Trial(NamedTuple):
    """A trial: from `began_at` on, one session of two gets no message, by chance."""

    number: int
    began_at: datetime
    ended_at: datetime | None
    salt: str


class HookTable(Table):
    """The tables of what hooks found, and of trials."""

    def told(self, session_id: str) -> frozenset[str]:
        """Return the claims of a session that were told already."""
        rows = self._database.rows("SELECT claim FROM hook_findings WHERE session_id = ? AND is_told", (session_id,))
        return frozenset(claim for (claim,) in rows)

    def add(self, found: FoundClaim) -> None:
        """Keep a finding; one that was told stays told. Call it inside a transaction."""
        self._database.connection.execute(
            "INSERT INTO hook_findings (session_id, claim, found_at, agent, mode, is_told, trial)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, claim) DO UPDATE"
            " SET is_told = max(is_told, excluded.is_told)",
            (
                found.session_id,
                found.claim,
                to_text(found.found_at),
                found.agent,
                found.mode,
                int(found.is_told),
                found.trial,
            ),
        )

    def since(self, moment: datetime) -> list[FoundClaim]:
        """Return what was found since then, the newest first."""
        return self._found("found_at >= ?", to_text(moment))

    def of_trial(self, number: int) -> list[FoundClaim]:
        """Return what was found during a trial, the newest first."""
        return self._found("trial = ?", number)

    def trials(self) -> list[Trial]:
        """Return the trials, the newest first."""
        rows = self._database.rows("SELECT id, began_at, ended_at, salt FROM hook_trials ORDER BY id DESC")
        return [Trial(number, known_moment(began), to_moment(ended), salt) for number, began, ended, salt in rows]

    def running(self) -> Trial | None:
        """Return the trial that runs; None without one."""
        return next((trial for trial in self.trials()[:1] if trial.ended_at is None), None)

    def begin_trial(self, now: datetime) -> None:
        """Begin a trial; call it inside a transaction."""
        self._database.connection.execute(
            "INSERT INTO hook_trials (began_at, salt) VALUES (?, ?)", (to_text(now), secrets.token_hex(_SALT_BYTES))
        )

    def end_trial(self, now: datetime) -> None:
        """End the trial that runs; call it inside a transaction."""
        self._database.connection.execute("UPDATE hook_trials SET ended_at = ? WHERE ended_at IS NULL", (to_text(now),))

    def _found(self, condition: str, value: object) -> list[FoundClaim]:
        rows = self._database.rows(
            "SELECT session_id, claim, found_at, agent, mode, is_told, trial FROM hook_findings"
            f" WHERE {condition} ORDER BY found_at DESC LIMIT {_MOST}",
            (value,),
        )
        return [
            FoundClaim(session_id, claim, known_moment(at), agent, Mode(mode), bool(told), trial)
            for session_id, claim, at, agent, mode, told, trial in rows
        ]
