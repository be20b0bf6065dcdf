"""Which tests run on one worker, one after the other: those of a file, where they need no processes of their own.

The groups of pytest-xdist 3.8 have no effect under pytest 9.2, whose ids of tests are no texts any more.
"""

from __future__ import annotations

from typing import Any, Final

from xdist.scheduler import LoadScopeScheduling

from tests.needs import is_fetching

_APART: Final = ("tests/e2e/",)
"""Here most tests start what they need, and wait for it: each may go to another worker."""

_TOGETHER: Final = (
    "tests/pages/",
    "tests/e2e/service/",
    "tests/e2e/faults/test_fleet.py",
    "tests/e2e/test_archive.py",
    "tests/e2e/test_bad_files.py",
    "tests/e2e/test_documents.py",
    "tests/e2e/test_fleet_certificates.py",
    "tests/e2e/test_hostile_sessions.py",
    "tests/e2e/test_prometheus.py",
    "tests/e2e/test_replays.py",
    "tests/e2e/test_table_readers.py",
    "tests/e2e/test_terminal.py",
    "tests/e2e/test_upgrade.py",
)
"""A browser and a home; a box with systemd; a PostgreSQL; processes of Dask, which want cores; a daemon or a home.

They come first, once what they need is fetched: each lasts minutes, and the last one would have the others wait."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # without types
    """Gives each worker one file after the other, those with most tests first behind groups; a group counts as one."""

    def _assign_work_unit(self, node: Any) -> None:
        first = self._alone() if is_fetching() else (group for group in _TOGETHER if group in self.workqueue)
        chosen = next(iter(first), None)
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _alone(self) -> list[str]:
        """Return what needs no program of others, in the order of the queue."""
        return [each for each in self.workqueue if each.startswith("tests/unit/") and "fleet" not in each]

    def _split_scope(self, nodeid: str) -> str:
        alone = nodeid if nodeid.startswith(_APART) else nodeid.partition("::")[0]
        return next((group for group in _TOGETHER if nodeid.startswith(group)), alone)
