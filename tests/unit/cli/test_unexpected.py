"""What nobody thought of is told in one line."""

from __future__ import annotations

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

    monkeypatch.setattr("grader_daemon.cli.help.command.callback", fail)
    ended = run(home, "help")
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, is_asked)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("grader-daemon: a bug in grader-daemon: TypeError: 'NoneType' object is not subscriptable;")
    assert is_asked or len(ended.stderr.splitlines()) == 1
