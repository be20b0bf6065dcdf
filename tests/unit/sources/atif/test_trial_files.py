from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.atif.trial_files import AtifTrials
from grader_daemon.sources.protocol import Read, UnknownKinds


def document(text: str = "Done.", **more: Any) -> str:
    steps = [{"step_id": 1, "source": "agent", "message": text}]
    return json.dumps({"schema_version": "ATIF-v1.7", "session_id": "run", "steps": steps, **more})


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs" / "task__abc"
    (folder / "agent").mkdir(parents=True)
    (folder / "verifier").mkdir()
    (folder / "agent" / "trajectory.json").write_text(document())
    return folder


def unit_of(trial: Path, key: str = "") -> Unit:
    return Unit("atif", str(trial / "agent" / "trajectory.json"), key)


def source_of(trial: Path) -> AtifTrials:
    return AtifTrials([str(trial.parent)], limits=Limits())


def read(trial: Path, key: str = "") -> Read:
    source = source_of(trial)
    return source.read(source.look(unit_of(trial, key)))


def session_of(trial: Path) -> Session:
    session = read(trial).session
    assert isinstance(session, Session)
    return session


def test_steps_that_cannot_be_read_are_told_and_the_run_is_read_without(trial: Path) -> None:
    steps = [{"source": "agent", "message": "Done.", "model_name": 7}, {"source": "agent", "message": "Really."}]
    agent = {"name": "acme", "version": "2.0"}
    (trial / "agent" / "trajectory.json").write_text(document(steps=steps, agent=agent))

    assert [message.text for message in session_of(trial).messages] == ["Really."]
    assert read(trial).unknown == UnknownKinds("2.0", ("steps[].model_name",))


@pytest.mark.parametrize(
    ("name", "content", "reward"),
    [
        ("verifier/reward.txt", "1\n", 1.0),
        ("verifier/reward.txt", "0.5", 0.5),
        ("verifier/reward.txt", "nan", None),
        ("verifier/reward.txt", "", None),
        ("verifier/reward.json", '{"reward": 0, "style": 1}', 0.0),
        ("verifier/reward.json", '{"tests": 1}', 1.0),
        ("verifier/reward.json", '{"tests": 1, "style": 0}', None),
        ("verifier/reward.json", "1", 1.0),
        ("result.json", '{"verifier_result": {"rewards": {"reward": 1.0}}}', 1.0),
        ("result.json", '{"verifier_result": null}', None),
        ("result.json", "[]", None),
        ("result.json", '{"verifier_res', None),
    ],
)
def test_the_reward_beside_a_run_is_read(trial: Path, name: str, content: str, reward: float | None) -> None:
    (trial / name).write_text(content)

    assert session_of(trial).reward == reward


def test_a_reward_that_comes_later_touches_the_run_and_changes_its_stamp_and_digest(trial: Path) -> None:
    source, unit = source_of(trial), unit_of(trial)
    before, digest = source.look(unit), read(trial).digest

    (trial / "verifier" / "reward.txt").write_text("1")

    path = str(trial / "verifier" / "reward.txt")
    assert source.claims(path)
    assert list(source.touched(path)) == [unit]
    assert source.look(unit).stamp != before.stamp
    assert read(trial).digest != digest


def test_a_reward_is_not_read_through_a_link(trial: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1")
    (trial / "verifier" / "reward.txt").symlink_to(tmp_path / "secret")

    assert session_of(trial).reward is None


def test_a_run_goes_on_in_the_documents_that_each_names(trial: Path) -> None:
    agent = trial / "agent"
    (agent / "trajectory.json").write_text(document("One.", continued_trajectory_ref="trajectory.cont-1.json"))
    (agent / "trajectory.cont-1.json").write_text(document("Two.", continued_trajectory_ref="trajectory.cont-2.json"))
    before = source_of(trial).look(unit_of(trial))
    assert [message.text for message in session_of(trial).messages] == ["One.", "Two."]

    (agent / "trajectory.cont-2.json").write_text(document("Three.", continued_trajectory_ref="trajectory.cont-1.json"))

    assert [message.text for message in session_of(trial).messages] == ["One.", "Two.", "Three."]
    assert source_of(trial).look(unit_of(trial)).stamp != before.stamp
    assert list(source_of(trial).touched(str(agent / "trajectory.cont-2.json"))) == [unit_of(trial)]


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "trajectory.json", "other.json"])
def test_no_other_file_is_followed(trial: Path, name: str) -> None:
    (trial / "agent" / "trajectory.json").write_text(document(continued_trajectory_ref=name))

    assert len(session_of(trial).messages) == 1


def test_documents_of_one_run_are_not_larger_together_than_one_file_may_be(trial: Path) -> None:
    first = document("One.", continued_trajectory_ref="trajectory.cont-1.json")
    (trial / "agent" / "trajectory.json").write_text(first)
    (trial / "agent" / "trajectory.cont-1.json").write_text(document())
    source = AtifTrials([str(trial.parent)], limits=Limits(bytes=len(first) + 10))

    with pytest.raises(ParseError, match="more than max_file_bytes"):
        source.read(source.look(unit_of(trial)))


def test_sub_agents_inside_are_told_and_read(trial: Path) -> None:
    child = json.loads(document("Child.", trajectory_id="c"))
    (trial / "agent" / "trajectory.json").write_text(document(subagent_trajectories=[child]))
    (trial / "verifier" / "reward.txt").write_text("1")

    assert read(trial).inside == (unit_of(trial, "c"),)
    inside = read(trial, "c").session
    assert isinstance(inside, Session)
    assert (inside.session_id, inside.parent, inside.reward) == ("run/c", "run", None)


def test_a_sub_agent_that_is_gone_has_vanished(trial: Path) -> None:
    with pytest.raises(VanishedFileError):
        read(trial, "c")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param('{"messages": []}', SkipReason.NOT_A_SESSION, id="trajectory-of-another-kind"),
        pytest.param(document(schema_version="ATIF-v2.0", steps=3), SkipReason.UNREADABLE_VERSION, id="version"),
        pytest.param(document(steps=[]), SkipReason.NOT_A_SESSION, id="nothing-was-said"),
    ],
)
def test_other_documents_are_passed_over(trial: Path, content: str, reason: SkipReason) -> None:
    (trial / "agent" / "trajectory.json").write_text(content)

    found = read(trial)

    assert isinstance(found.session, Skipped)
    assert found.session.reason is reason
    assert (found.unknown == UnknownKinds("ATIF-v2.0", ())) is (reason is SkipReason.UNREADABLE_VERSION)


@pytest.mark.parametrize(
    ("content", "error"), [(document()[:-9], UnfinishedFileError), (document(steps=[{"source": 3}]), ParseError)]
)
def test_what_is_wrong_with_a_document_is_one_line(trial: Path, content: str, error: type[ParseError]) -> None:
    (trial / "agent" / "trajectory.json").write_text(content)

    with pytest.raises(error) as caught:
        read(trial)

    assert "\n" not in str(caught.value)


def test_only_trajectories_are_units(trial: Path) -> None:
    (trial / "result.json").write_text("{}")
    (trial / "agent" / "trajectory.cont-1.json").write_text(document())
    (trial / "agent" / "other.json").write_text(document())

    assert [found.unit for found in source_of(trial).walk(str(trial.parent))] == [unit_of(trial)]


def test_a_file_that_a_person_names_is_recognized_by_its_version() -> None:
    source = AtifTrials(limits=Limits())

    assert source.recognizes("/tmp/x.json", b'{\n  "schema_version": "ATIF-v1.4",')
    assert not source.recognizes("/tmp/x.json", b'{"schema_version": "1.4"}')
