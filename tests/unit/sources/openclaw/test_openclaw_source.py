from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import USER, Session, SessionKind, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ChangingFileError, ParseError, ReadError, VanishedFileError
from grader_daemon.sources.hermes.hermes_source import Hermes
from grader_daemon.sources.openclaw.openclaw_source import OpenClaw
from grader_daemon.sources.protocol import Read, UnknownKinds, Watch
from grader_daemon.sources.sqlite_files import Reader, Value
from tests.database_writer import DatabaseWriter
from tests.openclaw_home import LINE, OLD_TABLES, PACKED, TABLES, Statement, database_in, made, rows, run, window
from tests.pi_lines import PiLines, call


def spoken(session: str = "a", turns: int = 1, **head: object) -> PiLines:
    lines = PiLines(id=session, version=4, **head)
    for turn in range(turns):
        lines.prompt(f"Do it {turn}", __openclaw={"senderIsOwner": True})
        lines.answer("Done.")
    return lines


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return made(database_in(tmp_path))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[DatabaseWriter]:
    with DatabaseWriter(database_in(tmp_path)) as process:
        for statement in TABLES:
            process.run(statement)
        yield process


@pytest.fixture
def source(tmp_path: Path) -> OpenClaw:
    return OpenClaw([str(tmp_path)], limits=Limits())


def begin(database: Path, *names: str) -> None:
    for name in names:
        run(database, window(name), *rows(name, spoken(name).lines))


def touched(source: OpenClaw, database: Path) -> list[str]:
    return [unit.key for unit in source.touched(f"{database}-wal")]


def of(source: OpenClaw, database: Path, key: str) -> Read:
    return source.read(source.look(Unit("openclaw", str(database), key)))


def read(source: OpenClaw, database: Path, key: str = "a") -> Session:
    session = of(source, database, key).session
    assert isinstance(session, Session)
    return session


def test_all_sessions_of_all_agents_are_found(source: OpenClaw, database: Path, tmp_path: Path) -> None:
    begin(database, "a", "b")
    begin(made(database_in(tmp_path, "work")), "c")
    run(database, window("never-began"))

    found = list(source.walk(str(tmp_path)))

    assert sorted(each.unit.key for each in found) == ["a", "b", "c"]
    found.sort(key=lambda each: each.unit.key)
    assert found[0].written_ns == 1_795_000_002_000_000_000
    session = read(source, database)
    assert [message.text for message in session.messages] == ["Do it 0", "Done."]
    assert (session.session_id, session.agent, session.project, session.kind) == (
        "a",
        "openclaw",
        "/p",
        SessionKind.MAIN,
    )
    assert source.size_of(found[0].unit) == 4_500
    assert source.size_of(Unit("openclaw", str(database), "gone")) == 0


def test_only_what_changed_is_touched(source: OpenClaw, database: Path) -> None:
    begin(database, "a", "b")
    first = touched(source, database)
    nothing = touched(source, database)
    begin(database, "c")
    run(database, *rows("b", spoken("b", 2).lines, begin=3))
    new = touched(source, database)
    run(database, ("UPDATE session_windows SET status = 'failed' WHERE session_id = 'a'", ()))
    ended = touched(source, database)
    run(database, ("UPDATE session_windows SET updated_at = 9", ()))

    assert (first, nothing, sorted(new), ended, touched(source, database)) == (["a", "b"], [], ["b", "c"], ["a"], [])


def test_lines_that_are_written_anew_are_a_change(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    touched(source, database)
    other = json.dumps({**spoken().lines[1], "message": {"role": "user", "content": "Other"}})
    run(
        database,
        ("UPDATE transcript_events SET event_json = ? WHERE seq = 1", (other,)),
        ("INSERT INTO transcript_rewrite_watermarks VALUES ('a', 'x')", ()),
    )

    assert touched(source, database) == ["a"]
    assert read(source, database).messages[0].text == "Other"


def test_long_lines_are_unpacked(source: OpenClaw, database: Path) -> None:
    lines = spoken()
    lines.answer(call("exec", "c1", command="seq 1 9"), stop="toolUse")
    lines.result("c1", "12345\n" * 20_000, tool="exec", details={"exitCode": 0})
    run(database, window("a"), *rows("a", lines.lines[:-1]))
    run(database, *rows("a", lines.lines, begin=len(lines.lines) - 1, packed=True))

    assert len(read(source, database).messages[-1].text) == 120_000


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"no such thing", id="not-packed"),
        pytest.param(b"\x28\xb5\x2f\xfd", id="cut"),
        pytest.param(b"(\xb5/\xfd\xa4\xff\xff\xff\xff\x00\x00\x00", id="a-length-beyond-all"),
    ],
)
def test_a_line_that_cannot_be_unpacked_is_told_and_costs_no_other(
    packed: bytes, source: OpenClaw, database: Path
) -> None:
    begin(database, "a")
    run(database, (PACKED, ("a", 99, packed, 5, 1)))
    found = of(source, database, "a")

    assert isinstance(found.session, Session)
    assert len(found.session.messages) == 2
    assert found.unknown in (UnknownKinds(None, (), 1), None)


def test_a_line_that_unpacks_to_too_much_is_none(
    source: OpenClaw, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader_daemon.sources.openclaw.openclaw_db._MOST_UNPACKED", 1_000)
    lines = spoken()
    lines.answer("x" * 2_000)
    run(database, window("a"), *rows("a", lines.lines, packed=True))
    found = of(source, database, "a")

    assert isinstance(found.session, Session)
    assert len(found.session.messages) == 2
    assert found.unknown == UnknownKinds(None, (), 1)


def test_nothing_but_sessions_and_their_lines_is_read(
    source: OpenClaw, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows_of = Reader.rows

    def note(self: Reader, statement: str, values: Sequence[Value] = ()) -> list[tuple[Value, ...]]:
        asked.append(f"{statement} {values}")
        return rows_of(self, statement, values)

    monkeypatch.setattr(Reader, "rows", note)
    begin(database, "a")
    touched(source, database)
    read(source, database)

    assert asked
    assert not [each for each in asked if "auth" in each or "memory" in each]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("agent:main:main", SessionKind.MAIN),
        ("agent:main:telegram:group:7", SessionKind.MAIN),
        ("agent:main:subagent:0f", SessionKind.SUB_AGENT),
        ("agent:main:cron:daily:run:5", SessionKind.CRON),
        ("cron:daily", SessionKind.CRON),
        ("hook:0f", SessionKind.CRON),
    ],
)
def test_the_key_tells_who_began_it(key: str, kind: SessionKind, source: OpenClaw, database: Path) -> None:
    run(database, window("a", key), *rows("a", spoken().lines))

    assert read(source, database).kind is kind


def test_a_sub_agent_names_the_session_that_began_it(source: OpenClaw, database: Path) -> None:
    begin(database, "parent")
    run(database, window("a", "agent:main:x"), window("b", "agent:main:y"))
    run(database, *rows("a", spoken("a").lines), *rows("b", spoken("b").lines))
    run(
        database,
        ("UPDATE session_windows SET spawned_by = 'agent:main:main', channel = 'slack' WHERE session_id = 'a'", ()),
        ("UPDATE session_windows SET spawned_by = 'agent:main:gone' WHERE session_id = 'b'", ()),
    )
    one, other = read(source, database, "a"), read(source, database, "b")

    assert (one.kind, one.parent, one.platform) == (SessionKind.SUB_AGENT, "parent", "slack")
    assert (other.kind, other.parent) == (SessionKind.SUB_AGENT, "agent:main:gone")


def test_a_window_goes_on_from_the_one_before(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    run(database, window("b", previous="a", reason="reset"), *rows("b", spoken("b").lines))
    run(database, window("c", previous="a", reason="fork"), *rows("c", spoken("c", parentSession="other").lines))

    assert (read(source, database, "b").parent, read(source, database, "c").parent) == ("a", "other")
    assert isinstance(of(source, database, "a").session, Session)


def test_a_session_in_which_a_person_went_back_takes_the_place_of_the_one_before(
    source: OpenClaw, database: Path
) -> None:
    lines = spoken("a", 2)
    run(database, window("a"), *rows("a", lines.lines))
    touched(source, database)
    lines.add("leaf", targetId=lines.lines[2]["id"])
    again = [{**lines.lines[0], "id": "b"}, *lines.lines[1:]]
    run(database, window("b", previous="a", reason="rewind"), *rows("b", again))

    assert sorted(touched(source, database)) == ["a", "b"]
    assert of(source, database, "a").session == Skipped(SkipReason.SUPERSEDED, "a")
    went_back = read(source, database, "b")
    assert ([message.text for message in went_back.messages], went_back.taken_back) == (["Do it 0", "Done."], (2,))


@pytest.mark.parametrize(
    ("status", "stop", "state"),
    [
        ("failed", "toolUse", SessionState.INTERRUPTED),
        ("killed", "toolUse", SessionState.INTERRUPTED),
        ("timeout", "toolUse", SessionState.INTERRUPTED),
        ("running", "toolUse", SessionState.OPEN),
        ("failed", "stop", SessionState.COMPLETE),
        (None, "toolUse", SessionState.OPEN),
    ],
)
def test_the_row_says_how_a_run_ended_that_broke_off(
    status: str | None, stop: str, state: SessionState, source: OpenClaw, database: Path
) -> None:
    lines = spoken()
    lines.answer("I will", stop=stop)
    run(database, window("a"), *rows("a", lines.lines), ("UPDATE session_windows SET status = ?", (status,)))
    ending = read(source, database).ending

    assert ending is not None
    assert ending.state is state


CONTEXT = 'Conversation info (untrusted metadata):\n```json\n{"message_id": "1"}\n```\n\n'
MARKED = "Chat history: \u27e6openclaw:ctx\u27e7\nAnn: hello\nBob: hi\n\n"
INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nx\n\ny\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{CONTEXT}Fix it\n\nall", "Fix it\n\nall"),
        (f"{CONTEXT}{MARKED}Fix it", "Fix it"),
        (f"{MARKED}[Wed 2026-11-25 08:15 UTC] Fix it", "Fix it"),
        ("[Wed 2026-11-25 08:15 UTC] Fix it", "Fix it"),
        (f"{INTERNAL}Fix it", "Fix it"),
        (CONTEXT, CONTEXT),
        ("Fix it (untrusted metadata):", "Fix it (untrusted metadata):"),
        ("[x] Fix it", "[x] Fix it"),
    ],
)
def test_what_stands_before_the_words_of_a_person_is_not_theirs(
    text: str, said: str, source: OpenClaw, database: Path
) -> None:
    lines = PiLines(id="a")
    lines.prompt(text)
    lines.answer("Done.")
    run(database, window("a"), *rows("a", lines.lines))

    assert read(source, database).messages[0].text == said


def test_what_other_sessions_and_the_machinery_said_is_no_persons_but_for_the_first_word(
    source: OpenClaw, database: Path
) -> None:
    lines = PiLines(id="a")
    for kind in ("inter_session", "external_user", "internal_system", "inter_session"):
        lines.prompt(kind, provenance={"kind": kind, "sourceTool": "sessions_send"})
    run(database, window("a"), *rows("a", lines.lines))

    said = [message.text for message in read(source, database).messages if message.role == USER]
    assert said == ["inter_session", "external_user"]


def test_tables_of_an_earlier_version_are_read(source: OpenClaw, tmp_path: Path) -> None:
    database = made(database_in(tmp_path), OLD_TABLES)
    run(database, ("INSERT INTO sessions VALUES ('a', 'agent:main:main', 1)", ()), *rows("a", spoken().lines))
    assert touched(source, database) == ["a"]
    run(database, ("INSERT INTO sessions VALUES ('b', 'agent:main:main', 1)", ()), *rows("b", spoken("b").lines))

    assert touched(source, database) == ["b"]
    assert len(read(source, database).messages) == 2


def test_the_writer_is_not_disturbed(source: OpenClaw, writer: DatabaseWriter, tmp_path: Path) -> None:
    """Beside it another reads; it checkpoints, and is killed."""
    database = database_in(tmp_path)
    told = spoken("a", 40).lines
    writer.commit(_plain(window("a")), *map(_plain, rows("a", told[:3])))
    for end in range(5, len(told) + 1, 2):
        writer.commit(*map(_plain, rows("a", told[:end], begin=end - 2)))
        touched(source, database)
        read(source, database)
        if end % 20 == 1:
            writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    beside = sorted(path.name for path in database.parent.iterdir())
    writer.kill()

    assert len(read(source, database).messages) == 80
    assert sorted(path.name for path in database.parent.iterdir()) == beside
    assert writer.longest_wait_seconds < 0.05


def _plain(statement: Statement) -> tuple[str, tuple[object, ...]]:
    return statement[0], tuple(statement[1])


def test_a_session_that_goes_on_while_it_is_read_is_not_read(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    found = source.look(Unit("openclaw", str(database), "a"))
    run(database, *rows("a", spoken("a", 2).lines, begin=3))

    with pytest.raises(ChangingFileError):
        source.read(found)


def test_content_that_is_known_is_not_told_again(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    found = source.look(Unit("openclaw", str(database), "a"))
    digest = source.read(found).digest

    assert source.read(found, unless=digest) == Read(digest, None)


def test_a_session_that_is_too_large_is_refused(database: Path, tmp_path: Path) -> None:
    begin(database, "a")
    few, small = (OpenClaw([str(tmp_path)], limits=limits) for limits in (Limits(messages=1), Limits(bytes=20)))

    with pytest.raises(ParseError, match="max_messages = 1"):
        of(few, database, "a")
    with pytest.raises(ParseError, match="max_file_bytes = 20"):
        of(small, database, "a")


@pytest.mark.thorough
def test_ten_thousand_messages_are_read_in_slices(
    source: OpenClaw, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(database, window("a"), *rows("a", spoken("a", 5_001).lines))
    assert len(read(source, database).messages) == 10_002

    monkeypatch.setattr("grader_daemon.sources.sqlite_files._SHORT_SECONDS", 0.0)
    monkeypatch.setattr("grader_daemon.sources.openclaw.openclaw_db._ROWS", 5_000)
    assert len(read(source, database).messages) == 10_002


def test_a_session_that_is_put_away_is_gone(source: OpenClaw, database: Path) -> None:
    begin(database, "a", "b")
    touched(source, database)
    run(database, ("DELETE FROM transcript_events WHERE session_id = 'b'", ()))

    assert touched(source, database) == []
    with pytest.raises(VanishedFileError):
        source.look(Unit("openclaw", str(database), "b"))


def test_rows_of_a_shape_that_is_not_known_are_passed_over(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    run(database, ("INSERT INTO transcript_events VALUES ('a', 9, NULL, 1, x'', 5)", ()))
    run(database, ("INSERT INTO transcript_events VALUES ('a', 10, '{', 1, NULL, 5)", ()))
    found = of(source, database, "a")

    assert isinstance(found.session, Session)
    assert found.unknown is not None


@pytest.mark.parametrize("number", [pytest.param("x", id="text"), pytest.param("0.5", id="fraction")])
def test_lines_whose_numbers_do_not_grow_are_not_read_again_and_again(tmp_path: Path, number: str) -> None:
    """Without end, where nothing is in them."""
    database = made(database_in(tmp_path), OLD_TABLES)
    run(database, ("INSERT INTO sessions VALUES ('a', 'k', 9)", ()), *rows("a", spoken("a").lines))
    said = json.dumps({"type": "x" * 1_000})
    run(database, *((LINE, ("a", f"{number}{each:03}", said, 5)) for each in range(1, 100)))

    assert len(read(OpenClaw([str(tmp_path)], limits=Limits(bytes=1_000_000)), database).messages) == 2


def test_a_session_is_called_by_its_row(source: OpenClaw, database: Path) -> None:
    run(database, window("a"), *rows("a", spoken("another").lines))
    session = read(source, database)

    assert (session.session_id, session.named_after_id) == ("a", True)


def test_a_session_without_a_word_is_none(source: OpenClaw, database: Path) -> None:
    run(database, window("a"), *rows("a", spoken("a", 0).lines))

    assert of(source, database, "a").session == Skipped(SkipReason.NOT_A_SESSION, "a")


def test_another_database_of_that_name_holds_no_sessions(source: OpenClaw, tmp_path: Path) -> None:
    database = made(database_in(tmp_path), ("CREATE TABLE notes (text)",))
    unit = Unit("openclaw", str(database))

    assert (list(source.walk(str(tmp_path))), touched(source, database)) == ([], [])
    with pytest.raises(VanishedFileError):
        source.look(unit)
    assert source.size_of(unit) == 0


def test_a_file_that_is_no_database_is_told(source: OpenClaw, tmp_path: Path) -> None:
    database = database_in(tmp_path)
    database.write_text("Dear diary, " * 99)
    unit = Unit("openclaw", str(database))

    assert source.touched(str(database)) == (unit,)
    assert [found.unit for found in source.walk(str(tmp_path))] == [unit]
    with pytest.raises(ReadError, match="not a SQLite database"):
        source.read(source.look(unit))


def test_a_database_that_is_gone_or_locked_holds_nothing_now(source: OpenClaw, tmp_path: Path) -> None:
    path = database_in(tmp_path)
    assert source.touched(str(path)) == ()

    begin(made(path), "a")
    with closing(apsw.Connection(str(path))) as connection:
        for statement in ("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"):
            connection.execute(statement).fetchall()
        assert list(source.walk(str(tmp_path))) == []
        assert source.touched(str(path)) == ()


def test_tables_that_go_while_a_session_is_read_take_it_with_them(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    found = source.look(Unit("openclaw", str(database), "a"))
    run(database, ("DROP TABLE transcript_events", ()))

    with pytest.raises(VanishedFileError):
        source.read(found)


def test_a_source_goes_to_another_process_without_its_memory(source: OpenClaw, database: Path) -> None:
    begin(database, "a")
    touched(source, database)
    other: OpenClaw = pickle.loads(pickle.dumps(source))

    assert other.roots == source.roots
    assert touched(other, database) == ["a"]


def test_a_file_of_old_is_read_and_is_none_of_hermes(source: OpenClaw, tmp_path: Path) -> None:
    path = tmp_path / "agents" / "main" / "sessions" / "a-topic-7.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(spoken().content)
    (found,) = source.walk(str(tmp_path))
    session = source.read(found).session
    beginning = spoken().content[:4_096]

    assert isinstance(session, Session)
    assert (session.session_id, session.kind, session.agent) == ("a", SessionKind.MAIN, "openclaw")
    assert list(source.touched(str(path))) == [found.unit]
    assert source.size_of(found.unit) == path.stat().st_size
    assert source.recognizes(str(path), beginning)
    assert not Hermes([], zone=None, limits=Limits()).recognizes(str(path), beginning)


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        ("/r/main/agent/openclaw-agent.sqlite", True),
        ("/r/main/agent/openclaw-agent.sqlite-wal", True),
        ("/r/main/agent/openclaw-agent.sqlite-shm", False),
        ("/r/agents/main/sessions/0f-1.jsonl", True),
        ("/r/agents/main/sessions/0f-1.trajectory.jsonl", False),
        ("/r/agents/main/sessions/0f-1.jsonl.reset.2026", False),
        ("/r/agents/main/sessions/sessions.json", False),
    ],
)
def test_only_files_with_sessions_are_claimed(path: str, claimed: bool) -> None:
    assert OpenClaw(limits=Limits()).claims(path) is claimed


def test_a_database_is_watched_for_each_write(source: OpenClaw, tmp_path: Path) -> None:
    assert source.watches == [Watch(str(tmp_path), writes=True)]


def test_a_line_of_any_form_is_one_line(source: OpenClaw, database: Path) -> None:
    said: list[dict[str, Any]] = spoken().lines
    run(database, window("a"))
    for seq, line in enumerate(said):
        run(
            database,
            ("INSERT INTO transcript_events VALUES ('a', ?, ?, 1, NULL, 5)", (seq, json.dumps(line, indent=1))),
        )

    assert len(read(source, database).messages) == 2
