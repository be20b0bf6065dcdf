from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason, Usage, total_usage
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, UnfinishedFileError, VanishedFileError
from grader_daemon.sources.opencode.opencode_source import OpenCode
from grader_daemon.sources.protocol import Read, UnknownKinds, Watch
from tests.database_writer import DatabaseWriter

TABLES = (
    "PRAGMA journal_mode = WAL",
    """CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, version text, cost real, revert text,
       time_created integer, time_updated integer)""",
    """CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer,
       data text)""",
    "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text)",
    "CREATE TABLE credential (id text PRIMARY KEY, value text)",
)
SESSION = "INSERT INTO session (id, directory, version, time_created, time_updated) VALUES (?, '/p', '1.18', 1, ?)"
MESSAGE = "INSERT INTO message VALUES (?, ?, 1, ?, ?)"
PART = "INSERT INTO part VALUES (?, ?, ?, 1, ?)"


def turn(session: str, number: int, said: str = "Done.") -> list[tuple[str, tuple[object, ...]]]:
    """A request and its answer, as rows."""
    asked, answered = f"msg_{session}_{number}a", f"msg_{session}_{number}b"
    head = {"role": "assistant", "modelID": "m", "finish": "stop", "time": {"created": 2, "completed": 3}}
    return [
        (MESSAGE, (asked, session, number, json.dumps({"role": "user", "time": {"created": 1}}))),
        (PART, (f"prt_{asked}", asked, session, json.dumps({"type": "text", "text": "Do it"}))),
        (MESSAGE, (answered, session, number, json.dumps(head))),
        (PART, (f"prt_{answered}", answered, session, json.dumps({"type": "text", "text": said}))),
    ]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[DatabaseWriter]:
    with DatabaseWriter(tmp_path / "opencode.db") as process:
        for statement in TABLES:
            process.run(statement)
        yield process


@pytest.fixture
def source(tmp_path: Path) -> OpenCode:
    return OpenCode([str(tmp_path)], limits=Limits())


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[DatabaseWriter]:
    """The same tables under another name."""
    with DatabaseWriter(tmp_path / "kilo.db") as process:
        for statement in TABLES:
            process.run(statement)
        yield process


def begin(writer: DatabaseWriter, *names: str) -> None:
    for name in names:
        writer.commit((SESSION, (name, 5)), *turn(name, 1))


def touched(source: OpenCode, folder: Path) -> list[str]:
    return [unit.key for unit in source.touched(str(folder / "opencode.db-wal"))]


def read(source: OpenCode, folder: Path, key: str) -> Session:
    session = source.read(source.look(Unit("opencode", str(folder / "opencode.db"), key))).session
    assert isinstance(session, Session)
    return session


def test_all_sessions_of_a_database_are_found(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a", "ses_b")

    found = list(source.walk(str(tmp_path)))

    assert [each.unit.key for each in found] == ["ses_a", "ses_b"]
    assert found[0].written_ns == 5_000_000
    session = read(source, tmp_path, "ses_a")
    assert [message.text for message in session.messages] == ["Do it", "Done."]
    assert (session.session_id, session.project, session.agent_version) == ("ses_a", "/p", "1.18")


def test_only_what_changed_is_touched(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a", "ses_b")
    first = touched(source, tmp_path)
    nothing = touched(source, tmp_path)
    begin(writer, "ses_c")
    writer.commit(*turn("ses_b", 2))
    new = touched(source, tmp_path)
    writer.run("UPDATE session SET revert = ? WHERE id = 'ses_a'", json.dumps({"messageID": "msg_ses_a_1b"}))
    reverted = touched(source, tmp_path)

    assert (first, nothing, sorted(new), reverted) == (["ses_a", "ses_b"], [], ["ses_b", "ses_c"], ["ses_a"])
    assert read(source, tmp_path, "ses_a").taken_back == (1,)


def test_a_message_that_is_written_again_is_a_change(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a")
    touched(source, tmp_path)
    writer.run("UPDATE message SET time_updated = 99 WHERE id = 'msg_ses_a_1b'")

    assert touched(source, tmp_path) == ["ses_a"]


def test_sessions_that_are_deleted_are_gone(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a", "ses_b")
    touched(source, tmp_path)
    for table, column in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
        writer.run(f"DELETE FROM {table} WHERE {column} = 'ses_a'")
    writer.run("VACUUM")

    assert touched(source, tmp_path) == []
    assert [each.unit.key for each in source.walk(str(tmp_path))] == ["ses_b"]
    with pytest.raises(VanishedFileError, match="gone from the database"):
        source.look(Unit("opencode", str(tmp_path / "opencode.db"), "ses_a"))


def test_a_session_that_goes_on_while_it_is_read_is_not_read(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    begin(writer, "ses_a")
    found = source.look(Unit("opencode", str(tmp_path / "opencode.db"), "ses_a"))
    writer.commit(*turn("ses_a", 2))

    with pytest.raises(ChangingFileError):
        source.read(found)


def test_a_session_of_long_ago_of_which_only_the_row_changed_is_read_at_the_second_try(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    """As one that got another name: no new row tells of that, and for an hour it is not looked for."""
    names = [f"ses_{number:02}" for number in range(20)]
    begin(writer, *names)
    touched(source, tmp_path)
    for name in names[1:]:
        writer.commit(*turn(name, 2))
    touched(source, tmp_path)
    writer.run("UPDATE session SET time_updated = 99 WHERE id = 'ses_00'")

    with pytest.raises(ChangingFileError):
        read(source, tmp_path, "ses_00")

    assert len(read(source, tmp_path, "ses_00").messages) == 2


def test_content_that_is_known_is_not_told_again(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a")
    found = source.look(Unit("opencode", str(tmp_path / "opencode.db"), "ses_a"))
    digest = source.read(found).digest

    assert source.read(found, unless=digest) == Read(digest, None)


def test_the_writer_is_not_disturbed(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    """Beside it another reads; it checkpoints, and is killed."""
    begin(writer, "ses_a")
    for number in range(2, 40):
        writer.commit(*turn("ses_a", number))
        touched(source, tmp_path)
        if number % 10 == 0:
            writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    beside = sorted(path.name for path in tmp_path.iterdir())
    writer.kill()

    assert len(read(source, tmp_path, "ses_a").messages) == 78
    assert sorted(path.name for path in tmp_path.iterdir()) == beside
    assert writer.longest_wait_seconds < 0.05


def test_an_answer_with_less_than_no_tokens_and_half_a_character_is_read(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    """OpenCode takes off what came from a cache (its issue 15293), and JavaScript cuts texts within a character."""
    begin(writer, "ses_a")
    tokens = {"input": -423, "output": 7, "reasoning": 0, "cache": {"read": 84_160, "write": 0}}
    head = {"role": "assistant", "time": {"created": 2, "completed": 3}, "finish": "stop", "tokens": tokens}
    said = {"type": "text", "text": "Cut \ud83d"}
    writer.commit(
        (MESSAGE, ("msg_ses_a_2", "ses_a", 2, json.dumps(head))),
        (PART, ("prt_ses_a_2", "msg_ses_a_2", "ses_a", json.dumps(said))),
    )

    session = read(source, tmp_path, "ses_a")

    assert session.messages[-1].text == "Cut ?"
    assert total_usage(session.usage) == Usage(
        cache_read_tokens=84_160, cache_write_tokens=0, output_tokens=7, reasoning_tokens=0
    )


def test_a_parent_that_no_session_can_be_is_none(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a")
    writer.run("UPDATE session SET parent_id = ?", "s" * 300)

    assert read(source, tmp_path, "ses_a").parent is None


def test_rows_of_a_shape_that_is_not_known_are_passed_over(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    begin(writer, "ses_a")
    writer.commit((MESSAGE, ("msg_z", "ses_a", 2, "{")), (PART, ("prt_z", "msg_ses_a_1b", "ses_a", '{"state": 3}')))

    told = source.read(source.look(Unit("opencode", str(tmp_path / "opencode.db"), "ses_a")))

    assert isinstance(told.session, Session)
    assert len(told.session.messages) == 2
    assert told.unknown == UnknownKinds("1.18", ("part",), broken=1)


def test_a_session_that_is_too_large_is_refused(writer: DatabaseWriter, tmp_path: Path) -> None:
    begin(writer, "ses_a")
    unit = Unit("opencode", str(tmp_path / "opencode.db"), "ses_a")
    few, small = (OpenCode([str(tmp_path)], limits=limits) for limits in (Limits(messages=1), Limits(bytes=20)))

    with pytest.raises(ParseError, match="max_messages = 1"):
        few.read(few.look(unit))
    with pytest.raises(ParseError, match="max_file_bytes = 20"):
        small.read(small.look(unit))


def test_many_sessions_and_messages_are_read_in_slices(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.sources.sqlite_files._SHORT_SECONDS", 0.0)
    monkeypatch.setattr("grader_daemon.sources.opencode.opencode_db._SLICE", 1)
    monkeypatch.setattr("grader_daemon.sources.database_memory._SLICE", 1)
    begin(writer, "ses_a", "ses_b")
    writer.commit(*turn("ses_a", 2, "Again."))

    assert sorted(touched(source, tmp_path)) == ["ses_a", "ses_b"]
    assert [message.text for message in read(source, tmp_path, "ses_a").messages] == [
        "Do it",
        "Done.",
        "Do it",
        "Again.",
    ]


def test_a_session_that_takes_the_row_of_a_deleted_one_is_new(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    begin(writer, "ses_a", "ses_b")
    touched(source, tmp_path)
    for table, column in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
        writer.run(f"DELETE FROM {table} WHERE {column} = 'ses_b'")
    begin(writer, "ses_c")

    assert touched(source, tmp_path) == ["ses_c"]
    assert [each.unit.key for each in source.walk(str(tmp_path))] == ["ses_a", "ses_c"]


def test_a_session_without_a_word_is_none(source: OpenCode, writer: DatabaseWriter, tmp_path: Path) -> None:
    writer.run(SESSION, "ses_a", 5)

    found = source.look(Unit("opencode", str(tmp_path / "opencode.db"), "ses_a"))

    assert source.read(found).session == Skipped(SkipReason.NOT_A_SESSION, "ses_a")


def test_ids_that_are_no_text_are_passed_over(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.sources.database_memory._SLICE", 1)
    begin(writer, "ses_a")
    writer.run("INSERT INTO session (id, time_created, time_updated) VALUES (x'ff00', 1, 1), (x'ff01', 1, 1)")

    assert touched(source, tmp_path) == ["ses_a"]


def test_another_database_of_that_name_holds_no_sessions(source: OpenCode, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "opencode.db"))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()

    assert list(source.walk(str(tmp_path))) == []


def test_a_file_that_is_no_database_is_told(source: OpenCode, tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_text("Dear diary, " * 99)
    unit = Unit("opencode", str(tmp_path / "opencode.db"))

    assert source.touched(str(tmp_path / "opencode.db")) == (unit,)
    assert [found.unit for found in source.walk(str(tmp_path))] == [unit]
    with pytest.raises(ReadError, match="not a SQLite database"):
        source.read(source.look(unit))


def test_a_database_that_is_not_there_touches_nothing(source: OpenCode, tmp_path: Path) -> None:
    assert source.touched(str(tmp_path / "opencode.db")) == ()


def test_a_source_goes_to_another_process_without_its_memory(
    source: OpenCode, writer: DatabaseWriter, tmp_path: Path
) -> None:
    begin(writer, "ses_a")
    touched(source, tmp_path)

    assert read(pickle.loads(pickle.dumps(source)), tmp_path, "ses_a").session_id == "ses_a"


class OldFiles:
    """``storage`` of an old OpenCode."""

    def __init__(self, root: Path) -> None:
        self.storage = root / "storage"
        self.session = self.storage / "session" / "global" / "ses_a.json"

    def write(self, place: str, **content: Any) -> Path:
        path = self.storage / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"id": path.stem, **content}))
        return path

    def begin(self) -> Unit:
        self.write("session/global/ses_a.json", version="1.0.98", directory="/p", time={"created": 1, "updated": 2})
        self.write("message/ses_a/msg_1.json", role="user", time={"created": 1})
        self.write("part/msg_1/prt_1.json", type="text", text="Do it")
        self.answer("Done.")
        return Unit("opencode", str(self.session))

    def answer(self, said: str) -> Path:
        self.write("part/msg_2/prt_2.json", type="text", text=said)
        head = {"role": "assistant", "finish": "stop", "time": {"created": 2, "completed": 3}}
        return self.write("message/ses_a/msg_2.json", **head)


@pytest.fixture
def old(tmp_path: Path) -> OldFiles:
    return OldFiles(tmp_path)


def test_a_session_in_files_is_read_from_all_of_them(source: OpenCode, old: OldFiles, tmp_path: Path) -> None:
    unit = old.begin()
    old.write("part/msg_9/msg_of_nobody.json", type="text")

    found = list(source.walk(str(tmp_path)))
    session = source.read(found[0]).session

    assert [each.unit for each in found] == [unit]
    assert isinstance(session, Session)
    assert [message.text for message in session.messages] == ["Do it", "Done."]
    assert (session.session_id, session.agent_version, session.cost_usd) == ("ses_a", "1.0.98", None)


def test_a_message_that_is_written_touches_its_session(source: OpenCode, old: OldFiles) -> None:
    unit = old.begin()
    before = source.look(unit)
    message = old.answer("Better.")

    assert source.touched(str(message)) == (unit,)
    assert source.look(unit).stamp != before.stamp
    with pytest.raises(ChangingFileError):
        source.read(before)


def test_a_message_of_no_session_touches_nothing(source: OpenCode, old: OldFiles) -> None:
    assert source.touched(str(old.write("message/ses_b/msg_1.json", role="user"))) == ()


def test_a_file_that_is_being_written_is_read_later(source: OpenCode, old: OldFiles) -> None:
    unit = old.begin()
    old.answer("Done.").write_text('{"id": "msg_2", "ro')

    with pytest.raises(UnfinishedFileError, match="msg_2"):
        source.read(source.look(unit))


def test_files_of_a_shape_that_is_not_known_are_passed_over_and_told(source: OpenCode, old: OldFiles) -> None:
    unit = old.begin()
    old.write("message/ses_a/msg_3.json", role=[])
    old.write("part/msg_2/prt_9.json", type="text", text={})

    told = source.read(source.look(unit))

    assert isinstance(told.session, Session)
    assert [message.text for message in told.session.messages] == ["Do it", "Done."]
    assert told.unknown == UnknownKinds("1.0.98", ("part", "message"))


def test_links_among_the_files_are_not_followed(source: OpenCode, old: OldFiles, tmp_path: Path) -> None:
    unit = old.begin()
    elsewhere = tmp_path / "secret.json"
    elsewhere.write_text(json.dumps({"type": "text", "text": "secret"}))
    os.symlink(elsewhere, old.storage / "part" / "msg_2" / "prt_3.json")

    with pytest.raises(ParseError, match="not a regular file"):
        source.read(source.look(unit))


def test_files_that_are_too_many_are_refused(old: OldFiles, tmp_path: Path) -> None:
    unit = old.begin()
    few, small = (OpenCode([str(tmp_path)], limits=limits) for limits in (Limits(messages=2), Limits(bytes=90)))

    with pytest.raises(ParseError, match="max_messages = 2"):
        few.read(few.look(unit))
    with pytest.raises(ParseError, match="max_file_bytes = 90"):
        small.read(small.look(unit))


def test_folders_that_change_with_every_part_are_neither_watched_nor_entered(
    source: OpenCode, old: OldFiles, tmp_path: Path
) -> None:
    old.begin()
    (tmp_path / "snapshot" / "deep").mkdir(parents=True)
    walk = source.walk(str(tmp_path))
    list(walk)

    storage = tmp_path / "storage"
    assert source.watches == [
        Watch(str(tmp_path), recursive=False, writes=True),
        Watch(str(storage / "session")),
        Watch(str(storage / "message")),
    ]
    assert walk.folders == 4  # the root, storage, session and its one project


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        ("/d/opencode.db", True),
        ("/d/opencode.db-wal", True),
        ("/d/opencode.db-shm", False),
        ("/d/storage/session/global/ses_a.json", True),
        ("/d/storage/message/ses_a/msg_1.json", True),
        ("/d/storage/part/msg_1/prt_1.json", False),
        ("/d/auth.json", False),
    ],
)
def test_only_files_of_sessions_are_claimed(path: str, claimed: bool) -> None:
    source = OpenCode(limits=Limits())

    assert source.claims(path) is claimed
    assert source.recognizes(path, b"") is (claimed and "message" not in path and not path.endswith("-wal"))


def test_the_same_tables_under_another_name_are_read(
    source: OpenCode, follower: DatabaseWriter, tmp_path: Path
) -> None:
    begin(follower, "ses_a")
    database = tmp_path / "kilo.db"

    assert [unit.key for unit in source.touched(f"{database}-wal")] == ["ses_a"]
    assert [found.unit for found in source.walk(str(tmp_path))] == [Unit("opencode", str(database), "ses_a")]
    assert source.claims(f"{database}-journal")
    assert source.recognizes("/a/kilo.db", database.read_bytes()[:4_096])
    session = source.read(source.look(Unit("opencode", str(database), "ses_a"))).session
    assert isinstance(session, Session)
    assert (session.agent, session.format) == ("kilo", "opencode")


def test_databases_of_other_programs_hold_no_sessions(source: OpenCode, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0 and no more")
    with DatabaseWriter(tmp_path / "other.db") as process:
        process.run("CREATE TABLE notes (id text PRIMARY KEY)")

    torn = Unit("opencode", str(tmp_path / "torn.db"))
    assert [found.unit for found in source.walk(str(tmp_path))] == [torn]
    assert {name: list(source.touched(str(tmp_path / f"{name}.db"))) for name in ("text", "torn", "other")} == {
        "text": [],
        "torn": [torn],
        "other": [],
    }
    assert not source.recognizes(str(tmp_path / "text.db"), b"no database")
