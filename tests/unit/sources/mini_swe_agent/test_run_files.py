from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError
from grader_daemon.sources.mini_swe_agent.run_files import MiniSweAgentRuns
from grader_daemon.sources.protocol import Sources

TASK = "django__django-1"
WHOLE = {
    "info": {"exit_status": "Submitted", "mini_version": "2.4.6"},
    "messages": [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "Done."}],
    "trajectory_format": "mini-swe-agent-1.1",
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / TASK).mkdir(parents=True)
    (folder / TASK / f"{TASK}.traj.json").write_text(json.dumps(WHOLE, indent=2))
    (folder / "preds.json").write_text(json.dumps({TASK: {"model_patch": ""}}))
    return folder


def source_of(run: Path) -> MiniSweAgentRuns:
    return MiniSweAgentRuns([str(run.parent)], limits=Limits())


def unit_of(run: Path) -> Unit:
    return Unit("mini-swe-agent", str(run / TASK / f"{TASK}.traj.json"))


def reward_of(run: Path) -> float | None:
    source = source_of(run)
    session = source.read(source.look(unit_of(run))).session
    assert isinstance(session, Session)
    return session.reward


def test_a_verdict_that_comes_later_changes_stamp_and_digest(run: Path) -> None:
    source, unit = source_of(run), unit_of(run)
    before = source.look(unit)
    digest = source.read(before).digest
    assert reward_of(run) is None

    (run / "gpt.first.json").write_text(json.dumps({"resolved_ids": [TASK]}))

    after = source.look(unit)
    assert after.stamp != before.stamp
    assert source.read(after).digest != digest
    assert source.read(after, unless=source.read(after).digest).session is None
    assert [found.stamp for found in source.walk(str(run.parent))] == [after.stamp]
    assert reward_of(run) == 1
    with pytest.raises(ChangingFileError):
        source.read(before)


def test_runs_may_lie_side_by_side_in_one_folder(run: Path) -> None:
    (run / TASK / f"{TASK}.traj.json").rename(run / f"{TASK}.traj.json")
    (run / "report.json").write_text(json.dumps({"resolved_ids": [], "unresolved_ids": [TASK]}))
    source = source_of(run)
    session = source.read(source.look(Unit(source.name, str(run / f"{TASK}.traj.json")))).session

    assert isinstance(session, Session)
    assert session.reward == 0


def test_a_run_that_is_named_is_known_by_its_name_or_its_content(run: Path) -> None:
    sources = Sources([source_of(run)])
    copied = run / "kept.json"
    copied.write_text(json.dumps(WHOLE, indent=2))

    assert list(sources.named(str(copied))) == [Unit("mini-swe-agent", str(copied))]
    source = source_of(run)
    assert source.recognizes("a.traj.json", b"")
    assert not source.recognizes("a.json", b'{"info": {}}')
