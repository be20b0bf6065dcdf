"""A prior from labelled sessions, by the command that made the shipped one."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from tests.e2e.daemon_process import run_command
from tests.e2e.session_files import PERMISSION_DENIED, Turns, turns, write
from tests.strategies import json_answer, json_round, json_user


def _failed() -> Turns:
    tried = [turn for number in range(4) for turn in json_round(PERMISSION_DENIED, call_id=f"call_{number}")]
    return [json_user("Fix the date parser"), *tried, json_answer("Unfortunately I could not fix it.")]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """A folder of 80 sessions of two sources; most that end in errors failed."""
    chance = random.Random(1)
    rows = ["session_id,completed,source,task_id"]
    for number in range(80):
        well = number % 2 == 0
        write(tmp_path / "labelled", f"s{number}", turns(1 + number % 3) if well else _failed())
        completed = well if chance.random() < 0.85 else not well
        rows.append(f"s{number},{int(completed)},{'here' if number < 40 else 'there'},{number}")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    return tmp_path


def test_a_prior_of_ones_own_is_trained_measured_and_used(labelled: Path, home: Path) -> None:
    out = labelled / "prior.json"
    trained = run_command(
        home, "calibration", "train", labelled / "labelled", "--labels", labelled / "labels.csv", "--out", out
    )

    assert trained.returncode == 0, trained.stderr
    assert re.search(r"^sources tested, each left out in turn +2$", trained.stdout, re.MULTILINE)
    assert json.loads(out.read_text())["provenance"]["sessions"] == {"here": 40, "there": 40}
    likely = [_probability(home, labelled / "labelled" / f"session_s{number}.json", out) for number in (0, 1)]
    assert likely[0] > 0.5 > likely[1]


def _probability(home: Path, session: Path, prior: Path) -> float:
    graded = run_command(home, "grade", "--json", "--dry-run", session, calibration_prior=str(prior))
    assert graded.returncode == 0, graded.stderr
    likely = json.loads(graded.stdout)["grades"][0]["p_completed"]
    assert isinstance(likely, float)
    return likely


@pytest.mark.parametrize(
    ("table", "said"),
    [
        pytest.param("id,completed\n", "there is no column session_id", id="wrong-columns"),
        pytest.param("session_id,completed\ns1,1\n", "read only 1 of 1 labelled sessions", id="too-few"),
        pytest.param(
            "session_id,completed\n" + "".join(f"s{number},1\n" for number in range(80)),
            "no source has both",
            id="one-outcome",
        ),
    ],
)
def test_what_cannot_teach_is_refused_in_one_line(labelled: Path, home: Path, table: str, said: str) -> None:
    (labelled / "labels.csv").write_text(table)
    trained = run_command(home, "calibration", "train", labelled / "labelled", "--labels", labelled / "labels.csv")
    assert trained.returncode == 2
    assert said in trained.stderr
    assert trained.stderr.count("\n") == 1


def test_a_setting_that_names_no_prior_is_refused(labelled: Path, home: Path) -> None:
    graded = run_command(home, "grade", labelled / "labelled", calibration_prior=str(labelled / "labels.csv"))
    assert graded.returncode == 2
    assert "calibration_prior" in graded.stderr
