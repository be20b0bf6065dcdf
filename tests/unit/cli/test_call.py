from __future__ import annotations

import errno
import os

import click
import pytest

from grader_daemon import cli


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
        cli.call(command, "test")

    assert capsys.readouterr().err == told
