"""Databases that real Hermes agents wrote, each session beside what the script of its model's server says of it."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SessionKind
from grader_daemon.domain.unit import Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.examine import Examiner, GradedUnit
from grader_daemon.rules import load_rules
from grader_daemon.sources.hermes.hermes_source import Hermes
from grader_daemon.sources.protocol import Sources
from tests.strategies import NOW

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "sources" / "hermes_state_db"

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir() and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

HOMES = ("v13", "v13_kill", "v15", "v15_kill", "v19", "v19_c", "v19_live_wal", "v19_with_json", "v30_synthetic")
DEVIATIONS = {
    ("compress", "v13"): {"calls": 13},
    ("compress", "v15"): {"calls": 13},
    ("kill9", "v13_kill"): {"calls": 1},
    ("kill9", "v15_kill"): {"calls": 0},
    ("long60", "v19"): {"failures": 0},
    ("long60", "v30_synthetic"): {"failures": 0},
}
"""By the run and the home; see docs/agents.md for the reasons."""

STATES = {"api_400": False, "kill9": False, "sigint": False, "sigterm": False}
"""Runs that were cut short; all others ended in an answer."""

BY_KEYS = ("inter", "sigterm")
"""Runs of which the script does not say what was done."""

NOT_COMPARED = frozenset(
    (
        *("session_file", "unit_key", "session_start", "duration_seconds", "ended_at", "kind", "parent", "undone"),
        *("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_usd"),
        "tools_digest",
    )
)
"""What one of the two does not say, or by another clock."""


class Home(NamedTuple):
    path: Path
    expected: dict[str, dict[str, Any]]
    sources: Sources


def examiner(sources: Sources) -> Examiner:
    return Examiner(
        load_rules(None), CompletionPolicy(), sources, zone=UTC, idle=timedelta(minutes=30), limits=Limits()
    )


def home_of(sample: str, folder: Path) -> Home:
    """Copy a home, as what is read may be changed only by whoever owns it."""
    path = folder / sample
    shutil.copytree(SAMPLES / sample, path, copy_function=shutil.copyfile)
    for file in path.glob("sessions/*"):
        os.utime(file, (1_795_360_000, 1_795_360_000))
    expected = json.loads((path / "EXPECTED.json").read_text())["sessions"]
    return Home(path, expected, Sources([Hermes([str(path)], zone=UTC, limits=Limits())]))


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_of(request.param, tmp_path)


def grades(home: Home) -> dict[str, Grade]:
    judge, found = examiner(home.sources), [each for walk in home.sources.walks() for each in walk]
    examined = [judge.examine(each.unit, now=NOW.replace(year=NOW.year + 1)) for each in found]
    graded = [each.grade for each in examined if isinstance(each, GradedUnit)]
    assert len(graded) == len({grade.session_id for grade in graded})
    return {grade.session_id: grade for grade in graded}


def session_of(home: Home, session_id: str) -> Session:
    session = home.sources.read(Unit("hermes", str(home.path / "state.db"), session_id)).session
    assert isinstance(session, Session)
    return session


def test_every_session_is_there_once_with_its_calls_and_failures(home: Home) -> None:
    graded = grades(home)
    for session_id, expected in home.expected.items():
        runs = expected["by_run"]
        (run, *_) = runs
        if session_id not in graded:
            assert run == "compress"
            continue
        if run in BY_KEYS:
            continue
        said = {
            "calls": sum(each["tool_calls"] for each in runs.values()),
            "failures": sum(each["failures"] for each in runs.values()),
        } | DEVIATIONS.get((run, home.path.name), {})
        grade = graded[session_id]
        assert {"calls": grade.tool_calls, "failures": len(grade.failures)} == said, (session_id, run)
    assert graded.keys() <= home.expected.keys()
    assert sum("compress" in home.expected[session_id]["runs"] for session_id in graded) <= 1


def test_every_session_ends_as_its_run_did(home: Home) -> None:
    for session_id, grade in grades(home).items():
        runs = home.expected[session_id]["by_run"]
        *_, run = runs
        finished = STATES.get(run, True)
        assert grade.state is (SessionState.COMPLETE if finished else SessionState.INTERRUPTED), (session_id, run)
        text = runs[run].get("final_text")
        if text is not None:
            last = session_of(home, session_id).messages[-1]
            assert last.role == ASSISTANT
            assert last.text.endswith(text)


def test_tokens_are_those_of_all_links_and_all_tasks(tmp_path: Path) -> None:
    graded = grades(home_of("v13", tmp_path))
    # 14 links with 70,000 tokens of their own and the newest with 20,353, as `sessions` has them
    assert graded["20261122_154420_524294"].input_tokens == 14 * 70_000 + 20_353
    assert graded["20261122_154107_c138de"].input_tokens == 77_589
    graded = grades(home_of("v19", tmp_path))
    assert graded["20261122_152046_46937e"].input_tokens == 91_528 + 126  # the task and its title
    assert graded["20261122_152434_83e7c9"].input_tokens is None  # no call was counted
    assert {grade.cost_usd for grade in graded.values()} == {None}  # 0.0, with the status unknown


def test_who_began_a_session_is_told(tmp_path: Path) -> None:
    graded = grades(home_of("v19", tmp_path))
    child, branch = graded["20261122_152322_b35c44"], graded["20261122_152843_bc178d"]
    assert (child.kind, child.parent) == (SessionKind.SUB_AGENT, "20261122_152302_df0cd8")
    assert (branch.kind, branch.parent) == (SessionKind.MAIN, "20261122_152745_27a6bc")
    assert graded["20261122_152745_27a6bc"].undone == 1
    assert branch.duration_seconds is not None
    assert branch.duration_seconds < 15
    graded = grades(home_of("v15", tmp_path))
    assert graded["20261122_153720_9543a0"].kind is SessionKind.SUB_AGENT


@pytest.mark.parametrize("sample", ["v13", "v19_with_json"])
def test_from_row_and_snapshot_comes_the_same_grade(sample: str, tmp_path: Path) -> None:
    both = grades(home_of(sample, tmp_path))
    (tmp_path / sample / "state.db").rename(tmp_path / "kept.db")
    only_files = grades(
        Home(tmp_path / sample, {}, Sources([Hermes([str(tmp_path / sample)], zone=UTC, limits=Limits())]))
    )
    for path in (tmp_path / sample / "sessions").iterdir():
        path.unlink()
    (tmp_path / "kept.db").rename(tmp_path / sample / "state.db")
    only_rows = grades(
        Home(tmp_path / sample, {}, Sources([Hermes([str(tmp_path / sample)], zone=UTC, limits=Limits())]))
    )
    assert both.keys() == only_rows.keys()
    for session_id, grade in both.items():
        assert grade == only_rows[session_id]
        file = only_files[session_id]
        columns = [name for name in grade.__struct_fields__ if name not in NOT_COMPARED]
        differ = [name for name in columns if getattr(grade, name) != getattr(file, name)]
        assert differ == [], msgspec.to_builtins({name: getattr(file, name) for name in differ})
