"""What `python -m tests.benchmarks.estimates` makes of a few sessions, and of simulated homes."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from tests.benchmarks.estimates import Home, homes_of, main, week
from tests.benchmarks.truth.cases import read_cases
from tests.benchmarks.truth.predicted import pools_of
from tests.integration.test_validity_benchmark import write_places

HOME = Home("a", [0.6, 0.7], [0.3, 0.4], 0.5)


@pytest.mark.thorough
def test_all_tables_and_targets_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(write_places(tmp_path, ("a", "b"))), "--quick", "--jobs", "1"])
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("## ")] == [
        "## The rate of a week of 300 sessions, labels by chance in each of eight weeks",
        "## A guess of the level that is off, worth 8 labels",
        "## Targets",
    ]
    assert len(re.findall(r" (?:met|MISSED)$", printed, re.MULTILINE)) == 10


def test_places_are_predicted_by_what_other_families_teach(tmp_path: Path) -> None:
    cases = read_cases([write_places(tmp_path, ("a", "b"))], jobs=1)
    pools = pools_of(cases)
    assert {name: len(pool) for name, pool in pools.items()} == {"place_a": 108, "place_b": 108}
    assert [home.name for home in homes_of(pools)][:2] == ["place_a", "place_b"]
    done, failed = (
        [each.likely for each in pools["place_a"] if each.completed is outcome] for outcome in (True, False)
    )
    assert sum(done) / len(done) > sum(failed) / len(failed)


def test_a_week_is_of_the_rate_that_a_trial_wants() -> None:
    made = week(HOME, 0.8, Random(1), labels=20, sessions=2000)
    assert (len(made.judged), len(made.rest)) == (20, 1980)
    assert made.truth == pytest.approx(0.8, abs=0.03)
    assert made.sessions.predicted == pytest.approx(1980 * (0.8 * 0.65 + 0.2 * 0.35), rel=0.03)
