"""Whatever lies in the folder: the daemon says in a line what is wrong with it, and goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, DaemonProcess, Event, Row, query, run_command
from tests.e2e.session_files import content, path_of, replace, turns, write
from tests.needs import require, require_programs
from tests.strategies import json_answer, json_user
from tests.waiting import wait_until

NOBODY = 65534
GIGABYTE = 1 << 30
LEVELS = 100_000
TOLD = {
    "skipped": ("session.skipped", "reason"),
    "retry": ("session.retry_scheduled", "error"),
    "dead": ("session.quarantined", "error"),
}

Make = Callable[[Path], None]


def _holding(whole: bytes) -> Make:
    return lambda path: _write_bytes(path, whole)


def _write_bytes(path: Path, whole: bytes) -> None:
    path.write_bytes(whole)


def _with_value(raw: bytes) -> bytes:
    """A session with `raw` in a place that grading reads."""
    return content("bad", [json_user("PLACE"), json_answer()]).replace(b'"PLACE"', raw)


def _make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        os.truncate(file.fileno(), GIGABYTE)


def _make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o20600, os.makedev(1, 3))
    except PermissionError:
        require(False, "the right to make a device")


def _make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def _make_link_to_a_session(path: Path) -> None:
    target = path.parent.parent / "elsewhere.json"
    target.write_bytes(content("linked"))
    path.symlink_to(target)


WHOLE = content("bad")
BAD_FILES = [
    pytest.param("retry", _holding(b""), id="empty"),
    pytest.param("retry", _holding(b" \n\t\n"), id="only-blanks"),
    pytest.param("retry", _holding(WHOLE[: len(WHOLE) // 2]), id="truncated"),
    pytest.param("retry", _holding(WHOLE[:-1]), id="without-its-last-brace"),
    pytest.param(
        "retry", _holding(content("bad", [json_user("漢字")])[:-250] + "漢".encode()[:2]), id="half-a-character"
    ),
    pytest.param("dead", _holding(b"no JSON" + WHOLE), id="text-before-it"),
    pytest.param("retry", _holding(WHOLE.decode().encode("utf-16")), id="utf-16"),
    pytest.param("dead", _holding(_with_value(b'"caf\xe9 Latin-1"')), id="invalid-utf-8"),
    pytest.param("retry", _holding(WHOLE[:300] + bytes(4096)), id="nul-characters-at-the-end"),
    pytest.param("retry", _holding(bytes(2000)), id="nothing-but-nul-characters"),
    pytest.param("retry", _holding(_with_value(b"NaN")), id="not-a-number"),
    pytest.param("retry", _holding(_with_value(b"-Infinity")), id="infinity"),
    pytest.param("dead", _holding(b"[" + WHOLE + b"]"), id="list-at-the-top"),
    pytest.param("dead", _holding(b'"a text"'), id="text-at-the-top"),
    pytest.param("dead", _holding(b"Not found\n"), id="no-json"),
    pytest.param("retry", _holding(b"\x1f\x8b\x08\x00 compressed"), id="binary"),
    pytest.param("dead", _holding(_with_value(b"[" * LEVELS + b"]" * LEVELS)), id="deep-lists-in-a-message"),
    pytest.param("dead", _holding(_with_value(b'{"a":' * LEVELS + b"1" + b"}" * LEVELS)), id="deep-objects"),
    pytest.param("dead", _holding(b'{"tools":' + b"[" * LEVELS + b"]" * LEVELS + b"}"), id="deep-in-a-key-not-read"),
    pytest.param("dead", _holding(b"[" * LEVELS), id="deep-and-never-closed"),
    pytest.param("dead", _holding(b'{"session_id": "bad", "messages": [1, 2]}'), id="messages-that-are-none"),
    pytest.param("skipped", _holding(b'{"name": "something else"}'), id="no-messages-at-all"),
    pytest.param("dead", _make_sparse, id="one-gigabyte-of-nothing"),
    pytest.param("dead", os.mkfifo, id="fifo"),
    pytest.param("dead", _make_device, id="device"),
    pytest.param("skipped", _make_loop, id="symlink-loop"),
    pytest.param("skipped", _make_link_to_a_session, id="symlink-to-a-session"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """One daemon for all bad files: it must outlive each."""
    home = tmp_path_factory.mktemp("bad")
    (home / ".timmy").mkdir()
    daemon = DaemonProcess(home, settings={"quiet_seconds": 0.1, "retry_seconds": [0.2, 3600]})
    daemon.wait_for_event("reconcile.finished")
    yield daemon
    daemon.end()


@pytest.fixture
def folder(shared: DaemonProcess, request: pytest.FixtureRequest) -> Path:
    """A folder below the root of `shared` for this test."""
    made: Path = shared.home / ".timmy" / request.node.name.partition("[")[2].rstrip("]") / "sessions"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize(("state", "make"), BAD_FILES)
def test_the_daemon_says_what_is_wrong_with_a_file_and_goes_on(
    shared: DaemonProcess, folder: Path, state: str, make: Make
) -> None:
    said_before = len(shared.strange_lines())
    bad = path_of(folder, "bad")
    make(bad)

    row = shared.wait_for_ledger(bad, state)
    _assert_told(shared, state, str(bad), row)
    good = f"after_{folder.parent.name}"
    write(folder, good)
    shared.wait_for_grade(good)
    assert shared.strange_lines()[said_before:] == []


def test_the_command_says_in_one_line_what_is_wrong_with_each_file(tmp_path: Path) -> None:
    told = {}
    for bad in BAD_FILES:
        state, make = cast("tuple[str, Make]", bad.values)
        if make is _make_device and os.geteuid() != 0:
            continue
        path = path_of(tmp_path / str(bad.id), "bad")
        path.parent.mkdir()
        make(path)
        told[path] = "skipped" if state == "skipped" else "cannot grade"

    ended = run_command(tmp_path / "home", "grade", *told)

    assert ended.returncode == 1
    assert ended.stdout == ""
    lines = sorted(ended.stderr.splitlines())
    assert [line.partition(": ")[0] for line in lines] == sorted(f"{word} {path}" for path, word in told.items())
    assert all(len(line.partition(": ")[2]) > 5 for line in lines)


def test_a_file_that_is_only_skipped_is_no_finding(tmp_path: Path) -> None:
    loop = path_of(tmp_path, "loop")
    _make_loop(loop)

    ended = run_command(tmp_path / "home", "grade", loop)

    assert ended.returncode == 0
    assert ended.stderr.count("\n") == 1


def test_a_bad_file_among_good_ones_costs_only_its_own_grade(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / "sessions", f"good_{number}")
    path_of(tmp_path / "sessions", "good_2x").write_bytes(b"no JSON{}")

    ended = run_command(tmp_path / "home", "grade", "--json", tmp_path)

    document = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert len(document["grades"]) == 5
    assert [error["file"] for error in document["errors"]] == [str(path_of(tmp_path / "sessions", "good_2x"))]


# -- odd, but sessions -------------------------------------------------------------------------------------------------


def test_of_duplicate_keys_the_last_counts(start_daemon: StartDaemon, sessions: Path) -> None:
    whole = content("twice", turns(1)).decode().rstrip().removesuffix("}")
    path_of(sessions, "twice").write_text(f'{whole}, "model": "the last", "messages": {json.dumps(turns(4))}}}')

    grade = start_daemon().wait_for_grade("twice")

    assert (grade["model"], grade["tool_calls"]) == ("the last", 4)


def test_escaped_nul_characters_are_text(start_daemon: StartDaemon, sessions: Path, home: Path) -> None:
    write(sessions, "nul", [json_user("Fix\0 the\0 parser"), json_answer("Done\0, it works.")])
    daemon = start_daemon()

    grade = daemon.wait_for_grade("nul")

    assert grade["task_summary"].startswith("Fix")
    listed = run_command(home, "list")
    assert listed.returncode == 0
    assert "\0" not in listed.stdout


def test_numbers_without_end_are_no_trouble(start_daemon: StartDaemon, sessions: Path) -> None:
    whole = content("endless").replace(b'"message_count"', b'"x": 1e999999, "y": ' + b"9" * 5000 + b', "message_count"')
    path_of(sessions, "endless").write_bytes(whole)
    daemon = start_daemon()

    daemon.wait_for_ledger(path_of(sessions, "endless"))

    write(sessions, "next")
    daemon.wait_for_grade("next")


# -- a second chance ---------------------------------------------------------------------------------------------------


def test_a_truncated_file_is_graded_when_it_is_completed(start_daemon: StartDaemon, sessions: Path) -> None:
    whole = content("halves")
    path = path_of(sessions, "halves")
    daemon = start_daemon(retry_seconds=[3600])
    with path.open("wb") as file:
        file.write(whole[:300])
        file.flush()
        daemon.wait_for_event("reconcile.finished")
        assert daemon.wait_for_ledger(path, "retry")["attempts"] == 1

    with path.open("ab") as file:
        file.write(whole[300:])

    daemon.wait_for_grade("halves")
    row = daemon.wait_for_ledger(path, "graded")
    assert (row["attempts"], row["last_error"], row["retry_at"]) == (0, None, None)


def test_a_file_is_given_up_after_the_last_retry(start_daemon: StartDaemon, sessions: Path) -> None:
    path = path_of(sessions, "hopeless")
    path.write_bytes(content("hopeless")[:200])
    daemon = start_daemon(retry_seconds=[0.1, 0.1])

    row = daemon.wait_for_ledger(path, "dead")

    assert row["attempts"] == 3
    assert row["retry_at"] is None
    daemon.wait_for_event("session.quarantined")
    assert len(daemon.events("session.retry_scheduled")) == 1  # the second says the same
    assert len(daemon.events("session.quarantined")) == 1


def test_a_dead_file_lives_again_when_its_content_changes(start_daemon: StartDaemon, sessions: Path) -> None:
    path = path_of(sessions, "lazarus")
    path.write_bytes(b"no JSON" + content("lazarus"))
    daemon = start_daemon()
    daemon.wait_for_ledger(path, "dead")

    replace(path, content("lazarus"))

    daemon.wait_for_grade("lazarus")
    assert daemon.wait_for_ledger(path, "graded")["last_error"] is None


def test_a_time_that_no_ledger_can_hold_keeps_nobody_from_their_grade(home: Path, sessions: Path) -> None:
    names = [f"s{number}" for number in range(4)]
    for name in names:
        write(sessions, name, age=60)
    far = path_of(sessions, "s1")
    os.utime(far, (2**34 - 1, 2**34 - 1))
    if os.stat(far).st_mtime_ns < 2**63:
        pytest.skip("this file system cuts such times itself")

    ended = run_command(home, "run", "--once")

    graded = query(home / DATABASE, "SELECT session_id FROM session_grades ORDER BY session_id")
    assert (ended.returncode, [row["session_id"] for row in graded]) == (0, names)


def test_a_run_that_leaves_files_ungraded_says_how_many_until_they_are_gone(home: Path, sessions: Path) -> None:
    write(sessions, "good", age=60)
    bad = [path_of(sessions, "cut"), path_of(sessions, "no-json")]
    for path, whole in zip(bad, (b'{"messages": [', b"Dear diary"), strict=True):
        path.write_bytes(whole)
        os.utime(path, (1, 1))

    first = run_command(home, "run", "--once", retry_seconds=[3600])
    again = run_command(home, "run", "--once", retry_seconds=[3600])
    for path in bad:
        path.unlink()
    last = run_command(home, "run", "--once", retry_seconds=[3600])

    assert [ended.returncode for ended in (first, again, last)] == [1, 1, 0]
    for ended in (first, again):
        [said] = [json.loads(line) for line in ended.stderr.splitlines() if "service.incomplete" in line]
        assert (said["level"], said["files"]) == ("error", 2)
    assert "service.incomplete" not in last.stderr


def test_a_dead_file_stays_dead_over_a_restart(start_daemon: StartDaemon, sessions: Path) -> None:
    path = path_of(sessions, "dead")
    path.write_bytes(b"no JSON{}")
    os.utime(path, (1, 1))
    daemon = start_daemon(arguments=["--once"])
    daemon.wait_for_end()
    assert (daemon.ledger(path) or {})["state"] == "dead"

    daemon = start_daemon(arguments=["--once"])

    daemon.wait_for_end()
    assert daemon.events("session.quarantined") == []


# -- names and rights --------------------------------------------------------------------------------------------------


def test_a_name_that_is_not_utf_8_is_told_as_text(start_daemon: StartDaemon, sessions: Path) -> None:
    odd = os.fsencode(sessions) + b"/session_caf\xe9.json"
    with open(odd, "wb") as file:
        file.write(content("cafe"))
    daemon = start_daemon()
    write(sessions, "good")

    daemon.wait_for_grade("good")
    row = wait_until(
        lambda: next(iter(daemon.query("SELECT * FROM session_files WHERE path LIKE '%session_caf%'")), None),
        "the odd name in the ledger",
    )

    assert row["state"] == "dead"
    assert row["last_error"]
    _assert_told(daemon, "dead", row["path"], row)
    write(sessions, "later")
    daemon.wait_for_grade("later")


def test_an_odd_name_that_comes_while_the_daemon_runs_does_no_harm(start_daemon: StartDaemon, sessions: Path) -> None:
    daemon = start_daemon()
    daemon.wait_for_event("reconcile.finished")
    with open(os.fsencode(sessions) + b"/session_\xff\xfe.json", "wb") as file:
        file.write(content("odd"))

    wait_until(lambda: daemon.query("SELECT 1 FROM session_files WHERE state = 'dead'"), "the odd name in the ledger")

    write(sessions, "later")
    daemon.wait_for_grade("later")


def test_a_folder_whose_name_is_not_utf_8_does_no_harm(start_daemon: StartDaemon, sessions: Path) -> None:
    odd = os.fsencode(sessions) + b"/\xc3\x28"
    os.mkdir(odd)
    with open(odd + b"/session_inner.json", "wb") as file:
        file.write(content("inner"))
    daemon = start_daemon()
    write(sessions, "good")

    daemon.wait_for_grade("good")

    wait_until(lambda: daemon.query("SELECT 1 FROM session_files WHERE state = 'dead'"), "the odd name in the ledger")


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_the_command_tells_a_name_that_is_not_utf_8_in_one_line(tmp_path: Path, as_json: bool) -> None:
    odd = os.fsencode(tmp_path) + b"/session_caf\xe9.json"
    with open(odd, "wb") as file:
        file.write(content("cafe"))

    ended = run_command(tmp_path / "home", "grade", odd, *(["--json"] if as_json else []))

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    if as_json:
        assert len(json.loads(ended.stdout)["errors"]) == 1
    else:
        assert ended.stderr.count("\n") == 1


def test_backfill_passes_over_names_that_are_not_utf_8(home: Path, sessions: Path) -> None:
    with open(os.fsencode(sessions) + b"/session_caf\xe9.json", "wb") as file:
        file.write(content("cafe"))
    write(sessions, "good")

    for jobs in ("1", "2"):
        ended = run_command(home, "grade", "--jobs", jobs)
        assert "Traceback" not in ended.stderr
        assert ended.returncode in (0, 1)

    assert "good" in run_command(home, "list").stdout


def test_names_with_line_breaks_and_escapes_stay_on_one_line(tmp_path: Path) -> None:
    bad = tmp_path / "session_a\nb\x1b[31m\u202e.json"
    bad.write_bytes(b"")

    ended = run_command(tmp_path / "home", "grade", bad)

    assert ended.stderr.count("\n") == 1
    assert not {"\x1b", "\u202e"} & set(ended.stderr)


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    """A home whose owner is bound by permission bits, as root is not."""
    require_programs("setpriv")
    require(os.geteuid() == 0, "the right to start a daemon as somebody else")
    require(_nobody_can_run_it(), "the right of another user to read the program")
    home = Path(tempfile.mkdtemp(prefix="grader-e2e-"))
    sessions = home / ".timmy" / "sessions"
    sessions.mkdir(parents=True)
    for folder in (home, home / ".timmy", sessions):
        os.chown(folder, NOBODY, NOBODY)
    yield home
    shutil.rmtree(home)


def test_a_file_that_may_not_be_read_is_tried_again_until_it_may(home_of_nobody: Path) -> None:
    secret = write(home_of_nobody / ".timmy" / "sessions", "secret")
    secret.chmod(0o600)
    daemon = DaemonProcess(home_of_nobody, under=_AS_NOBODY, settings={"retry_seconds": [0.2]})
    try:
        _wait_until_open(daemon)
        row = daemon.wait_for_ledger(secret, "retry")
        assert "permission" in row["last_error"]
        _assert_told(daemon, "retry", str(secret), row)
        write(home_of_nobody / ".timmy" / "sessions", "public").chmod(0o644)
        daemon.wait_for_grade("public")

        secret.chmod(0o644)

        daemon.wait_for_grade("secret")
        assert daemon.strange_lines() == []
    finally:
        daemon.end()


@pytest.mark.thorough
def test_a_folder_that_may_not_be_read_does_not_hide_the_others(home_of_nobody: Path) -> None:
    closed = home_of_nobody / ".timmy" / "closed" / "sessions"
    write(closed, "hidden")
    closed.chmod(0o700)
    write(home_of_nobody / ".timmy" / "sessions", "public").chmod(0o644)
    daemon = DaemonProcess(home_of_nobody, under=_AS_NOBODY)
    try:
        _wait_until_open(daemon)
        daemon.wait_for_grade("public")

        scan = daemon.wait_for_event("reconcile.finished")

        assert scan["unreadable"] == [str(closed)]
        later = write(home_of_nobody / ".timmy" / "sessions", "later")
        later.chmod(0o644)
        daemon.wait_for_grade("later")
    finally:
        daemon.end()


@pytest.mark.thorough
def test_the_command_says_that_a_file_may_not_be_read(home_of_nobody: Path) -> None:
    secret = write(home_of_nobody / ".timmy" / "sessions", "secret")
    secret.chmod(0o600)

    ended = subprocess.run(
        [*_AS_NOBODY, sys.executable, "-m", "grader_daemon", "grade", str(secret)],
        env={"HOME": str(home_of_nobody), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "permission" in ended.stderr


_AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def _wait_until_open(daemon: DaemonProcess) -> None:
    """Ask for nothing before its database is open: who asks sooner may make files beside it, which are root's."""
    daemon.wait_for_event("reconcile.finished")


def _nobody_can_run_it() -> bool:
    tried = [*_AS_NOBODY, sys.executable, "-c", "import grader_daemon.cli.run"]
    return subprocess.run(tried, check=False, capture_output=True, cwd="/").returncode == 0


def _assert_told(daemon: DaemonProcess, state: str, path: str, row: Row) -> None:
    """The ledger has a reason, and one log line gives it."""
    name, key = TOLD[state]
    event: Event = daemon.wait_for_event(name, path=path)
    reason = row["reason"] if state == "skipped" else row["last_error"]
    assert reason
    assert event[key] == reason
    assert "\n" not in reason
    assert len(reason) < 200
