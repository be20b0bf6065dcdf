from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError, UnfinishedFileError
from grader_daemon.sources.openhands.conversation_folders import state_of
from grader_daemon.sources.openhands.evaluation_files import OpenHandsRuns
from grader_daemon.sources.protocol import Sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "0f9c"
    (folder / "events").mkdir(parents=True)
    (folder / "base_state.json").write_text('{"id": "0f9c", "agent": {}}')
    add(folder, 0)
    return folder


def add(folder: Path, number: int) -> None:
    said = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": str(number)}}
    (folder / "events" / f"event-{number:05}-aaaaaaaa-0.json").write_text(json.dumps(said))


def source_of(folder: Path, **limits: int) -> OpenHandsRuns:
    return OpenHandsRuns([str(folder.parent)], zone=None, limits=Limits(**limits))


def unit_of(folder: Path) -> Unit:
    return Unit("openhands", str(folder / "base_state.json"))


def test_events_are_read_in_order_past_five_digits(folder: Path) -> None:
    for number in (2, 100_000, 99_999):
        add(folder, number)
    source = source_of(folder)
    session = source.read(source.look(unit_of(folder))).session

    assert isinstance(session, Session)
    assert [message.text for message in session.messages] == ["0", "2", "99999", "100000"]
    assert source.size_of(unit_of(folder)) > 200


def test_files_of_a_conversation_and_no_others_are_its_parts() -> None:
    assert state_of("/c/1/events/event-00001-0f9c2b1a-1.json") == "/c/1/base_state.json"
    assert state_of("/c/1/base_state.json") == "/c/1/base_state.json"
    assert state_of("/c/1/events/.eventlog-len-3.marker") is None
    assert state_of("/c/1/observations/event-00001-0f9c2b1a-1.json") is None


def test_an_event_that_comes_while_it_is_read_is_left_for_later(folder: Path) -> None:
    source = source_of(folder)
    found = source.look(unit_of(folder))
    add(folder, 1)

    with pytest.raises(ChangingFileError):
        source.read(found)


def test_a_conversation_has_the_limits_of_a_file(folder: Path) -> None:
    add(folder, 1)
    unit = unit_of(folder)
    for source, words in (
        (source_of(folder, messages=2), "more files than max_messages = 2"),
        (source_of(folder, bytes=120), "more than max_file_bytes = 120"),
    ):
        with pytest.raises(ParseError, match=words):
            source.read(source.look(unit))


def test_a_half_event_is_read_later(folder: Path) -> None:
    (folder / "events" / "event-00001-aaaaaaaa-0.json").write_text('{"kind": "Mess')
    source = source_of(folder)

    with pytest.raises(UnfinishedFileError):
        source.read(source.look(unit_of(folder)))


def test_one_without_events_is_no_session_yet(folder: Path, tmp_path: Path) -> None:
    (folder / "events" / "event-00000-aaaaaaaa-0.json").unlink()
    source = source_of(folder)
    assert isinstance(source.read(source.look(unit_of(folder))).session, Skipped)

    (folder / "events").rmdir()
    assert isinstance(source.read(source.look(unit_of(folder))).session, Skipped)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "events").symlink_to(elsewhere)
    assert isinstance(source.read(source.look(unit_of(folder))).session, Skipped)


def test_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "base_state.json").rename(tmp_path / "secret.json")
    (folder / "base_state.json").symlink_to(tmp_path / "secret.json")
    source = source_of(folder)

    assert source.read(source.look(unit_of(folder))).session == Skipped(SkipReason.SYMBOLIC_LINK)


def test_a_conversation_is_found_by_its_state_alone(folder: Path) -> None:
    source = source_of(folder)
    event = str(folder / "events" / "event-00000-aaaaaaaa-0.json")

    assert [found.unit for found in source.walk(str(folder.parent))] == [unit_of(folder)]
    assert source.claims(event)
    assert list(Sources([source]).named(event)) == [unit_of(folder)]
    assert source.recognizes(str(folder / "base_state.json"), b'{"id": "0f9c", "agent": {}}')
    assert not source.recognizes(str(folder / "base_state.json"), b"{}")
