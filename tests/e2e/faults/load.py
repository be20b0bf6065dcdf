"""An agent at work while something goes wrong, and what must be true afterwards.

Afterwards every session that was written is in the database exactly once, with the grade of an undisturbed run.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, timedelta
from math import inf
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from types import TracebackType

import apsw

from grader_daemon.bootstrap import make_policy
from grader_daemon.domain.limits import Limits
from grader_daemon.pipeline.commit import Commit, IngestOutcome
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.rules import load_rules
from grader_daemon.settings import load_settings
from grader_daemon.sources.file_reading import stamp_of
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.daemon_process import BUSY_MILLISECONDS, DaemonProcess, Row, query
from tests.e2e.session_files import failing, now, turns, write
from tests.units import hermes
from tests.waiting import PATIENCE_SECONDS, wait_until

_PAUSE_SECONDS = 0.02
_CHANGE_TIME = -8
"""Where it stands in a stamp. A link to a file changes it, of which no event tells."""

_A_FEW = 8
_VERY_MANY = 2000
_IDLE = timedelta(minutes=30)
_UNLIKE = frozenset({"id", "graded_at", "loop_told", "watched"})
"""Columns in which two runs may differ."""
_OF_THE_JUDGE = frozenset(
    {"rules_version", "reasons", "task_completed", "p_completed", "verdict_by", "unsure"}
    | {"automatic_completed", "automatic_by"}
)
"""Columns that another judge decides, which a daemon learns from its sessions."""
_SUMS = (
    *("daily_rollups", "monthly_rollups", "daily_steps", "monthly_steps", "issue_days", "issue_steps", "issue_tasks"),
)


class Load:
    """Writes sessions below `folder` until its block ends: new ones, and old ones that grow, fail or are resumed.

    `versions` counts how often each file was written; a file may not be graded more often than that. Writing goes on
    whatever happens to the folder: what could not be written is not counted. When there are very many, only old ones
    are written, so that no test is left with more than can be graded in its time.
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

    def wait_for_more(self, count: int = _A_FEW) -> None:
        """Wait until so many more files were written."""
        self.wait_for_sessions(len(self.versions) + count)

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_seconds):
            known = list(self.versions)
            again = known and (self._random.random() < 0.4 or len(known) >= _VERY_MANY)
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
        return write(self._folder, name, messages, last_updated=now().replace(tzinfo=None).isoformat())


@contextmanager
def harmless(
    daemon: DaemonProcess, folder: Path, *, name: str = "load", gone: Mapping[str, Row] | None = None
) -> Iterator[Load]:
    """An agent works below `folder` before, during and after the block; then nothing may be lost or twice.

    `name` tells its sessions from those of others that the daemon has graded. `gone` may be filled in the block; for
    what it holds see `assert_nothing_lost_or_twice`.
    """
    with Load(folder / "agent" / "sessions", name=name) as load:
        load.wait_for_more()
        yield load
        load.wait_for_more()
    wait_until_caught_up(daemon, folder)
    assert_nothing_lost_or_twice(daemon.database, folder, versions=load.versions, gone=gone)


def wait_until_caught_up(daemon: DaemonProcess, folder: Path, *, within: float = PATIENCE_SECONDS) -> None:
    """Wait until the ledger knows every session below `folder` as it is now."""

    behind: Path | None = None

    def is_caught_up() -> bool:
        nonlocal behind
        if behind is None or _knows(_ledger(daemon.database, behind), behind):
            ledger = _ledger(daemon.database)
            behind = next((path for path in folder.rglob("session_*.json") if not _knows(ledger, path)), None)
        return behind is None

    wait_until(is_caught_up, f"the ledger to know all below {folder}", within=within)


def assert_nothing_lost_or_twice(
    database: Path,
    folder: Path,
    *,
    versions: Mapping[Path, int] | None = None,
    gone: Mapping[str, Row] | None = None,
) -> None:
    """Compare the database with what grading the files below `folder` as they are now gives, and with itself.

    `versions` says how often each file was written. `gone` are the grades, as `undisturbed` gave them, of sessions
    whose files were taken away after they were graded: their grades stay.
    """
    expected = {**(gone or {}), **undisturbed(folder)}
    stored = {
        session_id: row
        for session_id, row in _grades(database).items()
        if session_id in expected or row["session_file"].startswith(f"{folder}/")
    }
    assert sorted(stored) == sorted(expected)
    [learned] = query(database, "SELECT max(0, count(DISTINCT model) - 1) AS judges FROM calibrations WHERE adopted")
    unlike = _UNLIKE | _OF_THE_JUDGE if learned["judges"] else _UNLIKE
    for session_id, grade in expected.items():
        differing = {
            column: (value, grade[column])
            for column, value in stored[session_id].items()
            if column not in unlike and value != grade[column]
        }
        assert not differing, (session_id, differing)
    grades = {path: row["grades"] for path, row in _ledger(database).items()}
    times = {path: written + learned["judges"] for path, written in (versions or {}).items()}
    too_often = {path for path, most in times.items() if grades.get(str(path), 0) > most}
    assert too_often == set()
    assert_whole(database)


def undisturbed(folder: Path) -> dict[str, Row]:
    """Grade the files below `folder` into a database of their own; gives the rows by session id."""
    policy, sources = make_policy(load_settings(), None), hermes([folder])
    with TemporaryDirectory() as aside:
        database = Path(aside) / "grades.db"
        with closing(SqliteStore(database, host=gethostname())) as store:
            ingest = Ingest(
                examiner=Examiner(load_rules(), policy, sources, zone=UTC, idle=_IDLE, limits=Limits()),
                recorder=Commit(store, retry_pauses=(), asked_again_within=timedelta(2)),
                store=store,
                clock=now,
            )
            found = sorted(each.unit for walk in sources.walks() for each in walk)
            happened = {each.outcome for each in ingest.ingest(found, within_seconds=inf)[0]}
            assert happened <= {IngestOutcome.GRADED, IngestOutcome.SKIPPED}
        return _grades(database)


def assert_whole(database: Path) -> None:
    """The file is sound, its tables agree with each other, and its sums are those of its rows."""
    assert integrity(database) == "ok"
    assert query(database, "SELECT session_id FROM session_details EXCEPT SELECT session_id FROM session_grades") == []
    assert (
        query(
            database,
            "SELECT session_id, total_errors FROM session_grades AS g WHERE total_errors <>"
            " (SELECT count(*) FROM session_failures AS f WHERE f.session_id = g.session_id AND f.kind <> 'probe')",
        )
        == []
    )
    with TemporaryDirectory() as aside:
        copy = Path(aside) / "copy.db"
        _copy(database, copy)
        with closing(SqliteStore(copy)) as store:
            kept = {table: store.rows(f"SELECT * FROM {table}") for table in _SUMS}
            with store.transaction():
                store.recount()
            for table, rows in kept.items():
                assert rows == store.rows(f"SELECT * FROM {table}"), table


def integrity(database: Path) -> str:
    """What SQLite says of the file: "ok"."""
    connection = apsw.Connection(str(database))
    try:
        return str(connection.execute("PRAGMA quick_check").get)
    finally:
        connection.close()


def _knows(ledger: Mapping[str, Row], path: Path) -> bool:
    """Is the file in the ledger as it is now, with an end?"""
    row = ledger.get(str(path))
    if row is None or row["state"] not in {"graded", "skipped"}:
        return False
    return bool(row["stamp"][:_CHANGE_TIME] == stamp_of(path.lstat())[:_CHANGE_TIME])


def _ledger(database: Path, path: Path | None = None) -> dict[str, Row]:
    """What the ledger says of one file, or of all."""
    where, values = ("", ()) if path is None else (" WHERE path = ?", (str(path),))
    return {row["path"]: row for row in query(database, f"SELECT * FROM session_files{where}", *values)}


def _grades(database: Path) -> dict[str, Row]:
    rows = query(database, "SELECT g.*, d.* FROM session_grades AS g LEFT JOIN session_details AS d USING (session_id)")
    return {row["session_id"]: row for row in rows}


def _copy(database: Path, copy: Path) -> None:
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    target = apsw.Connection(str(copy))
    try:
        source.set_busy_timeout(BUSY_MILLISECONDS)
        with target.backup("main", source, "main") as backup:
            backup.step()
    finally:
        target.close()
        source.close()
