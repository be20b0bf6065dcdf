"""Select the session to ask a person about next: by turns any, and the one that teaches most.

Sessions of which the model is unsure, or on which judges disagree, are worth most to learn from (uncertainty sampling:
Lewis and Gale, SIGIR 1994). They say nothing of how good the verdicts are in general, nor of how many tasks get done;
for that, every other one is drawn by chance from all, and marked as such.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import Final

from grader_daemon.domain.feedback import Candidate, Sampling

_DISAGREEMENT: Final = 0.5
"""Addition for two judges that disagree; 1 is a probability right at the threshold."""


def choose(
    candidates: Sequence[Candidate],
    *,
    by_chance: bool,
    threshold: float,
    disputed: Collection[str],
    known_requests: Collection[int],
    chance: Random,
) -> tuple[Candidate, Sampling] | None:
    """Return the session to ask about, and whether it was drawn by chance; None without candidates.

    `by_chance` says that it is the turn of chance. `threshold` is the probability from which on the model says
    "completed", `disputed` are sessions on whose quality a scorer disagrees. An uncertain session is not asked about
    when its request is one of `known_requests`. Where no session teaches more than another, chance decides.
    """
    if not candidates:
        return None
    if not by_chance:
        fresh = [each for each in candidates if each.request is None or each.request not in known_requests]
        weighed = [(_teaches(each, threshold, disputed), chance.random(), each) for each in fresh]
        best = max(weighed, key=lambda each: each[:2], default=None)
        if best is not None and best[0] > 0:
            return best[2], Sampling.UNCERTAIN
    return chance.choice(sorted(candidates, key=lambda each: each.session_id)), Sampling.RANDOM


def _teaches(candidate: Candidate, threshold: float, disputed: Collection[str]) -> float:
    """Return how much its label would teach: 0 (nothing is known to be unsure) to 2."""
    likely = candidate.p_completed
    closeness = 0.0 if likely is None else 1 - min(1.0, abs(likely - threshold) / max(threshold, 1 - threshold))
    by_model = candidate.completed if likely is None else likely >= threshold
    differs = candidate.rules_completed is not None and by_model != candidate.rules_completed
    return closeness + _DISAGREEMENT * differs + _DISAGREEMENT * (candidate.session_id in disputed)
