"""Commands run in this process, which is ten times as fast as one of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from grader_daemon import cli
from grader_daemon.cli.times import show_times_in
from tests import demo_home
from tests.postgres import Server, serving


class Ended(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


class Run(Protocol):
    """Run a command in this process, in a home of its own."""

    def __call__(self, home: Path, *arguments: str | bytes) -> Ended: ...


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """Commands of this process show times in the zone that they were given; the next test is in its own."""
    yield
    show_times_in(None)


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


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the grades of the demo."""
    folder = tmp_path_factory.mktemp("made")
    demo_home.make(folder)
    return folder


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    """A PostgreSQL, in which other tests may have left something: `Server.empty` removes it."""
    with serving() as server:
        yield server
