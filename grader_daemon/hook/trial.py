"""The effect of telling: sessions that were told nothing, by chance, against those that were told. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import msgspec
import xxhash

from grader_daemon.domain.estimate import Estimate, Figure, figure, proportion
from grader_daemon.hook.store import FoundClaim, Trial

_FEWEST: Final = 5
"""Sessions on a side below which nothing is said of it."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Effect of hook messages, over sessions with findings.

    Attributes:
        told: number of ended sessions in the half with messages.
        untold: number of ended sessions in the half without messages.
        against: share of sessions whose last answer still has a contradicted claim: `now` with messages, `before`
            without
        them, and the change; no value if a half has fewer than five sessions.
    """

    told: int
    untold: int
    against: Figure


def is_drawn(trial: Trial, session_id: str) -> bool:
    """Return whether a session is one of those that are told, in the long run every second one."""
    return xxhash.xxh3_64_intdigest(f"{trial.salt}:{session_id}".encode()) % 2 == 0


def effect_of(trial: Trial, found: Iterable[FoundClaim], *, ended: Collection[str], against: Collection[str]) -> Effect:
    """Return the effect: by how a session was drawn, not by whether a word reached it in time.

    `ended` are the sessions that have ended, `against` those of them that ended with a claim against the record.
    """
    sessions = {each.session_id for each in found} & set(ended)
    told = {session_id for session_id in sessions if is_drawn(trial, session_id)}
    untold = sessions - told
    return Effect(told=len(told), untold=len(untold), against=figure(_share(told, against), _share(untold, against)))


def _share(sessions: Collection[str], against: Collection[str]) -> Estimate:
    return proportion(sum(each in against for each in sessions), len(sessions), fewest=_FEWEST)
