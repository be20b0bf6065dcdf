"""Small programs that a test has run, and the moment at which their time begins."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.integrations import run_program
from tests.waiting import wait_until

WITH_A_CHILD = (
    "import os, subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
    "open(sys.argv[1] + '.new', 'w').write(f'{os.getpid()} {child.pid}')\n"
    "os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
)
"""Starts another program, and then says in the file that it is given which process is itself and which is the other."""


def begin_time_when(monkeypatch: pytest.MonkeyPatch, is_ready: Callable[[], bool]) -> None:
    """Let the time that a program has begin when it is where the test wants it, however long that takes."""
    start = run_program._start

    def start_and_wait(*arguments: Any, **named: Any) -> subprocess.Popen[bytes]:
        process = start(*arguments, **named)
        wait_until(is_ready, "the program to be ready")
        return process

    monkeypatch.setattr(run_program, "_start", start_and_wait)


def is_running(pid: int) -> bool:
    """Zombies do not run: nobody may be there to bury them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
