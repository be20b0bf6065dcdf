from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.errors import StoreBusyError, StoreError
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.maintenance.atomic_swap import kept_copies, leftovers, swap_in, temporary_beside
from grader_daemon.storage.maintenance.backup import settle
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import make_database
from tests.strategies import NOW, grade, new_grade

KEPT = "grades.db.damaged-20261121T220000Z"


class Crash(BaseException):
    """The program ends here."""


def count(path: Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        return int(connection.execute("SELECT count(*) FROM session_grades").get)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of which half the grades are in a log that a killed program left: 200, then 400."""
    path, working = tmp_path / "grades.db", tmp_path / "working" / "grades.db"
    make_database(working, sessions=200)
    store = SqliteStore(working)
    with store.transaction():
        save_grades(store, [new_grade(grade(session_id=f"later{number}")) for number in range(200)])
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(Path(f"{working}{suffix}").read_bytes())
    store.close()
    return path


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """Another database, with 7 grades, in one file."""
    path = tmp_path / "fresh.db"
    make_database(path, sessions=7)
    settle(path)
    return path


def test_the_former_database_is_kept_with_its_log(old: Path, fresh: Path) -> None:
    before = old.read_bytes(), Path(f"{old}-wal").read_bytes()

    kept = swap_in(fresh, old, why="damaged", now=NOW)

    assert kept is not None
    assert (kept.read_bytes(), Path(f"{kept}-wal").read_bytes()) == before
    assert [path.name for path in sorted(old.parent.iterdir()) if path.is_file()] == [
        old.name,
        kept.name,
        f"{kept.name}-wal",
    ]
    assert (count(old), count(kept)) == (7, 400)


CRASHING = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from grader_daemon.storage.maintenance import atomic_swap

left = int(sys.argv[1])

def crashing(call):
    def called(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return call(*arguments, **named)
    return called

for name in ("link", "unlink", "rename", "replace", "fsync"):
    setattr(os, name, crashing(getattr(os, name)))
atomic_swap.swap_in(Path("fresh.db"), Path("grades.db"), why="damaged", now=datetime.now(UTC))
"""


@pytest.mark.parametrize("step", range(10))
def test_a_crash_between_any_two_steps_loses_nothing_and_mixes_nothing(old: Path, fresh: Path, step: int) -> None:
    command = [sys.executable, "-c", CRASHING, str(step)]

    ended = subprocess.run(command, cwd=old.parent, check=False)

    kept = [path for path in old.parent.iterdir() if path.name.startswith("grades.db.damaged-")]
    log = next((path for path in kept if path.name.endswith("-wal")), None)
    if log is not None and not log.with_name(log.name.removesuffix("-wal")).exists():
        shutil.copy(old, log.with_name(log.name.removesuffix("-wal")))
    whole = [path for path in (old, *kept_copies(old)) if count(path) == 400]
    assert ended.returncode == (0 if step == 9 else 9)
    assert fresh.exists() == (count(old) != 7)
    assert len(whole) == 1
    assert count(old) in (7, 200, 400)


def test_a_name_that_is_taken_gets_a_number(old: Path, tmp_path: Path) -> None:
    kept = []
    for number in range(3):
        fresh = tmp_path / f"fresh{number}.db"
        make_database(fresh, sessions=1)
        kept.append(swap_in(fresh, old, why="damaged", now=NOW))

    assert [path.name.partition("T")[2] for path in kept if path] == ["220000Z", "220000Z.2", "220000Z.3"]


def test_a_database_that_is_open_is_not_replaced(old: Path, fresh: Path) -> None:
    with closing(apsw.Connection(str(old))) as connection:
        connection.execute("SELECT count(*) FROM session_grades").fetchall()
        with pytest.raises(StoreBusyError):
            swap_in(fresh, old, why="damaged", now=NOW)

    assert (count(old), count(fresh)) == (400, 7)
    assert kept_copies(old) == []


@pytest.mark.parametrize("call", ["rename", "link", "replace"])
def test_a_failing_disk_leaves_the_former_database(
    old: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def failing(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, call, failing)

    with pytest.raises(StoreError, match="cannot be replaced: Input/output error"):
        swap_in(fresh, old, why="damaged", now=NOW)

    assert (count(old), count(fresh)) == (400, 7)
    assert kept_copies(old) == []


def test_a_log_without_a_database_is_kept_too(old: Path, fresh: Path) -> None:
    old.unlink()

    kept = swap_in(fresh, old, why="damaged", now=NOW)

    assert count(old) == 7
    assert kept is not None
    assert Path(f"{kept}-wal").stat().st_size > 0


def test_where_there_was_none_nothing_is_kept(tmp_path: Path, fresh: Path) -> None:
    assert swap_in(fresh, tmp_path / "new.db", why="damaged", now=NOW) is None
    assert count(tmp_path / "new.db") == 7


def test_temporary_files_go_with_their_companions_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(Crash), temporary_beside(tmp_path / "grades.db") as temporary:  # noqa: PT012
        assert temporary.stat().st_mode & 0o777 == 0o600
        Path(f"{temporary}-wal").touch()
        assert leftovers(tmp_path / "grades.db") == [temporary, Path(f"{temporary}-wal")]
        raise Crash

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"), temporary_beside(tmp_path / "none" / "x.db"):
        pass
