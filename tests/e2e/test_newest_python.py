"""The newest Python that can be had: everything is imported there without a warning, and grades."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.needs import require_newest_python

_ROOT = Path(__file__).parents[2]
_ROOMS = (
    "tests/unit/system",
    "tests/unit/daemon/test_watcher.py",
    "tests/unit/log",
    "tests/unit/sources/openclaw",
    "tests/unit/sources/test_sqlite_files.py",
)
"""What depends on the system, on packages with compiled parts, and on how a process ends."""


def test_the_newest_python_grades_a_session_that_it_watches() -> None:
    _run("-m", "grader_daemon", "grade", "--demo")


@pytest.mark.thorough
def test_what_depends_on_the_system_holds_on_the_newest_python() -> None:
    _run("-m", "pytest", "-q", "-p", "no:cacheprovider", *_ROOMS)


@pytest.mark.releases
@pytest.mark.timeout(3600)
def test_all_fast_tests_hold_on_the_newest_python() -> None:
    chosen = ("-m", "not slow and not releases and not thorough", "tests/unit", "tests/test_sql.py")
    _run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count()), *chosen, within=3500)


def _run(*words: str, within: float = 500) -> None:
    """Run a module in that Python, where a warning is an error; it must end well."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment |= {"HYPOTHESIS_PROFILE": "few", "PYTHONWARNINGS": "error"}
    ended = subprocess.run(
        [require_newest_python(), *words],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-20_000:]
