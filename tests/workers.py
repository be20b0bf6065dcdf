"""Which tests run on one worker, one after the other: those that share what is dear to start.

The groups of pytest-xdist 3.8 have no effect under pytest 9.2, whose ids of tests are no texts any more.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

_TOGETHER: Final = ("tests/pages/", "tests/e2e/service/", "tests/e2e/test_archive.py", "tests/test_every_pattern.py")
"""A browser and a home; a box with systemd; processes of Dask, which want cores;
what finds every pattern."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # without types
    """Gives each worker one test after the other, but those of `_TOGETHER` as one, and first."""

    def _split_scope(self, nodeid: str) -> str:
        return next((group for group in _TOGETHER if nodeid.startswith(group)), nodeid)
