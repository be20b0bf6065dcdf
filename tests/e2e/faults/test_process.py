"""A daemon that is ended, stopped or starved while an agent is at work."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.conftest import StartDaemon
from tests.e2e.faults.load import Load, assert_nothing_lost_or_twice, wait_until_caught_up


def test_kill_at_any_moment_loses_nothing(start_daemon: StartDaemon, home: Path, sessions: Path) -> None:
    with Load(sessions) as load:
        for round_number in range(3):
            daemon = start_daemon()
            load.wait_for_sessions(20 * (round_number + 1))
            daemon.kill()

    daemon = start_daemon()
    wait_until_caught_up(daemon, sessions)

    assert_nothing_lost_or_twice(home, daemon.database, sessions, versions=load.versions)
