"""The real program in processes of its own: a daemon that tests wait for, and commands that run to their end.

Nothing here sleeps for a fixed time: every wait has a condition and a deadline, and says what it waited for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import apsw

from tests.e2e.forked_commands import ForkedProcess, can_be_forked, run_forked
from tests.waiting import PATIENCE_SECONDS, Found, wait_until

Row = dict[str, Any]
Event = dict[str, Any]

BUSY_MILLISECONDS = int(PATIENCE_SECONDS * 1000)
"""How long a test waits for a lock on a database."""

STOP_SECONDS = 20.0
"""A daemon that is told to end does so within five; a busy machine takes its time."""

DATABASE = Path(".timmy/uniwizard/session_grades.db")
QUICK: Mapping[str, object] = {
    "quiet_seconds": 0.2,
    "max_wait_seconds": 5,
    "retry_seconds": [0.2, 0.3],
    "job_seconds": 3600,
}
"""Settings under which a test need not wait for long, and no job sets in before a slow machine is through."""

_TROUBLED = frozenset({"warning", "error", "critical"})
_MODULE = (sys.executable, "-m", "grader_daemon")
_SCRIPTS = Path(sys.executable).parent


def query(database: Path, sql: str, *values: object) -> list[Row]:
    """Ask a database from outside, as another program would; one that is not there yet has no rows."""
    if not database.exists():
        return []
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        cursor = connection.cursor()
        cursor.row_trace = lambda asked, row: dict(
            zip((column[0] for column in asked.get_description()), row, strict=True)
        )
        return list(cursor.execute(sql, values))
    except apsw.SQLError as error:
        if "no such table" in str(error):
            return []
        raise
    finally:
        connection.close()


def environment(home: Path, settings: Mapping[str, object]) -> dict[str, str]:
    """Nothing of the tester's own environment but the way to programs; the rules decide unless a test says else."""
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "TZ": "UTC", "LANG": "C.UTF-8", "GRADER_VERDICT": "rules"}
    return base | {
        f"GRADER_{name.upper()}": value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in settings.items()
    }


def run_command(
    home: Path,
    *arguments: str | bytes | Path,
    program: str = "grader-daemon",
    under: Sequence[str | Path] = (),
    within: float = 2 * PATIENCE_SECONDS,
    **settings: object,
) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed program to its end, `under` a program that becomes it, if one is given."""
    home.mkdir(parents=True, exist_ok=True)
    found = environment(home, settings)
    if program == "grader-daemon" and not under and can_be_forked(found):
        return run_forked(arguments, environment=found, folder=home, within=within)
    return subprocess.run(
        [*under, str(_SCRIPTS / program), *arguments],
        env=found,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=within,
        check=False,
    )


class DaemonProcess:
    """One ``grader-daemon run`` in a home of its own. Its log lines are collected as they come."""

    def __init__(
        self,
        home: Path,
        *roots: Path,
        arguments: Sequence[str] = (),
        under: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Start it.

        Args:
            home: its HOME, made if need be.
            roots: what it watches; its default, ``~/.timmy``, if there are none.
            arguments: more for ``run``.
            under: a program and its arguments that becomes the daemon (``setpriv …``).
            settings: by name, as in the settings file; `QUICK` ones are the default.
        """
        home.mkdir(parents=True, exist_ok=True)
        chosen = {**QUICK, **(settings or {})}
        if roots:
            chosen["watch_roots"] = list(map(str, roots))
        self.home = home
        self.database = Path(str(chosen.get("db_path", home / DATABASE)))
        self.killed = False
        self._strange: list[str] = []
        self._events: list[Event] = []
        self._arrived = threading.Condition()
        said, its_errors = os.pipe()
        self._process = _started(home, ["run", "--log-format", "json", *arguments], under, chosen, errors=its_errors)
        os.close(its_errors)
        self._reader = threading.Thread(target=self._collect, args=[said], name="log reader")
        self._reader.start()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def children(self) -> list[int]:
        """Give the ids of the processes that it has started and not ended."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]

    @property
    def running(self) -> bool:
        """Has it not ended yet?"""
        return self._process.poll() is None

    # -- what it says --------------------------------------------------------------------------------------------------

    def events(self, name: str | None = None, **values: object) -> list[Event]:
        """Give the log lines so far, of this name, that have these values."""
        with self._arrived:
            return [
                event
                for event in self._events
                if name in (None, event["event"]) and all(event.get(key) == value for key, value in values.items())
            ]

    def troubles(self) -> list[Event]:
        """Give the log lines so far that are warnings or worse."""
        with self._arrived:
            return [event for event in self._events if event["level"] in _TROUBLED]

    def strange_lines(self) -> list[str]:
        """Give what it wrote that is no log event: tracebacks, warnings."""
        with self._arrived:
            return list(self._strange)

    def wait_for_event(self, name: str, *, within: float = PATIENCE_SECONDS, **values: object) -> Event:
        """Wait until it has said so."""
        return self._wait(lambda: self.events(name, **values), f"{name} {values or ''}", within)[0]

    # -- what it has done ----------------------------------------------------------------------------------------------

    def query(self, sql: str, *values: object) -> list[Row]:
        """Ask its database."""
        return query(self.database, sql, *values)

    def wait_for_rows(self, sql: str, *values: object, within: float = PATIENCE_SECONDS) -> list[Row]:
        """Wait until a query gives rows."""
        return self._wait(lambda: self.query(sql, *values), f"{sql} {values}", within)

    def wait_for_grade(self, session_id: str, *, within: float = PATIENCE_SECONDS) -> Row:
        """Wait until a session is graded; gives its grade and details."""
        return self.wait_for_rows(
            "SELECT g.*, d.state, d.messages, d.tool_calls FROM session_grades AS g"
            " JOIN session_details AS d USING (session_id) WHERE session_id = ?",
            session_id,
            within=within,
        )[0]

    def wait_for_count(self, count: int, *, within: float = PATIENCE_SECONDS) -> None:
        """Wait until so many sessions are graded."""
        self._wait(lambda: self.grade_count() >= count, f"{count} grades", within)

    def grade_count(self) -> int:
        """How many sessions are graded."""
        counted = self.query("SELECT count(*) AS count FROM session_grades")
        return int(counted[0]["count"]) if counted else 0

    def ledger(self, path: Path | str) -> Row | None:
        """What became of a file."""
        rows = self.query("SELECT * FROM session_files WHERE path = ?", str(path))
        return rows[0] if rows else None

    def wait_for_ledger(self, path: Path | str, *states: str, within: float = PATIENCE_SECONDS) -> Row:
        """Wait until a file is in one of these states (any, if none is given)."""

        def found() -> Row | None:
            row = self.ledger(path)
            return row if row is not None and (not states or row["state"] in states) else None

        return self._wait(found, f"{path} to be {' or '.join(states) or 'seen'}", within)

    # -- its end -------------------------------------------------------------------------------------------------------

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM, *, within: float = PATIENCE_SECONDS) -> tuple[int, float]:
        """Signal it and wait for its end; gives exit code and seconds taken."""
        began = monotonic()
        self.send(number)
        return self.wait_for_end(within=within), monotonic() - began

    def kill(self) -> None:
        """End it as a crash does."""
        self.killed = True
        self.send(signal.SIGKILL)
        self.wait_for_end()

    def wait_for_end(self, *, within: float = PATIENCE_SECONDS) -> int:
        """Wait until it has ended by itself; gives the exit code."""
        code = self._process.wait(within)
        self._reader.join()
        return code

    def end(self) -> None:
        """Whatever happened, leave no process behind."""
        if self.running:
            self.send(signal.SIGTERM)
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.send(signal.SIGKILL)
        self._process.wait()
        self._reader.join()

    def _wait(self, condition: Callable[[], Found | None], what: str, within: float) -> Found:
        def found() -> Found | None:
            may_say_more = self._reader.is_alive()
            now = condition()
            if not now and not may_say_more:
                raise AssertionError(f"the daemon ended before {what}: {self.strange_lines()[-20:]}")
            return now

        try:
            return wait_until(found, what, within=within)
        except AssertionError as error:
            with self._arrived:
                last = [json.dumps(event)[:300] for event in self._events[-8:]]
            raise AssertionError("\n".join([str(error), *self.strange_lines()[-20:], *last])) from None

    def _collect(self, said: int) -> None:
        with open(said, encoding="utf-8", errors="backslashreplace") as lines:
            for line in lines:
                event = _event_of(line)
                with self._arrived:
                    if event is None:
                        self._strange.append(line.rstrip("\n"))
                    else:
                        self._events.append(event)


def _started(
    home: Path, arguments: Sequence[str], under: Sequence[str], settings: Mapping[str, object], *, errors: int
) -> subprocess.Popen[bytes] | ForkedProcess:
    """Start a daemon, or fork one where that makes no difference."""
    found = environment(home, settings)
    with open(os.devnull, "r+b") as nothing:
        if not under and can_be_forked(found):
            return ForkedProcess(arguments, environment=found, folder=home, output=nothing.fileno(), errors=errors)
        return subprocess.Popen(
            [*under, *_MODULE, *arguments], env=found, cwd=home, stdin=nothing, stdout=nothing, stderr=errors
        )


def _event_of(line: str) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"event", "level", "timestamp"} <= event.keys() else None
