from __future__ import annotations

import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from grader_daemon.errors import StoreError, StoreFullError, StoreOutdatedError
from grader_daemon.storage.maintenance import upgrade as module
from grader_daemon.storage.maintenance.backup import copy_pages, restore
from grader_daemon.storage.maintenance.upgrade import Upgrade, upgraded_copy, upgrading
from grader_daemon.storage.sqlite.schema import applied_version, newest_version
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import make_database
from tests.earlier import add_migration, make_unreleased
from tests.strategies import NOW

VERSION = newest_version()


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with grades, of an earlier version, in a folder of its own."""
    (tmp_path / "grades").mkdir()
    make_database(tmp_path / "grades" / "grades.db", sessions=5)
    with closing(apsw.Connection(str(tmp_path / "grades" / "grades.db"))) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()  # a look at it leaves no file beside it
    add_migration(monkeypatch)
    return tmp_path / "grades" / "grades.db"


def version_of(path: Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return applied_version(connection)


def upgrade(path: Path, *, days: int = 0) -> Upgrade | None:
    with upgrading(path, now=NOW + timedelta(days=days)) as made:
        SqliteStore(path).close()
    return made


def names_beside(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def test_how_it_was_is_kept_for_its_owner_alone(earlier: Path) -> None:
    made = upgrade(earlier)

    assert made is not None
    assert made[:2] == (VERSION, newest_version())
    assert names_beside(earlier) == ["grades.db", f"grades.db.before-upgrade-{NOW:%Y%m%dT%H%M%SZ}"]
    assert (version_of(earlier), version_of(made.kept)) == (newest_version(), VERSION)
    assert stat.S_IMODE(made.kept.stat().st_mode) == 0o600
    assert str(made).endswith(f"then: grader-daemon backup restore {made.kept}")


def test_what_is_kept_is_a_way_back(earlier: Path) -> None:
    made = upgrade(earlier)
    assert made is not None

    restored = restore(made.kept, earlier, now=NOW)

    assert restored.grades == 5


def test_the_newest_two_stay(earlier: Path) -> None:
    content = earlier.read_bytes()
    for days in range(4):
        earlier.write_bytes(content)
        upgrade(earlier, days=days)

    kept = [name.rpartition("-")[2] for name in names_beside(earlier) if "before-upgrade" in name]
    assert kept == [f"{NOW + timedelta(days=days):%Y%m%dT%H%M%SZ}" for days in (2, 3)]


def test_nothing_is_kept_of_one_of_this_version(tmp_path: Path) -> None:
    make_database(tmp_path / "grades.db", sessions=2)

    assert upgrade(tmp_path / "grades.db") is None
    assert names_beside(tmp_path / "grades.db") == ["grades.db"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="none"),
        pytest.param(b"", id="empty"),
        pytest.param(b"Dear diary, " * 100, id="another-file"),
    ],
)
def test_what_is_no_database_is_left_to_whoever_opens_it(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "grades.db"
    if content is not None:
        path.write_bytes(content)

    with upgrading(path, now=NOW) as made:
        assert made is None


def test_an_upgrade_that_fails_changes_nothing_and_keeps_no_copy(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = earlier.read_bytes()
    from grader_daemon.storage.sqlite import schema

    whole = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*whole[:-1], (whole[-1][0], "broken", "SELECT no_such_thing")])

    with pytest.raises(StoreError):
        upgrade(earlier)

    assert version_of(earlier) == VERSION
    assert [name for name in names_beside(earlier) if "-upgrade" in name] == []
    with closing(apsw.Connection(":memory:")) as memory:
        memory.deserialize("main", before)
        asked = "SELECT count(*) FROM session_grades"
        with closing(apsw.Connection(str(earlier))) as now:
            assert now.execute(asked).get == memory.execute(asked).get


def test_a_copy_stays_where_something_fails_after_the_upgrade(earlier: Path) -> None:
    def fail_after() -> None:
        with upgrading(earlier, now=NOW):
            SqliteStore(earlier).close()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after()

    assert [name for name in names_beside(earlier) if "-upgrade" in name] != []


def test_without_a_copy_nothing_is_upgraded(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_full(*_: object, **__: object) -> None:
        raise StoreFullError("the disk is full")

    monkeypatch.setattr(module, "copy_pages", is_full)

    with pytest.raises(StoreFullError):
        upgrade(earlier)

    assert (version_of(earlier), names_beside(earlier)) == (VERSION, ["grades.db"])


def test_another_program_that_was_faster_leaves_nothing_to_keep(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied_late(path: Path, copy: Path, *, target: Path, mark: int) -> None:
        SqliteStore(earlier).close()
        copy_pages(path, copy, target=target, mark=mark)

    monkeypatch.setattr(module, "copy_pages", copied_late)

    assert upgrade(earlier) is None
    assert names_beside(earlier) == ["grades.db"]


def test_a_copy_is_upgraded_to_look_at_and_goes(earlier: Path) -> None:
    before = earlier.read_bytes()

    with upgraded_copy(earlier) as copy, closing(SqliteStore(copy, read_only=True)) as store:
        found = store.rows("SELECT count(*) FROM session_list")

    assert found == [(5,)]
    assert (earlier.read_bytes(), names_beside(earlier)) == (before, ["grades.db"])


def test_of_one_of_before_the_first_release_nothing_is_kept_and_no_copy_upgraded(tmp_path: Path) -> None:
    make_unreleased(tmp_path / "grades.db")

    with upgrading(tmp_path / "grades.db", now=NOW) as made:
        assert made is None
    says = r"grades.db: it is from a build before the first release; .* doctor --repair"
    with pytest.raises(StoreOutdatedError, match=says), upgraded_copy(tmp_path / "grades.db"):
        pass

    assert names_beside(tmp_path / "grades.db") == ["grades.db"]
