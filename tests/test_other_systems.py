"""The package where the system lacks what only Linux has: it is imported, and does without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_ROOMS = (
    "system",
    "service/test_launchd.py",
    "daemon/test_watcher.py",
    "hook",
    "sources/openclaw",
    "sources/test_sqlite_files.py",
)
"""Rooms of `tests/unit` that depend on the system."""

_IMPORT_ALL = """
import importlib, pkgutil
import tests.darwin
import grader_daemon
found = [each.name for each in pkgutil.walk_packages(grader_daemon.__path__, "grader_daemon.")]
failed = []
for name in found:
    try:
        name.endswith("__main__") or importlib.import_module(name)
    except AttributeError as error:
        failed.append((name, str(error)))
    except ImportError as error:  # of an extra
        assert "grader_daemon" not in str(error), error
print(len(found), failed)
"""


def test_every_module_is_imported_without_what_only_linux_has() -> None:
    ended = _python("-W", "error", "-c", _IMPORT_ALL)

    found, _, failed = ended.stdout.partition(" ")
    assert (int(found) > 400, failed) == (True, "[]\n"), ended.stderr


@pytest.mark.thorough
def test_what_depends_on_the_system_holds_by_the_calls_of_macos() -> None:
    rooms = [f"tests/unit/{room}" for room in _ROOMS]
    ended = _python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.darwin", "-m", "not slow", *rooms)

    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-20_000:]


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "CI"))}
    environment |= {"HYPOTHESIS_PROFILE": "few"}
    return subprocess.run(
        [sys.executable, *words], cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
