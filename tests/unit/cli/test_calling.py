from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

import click
import pytest

from grader_daemon.cli.calling import call
from grader_daemon.cli.parsing import parsed


@pytest.fixture(autouse=True)
def _no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the tests' own program are not for the command."""
    monkeypatch.setattr("sys.argv", ["test"])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/var/grades.lock"),
            "test: /var/grades.lock: No space left on device\n",
            id="with-a-file",
        ),
        pytest.param(OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "test: Too many open files\n", id="without"),
        pytest.param(TimeoutError("timed out"), "test: timed out\n", id="in-words-alone"),
    ],
)
def test_a_trouble_of_the_system_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: OSError, told: str
) -> None:
    """Not as one of printing: whoever reads that looks at the wrong disk."""
    monkeypatch.setattr("grader_daemon.cli.output.abandon", lambda: None)

    @click.command
    def command() -> None:
        raise error

    with pytest.raises(SystemExit, match="2"):
        call(partial(parsed, command, "test"), "test")

    assert capsys.readouterr().err == told


def test_a_folder_that_was_deleted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader_daemon.cli.output.abandon", lambda: None)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(SystemExit, match="2"):
        call(lambda: Path("x").absolute(), "test")

    assert capsys.readouterr().err == "test: the current folder was deleted; change to another folder\n"


def test_names_of_files_must_be_utf_8(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")

    with pytest.raises(SystemExit, match="2"):
        call(lambda: pytest.fail("it began"), "test")

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("test: Python reads file names as ascii")
    assert "PYTHONUTF8=1" in line


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(0o777, 0o077, id="nobody-may-anything"),
        pytest.param(0o022, 0o022, id="usual"),
        pytest.param(0o127, 0o027, id="no-folder-could-be-entered"),
    ],
)
def test_the_owner_keeps_rights_whatever_the_umask(given: int, kept: int) -> None:
    before = os.umask(given)
    try:
        with pytest.raises(SystemExit):
            call(lambda: 0, "test")
    finally:
        left = os.umask(before)

    assert left == kept
