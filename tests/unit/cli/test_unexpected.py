"""What nobody thought of is told in one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


@pytest.mark.parametrize("is_asked", [False, True])
def test_a_foreign_exception_is_one_line_and_a_traceback_only_if_asked(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, is_asked: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        if is_asked:
            monkeypatch.setenv("GRADER_TRACEBACK", "1")
        raise TypeError("'NoneType' object\nis not subscriptable")

    monkeypatch.setattr("grader_daemon.cli.config.path.callback", fail)
    ended = run(home, "config", "path")
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, is_asked)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("grader-daemon: a bug in grader-daemon: TypeError: 'NoneType' object is not subscriptable;")
    assert is_asked or len(ended.stderr.splitlines()) == 1


@pytest.fixture
def pipe(home: Path) -> Path:
    """A pipe to which nobody writes: to open it would wait for ever."""
    os.mkfifo(home / "pipe")
    return home / "pipe"


def test_a_database_that_is_no_file_is_told_in_one_line(pipe: Path, home: Path, run: Run) -> None:
    for path in (pipe, Path("/dev/null")):
        for command in (["list"], ["status"], ["report"], ["backup", "create", str(home / "copy")]):
            ended = run(home, *command, "--db-path", str(path))
            assert (ended.returncode, ended.stdout) == (2, "")
            assert f"{path}: it is a folder, a device or a pipe; set db_path to a file" in ended.stderr


def test_a_database_that_may_not_be_read_is_told_in_one_line(
    home: Path, run: Run, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    closed = home / "closed"
    closed.mkdir(0)
    for command in (["list"], ["status"], ["report"], ["dashboard", "--port", "0"]):
        with rights_of_owner():
            ended = run(home, *command, "--db-path", str(closed / "grades.db"))
        assert (ended.returncode, ended.stdout) == (2, ""), command
        assert ended.stderr == (
            f"grader-daemon: database {closed}/grades.db: cannot be read: permission denied; check the mode of its"
            " folder\n"
        )


def test_the_mode_of_a_pipe_is_left_alone(pipe: Path, home: Path, run: Run) -> None:
    pipe.chmod(0o666)

    checked = run(home, "doctor", "--repair", "--db-path", str(pipe)).stdout

    assert "is a link, a folder or a device" in checked
    assert "chmod" not in checked
    assert stat.S_IMODE(pipe.stat().st_mode) == 0o666
