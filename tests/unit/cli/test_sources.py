"""``sources`` as a person uses it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import apsw

from grader_daemon import bootstrap
from grader_daemon.cli.sources import UNKNOWN_WORDS
from grader_daemon.domain.session import Message, Session
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import write, write_claude
from tests.state_db import StateHome
from tests.unit.cli.conftest import Run


def test_what_a_source_does_not_know_can_be_said_in_words() -> None:
    unknown = {field for source in bootstrap.known_sources(load_settings()) for field in source.unknown}

    assert unknown <= set(UNKNOWN_WORDS)
    assert set(UNKNOWN_WORDS) <= {*Session.__struct_fields__, *Message.__struct_fields__}


def test_what_lies_here_is_listed_with_what_can_be_done(home: Path, run: Run) -> None:
    write(home / ".timmy" / "sessions", "one")
    write(home / ".timmy" / "sessions", "two")
    write_claude(home)

    lines = run(home, "sources").stdout.splitlines()

    by_name = {line.split()[0]: line.split(None, 1)[1] for line in lines if line and not line.startswith(" ")}
    assert by_name["hermes"].startswith("graded: 2 sessions and side calls in ~/.timmy; ")
    assert by_name["claude-code"].startswith("not graded: 1 session in ")
    assert "written by Claude Code 2.1.330" in by_name["claude-code"]
    assert by_name["codex"].startswith("not graded: no sessions in ")
    assert lines[-1] == "Next: grader-daemon sources enable claude-code (or disable, to hide the agent)"


def test_a_database_of_an_unknown_form_is_not_taken_for_one_without_sessions(home: Path, run: Run) -> None:
    hermes = home / ".hermes"
    hermes.mkdir()
    sessions = StateHome(hermes)
    sessions.session("one")
    sessions.turn("one")
    run(home, "config", "set", "watch_roots", str(hermes))
    assert "hermes          graded: 1 session in " in run(home, "sources").stdout
    with closing(apsw.Connection(str(sessions.path))) as connection:
        connection.execute("PRAGMA legacy_alter_table = ON").fetchall()
        connection.execute("ALTER TABLE messages RENAME COLUMN session_id TO renamed").fetchall()

    listed = run(home, "sources").stdout

    assert (
        "hermes          graded: cannot read ~/.hermes/state.db: this version of grader-daemon does not know" in listed
    )


def test_a_closed_folder_is_not_taken_for_one_without_sessions(
    home: Path, run: Run, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    write_claude(home)
    (home / ".codex/sessions").mkdir(parents=True)
    for folder in (".claude", ".codex/sessions"):
        (home / folder).chmod(0)

    with rights_of_owner():
        lines = run(home, "sources").stdout.splitlines()

    assert "claude-code     not graded: cannot read ~/.claude: no permission" in lines
    assert "codex           not graded: cannot read ~/.codex/sessions: no permission" in lines


def test_agents_that_are_not_read_are_named_with_what_to_do(home: Path, run: Run) -> None:
    before = run(home, "sources").stdout
    (home / ".factory/sessions").mkdir(parents=True)
    lines = run(home, "sources").stdout.splitlines()

    at = lines.index("Found, not read by this version (what to do: docs/other-agents.md):")
    assert lines[at + 1] == "  Factory Droid  ~/.factory/sessions"
    assert "not read by this version" not in before


def test_a_version_newer_than_any_that_was_tried_is_told(home: Path, run: Run) -> None:
    write_claude(home)
    file = next((home / ".claude/projects").rglob("*.jsonl"))
    file.write_text(file.read_text("utf-8").replace("2.1.330", "99.1.0"), "utf-8")

    listed = run(home, "sources").stdout
    run(home, "sources", "enable", "claude-code")
    checked = " ".join(run(home, "doctor").stdout.split())

    assert "written by Claude Code 99.1.0; the newest tested is 2.1.330" in listed
    assert "Claude Code 99.1.0, newer than the tested 2.1.330" in checked


def test_a_newer_version_is_told_beside_what_is_unknown_in_it(home: Path, run: Run) -> None:
    write_claude(home)
    file = next((home / ".claude/projects").rglob("*.jsonl"))
    file.write_text(file.read_text("utf-8").replace("2.1.330", "99.1.0") + '{"type":"dream"}\n', "utf-8")
    run(home, "sources", "enable", "claude-code")

    checked = " ".join(run(home, "doctor").stdout.split())

    assert "Claude Code 99.1.0, newer than the tested 2.1.330: 1 unknown kind of lines, skipped" in checked


def test_an_agent_is_enabled_and_declined(home: Path, run: Run) -> None:
    write_claude(home)

    enabled = run(home, "sources", "enable", "claude-code").stdout
    graded = run(home, "sources").stdout
    again = run(home, "sources", "enable", "claude-code").stdout
    declined = run(home, "sources", "disable", "claude-code").stdout
    asked = run(home).stdout

    assert enabled.startswith("Claude Code is graded: 1 session in ")
    assert "Next: grader-daemon grade --source claude-code, or grader-daemon run" in enabled
    assert "claude-code graded: 1 session in " in " ".join(graded.split())
    assert "Nothing to do: nothing changed." in again
    assert declined.startswith("Claude Code is no longer graded or mentioned.")
    assert "Claude Code" not in asked


def test_several_agents_are_enabled_at_once_and_nothing_is_graded_yet(home: Path, run: Run) -> None:
    write_claude(home)
    database = home / ".timmy/uniwizard/session_grades.db"
    database.parent.mkdir(parents=True)
    SqliteStore(database).close()

    enabled = run(home, "sources", "enable", "claude-code", "codex").stdout
    before = run(home, "sources").stdout
    run(home, "grade")
    after = run(home, "sources").stdout
    disabled = run(home, "sources", "disable", "claude-code", "codex").stdout

    assert "Claude Code is graded: " in enabled
    assert "Codex is graded: " in enabled
    assert before.endswith("\nNext: grader-daemon run\n")
    assert after.endswith("\nNext: grader-daemon list\n")
    assert disabled.count("is no longer graded or mentioned") == 2


def test_a_source_that_is_none_is_refused_in_one_line(home: Path, run: Run) -> None:
    ended = run(home, "sources", "enable", "claude")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "claude-code" in ended.stderr
    assert ended.stderr.count("\n") == 1
