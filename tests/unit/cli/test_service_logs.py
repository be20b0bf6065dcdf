from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def empty_journal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journalctl that finds nothing, as without systemd."""
    (home / "bin").mkdir()
    (home / "bin/journalctl").write_text("#!/bin/sh\n")
    (home / "bin/journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")


def test_a_log_that_is_not_there_is_told(home: Path, run: Run) -> None:
    ended = run(home, "service", "logs")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "grader-daemon: no log of the service was found; see: grader-daemon service status\n"


def test_a_log_without_problems_is_no_failure(home: Path, run: Run) -> None:
    """Whether there is any line of another priority, nobody asked."""
    ended = run(home, "service", "logs", "-p", "warning")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "No line of level warning or worse.\n")
