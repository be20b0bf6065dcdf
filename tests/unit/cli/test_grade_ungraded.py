from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from grader_daemon import IngestOutcome, IngestResult
from grader_daemon.api.grading import Grading
from grader_daemon.sources.codex.rollout_files import CodexRollouts
from tests.conftest import SessionWriter
from tests.strategies import json_answer, json_user
from tests.unit.cli.conftest import Run
from tests.units import unit

MESSAGES = [json_user("Fix the parser"), json_answer("Done: the parser is fixed, and all tests pass.")]


@pytest.fixture
def home(tmp_path: Path, write_session: SessionWriter) -> Path:
    """Two sessions below `sessions`."""
    for name in ("a", "b"):
        write_session(MESSAGES, session_id=name)
    return tmp_path


def test_a_folder_that_is_none_is_an_error(home: Path, run: Run) -> None:
    ended = run(home, "grade", "--watch-root", "nope")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"grader-daemon: {home}/nope: no such folder, so nothing was searched\n"


def test_beside_a_folder_that_is_none_the_others_are_graded(home: Path, run: Run) -> None:
    ended = run(home, "grade", "--watch-root", "nope", "--watch-root", "sessions")
    assert (ended.returncode, ended.stdout) == (1, "2 graded\n")
    assert "nope: no such folder; the others are searched" in ended.stderr


@pytest.mark.parametrize("method", ["walk", "claims"])
def test_beside_a_source_that_fails_the_others_are_graded(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no such kind")

    (home / ".codex/sessions").mkdir(parents=True)
    (home / ".codex/sessions/rollout-2026-11-01T00-00-00-1.jsonl").write_text("{}")
    run(home, "sources", "enable", "codex")
    monkeypatch.setattr(CodexRollouts, method, fail)
    ended = run(home, "grade", "--watch-root", "sessions")

    assert (ended.returncode, ended.stdout) == (1, "2 graded\n")
    assert ended.stderr == (
        "grader-daemon: files of codex are left out because of a bug in grader-daemon: ValueError: no such kind\n"
    )


def test_what_cannot_be_read_is_named_each_time(
    home: Path, run: Run, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    closed, shut = home / ".codex/sessions", home / "sessions/session_a.json"
    closed.mkdir(parents=True)
    closed.chmod(0)
    shut.chmod(0)
    run(home, "sources", "enable", "codex")
    with rights_of_owner():
        first = run(home, "grade", "--watch-root", "sessions")
        second = run(home, "grade", "--watch-root", "sessions")
        listed = run(home, "grade", "--watch-root", "sessions", "--dry-run")
    closed.chmod(0o700)
    shut.chmod(0o600)
    third = run(home, "grade", "--watch-root", "sessions")

    folder = f"grader-daemon: {closed}: cannot be read\n"
    assert first == (1, "1 graded, 1 to be retried\n", folder)
    for again, told in ((second, ""), (listed, "0 files would be graded.\n")):
        assert (again.returncode, again.stdout) == (1, told)
        assert again.stderr.startswith(f"grader-daemon: {shut}: permission denied; ")
        assert again.stderr.endswith(folder)
    assert third == (0, "1 graded\n", "")


def test_of_many_that_cannot_be_read_the_first_are_named(home: Path, run: Run) -> None:
    for number in range(12):
        (home / f"sessions/session_bad{number:02}.json").write_text("{")
    run(home, "grade", "--watch-root", "sessions")

    told = run(home, "grade", "--watch-root", "sessions").stderr.splitlines()

    assert [Path(line.split(": ")[1]).name for line in told[:-1]] == [
        f"session_bad{number:02}.json" for number in range(10)
    ]
    assert told[-1] == "grader-daemon: 2 more are left out; see: grader-daemon status"


def test_permission_is_told_from_absence_of_one_agent(
    home: Path, run: Run, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    (home / ".claude/projects").mkdir(parents=True)
    (home / ".claude").chmod(0)
    with rights_of_owner():
        closed = run(home, "grade", "--source", "claude-code")
    absent = run(home, "grade", "--source", "codex")

    assert closed == (1, "", f"grader-daemon: {home}/.claude: cannot be read\n")
    assert (absent.returncode, "no such folder, so nothing was searched" in absent.stderr) == (2, True)


def test_a_folder_without_sessions_is_told(home: Path, run: Run) -> None:
    (home / "empty").mkdir()
    for arguments in (("grade", "empty"), ("grade", "empty", "--dry-run")):
        ended = run(home, *arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == f"cannot grade {home}/empty: no session files are below it\n"


def test_json_of_another_kind_is_told_in_words(home: Path, run: Run) -> None:
    (home / "other.json").write_text('{"a": 1}')

    ended = run(home, "grade", "other.json", "--dry-run")

    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == f"skipped {home}/other.json: not a session of a known agent\n"


def test_what_came_of_it_is_a_document_too(home: Path, run: Run) -> None:
    tried = json.loads(run(home, "grade", "--watch-root", "sessions", "--dry-run", "--json").stdout)
    done = json.loads(run(home, "grade", "--watch-root", "sessions", "--json").stdout)
    assert sorted(Path(path).name for path in tried["files"]) == ["session_a.json", "session_b.json"]
    assert done == {"schema_version": 1, "files": {"graded": 2}}


@pytest.mark.parametrize(
    ("command", "method"),
    [
        pytest.param(["grade"], "backfill", id="ungraded"),
        pytest.param(["grade", "--again", "--all"], "regrade", id="again"),
    ],
)
def test_whoever_stops_it_is_told_how_far_it_came(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str], method: str
) -> None:
    run(home, "grade", "--watch-root", "sessions", "--since", "9999w")
    (home / "sessions" / "session_a.json").touch()
    (home / "sessions" / "session_b.json").touch()

    def interrupted(*_: object, **__: object) -> Iterator[list[IngestResult]]:
        yield [IngestResult(unit=unit("a"), outcome=IngestOutcome.GRADED)]
        raise KeyboardInterrupt

    monkeypatch.setattr(Grading, method, interrupted)
    ended = run(home, *command, "--watch-root", "sessions")
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.rstrip() == "Stopped: 1 of 2 files are done and saved. Start again for the rest."
