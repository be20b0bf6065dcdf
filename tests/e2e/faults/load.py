"""An agent at work while something goes wrong, and what must be true afterwards.

Afterwards every session that was written is in the database exactly once, with the grade of an undisturbed run.
"""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from types import TracebackType

import apsw

from tests.e2e.daemon_process import DaemonProcess, Row, query, run_command, wait_until
from tests.e2e.session_files import failing, turns, write

_PAUSE_SECONDS = 0.02
_UNLIKE = frozenset({"id", "graded_at"})
"""Columns in which two runs may differ."""


class Load:
    """Writes sessions below `folder` until its block ends: new ones, and old ones that grow, fail or are resumed.

    `versions` counts how often each file was written; a file may not be graded more often than that. Writing goes on
    whatever happens to the folder: what could not be written is not counted.
    """

    def __init__(
        self, folder: Path, *, seed: int = 0, name: str = "load", pause_seconds: float = _PAUSE_SECONDS
    ) -> None:
        self.versions: dict[Path, int] = {}
        self._folder = folder
        self._name = name
        self._random = random.Random(seed)
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def wait_for_sessions(self, count: int) -> None:
        """Wait until so many files were written."""
        wait_until(lambda: len(self.versions) >= count, f"{count} files to be written")

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_seconds):
            known = list(self.versions)
            again = known and self._random.random() < 0.4
            number = self._random.randrange(len(known)) if again else len(known)
            try:
                path = self._write(number)
            except OSError:
                continue
            self.versions[path] = self.versions.get(path, 0) + 1

    def _write(self, number: int) -> Path:
        name = f"{self._name}_{number:05d}"
        rounds = self._random.randint(1, 12)
        messages = failing(rounds) if self._random.random() < 0.2 else turns(rounds, task=f"Fix the parser {number}")
        return write(self._folder, name, messages)


def wait_until_caught_up(daemon: DaemonProcess, folder: Path, *, within: float = 60) -> None:
    """Wait until the ledger knows every session below `folder` as it is now."""

    def is_caught_up() -> bool:
        rows = daemon.query(
            "SELECT path, size, mtime_ns, inode FROM session_files WHERE state IN ('graded', 'skipped')"
        )
        known = {row["path"]: (row["size"], row["mtime_ns"], row["inode"]) for row in rows}
        statuses = {str(path): path.stat() for path in folder.rglob("session_*.json")}
        return all(
            known.get(path) == (status.st_size, status.st_mtime_ns, status.st_ino) for path, status in statuses.items()
        )

    wait_until(is_caught_up, f"the ledger to know all below {folder}", within=within)


def assert_nothing_lost_or_twice(
    home: Path, database: Path, folder: Path, *, versions: dict[Path, int] | None = None
) -> None:
    """Compare the database with what grading the files as they are now gives, and with itself."""
    expected = undisturbed(home, folder)
    stored = {row["session_id"]: row for row in query(database, "SELECT * FROM session_grades")}
    assert sorted(stored) == sorted(expected)
    for session_id, grade in expected.items():
        differing = {
            column: (value, grade[column])
            for column, value in _decoded(stored[session_id]).items()
            if column not in _UNLIKE and value != grade[column]
        }
        assert not differing, (session_id, differing)
    if versions is not None:
        for path, written in versions.items():
            ledger = query(database, "SELECT grades FROM session_files WHERE path = ?", str(path))
            assert ledger, path
            assert ledger[0]["grades"] <= written, path
    assert integrity(database) == "ok"


def undisturbed(home: Path, folder: Path) -> dict[str, Row]:
    """Grade the files below `folder` without any database; by session id."""
    done = run_command(home, "grade", folder, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    return {grade["session_id"]: grade for grade in json.loads(done.stdout)["grades"]}


def integrity(database: Path) -> str:
    """What SQLite says of the file: "ok"."""
    connection = apsw.Connection(str(database))
    try:
        return str(connection.execute("PRAGMA quick_check").get)
    finally:
        connection.close()


def _decoded(row: Row) -> Row:
    """A row as `grade --json` shows it."""
    lists = {name: json.loads(row[name]) for name in ("error_types", "tools_with_errors")}
    flags = (
        *("task_completed", "errors_recovered", "had_repeated_errors", "had_infinite_loop_risk"),
        "had_user_clarification",
    )
    start = row["session_start"].replace("+00:00", "Z")
    return row | lists | {name: bool(row[name]) for name in flags} | {"session_start": start}
