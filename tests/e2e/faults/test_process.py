"""A daemon that is ended, stopped or started twice while an agent is at work."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import STOP_SECONDS, DaemonProcess
from tests.e2e.faults.bearing import refusal
from tests.e2e.faults.forked import ForkedDaemons
from tests.e2e.faults.held import HeldReading
from tests.e2e.faults.load import Load, assert_nothing_lost_or_twice, harmless, integrity, wait_until_caught_up
from tests.e2e.faults.transactions import in_transaction, uncommitted_pages
from tests.e2e.session_files import path_of, turns, write, write_many
from tests.examples import repeats
from tests.waiting import wait_until

ROUNDS = repeats(15, thorough=201)
MOST_ROUNDS = 3 * ROUNDS
IN_TRANSACTIONS = ROUNDS // 5
IN_COMMITS = repeats(0, thorough=1)
"""So short a moment takes luck: some two hundred kills are needed to hit it for sure."""

LONGEST_LIFE = 1.5
"""Of a daemon, by the time that it takes to its first transaction."""

BACKLOG = 1000
FEWER = repeats(400, thorough=BACKLOG)
"""Where nothing has to be caught before it ends."""

_CLOSE_SECONDS = 0.00005


# -- killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_kill_at_any_moment_loses_nothing(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    settings: dict[str, object] = {
        "quiet_seconds": 0.05,
        "max_wait_seconds": 1,
        "retry_seconds": [0.2] * 9,
        "batch_sessions": 50,
        "batch_milliseconds": 10,
    }
    written_once = dict.fromkeys((path_of(sessions, session_id) for session_id in write_many(sessions, BACKLOG)), 1)
    with ForkedDaemons(home, settings) as daemons, Load(sessions, pause_seconds=0.005) as load:
        killed = _kill_many(daemons)
    assert killed["in a transaction"] >= IN_TRANSACTIONS
    assert killed["in a commit"] >= IN_COMMITS, "none fell between the first page of a commit and its last"
    assert _troubles(daemons.log) == []

    daemon = start_daemon(retry_seconds=[0.2] * 9)

    wait_until_caught_up(daemon, sessions)
    assert_nothing_lost_or_twice(daemon.database, sessions, versions=load.versions | written_once)


def _kill_many(daemons: ForkedDaemons) -> Counter[str]:
    """Start and kill daemons; gives what they were doing."""
    killed: Counter[str] = Counter()
    random = Random(4)
    moments = (_at_any_moment, _in_a_transaction, _in_a_commit)
    longest_life = LONGEST_LIFE * _seconds_to_first_transaction(daemons)
    cut_short = b""
    while killed["in all"] < ROUNDS or (_was_unlucky(killed) and killed["in all"] < MOST_ROUNDS):
        daemons.start()
        _pause(random.uniform(0, longest_life))
        moments[killed["in all"] % len(moments)](daemons.database)
        daemons.freeze()
        writing = in_transaction(daemons.database)
        assert daemons.kill() == -9, "it had ended before"
        before, cut_short = cut_short, uncommitted_pages(daemons.database)
        killed["in all"] += 1
        killed["in a transaction"] += writing
        killed["in a commit"] += cut_short not in (b"", before)
        if killed["in all"] % 10 == 0:
            assert _integrity_of_copy(daemons.database) == "ok"
    return killed


def _was_unlucky(killed: Counter[str]) -> bool:
    """Did too few fall on the moments that they were meant for? A busy machine hits them less often."""
    return killed["in a transaction"] < IN_TRANSACTIONS or killed["in a commit"] < IN_COMMITS


def _seconds_to_first_transaction(daemons: ForkedDaemons) -> float:
    daemons.start()
    began = monotonic()
    _in_a_transaction(daemons.database)
    seconds = monotonic() - began
    daemons.kill()
    return seconds


def _at_any_moment(_: Path) -> None:
    """Just now."""


def _in_a_transaction(database: Path) -> None:
    _wait_closely(lambda: in_transaction(database))


def _in_a_commit(database: Path) -> None:
    log = f"{database}-wal"
    _wait_closely(lambda: os.path.exists(log))
    before = _last_write(log)
    _wait_closely(lambda: _last_write(log) != before)


def _last_write(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _wait_closely(condition: Callable[[], bool]) -> None:
    """Look every few microseconds, though not for ever: a kill at another moment counts too."""
    deadline = monotonic() + 2
    while not condition() and monotonic() < deadline:
        _pause(_CLOSE_SECONDS)


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _integrity_of_copy(database: Path) -> str:
    """Look at what a kill left without repairing it: that is the next daemon's part."""
    aside = database.parent / "aside"
    aside.mkdir()
    for path in (database, database.with_name(f"{database.name}-wal")):
        shutil.copy(path, aside)
    found = integrity(aside / database.name)
    shutil.rmtree(aside)
    return found


def _troubles(log: Path) -> list[str]:
    """Give what the daemons said of errors of ours. A kill may cut a line off."""
    lines = log.read_text("utf-8", "replace").splitlines()
    return [line for line in lines if '"level":"error"' in line or "Traceback" in line]


@pytest.mark.thorough
def test_helpers_that_are_killed_lose_nothing(start_daemon: StartDaemon, sessions: Path) -> None:
    """Nor does the file that each of them read: it is tried again. The backlog is longer than the daemon does alone."""
    ids = write_many(sessions, 4 * FEWER, messages=turns(200))
    versions = dict.fromkeys((path_of(sessions, session_id) for session_id in ids), 1)
    daemon = start_daemon(retry_seconds=[0.2] * 9)
    killed = 0
    while daemon.grade_count() < 3 * FEWER:
        for helper in daemon.children():
            with suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)
                killed += 1
        _pause(0.3)

    wait_until_caught_up(daemon, sessions)

    assert killed > 0
    assert_nothing_lost_or_twice(daemon.database, sessions, versions=versions)
    assert {each["event"] for each in daemon.troubles()} <= {"session.retry_scheduled"}


# -- asked to end ------------------------------------------------------------------------------------------------------


def test_sigterm_with_a_backlog(start_daemon: StartDaemon, sessions: Path) -> None:
    write_many(sessions / "backlog", BACKLOG, messages=turns(8))
    daemon = start_daemon()
    with Load(sessions) as load:
        daemon.wait_for_event("session.graded")
        _assert_ends_in_time(daemon)
        load.wait_for_more()
    assert 0 < daemon.grade_count() < BACKLOG

    daemon = start_daemon()

    wait_until_caught_up(daemon, sessions)
    assert_nothing_lost_or_twice(daemon.database, sessions, versions=load.versions)


def test_sigterm_while_a_session_is_read(start_daemon: StartDaemon, sessions: Path, tmp_path: Path) -> None:
    """A daemon that ends in order does not suspect the session that it leaves half read."""
    held = HeldReading(tmp_path, write(sessions, "long").name)
    daemon = start_daemon(under=held.under)
    with Load(sessions) as load:
        held.wait_for(daemon)
        _assert_ends_in_time(daemon)
        load.wait_for_more()

    daemon = start_daemon()

    wait_until_caught_up(daemon, sessions)
    assert_nothing_lost_or_twice(daemon.database, sessions, versions=load.versions)
    assert daemon.troubles() == []


def _assert_ends_in_time(daemon: DaemonProcess) -> None:
    code, seconds = daemon.stop()
    assert code == 0
    assert seconds < STOP_SECONDS


# -- halted ------------------------------------------------------------------------------------------------------------


def test_a_daemon_that_is_halted_goes_on_where_it_was(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    """As when the machine sleeps; nobody takes its place meanwhile."""
    write_many(sessions / "backlog", FEWER)
    daemon = start_daemon()
    daemon.wait_for_event("service.started")
    with harmless(daemon, sessions) as load:
        for _ in range(3):
            daemon.send(signal.SIGSTOP)
            load.wait_for_more()
            daemon.send(signal.SIGCONT)
            load.wait_for_more()
        daemon.send(signal.SIGSTOP)
        assert str(daemon.pid) in refusal(home)
        daemon.send(signal.SIGCONT)


# -- two at once -------------------------------------------------------------------------------------------------------


def test_a_second_daemon_on_the_same_database_is_refused(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    daemon = start_daemon()
    with harmless(daemon, sessions):
        daemon.wait_for_event("service.started")
        assert str(daemon.pid) in refusal(home)


def test_of_daemons_that_start_at_once_one_works(home: Path, sessions: Path) -> None:
    """There is no database yet: each of them may be the one that makes it."""
    daemons = [DaemonProcess(home) for _ in range(3)]
    try:
        with Load(sessions) as load:
            wait_until(lambda: sum(daemon.running for daemon in daemons) == 1, "one to be left")
            (working,) = [daemon for daemon in daemons if daemon.running]
            load.wait_for_more()
        wait_until_caught_up(working, sessions)
        assert_nothing_lost_or_twice(working.database, sessions, versions=load.versions)
        for daemon in daemons:
            if daemon is not working:
                assert daemon.wait_for_end() == 2
                assert ["another grader-daemon (pid " in line for line in daemon.strange_lines()] == [True]
        assert working.strange_lines() == []
    finally:
        for daemon in daemons:
            daemon.end()
