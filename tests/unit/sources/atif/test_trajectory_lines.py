from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.atif.trial_files import AtifTrials
from grader_daemon.sources.protocol import Read, UnknownKinds


def run(text: str, **more: Any) -> str:
    steps = [{"step_id": 1, "source": "agent", "message": text}]
    return json.dumps({"schema_version": "ATIF-v1.7", "steps": steps, **more})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "acme.atif.jsonl"


@pytest.fixture
def source(tmp_path: Path) -> AtifTrials:
    return AtifTrials([str(tmp_path)], limits=Limits())


def read(source: AtifTrials, file: Path, key: str = "") -> Read:
    return source.read(source.look(Unit("atif", str(file), key)))


def sessions(source: AtifTrials, file: Path) -> dict[str, tuple[str, str]]:
    first = read(source, file)
    units = [Unit("atif", str(file)), *first.inside]
    said = {}
    for unit in units:
        session = read(source, file, unit.key).session
        assert isinstance(session, Session)
        assert session.unit == unit
        said[unit.key] = session.session_id, session.messages[-1].text
    return said


def test_steps_that_cannot_be_read_are_told_and_the_run_is_read_without(source: AtifTrials, file: Path) -> None:
    steps = [{"source": 7}, {"source": "agent", "message": "Really."}]
    file.write_text(run("", steps=steps) + "\n")

    assert sessions(source, file) == {"": ("acme-1", "Really.")}
    assert read(source, file).unknown == UnknownKinds(None, ("steps[].source",))


def test_each_line_is_a_run_and_the_last_one_of_a_name_counts(source: AtifTrials, file: Path) -> None:
    file.write_text(
        "\n".join([run("A", session_id="a"), "", run("B", session_id="b/c"), run("C"), run("AA", session_id="a")])
    )

    assert sessions(source, file) == {"": ("a", "AA"), "b/c": ("b/c", "B"), "acme-3": ("acme-3", "C")}


def test_sub_agents_of_all_runs_are_told_by_the_first(source: AtifTrials, file: Path) -> None:
    children = [json.loads(run("Child", trajectory_id="x/y"))]
    both = [run(name, session_id=name, subagent_trajectories=children) for name in ("a", "b")]
    file.write_text("\n".join(both))

    assert sessions(source, file) == {
        "": ("a", "a"),
        "a/x/y": ("a/x/y", "Child"),
        "b": ("b", "b"),
        "b/x/y": ("b/x/y", "Child"),
    }


def test_a_line_more_changes_only_the_first_run_and_what_it_is_about(source: AtifTrials, file: Path) -> None:
    file.write_text(run("A", session_id="a") + "\n" + run("B", session_id="b") + "\n")
    first, second = read(source, file), read(source, file, "b")
    with file.open("a") as more:
        more.write(run("C", session_id="c") + "\n")

    assert read(source, file).digest != first.digest
    assert read(source, file, "b").digest == second.digest
    assert source.read(source.look(Unit("atif", str(file), "b")), unless=second.digest).session is None


def test_what_is_no_run_is_counted_and_costs_no_run(source: AtifTrials, file: Path) -> None:
    file.write_text(
        "\n".join(["{broken", '{"type": "news"}', run("A"), run("B", schema_version="ATIF-v2.0"), run("C")[:-5]])
    )

    found = read(source, file)

    assert isinstance(found.session, Session)
    assert found.unknown == UnknownKinds(None, ("ATIF-v2.0",), 2)


def test_a_mark_of_the_byte_order_moves_no_line(source: AtifTrials, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + (run("A") + "\n" + run("B")).encode())

    assert sessions(source, file) == {"": ("acme-1", "A"), "acme-2": ("acme-2", "B")}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("{}\n[]\n", ParseError),
        ('{"schema_version"', UnfinishedFileError),
        ("\0\0\n", UnfinishedFileError),
    ],
)
def test_a_file_without_a_run_says_why_in_one_line(
    source: AtifTrials, file: Path, content: str, error: type[ParseError]
) -> None:
    file.write_text(content)
    with pytest.raises(error) as caught:
        read(source, file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", " \n\n", run("A", schema_version="ATIF-v2.0") + "\n"])
def test_a_file_without_a_run_yet_is_passed_over(source: AtifTrials, file: Path, content: str) -> None:
    file.write_text(content)
    session = read(source, file).session
    assert isinstance(session, Skipped)
    assert session.reason is SkipReason.NOT_A_SESSION


def test_a_run_in_which_nothing_was_said_is_no_session(source: AtifTrials, file: Path) -> None:
    file.write_text(run("A", steps=[], session_id="a"))
    assert read(source, file).session == Skipped(SkipReason.NOT_A_SESSION, "a")


@pytest.mark.parametrize("key", ["b", "a/x", "/", "a/"])
def test_a_run_that_is_gone_has_vanished(source: AtifTrials, file: Path, key: str) -> None:
    file.write_text(run("A", session_id="a"))
    with pytest.raises(VanishedFileError):
        read(source, file, key)


def test_a_file_that_changes_between_two_looks_is_read_again_later(source: AtifTrials, file: Path) -> None:
    file.write_text(run("A") + "\n")
    found = source.look(Unit("atif", str(file)))
    source.read(found)
    file.write_text(run("B") * 2 + "\n")
    with pytest.raises(ChangingFileError):
        source.read(found)


def test_few_files_are_remembered_and_none_goes_to_another_process(source: AtifTrials, tmp_path: Path) -> None:
    for number in range(9):
        file = tmp_path / f"{number}.atif.jsonl"
        file.write_text(run("A"))
        read(source, file)

    assert len(source._lines._remembered) == 4
    assert pickle.loads(pickle.dumps(source))._lines._remembered == {}


def test_a_run_in_a_file_of_its_own_is_called_as_the_file_and_has_nothing_beside_it(
    source: AtifTrials, tmp_path: Path
) -> None:
    (tmp_path / "result.json").write_text('{"verifier_result": {"rewards": {"reward": 1}}}')
    for name in ("one", "two"):
        (tmp_path / f"{name}.atif.json").write_text(run(name))

    found = [source.read(each).session for each in source.walk(str(tmp_path))]

    assert [(each.session_id, each.reward) for each in found if isinstance(each, Session)] == [
        ("one", None),
        ("two", None),
    ]
    assert source.claims(str(tmp_path / "one.atif.json"))
    assert not source.claims(str(tmp_path / "one.json"))
