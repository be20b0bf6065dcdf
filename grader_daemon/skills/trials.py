"""Trials of skills and prompt files: begun, drawn before each session, and stopped.

A draw is made by the command that starts a session, and not by the daemon, which cannot write where agents read
(docs/decisions.md). A session holds a lock until its process ends, so nothing is switched below it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from grader_daemon.errors import InputError, NotFoundError, OutputError
from grader_daemon.skills.switched_file import Position, position_of, put_back, switched_file, take_away
from grader_daemon.skills.trial_file import Draw, Trial, TrialEnd, TrialFile, is_free, share
from grader_daemon.skills.trial_names import Subject

_MOST_DRAWS: Final = 5_000
_ENDS: Final = {Position.EDITED: TrialEnd.EDITED, Position.REPLACED: TrialEnd.REPLACED, Position.GONE: TrialEnd.GONE}


def fair_coin() -> bool:
    """Return true or false, each with the same chance."""
    return secrets.randbits(1) == 1


class Trials:
    """The trials of one file of them."""

    def __init__(self, file: TrialFile, *, clock: Callable[[], datetime], coin: Callable[[], bool] = fair_coin) -> None:
        self._file = file
        self._clock = clock
        self._coin = coin

    def start(self, subject: Subject) -> Trial:
        """Begin a trial; nothing is switched before its first session.

        Raises:
            InputError: one of this name or file runs, or the file cannot be switched.
            OutputError: it cannot be written down.
        """
        with self._file.changing():
            known = self._file.trials()
            for trial in known:
                if trial.runs and (trial.name == subject.name or trial.file.path == subject.path):
                    raise InputError(f"a trial of {trial.name} runs: {trial.file.path}")
            begun = Trial(
                number=max((trial.number for trial in known), default=0) + 1,
                name=subject.name,
                agent=subject.agent,
                file=switched_file(subject.path),
                began_at=self._clock(),
            )
            self._file.save(begun)
        return begun

    @contextmanager
    def session(self, name: str) -> Iterator[Trial | None]:
        """Draw for a session that this process starts, or becomes; None if no trial of this name runs.

        While another session of the trial goes on, the last draw stands.

        Raises:
            GraderError: it cannot be drawn; the file is as it was, or the next draw mends it.
        """
        if not self._file.running(name):
            yield None
            return
        with ExitStack() as held:
            with self._file.changing():
                running = self._file.running(name)
                drawn = self._joined(running[0], held) if running else None
            yield drawn

    def stop(self, name: str | None) -> list[tuple[Trial, bool]]:
        """End the trial of this name, or all; each with whether its file is in its place.

        Raises:
            NotFoundError: none runs.
            OutputError: a file cannot be put back, or that not be written down; the other trials are over.
        """
        failed: OutputError | None = None
        stopped: list[tuple[Trial, bool]] = []
        with self._file.changing():
            found = self._file.running(name)
            if not found:
                raise NotFoundError("no trial runs" if name is None else f"no trial of {name} runs")
            for trial in found:
                try:
                    stopped.append((self._ended(trial, TrialEnd.STOPPED), _is_in_place(trial)))
                except OutputError as error:
                    failed = failed or error
        if failed is not None:
            raise failed
        return stopped

    def _joined(self, trial: Trial, held: ExitStack) -> Trial:
        """Have a session join those of a trial, and draw if it is the only one."""
        lock = self._file.session_lock(trial)
        held.callback(os.close, lock)
        drawn = self._drawn(trial) if is_free(lock) else trial
        share(lock)
        return drawn

    def _drawn(self, trial: Trial) -> Trial:
        position = position_of(trial.file)
        end = _ENDS.get(position) or _moved(trial, position)
        if end is None and len(trial.draws) >= _MOST_DRAWS:
            end = TrialEnd.FULL
        if end is not None:
            return self._ended(trial, end)
        draw = Draw(at=self._clock(), on=self._coin())
        self._file.save(replace(trial, draws=(*trial.draws, draw)))
        if draw.on:
            put_back(trial.file)
        elif position is Position.ON:
            take_away(trial.file)
        drawn = replace(trial, draws=(*trial.draws, replace(draw, is_done=True)))
        self._file.save(drawn)
        return drawn

    def _ended(self, trial: Trial, end: TrialEnd) -> Trial:
        """Move the file back, then note the end; after a kill between the two, the next session does both."""
        put_back(trial.file)
        ended = replace(trial, ended_at=self._clock(), end=end)
        self._file.save(ended)
        return ended


def _moved(trial: Trial, position: Position) -> TrialEnd | None:
    """Return that somebody moved the file by hand, if it is not where the last draw that was done left it."""
    is_on = trial.draws[-1].on if trial.draws else True
    if trial.draws and not trial.draws[-1].is_done:
        return None
    return None if is_on is (position is Position.ON) else TrialEnd.MOVED


def _is_in_place(trial: Trial) -> bool:
    return position_of(trial.file) in (Position.ON, Position.EDITED)
