"""A wall clock that jumps a week, there and back, while an agent is at work."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DaemonProcess, Event
from tests.e2e.faults.bearing import borne
from tests.e2e.faults.boxes import FakeClock
from tests.e2e.faults.load import harmless
from tests.e2e.session_files import content, now, path_of, turns, write, write_ended
from tests.waiting import wait_until

_WEEK = timedelta(weeks=1)
_TOLERANCE = timedelta(minutes=10)
_IDLE_SECONDS = 3.0
_OFTEN: dict[str, Any] = {"job_seconds": 1, "scan_seconds": 1, "log_level": "debug"}
"""What the daemon does once a minute happens once a second, and each time it says so."""

_OFTEN_SAID = ("reconcile.finished", "session.graded")

jumps = pytest.mark.parametrize(
    "jump", [pytest.param(_WEEK, id="forward"), pytest.param(-_WEEK, id="back", marks=pytest.mark.thorough)]
)


@pytest.fixture
def clock(tmp_path: Path) -> FakeClock:
    """The clock of the daemons in a test."""
    return FakeClock(tmp_path)


@pytest.mark.thorough
def test_a_clock_that_jumps_about_loses_nothing(start_daemon: StartDaemon, sessions: Path, clock: FakeClock) -> None:
    """The agent goes by the right clock, but for one file each."""
    write_ended(sessions, "long_ago", now() - 3 * _WEEK)
    daemon = start_daemon(under=clock.under, **_OFTEN)

    with harmless(daemon, sessions) as load:
        for offset in (_WEEK, -_WEEK, timedelta()):
            _set(clock, offset, daemon)
            write(sessions, f"wrong_by_{offset.days}", age=-offset.total_seconds())
            load.wait_for_more()
    with borne(daemon):
        _pass_rounds(daemon)
        daemon.wait_for_event("report.written")

    assert daemon.troubles() == []
    reports = Counter((event["week"], event["revision"]) for event in daemon.events("report.written"))
    assert set(reports.values()) == {1}


@jumps
def test_a_troubled_file_is_soon_tried_again(
    start_daemon: StartDaemon, sessions: Path, clock: FakeClock, jump: timedelta
) -> None:
    """It was noted for a time that is a week away now, or that has passed."""
    daemon = start_daemon(under=clock.under, retry_seconds=[600, 3600])
    half = path_of(sessions, "half")
    half.write_bytes(content("half")[:500])
    daemon.wait_for_ledger(half, "retry")

    clock.set(jump)

    wait_until(lambda: (daemon.ledger(half) or {})["attempts"] == 2, "another try")


@jumps
def test_an_open_session_is_given_up_in_sane_time(
    start_daemon: StartDaemon, sessions: Path, clock: FakeClock, jump: timedelta
) -> None:
    daemon = start_daemon(under=clock.under, idle_minutes=_IDLE_SECONDS / 60, **_OFTEN)
    daemon.wait_for_event("reconcile.finished")
    write(sessions, "before", turns(answer=None))
    daemon.wait_for_event("session.graded", session_id="before")

    _set(clock, jump, daemon)
    write(sessions, "by_the_wrong_clock", turns(answer=None), age=-jump.total_seconds())
    write(sessions, "by_the_right_clock", turns(answer=None))

    for name in ("before", "by_the_wrong_clock", "by_the_right_clock"):
        daemon.wait_for_event("session.graded", session_id=name, state="interrupted")


def test_a_file_of_next_week_is_graded_as_any_other(start_daemon: StartDaemon, sessions: Path) -> None:
    """Once, and when it is open once more as soon as it was idle long enough, whatever its time says."""
    daemon = start_daemon(idle_minutes=_IDLE_SECONDS / 60, **_OFTEN)
    daemon.wait_for_event("reconcile.finished")
    write(sessions, "done", age=-_WEEK.total_seconds())
    write(sessions, "left_open", turns(answer=None), age=-_WEEK.total_seconds())

    daemon.wait_for_event("session.graded", session_id="left_open", state="interrupted")
    with borne(daemon):
        _pass_rounds(daemon)

    graded = Counter(event["session_id"] for event in daemon.events("session.graded"))
    assert graded == {"done": 1, "left_open": 2}
    assert len(daemon.events("session.unchanged")) <= len(graded), "each round reads them again"


def _set(clock: FakeClock, offset: timedelta, daemon: DaemonProcess) -> None:
    """Set the clock, and see that the daemon goes by it."""
    said_before = {name: len(daemon.events(name)) for name in _OFTEN_SAID}
    clock.set(offset)

    def goes_by_it() -> bool:
        said = (event for name, count in said_before.items() for event in daemon.events(name)[count:])
        return any(abs(_moment(event) - now() - offset) < _TOLERANCE for event in said)

    wait_until(goes_by_it, "the clock to jump")


def _pass_rounds(daemon: DaemonProcess) -> None:
    """Wait until the daemon has looked after everything a few times."""
    before = len(_rounds(daemon))
    wait_until(lambda: len(_rounds(daemon)) > before + 1, "some rounds")


def _rounds(daemon: DaemonProcess) -> list[Event]:
    daemon.wait_for_event("reconcile.finished")
    return daemon.events("reconcile.finished")


def _moment(event: Event) -> datetime:
    return datetime.fromisoformat(event["timestamp"])
