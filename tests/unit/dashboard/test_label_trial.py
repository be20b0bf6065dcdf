from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.api.calibration import Calibrations
from grader_daemon.bootstrap import utc_now
from grader_daemon.dashboard.label_trial import LabelTrial
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.waiting import wait_until


@pytest.fixture
def trial(tmp_path: Path) -> LabelTrial:
    SqliteStore(tmp_path / "grades.db").close()
    return LabelTrial(load_settings(db_path=str(tmp_path / "grades.db")), utc_now)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_trial_that_ends_by_a_fault_of_ours_goes_on_no_longer(
    trial: LabelTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Calibrations, "try_out", lambda _: 1 / 0)

    assert trial.of(1).goes_on
    wait_until(lambda: not trial.goes_on, "the trial ended")

    assert "fault in grader-daemon" in str(trial.of(1).failed)
    assert trial.of(2).goes_on
    wait_until(lambda: not trial.goes_on, "the trial ended")
