"""Nobody reads what is printed: that is no error of anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon_process import environment

_TAB = {"_GRADER_DAEMON_COMPLETE": "bash_complete", "COMP_WORDS": "grader-daemon sh", "COMP_CWORD": "1"}


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        pytest.param(["--help"], {}, id="help"),
        pytest.param(["list", "--help"], {}, id="help-of-a-command"),
        pytest.param(["grade", "--demo"], {"PYTHONUNBUFFERED": "1"}, id="demo-that-a-thread-tells-of"),
        pytest.param([], _TAB, id="completion"),
    ],
)
def test_a_pipe_that_nobody_reads_is_no_error(home: Path, arguments: list[str], variables: dict[str, str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    ended = subprocess.run(
        [sys.executable, "-m", "grader_daemon", *arguments],
        env={**environment(home, {}), **variables},
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    os.close(writes)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_demo_whose_reader_leaves_in_the_middle_ends_in_order(home: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "grader_daemon", "grade", "--demo"],
        env=environment(home, {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None

    for _ in range(3):
        process.stdout.readline()
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()

    assert told == ""
    process.wait()
