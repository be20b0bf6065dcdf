from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import os, sys
from grader_daemon import log
from grader_daemon.log import rotation
rotation._MOST_BYTES, rotation._EVERY = 1000, 2
log.configure(level="info", log_format="json")
for number in range(20):
    log.logger().info("x.y", number=number, filling="f" * 100)
print("to standard output")
"""


def test_a_long_log_is_begun_anew_and_one_before_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    with path.open("ab") as file:
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={"SERVICE_LOG_FILE": str(path), "PATH": ""},
            stdout=file,
            stderr=file,
            check=True,
        )

    before, now = Path(f"{path}.1").read_text(), path.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["service.log", "service.log.1"]
    assert ('"number":19' in now, now.endswith("to standard output\n"), '"number":19' in before) == (True, True, False)
    assert (1000 < len(before) < 1600, len(now) < 1600, path.stat().st_mode & 0o777) == (True, True, 0o600)


def test_another_file_than_the_service_has_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.log"
    with path.open("ab") as file:
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={"SERVICE_LOG_FILE": str(tmp_path / "other.log"), "PATH": ""},
            stdout=file,
            stderr=file,
            check=True,
        )

    assert [each.name for each in tmp_path.iterdir()] == ["mine.log"]
