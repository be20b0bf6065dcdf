"""Record what an earlier version leaves behind: ``python -m tests.upgrade PYTHON NAME``.

PYTHON is that of an environment with the version, which grades a month of sessions, is told of labels, and watches a
drop of quality. What it leaves, and what its commands say of it, go to ``tests/data/upgrade/NAME.db.xz`` and
``NAME.json.xz``. That is done once for a version: `tests/integration/test_upgrade.py` shows that later ones keep it.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from tests.e2e.daemon_process import DATABASE, environment, query
from tests.e2e.session_files import failing, now, replace, turns, write, write_ended
from tests.strategies import json_answer, json_round, json_user
from tests.waiting import wait_until

FOLDER = Path(__file__).parent / "data" / "upgrade"
SESSIONS = Path(".timmy/hermes/sessions")

EXPORTS: dict[str, Sequence[str]] = {
    "grades": ("list", "-n", "1000", "--json"),
    "labels": ("label", "--list", "--json"),
    "issues": ("errors", "list", "--all", "-n", "1000", "--json"),
    "ignored issues": ("errors", "list", "--all", "--state", "ignored", "--json"),
    "alerts": ("alerts", "list", "--json"),
    "silences": ("alerts", "silences", "--json"),
    "calibration": ("calibration", "show", "--json"),
}
"""What is kept, as the commands of the version itself print it."""

_PER_DAY = 10
_SETTINGS = {
    "timezone": "UTC",
    "job_seconds": 1,
    "quiet_seconds": 0.05,
    "quality_checks_per_day": 5,
    "retry_seconds": [0.2, 0.3],
    "idle_minutes": 1,
    "quality_command": [sys.executable, "-c", "import sys; sys.stdin.read(); print(4)"],
    "alert_command": ["sh", "-c", "cat > /dev/null"],
}

_FAILURES = (
    '{"error": "File not found: /srv/a.txt"}',
    '{"output": "Traceback (most recent call last):\\n  File \\"a.py\\", line 1\\nKeyError: \'a\'", "exit_code": 1}',
    '{"output": "", "exit_code": 3, "error": null}',
)


def main(python: Path, name: str) -> None:
    """Let a version work for a while, and keep what it leaves."""
    with tempfile.TemporaryDirectory(prefix="kim-") as folder:
        version = _Version(python, Path(folder))
        _work(version)
        said = {of: json.loads(version.run(*arguments)) for of, arguments in EXPORTS.items() if version.has(*arguments)}
        FOLDER.mkdir(exist_ok=True)
        with closing(apsw.Connection(str(version.database))) as database:
            database.execute("VACUUM INTO ?", (str(Path(folder, "whole.db")),))
        for ending, content in (("db", Path(folder, "whole.db").read_bytes()), ("json", json.dumps(said).encode())):
            (FOLDER / f"{name}.{ending}.xz").write_bytes(lzma.compress(content, preset=9))


class _Version:
    """The program of an environment, in a home of its own."""

    def __init__(self, python: Path, home: Path) -> None:
        self._program = (str(python), "-m", "grader_daemon")
        self.home = home
        self.database = home / DATABASE
        self._where: dict[str, Any] = {"cwd": home, "env": environment(home, {})}
        config = home / ".config" / "grader-daemon" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in _SETTINGS.items()))

    def run(self, *arguments: str) -> str:
        """Run a command that must end well, and return what it said."""
        ended = subprocess.run([*self._program, *arguments], **self._where, capture_output=True, text=True, check=False)
        assert ended.returncode in {0, 1}, ended.stderr
        assert "Traceback" not in ended.stderr
        return str(ended.stdout)

    def has(self, *arguments: str) -> bool:
        """Whether there is such a command."""
        asked = [*self._program, *arguments, "--help"]
        return subprocess.run(asked, **self._where, capture_output=True, check=False).returncode == 0

    def run_until(self, sql: str) -> None:
        """Let the daemon run until a query gives a row."""
        with subprocess.Popen([*self._program, "run"], **self._where) as daemon:
            wait_until(lambda: query(self.database, sql), sql, within=60)
            daemon.terminate()


def _work(version: _Version) -> None:
    """Grade two weeks of good work and one of bad, and say what a person can say."""
    sessions = version.home / SESSIONS
    _write_days(sessions, days_ago=25, days=10, completed_of_ten=9)
    _write_others(sessions)
    version.run("run", "--once")
    _stop_days_ago(version.database, 15)
    _write_days(sessions, days_ago=15, days=8, completed_of_ten=2)
    version.run_until("SELECT * FROM alert_outbox WHERE delivered_at IS NOT NULL")
    version.run_until("SELECT * FROM quality_checks WHERE outcome = 'answered'")
    version.run("alerts", "ack", "1", "--note", "The model was changed")
    version.run("alerts", "silence", "1", "--for", "52w")
    labels = ["session_id,completed,quality,note"]
    labels += [
        f"d{first}_{number:04d},{int(number % 3 > 0)},{1 + number % 5},seen"
        for first in (25, 15)
        for number in range(60)
    ]
    (version.home / "labels.csv").write_text("\n".join(labels))
    version.run("label", "--csv", str(version.home / "labels.csv"))
    version.run("label", "d25_0001", "--undo")
    version.run("label", "d25_0090", "--completed", "no", "--quality", "2")
    version.run("calibrate")
    first, second, *_ = json.loads(version.run("errors", "list", "--all", "--json"))["issues"]
    version.run("errors", "ignore", first["fingerprint"])
    version.run("errors", "resolve", second["fingerprint"])
    (sessions / "session_d25_0002.json").unlink()
    version.run("run", "--once")


def _write_days(folder: Path, *, days_ago: int, days: int, completed_of_ten: int) -> None:
    """Sessions spread over some days, of which so many in ten are completed."""
    begins = now() - timedelta(days=days_ago)
    for number in range(days * _PER_DAY):
        good = (number * 7) % 10 < completed_of_ten
        messages = turns(1 + number % 4, task=f"Fix the parser of module {number % 9}") if good else failing(3)
        write_ended(folder, f"d{days_ago}_{number:04d}", begins + timedelta(days=number / _PER_DAY), messages)


def _write_others(folder: Path) -> None:
    """Files that are no session, broken, a copy, interrupted, or still open."""
    replace(folder / "session_broken.json", b'{"session_id": "broken", "messages": [')
    replace(folder / "session_nothing.json", b'{"session_id": "nothing", "messages": []}')
    replace(folder / "session_strange.json", b"[1, 2, 3]")
    write(folder, "interrupted", turns(2, answer=None), age=7200)
    for number, result in enumerate(_FAILURES * 2):
        write(
            folder, f"failed_{number}", [json_user("Look for it"), *json_round(result), json_answer("It is not there.")]
        )
    copied = write(folder, "copied", turns(2), age=3600)
    (folder / "elsewhere").mkdir()
    replace(folder / "elsewhere" / copied.name, copied.read_bytes())


def _stop_days_ago(database: Path, days: int) -> None:
    """Let the daemon have looked last so many days ago, when it was there for long already."""
    then = (now() - timedelta(days=days)).isoformat()
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute("UPDATE alert_position SET ended_at = ?, session_id = ''", (then,))
        if any(name == "watched_from" for _, name, *_ in connection.execute("PRAGMA table_info(alert_position)")):
            connection.execute("UPDATE alert_position SET watched_from = ended_at")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
