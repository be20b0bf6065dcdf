"""The reward of a run, as Harbor keeps it beside the run: what a verifier gave it, in a scale of its own.

``verifier/reward.json`` has it by name, ``verifier/reward.txt`` alone, ``result.json`` among all of the trial. It is no
part of the trajectory, and comes after it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import msgspec

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import GraderError
from grader_daemon.sources.file_reading import read_as_is

REWARD_FILES = ("verifier/reward.json", "verifier/reward.txt", "result.json")
"""Paths below the folder of a trial; the first that says something counts."""

_NAME = "reward"
_LIMITS = Limits(bytes=1_000_000)


class _Verified(msgspec.Struct, frozen=True):
    rewards: dict[str, float] | None = None


class _Trial(msgspec.Struct, frozen=True):
    verifier_result: _Verified | None = None


_TRIAL = msgspec.json.Decoder(_Trial).decode
_NAMED = msgspec.json.Decoder(dict[str, float] | float).decode


def read_reward(trial: str, roots: Sequence[str]) -> float | None:
    """Return the reward of a trial; None where there is none yet, or none that is one number.

    Args:
        trial: its folder.
        roots: below them no links are followed.
    """
    for name in REWARD_FILES:
        reward = _read(os.path.join(trial, name), roots)
        if reward is not None:
            return reward
    return None


def _read(path: str, roots: Sequence[str]) -> float | None:
    try:
        return _number(path, read_as_is(path, limits=_LIMITS, roots=roots))
    except (GraderError, msgspec.DecodeError, ValueError, RecursionError):
        return None  # not there, or not whole yet: then it is told again when it is written


def _number(path: str, content: bytes) -> float | None:
    """Return the one number in a file.

    Raises:
        msgspec.DecodeError, ValueError, RecursionError: it holds something else.
    """
    if path.endswith(".txt"):
        found: dict[str, float] | float | None = float(content)
    elif path.endswith(REWARD_FILES[0]):
        found = _NAMED(content)
    else:
        verified = _TRIAL(content).verifier_result
        found = verified.rewards if verified is not None else None
    if isinstance(found, dict):
        found = found.get(_NAME, next(iter(found.values())) if len(found) == 1 else None)
    return found if found is not None and math.isfinite(found) else None
