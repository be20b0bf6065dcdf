"""A database of an earlier version: who only reads leaves it alone, who writes brings it up to date."""

from __future__ import annotations

import io
import json
import shutil
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.schema import applied_version, newest_version
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import turns, write
from tests.earlier import add_migration, make_unreleased
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run

VERSION = newest_version()
DATABASE = Path(".timmy/uniwizard/session_grades.db")


@pytest.fixture(scope="module")
def earlier_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a database of today, which holds a grade, and a session that waits to be graded."""
    home = tmp_path_factory.mktemp("earlier") / "home"
    (home / DATABASE).parent.mkdir(parents=True)
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(grade(session_id="graded", session_file=str(home / "gone.json")))])
    write(home / ".timmy" / "sessions", "waiting", turns())
    (home / "empty").mkdir()
    (home / "labels.csv").write_text("session_id,completed\ngraded,yes\n")
    return home


@pytest.fixture
def home(earlier_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, read by a later version."""
    add_migration(monkeypatch)
    return shutil.copytree(earlier_home, tmp_path / "home")


def version(home: Path) -> int:
    with closing(apsw.Connection(str(home / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return applied_version(connection)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["list"], id="list"),
        pytest.param(["show", "graded"], id="show"),
        pytest.param(["why", "graded"], id="why"),
        pytest.param(["status"], id="status"),
        pytest.param([], id="alone"),
        pytest.param(["report", "patterns"], id="patterns"),
        pytest.param(["report"], id="report"),
        pytest.param(["report", "errors", "list"], id="errors"),
        pytest.param(["alerts"], id="alerts"),
        pytest.param(["label", "--list"], id="labels"),
        pytest.param(["export"], id="export"),
        pytest.param(["calibration", "update", "--dry-run"], id="calibrate-to-try"),
        pytest.param(["calibration", "show"], id="calibration"),
        pytest.param(["grade", "--dry-run"], id="backfill-to-try"),
    ],
)
def test_a_command_that_reads_says_in_one_line_which_one_helps(home: Path, run: Run, arguments: list[str]) -> None:
    before = (home / DATABASE).read_bytes()

    ended = run(home, *arguments)

    says = (
        f"(schema {VERSION}, this one has {newest_version()}); to upgrade it and keep a copy: grader-daemon run --once"
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert [says in line for line in ended.stderr.splitlines()] == [True]
    assert (home / DATABASE).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["grade"], "1 graded", id="backfill"),
        pytest.param(["grade", ".timmy/sessions/session_waiting.json"], "waiting", id="grade"),
        pytest.param(["grade", ".timmy/sessions"], "waiting", id="grade-a-folder"),
        pytest.param(["grade", "--again"], "Nothing to do.", id="regrade"),
        pytest.param(["grade", "--again", "--all"], "Nothing to do.", id="regrade-all"),
        pytest.param(["label", "graded", "--completed", "yes"], "graded", id="label"),
        pytest.param(["label", "--csv", "labels.csv"], "1 added", id="labels-of-a-file"),
        pytest.param(["label"], "graded", id="review"),
        pytest.param(["calibration", "update"], "labels", id="calibrate"),
    ],
)
def test_a_command_that_writes_brings_it_up_to_date(
    home: Path, run: Run, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    ended = run(home, *arguments)

    (kept,) = (home / DATABASE).parent.glob("*.before-upgrade-*")
    way_back = f"to go back: install the earlier version, then: grader-daemon backup restore {kept}\n"
    assert (ended.returncode, ended.stderr.count("\n"), ended.stderr.endswith(way_back)) == (0, 1, True)
    assert says in ended.stdout
    assert version(home) == newest_version()


def test_what_an_upgrade_changes_is_told_before_and_leaves_the_database(
    earlier_home: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shutil.copytree(earlier_home, tmp_path / "home")
    run(home, "grade")
    add_migration(monkeypatch)
    before = (home / DATABASE).read_bytes()

    ended = run(home, "grade", "--again", "--diff")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "of 1 sessions would change; nothing was written." in ended.stdout
    assert "verdicts now  0 done, 0 not done, 1 unsure\n" in ended.stdout
    assert [entry.name for entry in (home / DATABASE).parent.iterdir() if "before" in entry.name] == []
    assert (home / DATABASE).read_bytes() == before


def test_the_doctor_says_in_plain_words_that_an_earlier_version_left_it(home: Path, run: Run) -> None:
    before = (home / DATABASE).read_bytes()

    ended = run(home, "doctor", "--json")

    checks = {each["name"]: each for each in json.loads(ended.stdout)["checks"]}
    found = checks["database"]
    assert f"it is from an earlier version of grader-daemon (schema {VERSION}, this" in found["found"]
    assert (found["state"], "grade --again --diff" in found["fix"]) == ("warning", True)
    unchecked = {name for name, each in checks.items() if each["found"].startswith("not checked: the database is from")}
    assert unchecked == {"sums", "ledger", "grader", "agent versions", "last session", "newest sessions", "dead files"}
    assert checks["other programs"]["found"] == "no rows or tables of other programs"
    assert (home / DATABASE).read_bytes() == before


def test_an_empty_folder_that_is_to_be_graded_is_told_whatever_the_database(home: Path, run: Run) -> None:
    ended = run(home, "grade", "empty")

    assert (ended.returncode, version(home)) == (1, newest_version())
    assert "no session files are below it" in ended.stderr


def test_an_empty_folder_that_is_to_be_graded_is_told_without_a_database(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").mkdir()

    ended = run(tmp_path, "grade", "empty")

    assert ended.returncode == 1
    assert "no session files are below it" in ended.stderr


@pytest.mark.parametrize(
    "arguments", [["list"], ["grade"], ["grade", "--again", "--diff"], ["label", "--list"], ["run", "--once"]]
)
def test_one_of_before_the_first_release_is_left_alone_with_the_command_that_carries_it_over(
    tmp_path: Path, run: Run, arguments: list[str]
) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    (tmp_path / ".timmy/sessions").mkdir()
    make_unreleased(tmp_path / DATABASE)
    before = (tmp_path / DATABASE).read_bytes()

    ended = run(tmp_path, *arguments)

    says = "it is from a build before the first release; to convert it"
    assert ended.returncode != 0
    assert sum(says in line for line in (ended.stdout + ended.stderr).splitlines()) == 1
    assert (tmp_path / DATABASE).read_bytes() == before
    assert [entry.name for entry in (tmp_path / DATABASE).parent.iterdir() if "before" in entry.name] == []


def test_the_doctor_carries_over_one_of_before_the_first_release_once(tmp_path: Path, run: Run) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    make_unreleased(tmp_path / DATABASE)

    (tmp_path / DATABASE).chmod(0o600)
    seen = {each["name"]: each for each in json.loads(run(tmp_path, "doctor", "--json").stdout)["checks"]}
    carried, again = (run(tmp_path, "doctor", "--repair").stdout for _ in range(2))

    assert (seen["database"]["state"], seen["database"]["fix"]) == (
        "warning",
        "stop the daemon, then: grader-daemon doctor --repair",
    )
    assert "was from a build before the first release; it is kept as " in carried
    assert "the new database has all its rows: session_grades 189, " in carried
    assert "feedback 122" in carried
    assert "before the first release" not in again
