"""State of hooks: who asks, what was found, whether telling helps."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import AGAINST
from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.hook.installation import Hooks
from grader_daemon.hook.store import HookTable, Trial
from grader_daemon.hook.trial import Effect, effect_of
from grader_daemon.storage.sqlite.store import SqliteStore


class InstalledHook(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's hook: its mode, its file, and whether it is still there."""

    agent: str
    mode: Mode
    file: str
    stands: bool


class HookState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the hooks.

    Attributes:
        hooks: the installed hooks.
        found: number of claims that the record contradicted.
        told: number of contradicted claims that the hook showed to the agent.
        sessions: number of sessions with such a claim.
        trial_runs: whether a trial is running.
        effect: result of the last trial, or the interim result of a running one; None without a trial.
    """

    hooks: tuple[InstalledHook, ...]
    found: int
    told: int
    sessions: int
    trial_runs: bool
    effect: Effect | None


def hook_state(store: SqliteStore | None, hooks: Hooks, *, since: datetime) -> HookState:
    """Return how it stands; findings are counted from `since` on. Without a database there are none.

    Raises:
        InputError: a file of settings cannot be read.
        StoreError: the database cannot be read.
    """
    found = [] if store is None else HookTable(store).since(since)
    last = None if store is None else next(iter(HookTable(store).trials()), None)
    return HookState(
        hooks=tuple(
            InstalledHook(agent=hook.agent, mode=hook.mode, file=hook.file, stands=hooks.stands(hook))
            for hook in hooks.installed()
        ),
        found=len(found),
        told=sum(each.is_told for each in found),
        sessions=len({each.session_id for each in found}),
        trial_runs=last is not None and last.ended_at is None,
        effect=None if store is None or last is None else _effect(store, last),
    )


def _effect(store: SqliteStore, trial: Trial) -> Effect:
    found = HookTable(store).of_trial(trial.number)
    stored = store.grades.stored(sorted({each.session_id for each in found}))
    ended = {name: each.grade for name, each in stored.items() if each.grade.state is not SessionState.OPEN}
    against = {name for name, grade in ended.items() if any(claim.support in AGAINST for claim in grade.claims)}
    return effect_of(trial, found, ended=ended.keys(), against=against)
