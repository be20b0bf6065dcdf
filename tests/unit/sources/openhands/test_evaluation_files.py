from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, VanishedFileError
from grader_daemon.sources.named_paths import named_units
from grader_daemon.sources.openhands.evaluation_files import OpenHandsRuns
from grader_daemon.sources.protocol import Sources, UnknownKinds


def line(task: str, text: str = "Fix it", **keys: Any) -> bytes:
    said = {"kind": "MessageEvent", "id": text, "source": "user", "llm_message": {"content": text}}
    return json.dumps({"instance_id": task, "history": [said], **keys}).encode() + b"\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "output.jsonl"
    path.parent.mkdir()
    path.write_bytes(line("a") + line("b"))
    return path


def source_of(file: Path, **limits: int) -> OpenHandsRuns:
    return OpenHandsRuns([str(file.parent)], zone=None, limits=Limits(**limits))


def keys(source: OpenHandsRuns, file: Path) -> list[str]:
    return [found.unit.key for found in source.walk(str(file.parent))]


def session_of(file: Path, key: str) -> Session:
    source = source_of(file)
    session = source.read(source.look(Unit("openhands", str(file), key))).session
    assert isinstance(session, Session)
    return session


def test_each_line_is_a_run(file: Path) -> None:
    assert keys(source_of(file), file) == ["a", "b"]
    assert session_of(file, "b").session_id.startswith("b-")
    assert session_of(file, "b").unit == Unit("openhands", str(file), "b")


def test_a_line_that_is_added_touches_itself_alone(file: Path) -> None:
    source = source_of(file)
    assert [unit.key for unit in source.touched(str(file))] == ["a", "b"]
    with file.open("ab") as more:
        more.write(line("a", "Again") + b"no JSON\n" + b'{"test_result": {}}\n')

    assert [unit.key for unit in source.touched(str(file))] == ["a#2"]
    assert list(source.touched(str(file))) == []
    assert list(source.touched(str(file.with_name("gone")))) == []


def test_a_run_that_is_gone_from_the_file_is_gone(file: Path) -> None:
    source = source_of(file)
    found = source.look(Unit("openhands", str(file), "b"))
    file.write_bytes(line("a"))

    assert source.size_of(found.unit) == 0
    with pytest.raises(VanishedFileError):
        source.look(found.unit)


def test_a_file_that_changes_while_it_is_read_is_left_for_later(file: Path) -> None:
    source = source_of(file)
    found = source.look(Unit("openhands", str(file), "a"))
    file.write_bytes(line("a") + line("b") + line("c"))

    with pytest.raises(ChangingFileError):
        source.read(found)


@pytest.mark.parametrize("name", ["output.report.json", "report.json"])
def test_a_verdict_beside_the_file_comes_later(file: Path, name: str) -> None:
    source = source_of(file)
    before = source.look(Unit("openhands", str(file), "a"))
    digest = source.read(before).digest
    (file.parent / name).write_text(json.dumps({"resolved_ids": ["b"], "unresolved_ids": ["a"]}))
    after = source.look(before.unit)

    assert after.stamp != before.stamp
    assert source.read(after).digest != digest
    assert [session_of(file, key).reward for key in "ab"] == [0, 1]
    with pytest.raises(ChangingFileError):
        source.read(before)


def test_the_verdict_in_a_line_stands_above_those_beside(file: Path) -> None:
    file.write_bytes(line("a", test_result={"report": {"resolved": True}}))
    (file.parent / "output.report.json").write_text(json.dumps({"resolved_ids": [], "unresolved_ids": ["a"]}))

    assert session_of(file, "a").reward == 1


def test_what_is_not_known_is_counted(file: Path) -> None:
    known = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": "Fix it"}}
    file.write_bytes(json.dumps({"instance_id": "a", "history": [known, {"kind": "News"}, 7]}).encode())
    source = source_of(file)

    assert source.read(source.look(Unit("openhands", str(file), "a"))).unknown == UnknownKinds(None, ("News",), 1)


def test_a_line_that_is_longer_than_a_file_may_be_is_passed_over(file: Path) -> None:
    file.write_bytes(line("long", "x" * 10_000) + line("b"))

    assert keys(source_of(file, bytes=2_000), file) == ["b"]


def test_no_link_is_followed(file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "output.jsonl"
    file.rename(secret)
    file.symlink_to(secret)

    assert keys(source_of(file), file) == []


def test_an_evaluation_that_a_person_names_is_known_by_its_content(file: Path) -> None:
    kept = file.with_name("kept.jsonl")
    kept.write_bytes(file.read_bytes())
    sources = Sources([source_of(file)])

    assert [unit.key for unit in named_units([str(kept)], sources)[0]] == ["a", "b"]
    source = source_of(file)
    assert not source.recognizes(str(file), b'{"type": "session"}')
    assert not source.recognizes(str(kept), b'{"instance_id": "a", "model_patch": ""}')
