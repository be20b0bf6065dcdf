"""What the doctor says of machines in every state: a finding, never a traceback, and nothing is changed."""

from __future__ import annotations

import json
import os
import pwd
import re
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from grader_daemon import bootstrap
from grader_daemon.api.doctor import daemon_checks, database_checks, doctor_context, session_checks, setup_checks
from grader_daemon.api.doctor.all_checks import CHECKS
from grader_daemon.api.doctor.check_words import span
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.session import SkipReason
from grader_daemon.integrations.machine import Inotify, Mount, Space
from grader_daemon.skills.trial_file import TrialFile
from grader_daemon.skills.trial_names import Subject
from grader_daemon.skills.trials import Trials
from grader_daemon.sources.discovery import Walk
from grader_daemon.storage.lock import DaemonLock
from grader_daemon.storage.records import DaemonStatus
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.damage import DAMAGES, leaves_of, make_database, overwrite
from tests.demo_home import install
from tests.e2e.session_files import failing, write, write_claude
from tests.rights import NOBODY
from tests.strategies import SESSION_GRADES, WEEKLY_REPORTS
from tests.unit.cli.conftest import Run
from tests.units import unit as unit_of

DATABASE = Path(".timmy/uniwizard/session_grades.db")
NOW = datetime.now(UTC)  # noqa: TID251  the commands' is the real clock
_ROOT_ALONE = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")


@pytest.mark.parametrize(("arguments", "is_sampled"), [((), True), (("--full",), False)], ids=["sample", "full"])
def test_a_large_database_is_checked_in_a_sample_which_is_said(
    *,
    run: Run,
    home: Path,
    database: Path,
    arguments: tuple[str, ...],
    is_sampled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor_context, "_SAMPLED_BYTES", database.stat().st_size - 1)

    found = checks(run, home, *arguments)

    looked_at = [found[name] for name in ("integrity", "sums", "ledger")]
    assert {each["state"] for each in looked_at} == {"ok"}
    assert [each["found"].endswith(": grader-daemon doctor --full") for each in looked_at] == [is_sampled] * 3


@pytest.fixture
def root(home: Path) -> Path:
    """The default watched folder, empty."""
    made = home / ".timmy"
    made.mkdir()
    return made


@pytest.fixture
def database(root: Path) -> Path:
    """A sound database with three grades."""
    made = root / "uniwizard" / "session_grades.db"
    make_database(made, sessions=3)
    return made


def checks(run: Run, home: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """What ``doctor --json`` gives, by name."""
    ended = run(home, "doctor", "--json", *arguments)
    assert ended.stderr == ""
    made = {check["name"]: check for check in json.loads(ended.stdout)["checks"]}
    assert list(made) == list(CHECKS)
    assert all(check["fix"] for check in made.values() if check["state"] in ("warning", "problem"))
    assert not any("\n" in (check["found"] + (check["fix"] or "")) for check in made.values())
    assert ended.returncode == int(any(check["state"] == "problem" for check in made.values()))
    return made


def sql(path: Path, *statements: str) -> None:
    """Change a database behind the back of the program."""
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)


# -- machines ----------------------------------------------------------------------------------------------------------


def _no_folder(home: Path) -> None:
    assert list(home.iterdir()) == []


def _folder_for_database(home: Path) -> None:
    (home / DATABASE).mkdir(parents=True)


def _text_for_database(home: Path) -> None:
    make_database(home / DATABASE, sessions=1)
    DAMAGES["text"](home / DATABASE)


def _foreign_database(home: Path) -> None:
    (home / DATABASE).parent.mkdir(parents=True)
    version = "CREATE TABLE schema_migrations (version TEXT)"
    sql(home / DATABASE, "CREATE TABLE cookies (id)", version, "INSERT INTO schema_migrations VALUES ('first')")


def _newer_schema(home: Path) -> None:
    make_database(home / DATABASE, sessions=1)
    sql(home / DATABASE, "INSERT INTO schema_migrations VALUES (9999, 'later', '2030-01-01')")


def _link_for_database(home: Path) -> None:
    make_database(home / "elsewhere.db", sessions=1)
    (home / DATABASE).parent.mkdir(parents=True)
    (home / DATABASE).symlink_to(home / "elsewhere.db")


def _wrong_settings(home: Path) -> None:
    (home / ".config" / "grader-daemon").mkdir(parents=True)
    (home / ".config" / "grader-daemon" / "config.toml").write_bytes(b"quiet_seconds = \xff\x00")


def _wrong_rules(home: Path) -> None:
    (home / ".config" / "grader-daemon").mkdir(parents=True)
    (home / ".config" / "grader-daemon" / "config.toml").write_text(f'rules_file = "{home / "rules.toml"}"\n')
    (home / "rules.toml").write_text("[quality]\nbase = 'three'\n")


def _file_for_folder(home: Path) -> None:
    (home / ".timmy").write_text("no folder")


def _strange_names(home: Path) -> None:
    strange = os.fsdecode(os.fsencode(home) + b"/.timmy/\xff\x1b[31m")
    os.makedirs(os.path.join(strange, "sessions"))
    Path(strange, "state.db").write_bytes(b"no database")
    os.mkfifo(os.path.join(strange, "sessions", "session_a.json"))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(_no_folder, {"folders": "problem", "database": "ok"}, id="nothing-at-all"),
        pytest.param(_folder_for_database, {"database": "problem"}, id="a-folder-for-a-database"),
        pytest.param(_text_for_database, {"database": "problem", "integrity": "problem"}, id="text-for-a-database"),
        pytest.param(_foreign_database, {"database": "problem"}, id="another-programs-database"),
        pytest.param(_newer_schema, {"database": "problem"}, id="a-newer-schema"),
        pytest.param(_link_for_database, {"database": "problem"}, id="a-link-for-a-database"),
        pytest.param(_wrong_settings, {"settings": "problem", "database": "unknown"}, id="wrong-settings"),
        pytest.param(_wrong_rules, {"rules": "problem", "settings": "ok"}, id="wrong-rules"),
        pytest.param(_file_for_folder, {"folders": "problem"}, id="a-file-for-a-folder"),
        pytest.param(_strange_names, {"agent databases": "problem"}, id="names-that-are-no-text"),
    ],
)
def test_every_state_of_a_machine_is_a_finding(
    home: Path, run: Run, make: Callable[[Path], None], expected: dict[str, str]
) -> None:
    make(home)
    before = sorted(home.rglob("*"))

    made = checks(run, home)

    assert {name: made[name]["state"] for name in expected} == expected
    assert [path for path in sorted(home.rglob("*")) if not path.name.endswith(("-wal", "-shm"))] == before
    shown = run(home, "doctor", "--repair")
    assert shown.returncode in (0, 1)
    assert shown.stderr == ""
    assert all(character.isprintable() or character == "\n" for character in shown.stdout)


def test_a_home_that_nobody_knows_is_a_finding(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(monkeypatch, "setenv", lambda *_: monkeypatch.delenv("HOME", raising=False))

    assert checks(run, home)["settings"]["state"] == "problem"


def test_a_sound_machine_has_no_problem(run: Run, home: Path, database: Path) -> None:
    made = checks(run, home)

    assert not {check["name"] for check in made.values() if check["state"] == "problem"}
    assert made["database"]["found"].startswith("3 grades, schema ")
    assert str(database) in made["database"]["found"]
    assert made["sums"]["found"] == "stored counts by day, month and error group agree with 3 grades"


def test_an_original_database_is_no_problem(run: Run, home: Path, root: Path) -> None:
    (root / "uniwizard").mkdir(mode=0o700)
    sql(home / DATABASE, SESSION_GRADES, WEEKLY_REPORTS)
    (home / DATABASE).chmod(0o600)

    made = checks(run, home)

    assert made["database"]["state"] == "warning"
    assert "it is from an earlier version of grader-daemon (schema 0, " in made["database"]["found"]
    assert not {check["name"] for check in made.values() if check["state"] == "problem"}


def test_a_locked_database_is_unknown_and_waited_for_once(
    run: Run, home: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader_daemon.storage.maintenance import inspection
    from grader_daemon.storage.sqlite import database as opened

    monkeypatch.setattr(inspection, "_PATIENCE_MILLISECONDS", 10)
    monkeypatch.setattr(opened, "_BUSY_SECONDS", 0.01)
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        connection.execute("BEGIN EXCLUSIVE")

        made = checks(run, home)

    assert made["database"]["state"] == "unknown"
    assert "locked by another program" in made["database"]["found"]
    assert "problem" not in {check["state"] for check in made.values()}


def test_the_python_interface_gives_the_same_checks(home: Path, database: Path) -> None:
    from grader_daemon import SelfGrader

    with SelfGrader(db_path=database, watch_roots=[home / ".timmy"]) as grader:
        made = grader.doctor()
        copied = grader.backup(home / "grades.bak")

    assert [check.name for check in made] == list(CHECKS)
    assert copied.grades == 3
    assert copied.bytes == (home / "grades.bak").stat().st_size


# -- set-up ------------------------------------------------------------------------------------------------------------


def test_an_old_sqlite_is_a_problem(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_checks, "sqlite_version", lambda: "3.51.2")

    made = checks(run, home)["sqlite"]

    assert (made["state"], "3.51.2" in made["found"]) == ("problem", True)


@pytest.mark.parametrize(("year", "state"), [(1970, "problem"), (2023, "problem"), (2026, "ok")])
def test_a_clock_that_was_never_set_is_a_problem(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, year: int, state: str
) -> None:
    monkeypatch.setattr(bootstrap, "utc_now", lambda: datetime(year, 11, 22, tzinfo=UTC))

    assert checks(run, home)["clock"]["state"] == state


def test_a_clock_that_was_set_back_is_a_warning(run: Run, home: Path, database: Path) -> None:
    with closing(SqliteStore(database)) as store, store.transaction():
        store.save_entries([_entry("/s/later.json", FileState.DEAD)], now=NOW + timedelta(days=7))

    assert checks(run, home)["clock"]["state"] == "warning"


@pytest.mark.parametrize(
    ("zone", "state"),
    [("Mars/Olympus", "warning"), ("Europe/Berlin", "ok"), ("UTC", "ok"), ("CET-1CEST", "ok"), (":Asia/Tokyo", "ok")],
)
def test_a_zone_that_nobody_knows_is_a_warning(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, zone: str, state: str
) -> None:
    monkeypatch.setenv("TZ", zone)

    assert checks(run, home)["time zone"]["state"] == state


# -- database ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_found(run: Run, home: Path, damage: Callable[[Path], None]) -> None:
    make_database(home / DATABASE, sessions=300)
    damage(home / DATABASE)

    made = checks(run, home)

    empty = (home / DATABASE).stat().st_size == 0
    assert made["integrity"]["state"] == ("ok" if empty else "problem")


def test_a_mode_that_lets_others_in_is_told_and_repaired(run: Run, home: Path, database: Path) -> None:
    database.chmod(0o640)
    database.parent.chmod(0o750)
    file = checks(run, home)["privacy"]
    database.chmod(0o600)
    folder = checks(run, home)["privacy"]
    database.chmod(0o644)

    repaired = run(home, "doctor", "--repair")

    assert (file["state"], folder["state"]) == ("problem", "warning")
    assert repaired.stdout.startswith(f"Done: mode of {database}: 0644 is now 0600\n")
    assert f"Done: mode of {database.parent}: 0750 is now 0700\n" in repaired.stdout
    assert database.stat().st_mode & 0o777 == 0o600
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_no_database_is_left_alone_with_its_folder(run: Run, home: Path) -> None:
    notes = home / "papers" / "notes.txt"
    notes.parent.mkdir(mode=0o755)
    notes.write_text("important notes\n" * 300)
    notes.chmod(0o644)

    listed = run(home, "list", "--db-path", str(notes))
    repaired = run(home, "doctor", "--repair", "--db-path", str(notes))

    assert listed.stderr == f"grader-daemon: database {notes}: not a database but another file; check db_path\n"
    assert f"{notes} is not a database, and was not changed: set db_path to another file" in repaired.stdout
    assert (notes.read_text(), notes.stat().st_mode & 0o777) == ("important notes\n" * 300, 0o644)
    assert notes.parent.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in notes.parent.iterdir()] == ["notes.txt"]


def test_a_database_of_another_program_keeps_its_mode_and_that_of_its_folder(run: Run, home: Path) -> None:
    other = home / "app" / "app.db"
    other.parent.mkdir(mode=0o755)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    other.chmod(0o664)

    run(home, "doctor", "--repair", "--db-path", str(other))

    assert (other.stat().st_mode & 0o777, other.parent.stat().st_mode & 0o777) == (0o664, 0o755)


def test_a_folder_that_holds_files_of_others_is_left_alone(run: Run, home: Path, database: Path) -> None:
    (database.parent / "letters.txt").touch()
    database.parent.chmod(0o755)
    run(home, "doctor", "--repair")
    assert database.parent.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("place", ["home", "watched", "sticky"])
def test_a_folder_that_others_share_is_left_alone(run: Run, home: Path, root: Path, place: str) -> None:
    folder = {"home": home, "watched": root, "sticky": home / "shared"}[place]
    folder.mkdir(exist_ok=True)
    make_database(folder / "grades.db", sessions=1)
    folder.chmod(0o1777 if place == "sticky" else 0o755)

    run(home, "doctor", "--repair", "--db-path", str(folder / "grades.db"))

    assert folder.stat().st_mode & 0o777 == (0o777 if place == "sticky" else 0o755)
    assert checks(run, home, "--db-path", str(folder / "grades.db"))["privacy"]["state"] == "ok"


def test_a_log_that_nobody_empties_is_a_warning(run: Run, home: Path, database: Path) -> None:
    with open(f"{database}-wal", "wb") as log:
        os.truncate(log.fileno(), 65_000_000)

    made = checks(run, home)["write-ahead log"]

    assert (made["state"], made["found"].startswith("65 MB")) == ("warning", True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE daily_rollups SET completed = completed + 1 WHERE dimension = 'overall'", "1 days"),
        ("DELETE FROM monthly_rollups WHERE dimension = 'task_type'", "1 months"),
        ("INSERT INTO issue_days VALUES ('1-aaaaaaaaaaaa', '2026-11-21', 1, 1, 1)", "1 error issues"),
    ],
)
def test_sums_that_are_not_those_of_the_grades_are_told_and_counted_again(
    run: Run, home: Path, database: Path, change: str, said: str
) -> None:
    sql(database, change)
    before = checks(run, home)["sums"]

    repaired = run(home, "doctor", "--repair")

    assert before["state"] == "problem"
    assert said in before["found"]
    assert "Done: recounted the totals of " in repaired.stdout
    assert checks(run, home)["sums"]["state"] == "ok"


@pytest.mark.parametrize("table", ["session_grades", "session_details", "session_failures"])
def test_a_grade_that_is_not_whole_is_told_and_graded_again(run: Run, home: Path, root: Path, table: str) -> None:
    for name in ("one", "two"):
        write(root, name, failing(2), age=60)
    assert run(home, "grade").returncode == 0
    assert checks(run, home)["ledger"]["state"] == "ok"
    sql(home / DATABASE, f"DELETE FROM {table} WHERE session_id = 'one'")
    before = checks(run, home)["ledger"]

    repaired = run(home, "doctor", "--repair")

    assert before["state"] == "problem"
    assert before["found"].startswith("1 file recorded as graded, but without a complete grade: ")
    assert "Done: 1 file will be graded again by the daemon\n" in repaired.stdout
    assert run(home, "grade", str(root)).returncode == 0
    assert checks(run, home)["ledger"]["found"] == "2 graded files, their grades are stored"


def test_a_grade_that_is_not_whole_of_a_file_that_is_gone_is_no_problem(run: Run, home: Path, database: Path) -> None:
    with closing(SqliteStore(database)) as store, store.transaction():
        store.save_entries([_entry("/s/gone.json", FileState.GRADED)], now=NOW)

    made = checks(run, home)["ledger"]

    assert made["state"] == "ok"
    assert made["found"].endswith("; 1 grade incomplete, from deleted files")


def test_a_second_name_of_the_database_is_told(run: Run, home: Path, database: Path) -> None:
    (home / "second.db").hardlink_to(database)

    made = checks(run, home)["database place"]

    assert (made["state"], "has 2 names" in made["found"]) == ("warning", True)


def test_what_others_keep_in_the_database_is_told(run: Run, home: Path, database: Path) -> None:
    sql(
        database,
        "CREATE TABLE plans (id)",
        "INSERT INTO session_grades SELECT NULL, 'theirs', session_file, graded_at, 1, 3, 3, 1, 1, NULL, NULL, NULL,"
        " NULL, NULL, 0, NULL, NULL, 0, 0, 0 FROM session_grades LIMIT 1",
    )

    made = checks(run, home)["other programs"]

    assert made["state"] == "ok"
    assert made["found"] == "1 grade written by another program (left unchanged); 1 table of other programs: plans"


def test_an_index_that_lacks_rows_is_built_again(run: Run, home: Path, database: Path) -> None:
    sql(
        database,
        "PRAGMA writable_schema = ON",
        "CREATE TABLE empty (session_id TEXT UNIQUE)",
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name ="
        " 'sqlite_autoindex_empty_1') WHERE name = 'session_details_ended_at'",
        "DELETE FROM sqlite_master WHERE name IN ('empty', 'sqlite_autoindex_empty_1')",
    )
    assert checks(run, home)["integrity"]["state"] == "problem"

    run(home, "doctor", "--repair")

    assert checks(run, home)["integrity"]["state"] == "ok"


def test_what_an_interrupted_copy_left_is_told_and_deleted_after_an_hour(run: Run, home: Path, database: Path) -> None:
    old, young = (database.with_name(f".{database.name}.{name}.tmp") for name in ("old", "young"))
    for file in (old, young, Path(f"{old}-wal")):
        file.write_bytes(b"a part")
    for file in (old, Path(f"{old}-wal")):
        os.utime(file, (NOW.timestamp() - 4000, NOW.timestamp() - 4000))
    kept = database.with_name(f"{database.name}.damaged-20261101T101010Z")
    kept.write_bytes(b"kept")
    before = checks(run, home)["former copies"]

    repaired = run(home, "doctor", "--repair")

    assert (before["state"], before["found"].startswith("3 temporary files")) == ("warning", True)
    assert repaired.stdout.count("Done: deleted ") == 2
    assert not old.exists()
    assert young.exists()
    young.unlink()
    after = checks(run, home)["former copies"]
    assert after["state"] == "ok"
    assert kept.name in after["found"]


@pytest.mark.parametrize(
    ("room", "state"),
    [
        (Space(free_bytes=10**10, total_bytes=10**11, is_read_only=False), "ok"),
        (Space(free_bytes=5 * 10**8, total_bytes=10**11, is_read_only=False), "warning"),
        (Space(free_bytes=10**7, total_bytes=10**11, is_read_only=False), "problem"),
        (Space(free_bytes=10**10, total_bytes=10**11, is_read_only=True), "problem"),
    ],
)
def test_scarce_room_is_told(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, room: Space, state: str) -> None:
    monkeypatch.setattr(database_checks, "space_at", lambda _: room)

    assert checks(run, home)["disk space"]["state"] == state


# -- where sessions come from ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("nfs4", ("warning", "problem")), ("fuse.sshfs", ("warning", "problem")), ("ext4", ("ok", "ok"))],
)
def test_a_network_file_system_is_told(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, expected: tuple[str, str]
) -> None:
    monkeypatch.setattr(doctor_context, "mounts", lambda: [Mount("/", "ext4"), Mount(str(home), kind)])

    made = checks(run, home)

    assert (made["file systems"]["state"], made["database place"]["state"]) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Inotify(100, 100), ("ok", None)),
        (Inotify(12, 100), ("warning", "sudo sysctl fs.inotify.max_user_watches=26")),
        (Inotify(100, 4), ("warning", "sudo sysctl fs.inotify.max_user_instances=8")),
        (None, ("unknown", None)),
    ],
)
def test_limits_of_inotify_are_told_with_the_command_that_raises_them(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, limits: Inotify | None, expected: object
) -> None:
    (root / "one" / "two").mkdir(parents=True)
    monkeypatch.setattr(session_checks, "inotify_limits", lambda: limits)
    monkeypatch.setattr(session_checks, "inotify_use", lambda **_: Inotify(10, 4))

    made = checks(run, root.parent)["inotify"]

    assert (made["state"], made["fix"]) == expected


def test_folders_that_may_not_be_read_are_told(
    run: Run, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = SimpleNamespace(folders=3, unreadable=(str(root / "closed"),), databases=[])
    with monkeypatch.context() as patched:
        patched.setattr(doctor_context, "Survey", lambda _: closed)
        below = checks(run, home)["folders"]
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    whole = checks(run, home)["folders"]

    assert (below["state"], str(root / "closed") in below["found"]) == ("warning", True)
    assert (whole["state"], str(root) in whole["found"]) == ("problem", True)


def test_hermes_outside_of_the_watched_folders_is_told(
    run: Run, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hermes = home / ".hermes"
    write(hermes / "sessions", "there")

    unseen = checks(run, home)["agents"]
    seen = checks(run, home, "--watch-root", str(home))["agents"]
    (root / "link").symlink_to(hermes)
    monkeypatch.setenv("HERMES_HOME", str(root))
    elsewhere = checks(run, home)["agents"]

    assert (unseen["state"], unseen["fix"]) == ("warning", f"grader-daemon sources enable hermes --path {hermes}")
    assert seen["state"] == "ok"
    assert elsewhere["state"] == "ok"


def test_a_trial_that_was_forgotten_with_its_file_away_is_told(run: Run, home: Path) -> None:
    assert checks(run, home)["trials"]["found"] == "0 trials running"
    install(home / ".timmy/skills/deploy", "Deploys.")
    skill = home / ".timmy/skills/deploy/SKILL.md"
    folder, began_at = home / ".config/grader-daemon/trials", bootstrap.utc_now() - timedelta(days=8, hours=1)
    trials = Trials(TrialFile(folder), clock=lambda: began_at, coin=lambda: False)
    trials.start(Subject("deploy", "hermes", str(skill)))
    in_place = checks(run, home)["trials"]
    with trials.session("deploy"):
        pass
    away = checks(run, home)["trials"]

    assert (in_place["state"], in_place["found"]) == ("ok", "1 trial running")
    assert (away["state"], away["fix"]) == ("warning", "grader-daemon changes trial stop deploy")
    assert away["found"] == f"the trial of deploy has taken {skill} away; its last draw was 8 days ago"


def test_a_folder_of_skills_that_cannot_be_read_is_told(run: Run, home: Path) -> None:
    run(home, "config", "set", "skill_roots", str(home / "nowhere"))
    missing = checks(run, home)["skills"]
    install(home / "nowhere/deploy", "Deploys.")
    (home / "nowhere/broken").mkdir()
    (home / "nowhere/broken/SKILL.md").write_text("no front matter")
    there = checks(run, home)["skills"]

    assert missing["state"] == "warning"
    assert missing["found"] == f"{home}/nowhere: no skills can be read there: No such file or directory"
    assert "skill_roots" in missing["fix"]
    assert (there["state"], there["found"]) == ("ok", "2 skills, 1 of them with problems: grader-daemon skills")


def test_agents_that_are_declined_are_not_told(run: Run, home: Path) -> None:
    write_claude(home)
    asked = checks(run, home)["agents"]
    run(home, "sources", "disable", "claude-code")
    declined = checks(run, home)["agents"]

    assert asked["found"].startswith("not graded: Claude Code, 1 session in ")
    assert asked["fix"] == ("grader-daemon sources enable claude-code; or grader-daemon sources disable claude-code")
    assert (declined["state"], declined["found"]) == ("ok", "Hermes graded; Claude Code declined")


def test_agents_that_are_not_read_are_told(run: Run, home: Path) -> None:
    (home / ".cursor/chats").mkdir(parents=True)
    agents = checks(run, home)["agents"]

    told = "Hermes graded; found, but not supported by this version: Cursor (docs/other-agents.md)"
    assert (agents["state"], agents["found"]) == ("ok", told)


@pytest.mark.parametrize(
    ("said", "state", "days"),
    [
        pytest.param(None, "ok", "30", id="by-default"),
        pytest.param('{"cleanupPeriodDays": 365}', "ok", "365", id="longer"),
        pytest.param('{"cleanupPeriodDays": 1}', "warning", "1", id="shorter-than-a-weekend"),
        pytest.param('{"cleanupPeriodDays": "x"}', "ok", "30", id="nonsense"),
        pytest.param("[" * 9999, "ok", "30", id="no-settings"),
    ],
)
def test_it_is_told_when_claude_code_deletes_sessions(
    run: Run, home: Path, said: str | None, state: str, days: str
) -> None:
    write_claude(home)
    run(home, "sources", "enable", "claude-code")
    if said is not None:
        (home / ".claude" / "settings.json").write_text(said)

    made = checks(run, home)["retention"]

    assert made["state"] == state
    assert made["found"].startswith(f"Claude Code deletes sessions after {days} days")


@pytest.mark.parametrize("others", [(), ("claude-code",)])
def test_it_is_told_that_openclaw_deletes_what_it_began_by_itself(run: Run, home: Path, others: Sequence[str]) -> None:
    for name in ("openclaw", *others):
        run(home, "sources", "enable", name)

    made = checks(run, home)["retention"]

    assert made["state"] == "ok"
    assert made["found"].startswith("Claude Code") is bool(others)
    told = "OpenClaw deletes scheduled runs and sub-agents after 30 days (pruneAfter); their grades stay"
    assert made["found"].endswith(told)


@pytest.mark.usefixtures("root")
def test_a_folder_of_an_agent_that_is_not_there_yet_is_no_problem(run: Run, home: Path) -> None:
    run(home, "sources", "enable", "claude-code")
    awaited = checks(run, home)["folders"]
    run(home, "config", "set", "claude_code_roots", "/no/such")
    named = checks(run, home)["folders"]

    assert (awaited["state"], "missing so far: " in awaited["found"]) == ("ok", True)
    assert (named["state"], named["found"]) == ("problem", "no such folder: /no/such")


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("owner", "fix"),
    [
        pytest.param(None, "chmod u+rx ~/.claude", id="own-folder"),
        pytest.param(NOBODY, "run it as the folder's owner", id="folder-of-another", marks=_ROOT_ALONE),
    ],
)
def test_a_closed_folder_is_opened_by_its_owner(
    run: Run, home: Path, owner: int | None, fix: str, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    run(home, "sources", "enable", "claude-code")
    (home / ".claude/projects").mkdir(parents=True)
    (home / ".claude").chmod(0)
    if owner is not None:
        os.chown(home / ".claude", owner, owner)

    with rights_of_owner():
        made = checks(run, home)["folders"]

    assert (made["state"], made["found"]) == ("problem", f"no permission to read: {home}/.claude/projects")
    assert made["fix"] == fix.replace("~", str(home))


def test_settings_without_permission_to_read_are_no_wrong_settings(
    run: Run, home: Path, rights_of_owner: Callable[[], AbstractContextManager[None]]
) -> None:
    run(home, "config", "set", "queue_size", "7")
    (home / ".config/grader-daemon/config.toml").chmod(0)

    with rights_of_owner():
        made = checks(run, home)["settings"]

    assert (made["state"], made["found"]) == ("problem", f"{home}/.config/grader-daemon/config.toml: Permission denied")
    assert made["fix"] == "give yourself the right to read it, or run this as its owner"


def test_who_has_no_timmy_is_told_how_to_do_without(run: Run, home: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    without = checks(run, bare)["folders"]
    run(home, "config", "set", "watch_roots", "/no/such")
    named = checks(run, home)["folders"]

    assert without["found"] == f"no such folder: {bare}/.timmy"
    assert without["fix"].endswith(", or without Timmy: grader-daemon sources disable hermes")
    assert named["fix"] == "mkdir -p /no/such, or set other folders"
    run(bare, "sources", "enable", "codex")
    run(bare, "sources", "disable", "hermes")
    assert checks(run, bare)["folders"]["found"].startswith("no folder yet; missing so far: ")


def test_a_database_of_an_agent_that_cannot_be_read_is_told(
    run: Run, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "state.db").write_bytes(b"no database")
    broken = checks(run, home)["agent databases"]
    (root / "state.db-wal").write_bytes(b"a log")
    copied = checks(run, home)["agent databases"]
    other = os.geteuid() + 1
    with monkeypatch.context() as patched:
        patched.setattr("grader_daemon.api.doctor.agent_checks.os.geteuid", lambda: other)
        of_another = checks(run, home)["agent databases"]

    assert (broken["state"], "not a SQLite database" in broken["found"]) == ("problem", True)
    assert (copied["state"], "-wal and no -shm" in copied["found"]) == ("warning", True)
    assert (of_another["state"], "belongs to another user" in of_another["found"]) == ("problem", True)


def test_sessions_too_new_to_be_read_are_told(run: Run, home: Path, database: Path) -> None:
    with closing(SqliteStore(database, host="here")) as store, store.transaction():
        made = LedgerEntry(
            unit=unit_of("/s/new.json"),
            stamp=b"1",
            written_ns=4,
            state=FileState.SKIPPED,
            reason=SkipReason.UNREADABLE_VERSION,
        )
        store.save_entries([made], now=NOW)

    told = checks(run, home)["agent versions"]

    assert (told["state"], told["found"]) == ("warning", "1 session from an agent version that is too new to read")


def test_a_session_that_nobody_looks_at_is_told(run: Run, home: Path, database: Path) -> None:
    without = checks(run, home)["newest sessions"]
    path = write(home / ".timmy" / "sessions", "there")
    written = datetime.now(UTC).timestamp() - 2 * 3600  # noqa: TID251  however long the tests before this one took
    os.utime(path, (written, written))
    stopped = checks(run, home)["newest sessions"]
    with DaemonLock(database):
        late = checks(run, home)["newest sessions"]
        os.utime(path)
        fresh = checks(run, home)["newest sessions"]
    run(home, "grade")
    graded = checks(run, home)["newest sessions"]

    assert {without["state"], stopped["state"], fresh["state"], graded["state"]} == {"ok"}
    assert without["found"] == "no graded agent has a session here"
    assert stopped["found"] == "sessions wait until the daemon runs, or for grader-daemon grade"
    assert graded["found"] == "the newest session of each agent is graded"
    assert late["state"] == "problem"
    assert "Hermes, 2 h ago" in late["found"]


@pytest.mark.usefixtures("database")
def test_a_folder_is_listed_once_for_databases_and_once_for_sessions(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold a million files."""
    folder = home / ".timmy" / "sessions"
    write(folder, "there")
    listed: list[str] = []
    list_folder = Walk._list

    def noting(walk: Walk, place: str, pending: deque[str]) -> Any:
        listed.append(place)
        return list_folder(walk, place, pending)

    run(home, "grade")
    monkeypatch.setattr(Walk, "_list", noting)
    made = checks(run, home)["newest sessions"]

    assert made["found"] == "the newest session of each agent is graded"
    assert listed.count(str(folder)) == 2


@pytest.mark.parametrize(
    ("settings", "mode", "state"),
    [
        pytest.param("quiet_seconds = 3", 0o644, "ok", id="only-its-owner-writes"),
        pytest.param("quiet_seconds = 3", 0o666, "warning", id="all-write"),
        pytest.param('alert_command = ["true"]', 0o666, "problem", id="all-may-name-a-program-that-is-run"),
    ],
)
def test_a_configuration_that_others_may_write_is_told(
    run: Run, home: Path, settings: str, mode: int, state: str
) -> None:
    file = home / ".config" / "grader-daemon" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"{settings}\n")
    file.chmod(mode)

    made = checks(run, home)["settings"]

    assert (made["state"], made["fix"]) == (state, None if state == "ok" else f"chmod go-w {file}")


# -- the daemon --------------------------------------------------------------------------------------------------------


@pytest.fixture
def running(database: Path) -> Iterator[None]:
    """This process is a daemon on the database."""
    with DaemonLock(database):
        yield


def _say(
    database: Path,
    *,
    ago: timedelta = timedelta(0),
    watching: str = "watched",
    pid: int | None = None,
    waited: timedelta = timedelta(seconds=2),
    failing: tuple[str, ...] = (),
) -> None:
    said_at = NOW - ago
    status = DaemonStatus(
        pid=pid or os.getpid(),
        started_at=said_at,
        said_at=said_at,
        backlog=7,
        watching={"/s": watching},
        waiting_since=said_at - waited,
        compared_at=said_at - timedelta(minutes=7),
        failures=dict.fromkeys(failing, 583),
        failing=failing,
    )
    with closing(SqliteStore(database)) as store, store.transaction():
        store.daemon.save(status)


@pytest.mark.usefixtures("running")
def test_a_daemon_that_says_nothing_any_more_is_a_problem(run: Run, home: Path, database: Path) -> None:
    found = []
    for ago in (timedelta(minutes=50), timedelta(hours=3)):
        _say(database, ago=ago)
        found.append(checks(run, home)["daemon"])

    assert [each["state"] for each in found] == ["ok", "problem"]
    assert "7 files waiting" in found[0]["found"]


@pytest.mark.usefixtures("running")
def test_a_folder_that_is_not_watched_is_a_warning_with_its_reason(run: Run, home: Path, database: Path) -> None:
    _say(database, watching="the folder does not exist")

    made = checks(run, home)["daemon"]

    assert (made["state"], "the folder does not exist" in made["found"]) == ("warning", True)


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        pytest.param(59, ("ok", "7"), id="a-moment"),
        pytest.param(360, ("warning", "7, the oldest for 6 min: it falls behind"), id="long"),
    ],
)
def test_a_daemon_that_falls_behind_is_a_warning(
    run: Run, home: Path, database: Path, seconds: int, told: tuple[str, str]
) -> None:
    _say(database, waited=timedelta(seconds=seconds))

    waiting = re.search("^waiting +(.*)$", run(home, "status").stdout, re.MULTILINE)

    assert waiting is not None
    assert (checks(run, home)["daemon"]["state"], waiting[1]) == told


@pytest.mark.usefixtures("running")
def test_a_source_that_fails_is_told_by_doctor_and_status(run: Run, home: Path, database: Path) -> None:
    _say(database, failing=("opencode",))

    made, status = checks(run, home)["daemon"], run(home, "status").stdout

    assert (made["state"], "opencode cannot be read completely (a bug), 583 failures" in made["found"]) == (
        "problem",
        True,
    )
    assert re.search(r"^all compared +.* ago$", status, re.MULTILINE)
    assert "opencode 583 since the daemon started; not read completely: opencode; its log says why" in status


def test_an_older_session_that_nobody_looked_at_is_told_though_the_newest_was(
    run: Run, home: Path, database: Path
) -> None:
    folder = home / ".timmy" / "sessions"
    for name, age in (("newest", 3600), ("passed-over", 7200)):
        path = write(folder, name)
        os.utime(path, (NOW.timestamp() - age, NOW.timestamp() - age))
        if name == "newest":
            assert run(home, "grade", str(path)).returncode == 0
    with DaemonLock(database):
        late = checks(run, home)["newest sessions"]

    assert (late["state"], "passed-over" in late["found"]) == ("problem", True)


@pytest.mark.usefixtures("running")
def test_what_an_earlier_daemon_said_does_not_count(run: Run, home: Path, database: Path) -> None:
    _say(database, ago=timedelta(days=3), pid=2**22 + 1)

    assert checks(run, home)["daemon"]["state"] == "ok"


@pytest.mark.usefixtures("running")
def test_a_damaged_database_is_not_repaired_beside_a_daemon(run: Run, home: Path, database: Path) -> None:
    overwrite(database, leaves_of(database, "session_grades"))
    before = database.read_bytes()

    repaired = run(home, "doctor", "--repair")

    assert f"Not done: database {database}: not repaired: another grader-daemon (pid {os.getpid()})" in repaired.stdout
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("unit", "linger", "state"),
    [(None, True, "warning"), ("[Unit]", False, "warning"), ("[Unit]", None, "unknown"), ("[Unit]", True, "ok")],
)
def test_a_daemon_that_does_not_start_by_itself_is_a_warning(
    service: Callable[[str | None, bool | None], dict[str, Any]], unit: str | None, linger: bool | None, state: str
) -> None:
    assert service(unit, linger)["state"] == state


@pytest.fixture
def service(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None, bool | None], dict[str, Any]]:
    """The check of the service, on a machine with systemd, this unit and this lingering."""

    def checked(unit: str | None, linger: bool | None) -> dict[str, Any]:
        monkeypatch.setattr(daemon_checks, "has_systemd", lambda: True)
        monkeypatch.setattr(daemon_checks, "lingers", lambda _: linger)
        if unit is not None:
            file = home / ".config" / "systemd" / "user" / "grader-daemon.service"
            file.parent.mkdir(parents=True)
            file.write_text(unit)
        return checks(run, home)["service"]

    return checked


def _entry(path: str, state: FileState) -> LedgerEntry:
    return LedgerEntry(
        unit=unit_of(path), stamp=b"1", written_ns=4, state=state, session_id="of_no_grade", reason="unreadable"
    )


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (timedelta(days=5, hours=13), "5 days"),  # as `status` counts them
        (timedelta(hours=47), "47 h"),
        (timedelta(seconds=-4), "0 s"),
    ],
)
def test_days_are_whole_ones_that_passed(time: timedelta, words: str) -> None:
    assert span(time) == words
