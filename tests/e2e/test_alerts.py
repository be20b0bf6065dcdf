"""Alerts and deliveries of a real daemon: a drop is told once, everywhere, and resolves."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import StartDaemon
from tests.e2e.daemon_process import DATABASE, query, run_command
from tests.e2e.session_files import failing, noon_zone, now, turns, write_ended
from tests.waiting import wait_until

SECRET = "a secret that is long enough"
QUICK: dict[str, Any] = {"job_seconds": 1, "quiet_seconds": 0.05, "timezone": "UTC"}


class Receiver:
    """A webhook receiver that keeps what it was sent, and answers with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.calls: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append((dict(self.headers), body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/alerts"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    opened = Receiver()
    yield opened
    opened.close()


def _history(folder: Path, *, days_ago: int, days: int, per_day: int, completed_of_ten: int) -> None:
    """Sessions spread over some days, of which so many in ten are completed."""
    begins = now() - timedelta(days=days_ago)
    for number in range(days * per_day):
        ended_at = begins + timedelta(days=number / per_day)
        good = (number * 7) % 10 < completed_of_ten
        write_ended(folder, f"d{days_ago}_{number:04d}", ended_at, turns(1) if good else failing(3))


def _stopped(home: Path, *, days_ago: int) -> None:
    """Let the daemon have looked last so many days ago, when it was there for long already."""
    then = (now() - timedelta(days=days_ago)).isoformat()
    with sqlite3.connect(home / DATABASE) as database:
        database.execute("UPDATE alert_position SET ended_at = ?1, session_id = '', watched_from = ?1", (then,))
    database.close()


def test_an_archive_opens_no_alert(home: Path, sessions: Path, start_daemon: StartDaemon) -> None:
    _history(sessions, days_ago=25, days=10, per_day=20, completed_of_ten=9)
    _history(sessions, days_ago=15, days=8, per_day=20, completed_of_ten=2)
    start_daemon(arguments=["--once"], **QUICK).wait_for_end()

    assert query(home / DATABASE, "SELECT count(*) AS graded FROM session_grades") == [{"graded": 360}]
    assert query(home / DATABASE, "SELECT * FROM alerts") == []


def test_a_drop_is_told_once_everywhere_and_resolves(
    home: Path, sessions: Path, start_daemon: StartDaemon, receiver: Receiver, tmp_path: Path
) -> None:
    told_file = tmp_path / "told.jsonl"
    settings = {
        **QUICK,
        "job_seconds": 5,  # where a busy machine pauses between sessions, the first look comes before the drop
        "alert_webhook_url": receiver.url,
        "alert_webhook_secret": SECRET,
        "alert_command": json.dumps(["sh", "-c", f"cat >> {told_file}"]),
    }
    _history(sessions, days_ago=25, days=10, per_day=20, completed_of_ten=9)
    start_daemon(arguments=["--once"], **QUICK).wait_for_end()
    _stopped(home, days_ago=15)
    _history(sessions, days_ago=15, days=8, per_day=20, completed_of_ten=2)
    daemon = start_daemon(**settings)
    opened = daemon.wait_for_event("alert.opened")
    wait_until(lambda: receiver.calls and told_file.exists(), "the receivers to be told")
    daemon.stop()

    assert opened["level"] == "warning"
    assert len(daemon.events("alert.opened")) == 1
    headers, body = receiver.calls[0]
    signed = f"{headers['X-Grader-Timestamp']}.".encode() + body
    assert headers["X-Grader-Signature"] == f"sha256={hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()}"
    document = json.loads(body)
    assert (document["event"], document["alert"]["number"]) == ("opened", opened["alert"])
    assert json.loads(told_file.read_text().splitlines()[0]) == document
    listed = run_command(home, "alerts", "--exit-code")
    assert listed.returncode == 1
    shown = run_command(home, "alerts", "show", str(opened["alert"])).stdout
    assert "The same tasks went worse" in shown
    assert run_command(home, "alerts", "ack", str(opened["alert"]), "--note", "I know").returncode == 0
    assert "Note: I know" in run_command(home, "alerts", "show", str(opened["alert"])).stdout

    _stopped(home, days_ago=7)
    _history(sessions, days_ago=6, days=5, per_day=30, completed_of_ten=9)
    again = start_daemon(**settings)
    resolved = again.wait_for_event("alert.resolved", alert=opened["alert"])
    wait_until(lambda: any(json.loads(call[1])["event"] == "resolved" for call in receiver.calls), "the resolution")
    again.stop()
    assert resolved["level"] == "notice"
    assert again.events("alert.opened") == []
    assert run_command(home, "alerts", "--exit-code").returncode == 0


def test_no_sessions_are_neither_an_alert_nor_health(home: Path, sessions: Path, start_daemon: StartDaemon) -> None:
    write_ended(sessions, "old", now() - timedelta(days=3, hours=2))
    start_daemon(arguments=["--once"], **QUICK).wait_for_end()

    assert "no sessions for 3 days" in run_command(home, "status").stdout
    assert query(home / DATABASE, "SELECT * FROM alerts") == []


def test_a_threshold_of_the_rules_opens_and_clears(home: Path, sessions: Path, start_daemon: StartDaemon) -> None:
    rules = home / "rules.toml"
    rules.write_text(
        '[alerts]\nthresholds = [{ name = "half fails", metric = "ended_badly", above = 0.5, clear = 0.4,'
        " days = 7, sessions = 4 }]\n"
    )
    for number in range(4):
        write_ended(sessions, f"bad{number}", now() - timedelta(hours=3, minutes=number), failing(3))
    daemon = start_daemon(rules_file=str(rules), **{**QUICK, "timezone": noon_zone()})
    opened = daemon.wait_for_event("alert.opened")
    for number in range(12):
        write_ended(sessions, f"good{number}", now() - timedelta(hours=2, minutes=number))
    daemon.wait_for_event("alert.resolved", alert=opened["alert"])
    daemon.stop()

    assert "half fails" in run_command(home, "alerts", "show", str(opened["alert"])).stdout
    assert len(daemon.events("alert.opened")) == 1
