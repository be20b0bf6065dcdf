"""What systemd does with a daemon that hangs, crashes, is configured wrongly or told to stop; what the journal says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.service.box import CONFIG, DATABASE, HOME, SESSIONS, UNIT, UNIT_FILE, Box, Ended
from tests.e2e.service.conftest import Installed
from tests.e2e.session_files import content, failing, path_of, write_many
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)

_QUICK = b"quiet_seconds = 0.1\nretry_seconds = [0.2, 0.3]\n"
_HANG = """
import time
from pathlib import Path
from grader_daemon.pipeline.examine import Examiner

examine = Examiner.examine


def hang(self, path, **arguments):
    while Path("{marker}").exists():
        time.sleep(0.05)
    return examine(self, path, **arguments)


Examiner.examine = hang
"""
"""Makes the worker hang: read by Python when it starts, so that the package itself knows nothing of it."""

_DROP_IN = UNIT_FILE.with_name(f"{UNIT}.d") / "test.conf"
_DRAINED = 800
_GRADED = f'journalctl --user --unit={UNIT} --output=cat --quiet | grep \'"session.graded",.*"many_\''
_LEVELS = {"debug": 7, "info": 6, "notice": 5, "warning": 4, "error": 3}
_RULES = """[alerts]
thresholds = [{ name = "half fails", metric = "ended_badly", above = 0.5, clear = 0.4, days = 7, sessions = 4 }]
"""


Start = Callable[..., Box]
"""Restarts the service with a drop-in and a configuration of one's own."""


@pytest.fixture
def start(installed: Installed) -> Iterator[Start]:
    """After a test, nothing is left of what was changed."""
    box = installed.box

    def restart(drop_in: str = "", config: bytes = _QUICK) -> Box:
        box.put(CONFIG, config)
        box.put(_DROP_IN, drop_in.encode())
        box.sh(f"systemctl --user daemon-reload && systemctl --user restart {UNIT}")
        return box

    yield restart
    box.sh(f"systemctl --user stop {UNIT}; rm -rf .timmy {_DROP_IN} && mkdir -p -m 700 {DATABASE.parent}")
    box.run(f"systemctl --user daemon-reload; systemctl --user reset-failed {UNIT}")


@pytest.mark.thorough
def test_a_worker_that_hangs_is_ended_and_the_service_restarted(start: Start, installed: Installed) -> None:
    marker = CONFIG.parent / "hang" / "now"
    installed.box.put(CONFIG.parent / "hang" / "sitecustomize.py", _HANG.format(marker=marker).encode())
    installed.box.put(marker, b"")
    box = start(f"[Service]\nWatchdogSec=2500ms\nRestartSec=100ms\nEnvironment=PYTHONPATH={CONFIG.parent}/hang\n")
    box.put(path_of(SESSIONS, "deadly"), content("deadly"))
    box.wait_for_line("Scheduled restart job")
    box.sh(f"rm {marker}")

    box.wait_for_graded("deadly")
    said = [str(entry["MESSAGE"]) for entry in box.journal("--priority=warning")]
    assert any("Watchdog timeout" in line for line in said)
    assert any("Main process exited, code=killed, status=6/ABRT" in line for line in said)
    assert any("sitecustomize.py" in line for line in said), "where the worker stood is told"
    assert box.events("service.stuck")[0]["threads"] == "worker"


def test_a_crash_is_followed_by_a_restart(start: Start) -> None:
    box = start("[Service]\nRestartSec=100ms\n")
    box.sh(f"systemctl --user kill --kill-whom=main --signal=KILL {UNIT}")
    box.wait_for(NRestarts="1", ActiveState="active")
    assert "restarts                  1: grader-daemon service logs -p warning" in box.grader("service status")


@pytest.mark.thorough
def test_restarts_end_when_they_do_not_help(start: Start) -> None:
    box = start("[Unit]\nStartLimitBurst=3\n[Service]\nRestartSec=1s\n")
    box.sh(f"systemctl --user stop {UNIT}; echo broken > {DATABASE}")
    ended = _install_where_there_are_groups(box)
    assert ended.code == 2
    assert f"{UNIT} did not start: exit code 2; grader-daemon: " in ended.errors
    assert ended.errors.count("\n") == 1
    box.wait_for(ActiveState="failed", NRestarts="3")
    assert "not running (failed)" in box.run_grader("service status").said


def _install_where_there_are_groups(box: Box) -> Ended:
    """Install again while the box, not the service, is in the way: a kernel may give a group back late (code 219)."""

    def install() -> Ended:
        box.sh(f"systemctl --user reset-failed {UNIT}")
        return box.run_grader("service install")

    tries = (install() for _ in range(5))
    return next(ended for ended in tries if "exit code 219" not in ended.errors)


@pytest.mark.thorough
def test_a_wrong_configuration_is_not_tried_again(start: Start) -> None:
    box = start("[Service]\nRestartSec=0\n")
    box.put(CONFIG, b'quiet_seconds = "soon"')
    assert box.run(f"systemctl --user restart {UNIT}").code != 0
    assert box.show("ActiveState", "ExecMainStatus", "NRestarts") == {
        "ActiveState": "failed",
        "ExecMainStatus": "78",
        "NRestarts": "0",
    }
    box.put(CONFIG, _QUICK)
    told = box.run_grader("service status")
    assert told.code == 3
    assert "exit code 78: the configuration is wrong" in told.said


def test_a_stop_finishes_what_is_being_written(start: Start, tmp_path: Path) -> None:
    """What is told to be graded is in the database, and the rest follows at the next start."""
    write_many(tmp_path, _DRAINED)
    box = start()
    box.put_folder(HOME / "aside", tmp_path)
    box.sh(f"mkdir -p {SESSIONS} && mv aside {SESSIONS}/ && until {_GRADED} | grep -q .; do :; done")
    assert box.run(f"timeout 60 systemctl --user stop {UNIT}").code == 0
    assert box.show("Result", "ActiveState") == {"Result": "success", "ActiveState": "inactive"}
    assert box.events("service.stopped")[-1]["finished"]
    told = int(box.sh(f"{_GRADED} | wc --lines"))
    assert _stored(box) == told

    box.sh(f"systemctl --user start {UNIT}")
    wait_until(lambda: _stored(box) == _DRAINED, "the other grades", within=60)


def _stored(box: Box) -> int:
    graded: int = json.loads(box.run_grader("status --json").said)["files"].get("graded", 0)
    return graded


@pytest.mark.thorough
def test_the_journal_knows_how_bad_each_line_is(start: Start, installed: Installed) -> None:
    box = installed.box
    ours = f"--since={box.sh('date +@%s.%6N').strip()}", "SYSLOG_IDENTIFIER=grader-daemon"
    box.put(CONFIG.parent / "rules.toml", _RULES.encode())
    for number in range(4):
        box.put(path_of(SESSIONS, f"failed_{number}"), content(f"failed_{number}", failing(3)))
    box.put(path_of(SESSIONS, "broken"), b"no JSON")
    box.put(path_of(SESSIONS, "unfinished"), content("unfinished")[:-20])
    start(config=_QUICK + f'job_seconds = 1\nrules_file = "{CONFIG.parent}/rules.toml"\n'.encode())
    for name in ("alert.opened", "session.quarantined", "session.retry_scheduled"):
        box.wait_for_line(f'"event":"{name}"', *ours)
    for number in range(6):
        box.put(path_of(SESSIONS, f"fine_{number}"), content(f"fine_{number}"))
    box.wait_for_line('"event":"alert.resolved"', *ours)

    entries = box.journal(*ours)
    events = [json.loads(entry["MESSAGE"]) for entry in entries]
    assert [int(entry["PRIORITY"]) for entry in entries] == [_LEVELS[event["level"]] for event in events]
    troubles = [json.loads(entry["MESSAGE"])["event"] for entry in box.journal(*ours, "--priority=warning")]
    assert set(troubles) == {"alert.opened", "session.quarantined", "session.retry_scheduled"}
    assert "grader-daemon alerts show 1" in box.grader("service logs -p warning")
