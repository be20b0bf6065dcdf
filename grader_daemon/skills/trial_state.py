"""State of trials: where each file is, and what the sessions of each side have shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

import msgspec

from grader_daemon.domain.routing import FinishedSession
from grader_daemon.patterns.votes import comparable_value, fairly_judged, nearly_all_judged
from grader_daemon.pipeline.save_labels import labels
from grader_daemon.skills.switched_file import Position, position_of
from grader_daemon.skills.trial_effect import Drawn, TrialEffect, effect_of
from grader_daemon.skills.trial_file import Trial, TrialEnd
from grader_daemon.storage.sqlite.store import SqliteStore

_MOST_SESSIONS: Final = 5_000


class TrialState(msgspec.Struct, frozen=True, kw_only=True):
    """A trial and its effect so far.

    name: the skill's, or the file's.
    agent: whose sessions are compared.
    path: the file that is switched, or the link.
    began_at, ended_at: when; None while it runs.
    end: reason for its end: stopped by you; edited, replaced, gone or moved: the file is not as it was; full: it has
        5,000 draws. None while it runs.
    position: the file is on (in its place) or off; or edited, replaced or gone; None if a later trial has the file.
    draws: number of draws.
    last_draw: when the last one was; None before the first.
    by_labels: it compares labels that nobody chose to give, because nearly all sessions have one; else bad endings.
    effect: the effect on sessions.
    """

    name: str
    agent: str
    path: str
    began_at: datetime
    ended_at: datetime | None
    end: TrialEnd | None
    position: Position | None
    draws: int
    last_draw: datetime | None
    by_labels: bool
    effect: TrialEffect


class TrialStates(msgspec.Struct, frozen=True, kw_only=True):
    """All trials, the newest first."""

    trials: tuple[TrialState, ...]


def trial_states(store: SqliteStore | None, trials: Sequence[Trial]) -> TrialStates:
    """Return the state of trials. Without a database no session is known.

    Raises:
        StoreError: the database cannot be read.
    """
    fair = frozenset[str]() if store is None else fairly_judged(labels(store))
    last = {trial.file.path: trial.number for trial in trials}
    return TrialStates(
        trials=tuple(
            _state(store, trial, fair, has_file=last[trial.file.path] == trial.number) for trial in trials[::-1]
        )
    )


def _state(store: SqliteStore | None, trial: Trial, fair: Collection[str], *, has_file: bool) -> TrialState:
    sessions = [] if store is None else _sessions(store, trial)
    by_labels = bool(sessions) and nearly_all_judged([session for _, session in sessions], fair)
    return TrialState(
        name=trial.name,
        agent=trial.agent,
        path=trial.file.path,
        began_at=trial.began_at,
        ended_at=trial.ended_at,
        end=trial.end,
        position=position_of(trial.file) if has_file else None,
        draws=len(trial.draws),
        last_draw=trial.draws[-1].at if trial.draws else None,
        by_labels=by_labels,
        effect=effect_of(_drawn(trial, sessions, fair, by_labels=by_labels)),
    )


def _sessions(store: SqliteStore, trial: Trial) -> list[tuple[datetime, FinishedSession]]:
    """Return the finished tasks of the agent since a trial began, each with its start."""
    tasks = store.grades.finished_tasks(since=trial.began_at, limit=_MOST_SESSIONS)
    known = {task.session_id: task for task in tasks if task.agent == trial.agent}
    stored = store.grades.stored(list(known))
    starts = [(each.grade.session_start, known[session_id]) for session_id, each in stored.items()]
    return [(start, task) for start, task in starts if start is not None]


def _drawn(
    trial: Trial, sessions: Sequence[tuple[datetime, FinishedSession]], fair: Collection[str], *, by_labels: bool
) -> list[Drawn]:
    """Return the draws with their sessions: those that started after one, until the next.

    How long a session went on makes no difference: to leave out long ones would compare other work on one side than on
    the other. A draw with a later time than one after it was made before the clock was set back: from then on it ends.
    """
    value = comparable_value([task for _, task in sessions], fair)
    begins = list(accumulate((draw.at for draw in reversed(trial.draws)), min))[::-1]
    failed: list[list[bool]] = [[] for _ in trial.draws]
    for start, task in sessions:
        is_known = task.ended_badly is not None or (by_labels and task.session_id in fair)
        latest = start if start.microsecond else start.replace(microsecond=999_999)  # some agents write whole seconds
        place = bisect_right(begins, latest) - 1
        if is_known and place >= 0 and (trial.ended_at is None or start < trial.ended_at):
            failed[place].append(value(task) < 1)
    return [
        Drawn(draw.on, len(each), sum(each)) for draw, each in zip(trial.draws, failed, strict=True) if draw.is_done
    ]
