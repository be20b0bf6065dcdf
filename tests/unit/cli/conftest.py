"""Commands run in this process, which is ten times as fast as one of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from grader_daemon import cli


class Ended(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


class Run(Protocol):
    """Run a command in this process, in a home of its own."""

    def __call__(self, home: Path, *arguments: str | bytes) -> Ended: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(home: Path, *arguments: str | bytes) -> Ended:
        for name in [name for name in os.environ if name.startswith("GRADER_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("GRADER_VERDICT", "rules")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", ["grader-daemon", *map(os.fsdecode, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as code:
            cli.main()
        return Ended(int(code.value.code or 0), *capsys.readouterr())

    return ended


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path
