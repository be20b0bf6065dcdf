"""A database of many sessions within minutes: some are graded, then their rows are multiplied by SQL.

Each copy of a session has an id, a file, keys of identity and times of its own, so that a year is filled up to now. The
list and all sums are made from the rows by the code that makes them when a database is opened, and the feed of changes
tells each session once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.settings import Settings, load_settings
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.storage.records import ChangeKind
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks import machine
from tests.benchmarks.process import Sandbox, make_sandbox
from tests.benchmarks.sessions import write_sessions

GRADED = 400
"""So many sessions are graded for a home; all others are copies of them."""

SELDOM = "seldom-used"
"""The model of one session alone, the oldest."""

_BYTES = 4_000
_SPAN = timedelta(days=365)
_QUIET = timedelta(days=1)
_SECONDS = "(?1 - copy * ?2)"
_KEY_BITS = 0x3FFF_FFFF_FFFF_FFFF


def _same(column: str) -> str:
    return f"s.{column}"


def _copied(column: str) -> str:
    return f"s.{column} || '-' || copy"


def _file(column: str) -> str:
    return f"substr(s.{column}, 1, length(s.{column}) - 5) || '-' || copy || '.json'"


def _moved(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%S', s.{column}, {_SECONDS} || ' seconds') || substr(s.{column}, 20)"


def _key(column: str) -> str:
    return f"(s.{column} & {_KEY_BITS}) + copy"


_COLUMNS: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("session_id", "asked_again"), _copied),
    **dict.fromkeys(("session_file", "path"), _file),
    **dict.fromkeys(("graded_at", "session_start", "ended_at", "updated_at", "started_at", "seen_at"), _moved),
    **dict.fromkeys(("conversation", "request"), _key),
    "lineage": lambda column: f"s.{column} + {_SECONDS} * 1000000",
    "written_ns": lambda column: f"s.{column} + {_SECONDS} * 1000000000",
    "stamp": lambda column: f"s.{column} || copy",
    "ended_on": lambda _: f"date(s.ended_at, {_SECONDS} || ' seconds')",
    "model": lambda column: f"iif(copy = ?3 AND s.rowid = 1, '{SELDOM}', s.{column})",
}
"""What a copy has of its own; all else is the same."""

_NAMES = "SELECT session_id FROM session_grades ORDER BY id"

_TABLES = ("session_grades", "session_details", "session_failures", "session_files")


def make_home(folder: Path, *, sessions: int) -> tuple[Sandbox, Settings]:
    """Make a home with a database of about `sessions` and their files, or bring one that was kept to this version."""
    sandbox = make_sandbox(folder, settings={"GRADER_TIMEZONE": "UTC"})
    settings = load_settings(db_path=str(sandbox.database), watch_roots=[str(sandbox.root)])
    if not sandbox.database.exists():
        machine.progress("making the database")
        make_database(settings, sandbox.root, sessions=sessions, graded=GRADED)
        lay_files(settings)
    _take_for_graded_now(settings)
    return sandbox, settings


def common_word(settings: Settings) -> str:
    """Return the word that most tasks have."""
    with closing(bootstrap.open_store(settings)) as store:
        tasks = store.rows("SELECT task_summary FROM session_grades ORDER BY id LIMIT ?", (GRADED,))
    words = Counter(word for (task,) in tasks for word in {*str(task).lower().split()} if word.isalpha())
    return words.most_common(1)[0][0]


def make_database(settings: Settings, root: Path, *, sessions: int, graded: int) -> int:
    """Make a database of about `sessions`, from `graded` that are written into `root`; gives how many there are."""
    _grade(settings, root, graded)
    copies = max(1, sessions // graded)
    store = bootstrap.open_store(settings)
    try:
        with store.transaction():
            _multiply(store, copies)
        with store.transaction():
            store.recount()
            store.connection.execute("DELETE FROM grade_changes")
            store.changes.note(ChangeKind.GRADE, (name for (name,) in store.rows(_NAMES)))
        return int(store.rows("SELECT count(*) FROM session_grades")[0][0])
    finally:
        store.close()


def lay_files(settings: Settings) -> None:
    """Put a file where each session was graded: a link to one of the few that are there, with the stamp that it has."""
    store = bootstrap.open_store(settings)
    try:
        paths = [path for (path,) in store.rows("SELECT path FROM session_files")]
        for path in paths:
            os.link(_first_of(path), path)
        copies = {_first_of(path): path for path in paths}
        for first in copies:
            os.unlink(first)
        statuses = {first: os.lstat(copy) for first, copy in copies.items()}  # with the times of these changes
        execute = store.connection.execute
        with store.transaction():
            execute("CREATE TEMP TABLE first (path TEXT PRIMARY KEY, stamp BLOB, written_ns INTEGER)")
            for first, status in statuses.items():
                execute("INSERT INTO first VALUES (?, ?, ?)", (first, stamp_of(status), status.st_mtime_ns))
            store.connection.create_scalar_function("first_of", lambda *path: _first_of(path[0]), 1)
            execute(
                "UPDATE session_files SET stamp = first.stamp, written_ns = first.written_ns"
                " FROM first WHERE first.path = first_of(session_files.path)"
            )
    finally:
        store.close()


def _take_for_graded_now(settings: Settings) -> None:
    """Bring a database that was kept to this version, without grading a million sessions again."""
    with closing(bootstrap.open_store(settings)) as store:
        examiner = bootstrap.make_examiner(settings, bootstrap.make_policy(settings, store))
        store.connection.execute("UPDATE session_files SET rules_version = ?", (examiner.rules_version,))


def _first_of(path: Any) -> str:
    """Return the file that was graded, of the path of a copy."""
    return f"{path.rpartition('-')[0]}.json"


def _grade(settings: Settings, root: Path, count: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    written = bootstrap.utc_now() - _QUIET
    for path in write_sessions([root] * count, size=_BYTES):
        os.utime(path, (written.timestamp(), written.timestamp()))
    with SelfGrader(settings=settings) as grader:
        for _ in grader.grading.backfill(grader.grading.ungraded_files()):
            pass


def _multiply(store: SqliteStore, copies: int) -> None:
    """Put `copies` of each row in its place: the newest ends now, the oldest a year ago."""
    newest = store.grades.last_ended_at()
    assert newest is not None
    to_now = int((bootstrap.utc_now() - newest).total_seconds())
    step = int(_SPAN.total_seconds()) // copies
    store.connection.execute(
        "CREATE TEMP TABLE copies AS WITH RECURSIVE counted(copy) AS"
        " (SELECT ? UNION ALL SELECT copy - 1 FROM counted WHERE copy > 0) SELECT copy FROM counted",
        (copies - 1,),
    )
    for table in _TABLES:
        _multiply_table(store, table, (to_now, step, copies - 1))
    store.connection.execute("UPDATE last_grades SET session_id = session_id || '-0'")


def _multiply_table(store: SqliteStore, table: str, values: Sequence[Any]) -> None:
    execute = store.connection.execute
    columns = [row[1] for row in execute(f"PRAGMA table_info({table})") if row[1] != "id"]
    made = ", ".join(_COLUMNS.get(column, _same)(column) for column in columns)
    execute(f"CREATE TEMP TABLE source AS SELECT {', '.join(columns)} FROM main.{table}")
    execute(f"DELETE FROM main.{table}")
    execute(
        f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {made} FROM copies CROSS JOIN source AS s"
        " WHERE ?1 + ?2 + ?3 NOT NULL ORDER BY copies.rowid, s.rowid",
        values,
    )
    execute("DROP TABLE temp.source")
