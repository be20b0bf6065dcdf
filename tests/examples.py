"""How much hypothesis tries: few examples while somebody works, some in CI, many before a release."""

from __future__ import annotations

import os
import tempfile

from hypothesis import HealthCheck, configuration, settings

_WRITTEN_FOR = 30
"""The numbers that tests ask for themselves stand beside so many examples of any other property."""

_COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", settings(max_examples=5, stateful_step_count=10, **_COMMON))  # type: ignore[arg-type]
settings.register_profile("usual", settings(max_examples=10, **_COMMON))  # type: ignore[arg-type]
settings.register_profile("many", settings(max_examples=500, stateful_step_count=200, **_COMMON))  # type: ignore[arg-type]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))
configuration.set_hypothesis_home_dir(os.path.join(tempfile.gettempdir(), "grader-daemon-hypothesis"))


def about(examples: int) -> int:
    """Return how many examples stand in this run for so many."""
    return max(1, examples * settings().max_examples // _WRITTEN_FOR)


def steps(usual: int) -> int:
    """Return how long a history of a state machine may be in this run where the usual one has so many steps."""
    return max(5, usual * settings().stateful_step_count // settings.get_profile("default").stateful_step_count)


def repeats(usual: int, *, thorough: int) -> int:
    """Return how often something is done again in this run that shows the more the longer it goes on."""
    return thorough if settings().max_examples >= settings.get_profile("many").max_examples else usual
