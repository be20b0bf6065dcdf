"""The command that sends grades: what it does beside the sending."""

from __future__ import annotations

import gc
from inspect import unwrap
from pathlib import Path

import pytest

from grader_daemon.api.grader import SelfGrader
from grader_daemon.domain.exported import Exported
from grader_daemon.fleet import push_command


class _Export:
    """What sends nothing, and notes how often cycles are looked for."""

    def __init__(self) -> None:
        self.threshold = 0

    def run(self) -> Exported:
        self.threshold = gc.get_threshold()[0]
        return Exported()

    def close(self) -> None:
        pass


def test_cycles_are_looked_for_rarely_while_grades_are_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    export, before = _Export(), gc.get_threshold()
    monkeypatch.setattr(push_command, "fleet_push", lambda *_, **__: export)
    assert push_command.command.callback is not None

    with SelfGrader(db_path=tmp_path / "grades.db") as grader:
        unwrap(push_command.command.callback)(grader=grader, follow=False, take_over=False, as_json=False)

    assert "Sent 0 sessions." in capsys.readouterr().out
    assert export.threshold == 100_000
    assert gc.get_threshold() == before
