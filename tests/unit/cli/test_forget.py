"""`sources forget`, and the traces that `grade` leaves of files that are no sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import document, json_answer, json_user
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
WATCHED = Path(".timmy/sessions")
SESSION = document([json_user(), json_answer()], session_id="fine")
NO_SESSION = b"root:x:0:0:root:/root:/bin/sh\n"


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def remembered(home: Path) -> list[str]:
    store = SqliteStore(home / DATABASE)
    found = [row[0] for row in store.rows("SELECT path FROM session_files ORDER BY path")]
    store.close()
    return found


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(NO_SESSION, id="no-json"),
        pytest.param(b"{", id="unfinished"),
        pytest.param(b'{"name": "something else"}', id="json-of-another-kind"),
    ],
)
def test_a_named_file_that_is_no_session_leaves_no_trace(content: bytes, home: Path, run: Run) -> None:
    stranger = write(home / "etc" / "passwd", content)

    ended = run(home, "grade", str(stranger))

    assert str(stranger) in ended.stderr
    assert remembered(home) == []


def test_a_named_session_is_remembered_even_when_it_breaks_later(home: Path, run: Run) -> None:
    path = write(home / "elsewhere" / "session_fine.json", SESSION)
    assert run(home, "grade", str(path)).returncode == 0
    path.write_bytes(NO_SESSION)

    assert run(home, "grade", str(path)).returncode == 1

    assert remembered(home) == [str(path)]


def test_a_watched_file_that_is_no_session_is_remembered_though_it_is_named(home: Path, run: Run) -> None:
    path = write(home / WATCHED / "session_bad.json", NO_SESSION)

    run(home, "grade", str(path))

    assert remembered(home) == [str(path)]


def test_what_is_forgotten_and_what_is_not_is_said(home: Path, run: Run) -> None:
    bad = write(home / WATCHED / "session_bad.json", NO_SESSION)
    gone = write(home / WATCHED / "session_gone.json", NO_SESSION)
    fine = write(home / WATCHED / "session_fine.json", SESSION)
    run(home, "grade", str(home / WATCHED))
    gone.unlink()

    said = run(home, "sources", "forget", str(bad), str(gone), str(fine), "never")

    assert said.returncode == 1
    assert said.stdout.splitlines() == [
        f"{bad}: forgotten; it is in a watched folder, so the next scan finds it again",
        f"{gone}: forgotten",
        f"{fine}: graded, so nothing was forgotten",
        f"{home / 'never'}: unknown, so there is nothing to forget",
    ]
    assert remembered(home) == [str(fine)]


def test_forgetting_is_told_as_json(home: Path, run: Run) -> None:
    bad = write(home / WATCHED / "session_bad.json", NO_SESSION)
    run(home, "grade", str(bad))

    said = run(home, "sources", "forget", "--json", str(bad))

    assert (said.returncode, json.loads(said.stdout)) == (
        0,
        {"schema_version": 1, "files": [{"file": str(bad), "fate": "forgotten", "comes_back": True}]},
    )
