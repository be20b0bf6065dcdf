"""Sessions of a home, in its database and in files beside it: each one unit, told when it changes, read whole."""

from __future__ import annotations

import json
import os
import pickle
from datetime import UTC
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.sources.hermes.hermes_source import Hermes
from tests.state_db import BEGAN, SCHEMAS, StateHome, call
from tests.strategies import document, json_answer, json_user


@pytest.fixture
def home(tmp_path: Path) -> StateHome:
    return StateHome(tmp_path / "home")


@pytest.fixture
def source(home: StateHome) -> Hermes:
    return Hermes([str(home.folder)], zone=UTC, limits=Limits())


def listed(source: Hermes, home: StateHome) -> dict[str, bytes]:
    return {found.unit.key or Path(found.unit.locator).name: found.stamp for found in source.walk(str(home.folder))}


def unit(home: StateHome, session_id: str) -> Unit:
    return Unit("hermes", str(home.path), session_id)


def read(source: Hermes, home: StateHome, session_id: str) -> Session:
    session = source.read(source.look(unit(home, session_id))).session
    assert isinstance(session, Session)
    return session


def told(source: Hermes, home: StateHome) -> list[str]:
    return [each.key for each in source.touched(f"{home.path}-wal")]


def snapshot(home: StateHome, session_id: str, messages: list[dict[str, object]]) -> Path:
    path = home.folder / "sessions" / f"session_{session_id}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(document(messages, session_id=session_id))
    return path


@pytest.mark.parametrize("version", SCHEMAS)
def test_a_session_is_read_from_every_schema(tmp_path: Path, version: int) -> None:
    home = StateHome(tmp_path, version=version)
    home.session("a", model="m", input_tokens=10, output_tokens=2)
    home.turn("a")
    session = read(Hermes([str(tmp_path)], zone=UTC, limits=Limits()), home, "a")
    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "What is 1 + 1?"),
        ("assistant", "It is 2."),
    ]
    assert (session.model, session.platform, session.unit_key) == ("m", "cli", "a")
    assert [(usage.input_tokens, usage.output_tokens) for usage in session.usage] == [(10, 2)]


@pytest.mark.parametrize(
    ("table", "column"),
    [
        pytest.param("async_delegations", "origin_session", id="sub-agents"),
        pytest.param("system_prompts", "prompt", id="prompts"),
    ],
)
def test_a_table_beside_the_sessions_that_has_another_form_costs_none_of_them(
    tmp_path: Path, table: str, column: str
) -> None:
    home = StateHome(tmp_path / "newest", version=SCHEMAS[-1])
    source = Hermes([str(home.folder)], zone=UTC, limits=Limits())
    home.session("a")
    home.turn("a")
    home.run(("PRAGMA legacy_alter_table = ON", ()))
    home.run((f"ALTER TABLE {table} RENAME COLUMN {column} TO renamed", ()))

    assert len(read(source, home, "a").messages) == 2


def test_only_sessions_that_changed_are_told(source: Hermes, home: StateHome) -> None:
    for name in "abc":
        home.session(name)
        home.turn(name)
    before = listed(source, home)
    assert sorted(before) == ["a", "b", "c"]
    assert told(source, home) == []
    home.turn("b", "And 2 + 2?", "It is 4.")
    assert told(source, home) == ["b"]
    assert told(source, home) == []
    home.run(("UPDATE sessions SET ended_at = 1795360100.0, end_reason = 'cli_close' WHERE id = 'a'", ()))
    home.session("d")
    assert sorted(told(source, home)) == ["a", "d"]
    after = listed(source, home)
    assert {name for name in after if after[name] != before.get(name)} == {"a", "b", "d"}


def test_a_session_that_is_taken_back_deleted_or_written_anew_is_seen(source: Hermes, home: StateHome) -> None:
    for name in "ab":
        home.session(name)
        home.turn(name)
    before = listed(source, home)
    home.run(("UPDATE messages SET active = 0 WHERE session_id = 'a'", ()))
    assert told(source, home) == ["a"]
    home.run(("DELETE FROM messages WHERE session_id = 'b'", ()), ("DELETE FROM sessions WHERE id = 'b'", ()))
    assert told(source, home) == []
    assert list(listed(source, home)) == ["a"]
    with pytest.raises(VanishedFileError):
        source.look(unit(home, "b"))
    home.run(("VACUUM", ()))
    assert told(source, home) == []
    assert listed(source, home)["a"] != before["a"]


@pytest.mark.parametrize("vacuum", [True, False])
def test_a_session_in_the_row_of_one_that_was_deleted_is_seen(source: Hermes, home: StateHome, *, vacuum: bool) -> None:
    for name in "ab":
        home.session(name)
        home.turn(name)
    listed(source, home)
    gone = "a" if vacuum else "b"
    home.run(
        ("DELETE FROM messages WHERE session_id = ?", (gone,)),
        ("DELETE FROM sessions WHERE id = ?", (gone,)),
        *([("VACUUM", ())] if vacuum else []),
    )
    home.session("c")
    assert told(source, home) == ["c"]
    assert gone not in listed(source, home)


def test_another_database_in_its_place_is_compared_anew(source: Hermes, home: StateHome, tmp_path: Path) -> None:
    home.session("a")
    home.turn("a")
    listed(source, home)
    other = StateHome(tmp_path / "other")
    other.session("b")
    other.turn("b")
    other.path.rename(home.path)
    assert told(source, home) == ["b"]
    assert list(listed(source, home)) == ["b"]


def test_a_walk_looks_once_whether_a_database_is_beside_the_files_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [StateHome(tmp_path / "homes" / name) for name in "ab"]
    files = [snapshot(each, session_id, [json_user()]).name for each in homes for session_id in ("s1", "s2")]
    for each in homes:
        each.path.unlink(missing_ok=True)
    looked_for: list[str] = []
    monkeypatch.setattr(os.path, "lexists", looked_for.append)  # finds none

    walked = Hermes([str(tmp_path)], zone=UTC, limits=Limits()).walk(str(tmp_path))

    assert sorted(Path(found.unit.locator).name for found in walked) == sorted(files)
    assert sorted(looked_for) == [str(each.path) for each in homes]


def test_a_row_and_its_snapshot_are_one_unit(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.turn("a")
    path = snapshot(home, "a", [json_user(), json_answer()])
    snapshot(home, "old", [json_user(), json_answer()])
    assert sorted(listed(source, home)) == ["a", "session_old.json"]
    assert source.touched(str(path)) == (unit(home, "a"),)
    with pytest.raises(VanishedFileError):
        source.look(Unit("hermes", str(path)))
    stamp = source.look(unit(home, "a")).stamp
    snapshot(home, "a", [json_user(), json_answer(), json_user()])
    assert source.look(unit(home, "a")).stamp != stamp


def test_of_a_row_and_its_snapshot_the_longer_is_the_content(source: Hermes, home: StateHome) -> None:
    home.session("a", input_tokens=7)
    home.turn("a", "a question", "an answer")
    snapshot(home, "a", [json_user("a question")])
    assert [message.text for message in read(source, home, "a").messages] == ["a question", "an answer"]
    snapshot(home, "a", [json_user("a question"), json_answer("an answer"), json_user("one more")])
    session = read(source, home, "a")
    assert [message.text for message in session.messages] == ["a question", "an answer", "one more"]
    assert session.usage[0].input_tokens == 7
    assert session.started_at is not None
    assert session.started_at.timestamp() == BEGAN


def test_a_snapshot_that_cannot_be_read_does_not_hide_the_row(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.turn("a")
    path = snapshot(home, "a", [json_user(), json_answer()])
    path.write_bytes(b"{")
    assert len(read(source, home, "a").messages) == 2


def test_a_snapshot_of_an_id_that_is_no_file_name_is_found(source: Hermes, home: StateHome) -> None:
    home.session("tele:gram/1")
    home.turn("tele:gram/1")
    listed(source, home)
    # the first twelve digits of `printf tele:gram/1 | sha256sum`
    path = snapshot(home, "tele_gram_1_2625b88f356b", [json_user()])
    assert source.touched(str(path)) == (unit(home, "tele:gram/1"),)


def test_a_link_that_was_compressed_is_superseded_by_the_newest(source: Hermes, home: StateHome) -> None:
    home.session("a", ended_at=BEGAN + 10, end_reason="compression", input_tokens=100)
    home.session("b", started_at=BEGAN + 10, ended_at=BEGAN + 20, end_reason="compression", parent_session_id="a")
    home.session("c", started_at=BEGAN + 20, parent_session_id="b", input_tokens=5)
    home.session("helper", source="subagent", started_at=BEGAN + 5, parent_session_id="a")
    home.turn("c")
    home.turn("helper")
    for name in "ab":
        assert source.read(source.look(unit(home, name))).session == Skipped(SkipReason.SUPERSEDED, name)
    session = read(source, home, "c")
    assert session.usage[0].input_tokens == 105
    assert session.parent is None
    assert session.started_at is not None
    assert session.started_at.timestamp() == BEGAN
    assert read(source, home, "helper").parent == "c"


def test_what_the_home_keeps_aside_is_no_home(source: Hermes, home: StateHome) -> None:
    retired = str(home.folder / "state.db.retired-wal-1-2" / "state.db")
    assert not source.claims(retired)
    assert not source.claims(str(home.folder / "state.db.malformed-backup-1"))
    assert source.claims(f"{home.path}-wal")
    assert source.claims(f"{home.path}-journal")


def test_a_database_that_cannot_be_read_is_a_unit_that_says_why(source: Hermes, home: StateHome) -> None:
    home.path.write_bytes(b"no database")
    (found,) = source.walk(str(home.folder))
    assert found.unit == Unit("hermes", str(home.path))
    with pytest.raises(ReadError, match="not a SQLite database"):
        source.read(source.look(found.unit))
    home.path.unlink()
    StateHome(home.folder)
    with pytest.raises(VanishedFileError, match="one by one"):
        source.look(found.unit)
    assert list(source.walk(str(home.folder))) == []


def test_a_state_db_of_another_program_has_no_sessions(source: Hermes, home: StateHome) -> None:
    home.run(("DROP TABLE sessions", ()))
    assert list(source.walk(str(home.folder))) == []
    assert source.touched(str(home.path)) == []


def test_a_session_that_grows_while_it_is_read_is_left_for_later(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.turn("a")
    found = source.look(unit(home, "a"))
    home.turn("a")
    with pytest.raises(ChangingFileError):
        source.read(found)


def test_the_same_content_has_the_same_digest(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.turn("a")
    before = source.read(source.look(unit(home, "a")))
    home.run(("UPDATE messages SET id = id + 10", ()))
    found = source.look(unit(home, "a"))
    assert source.read(found).digest == before.digest
    assert source.read(found, unless=before.digest).session is None


def test_a_session_larger_than_the_limits_is_refused(home: StateHome) -> None:
    home.session("a")
    home.turn("a", "x" * 100)
    for limits in (Limits(messages=1), Limits(bytes=50)):
        source = Hermes([str(home.folder)], zone=UTC, limits=limits)
        with pytest.raises(ParseError, match="max_"):
            source.read(source.look(unit(home, "a")))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param("tool_calls", "{", id="calls-that-are-no-json"),
        pytest.param("tool_calls", '[{"function": 3}]', id="calls-of-another-shape"),
        pytest.param("content", "\0json:{", id="parts-that-are-no-json"),
    ],
)
def test_a_message_that_cannot_be_understood_is_named(source: Hermes, home: StateHome, column: str, value: str) -> None:
    home.session("a")
    home.message("a", "assistant", None, **{column: value}) if column != "content" else home.message("a", "user", value)
    with pytest.raises(ParseError, match="message 1 "):
        source.read(source.look(unit(home, "a")))


@pytest.mark.parametrize("value", [b"\xff\xfe", 7, 1e400, "\ufffd", ""])
def test_values_of_any_type_are_read(source: Hermes, home: StateHome, value: object) -> None:
    home.session("a", model=value, ended_at=value, input_tokens=value, parent_session_id=value, model_config=value)
    home.message("a", "user", "x", finish_reason=value, tool_call_id=value)
    assert len(read(source, home, "a").messages) == 1


def test_a_session_that_no_name_can_be_given_is_passed_over(source: Hermes, home: StateHome) -> None:
    home.session("x" * 300)
    home.run(("INSERT INTO sessions (id, source, started_at) VALUES (x'00', 'cli', 1.0)", ()))
    home.session("a")
    home.turn("a")
    assert list(listed(source, home)) == ["a"]
    home.turn("a")
    assert told(source, home) == ["a"]


def test_it_goes_to_another_process_without_what_it_remembers(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.turn("a")
    listed(source, home)
    assert sorted(listed(pickle.loads(pickle.dumps(source)), home)) == ["a"]


def test_a_long_session_is_read_in_slices(source: Hermes, home: StateHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.sources.sqlite_files._SHORT_SECONDS", 0.0)
    monkeypatch.setattr("grader_daemon.sources.hermes.state_db._SLICE", 3)
    monkeypatch.setattr("grader_daemon.sources.database_memory._SLICE", 1)
    for name in ("a", "b"):
        home.session(name)
        for number in range(5):
            home.message(name, "user", str(number))
    assert [message.text for message in read(source, home, "a").messages] == ["0", "1", "2", "3", "4"]
    assert sorted(listed(source, home)) == ["a", "b"]


def test_a_call_names_its_tool(source: Hermes, home: StateHome) -> None:
    home.session("a")
    home.message("a", "assistant", "", tool_calls=call("call_1", "terminal", command="ls"), finish_reason="tool_calls")
    home.message("a", "tool", json.dumps({"output": "x", "exit_code": 0}), tool_call_id="call_1")
    session = read(source, home, "a")
    assert session.messages[0].tool_calls is not None
    assert session.messages[0].tool_calls[0].tool == "terminal"
    assert session.messages[1].tool_call_id == "call_1"
    assert len(session.message_times) == 2
    assert os.path.basename(session.file) == "state.db"
