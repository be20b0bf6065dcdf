"""``service`` and ``fleet install`` where there is no systemd: one line, which says what to do instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command",
    [*(["service", each] for each in ("install", "uninstall", "status", "logs")), ["fleet", "service-status"]],
    ids=" ".join,
)
def test_a_machine_without_systemd_is_told_what_to_do(tmp_path: Path, command: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "grader_daemon", *command],
        env={"HOME": str(tmp_path), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        "run `grader-daemon run`, `dashboard`, `fleet push --follow` or `fleet serve` in the foreground" in ended.stderr
    )
    assert ended.stderr.count("\n") == 1
    assert [place.name for place in tmp_path.iterdir()] in ([], [".cache"])
