"""Which tests ``python -m tests fast`` runs: of those in `PLACES`, all but the functions in `tests/data/slow.txt`.

Run ``python -m tests.slow`` to measure the tests and write that list anew. The quickest tests are run as long as they
need at most a sixth of the time of all; a function counts by the mean of its cases. A share does not depend on how fast
or how busy the machine is.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

PLACES = (
    "tests/unit",
    "tests/test_architecture.py",
    "tests/test_docs.py",
    "tests/test_reference.py",
    "tests/test_signatures.py",
    "tests/test_sql.py",
)
"""What needs no process of its own, and what most changes break."""

_LIST = Path(__file__).parent / "data" / "slow.txt"
_SHARE = 1 / 6
"""Of the time of all tests in these places."""


def function_of(nodeid: str) -> str:
    """Return the id of a test without its case."""
    return nodeid.partition("[")[0]


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the list as slow."""
    slow = frozenset(_LIST.read_text().split())
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker("slow")


def slowest(seconds: Mapping[str, list[float]]) -> list[str]:
    """Return the functions, of which each has the seconds of its cases, that do not fit into the share."""
    left = _SHARE * sum(map(sum, seconds.values()))
    slow = []
    for function, cases in sorted(seconds.items(), key=lambda each: sum(each[1]) / len(each[1])):
        left -= sum(cases)
        if left < 0:
            slow.append(function)
    return sorted(slow)


class _Clock:
    """Sums up how long setup, call and teardown of each test took."""

    def __init__(self) -> None:
        self._cases: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._cases[report.nodeid] = self._cases.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        seconds: dict[str, list[float]] = {}
        for nodeid, spent in self._cases.items():
            seconds.setdefault(function_of(nodeid), []).append(spent)
        _LIST.write_text("".join(f"{function}\n" for function in slowest(seconds)))


def pytest_configure(config: pytest.Config) -> None:
    """Measure where this module is given as a plugin, in the process that hands out the tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Clock())


if __name__ == "__main__":
    command = ("pytest", "-q", "-p", "tests.slow", "-n", "2", "-m", "not releases and not thorough", *PLACES)
    sys.exit(subprocess.run([sys.executable, "-m", *command], check=False).returncode)
