"""Daemon and writer of a ``state.db`` beside each other, one of them killed again and again at a random moment.

Run it as ``python -m tests.fuzz.state_db --rounds 200`` in the repository. In each round a writer plays Hermes (all
schemas in turn) while a daemon grades, and one of the two is killed with ``kill -9``. What must hold: no lock of ours
keeps a writer waiting, its ``-wal`` and ``-shm`` stay as it leaves them, dead or alive, and in the end every session
that is in the database has one grade, of all its messages.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from grader_daemon.sources.sqlite_files import Reader, Value, look_into
from tests.e2e.daemon_process import DaemonProcess, query
from tests.state_db import SCHEMAS
from tests.waiting import PATIENCE_SECONDS, wait_until

_SESSIONS = 8
_KINDS = (*((version, "WAL") for version in SCHEMAS), (SCHEMAS[-1], "DELETE"))
"""Schemas and journals. Without a write-ahead log a killed writer leaves what only it can roll back."""

_GRADES = "SELECT session_id, messages FROM session_grades JOIN session_details USING (session_id)"


class Outcome(NamedTuple):
    """What several rounds came to."""

    rounds: int
    writers_killed: int
    daemons_killed: int
    sessions: int
    longest_wait_ms: float


class _Home:
    """One home of Hermes, its writer and the daemon beside them."""

    def __init__(self, folder: Path, version: int, journal: str) -> None:
        self.path = folder / "hermes" / "state.db"
        self.path.parent.mkdir(parents=True)
        self.journal = journal
        self._version = version
        self._home = folder / "home"
        self._written = 0
        self.longest_wait_ms = 0.0
        self._missing: dict[str, int] = {}
        self.daemon = self._started()

    def play(self, seed: int, kill: str | None, moment: int) -> None:
        """Have a writer write; after so many sessions one of the two is killed, None of them if `kill` says so."""
        arguments = [str(self.path), self.journal, str(self._version), str(self._written), str(_SESSIONS), str(seed)]
        self._written += _SESSIONS
        command = [sys.executable, "-m", "tests.hermes_writer", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for told, line in enumerate(writer.stdout):
                said = json.loads(line)
                if isinstance(said, dict):
                    assert said["lost"] == []
                    self.longest_wait_ms = max(self.longest_wait_ms, said["waited_ms"])
                elif told == moment and kill == "writer":
                    writer.kill()
                elif told == moment and kill == "daemon":
                    self.daemon.kill()
                    self.restart()
        assert writer.returncode == (-9 if kill == "writer" and moment < _SESSIONS else 0)
        if kill == "writer":
            self._is_left_alone()

    def restart(self) -> None:
        """Start another daemon."""
        self.daemon.end()
        self.daemon = self._started()

    def _started(self) -> DaemonProcess:
        """Start one that gives up no session for that it was killed while it read it."""
        return DaemonProcess(self._home, self.path.parent, settings={"retry_seconds": [0.2] * 50})

    def settle(self) -> int:
        """Wait until each session that is in the database has one grade of all its messages; returns how many."""
        expected = self._sessions()

        def graded() -> bool:
            rows = query(self.daemon.database, _GRADES)
            self._missing = dict(expected.items() - {(row["session_id"], row["messages"]) for row in rows})
            return not self._missing and len(rows) == len({row["session_id"] for row in rows})

        try:
            wait_until(graded, f"{len(expected)} grades", within=2 * PATIENCE_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self._missing} of {self.path}") from None
        assert self.daemon.strange_lines() == []
        return len(expected)

    def _sessions(self) -> dict[str, int]:
        counts = "SELECT s.id, count(m.id) FROM sessions AS s LEFT JOIN messages AS m ON m.session_id = s.id GROUP BY 1"
        return {str(name): int(str(messages)) for name, messages in look_into(str(self.path), _rows_of(counts))}

    def _is_left_alone(self) -> None:
        """What a killed writer leaves stays while the daemon reads it."""
        before = self._beside()
        self.settle()
        assert self._beside() == before, (before, self._beside())

    def _beside(self) -> dict[str, int]:
        return {entry.name: entry.stat().st_ino for entry in os.scandir(self.path.parent)}


def _rows_of(statement: str) -> Callable[[Reader], list[tuple[Value, ...]]]:
    return lambda reader: reader.rows(statement)


@contextmanager
def _homes(folder: Path) -> Iterator[list[_Home]]:
    homes: list[_Home] = []
    try:
        homes += [_Home(folder / f"{journal}-{version}", version, journal) for version, journal in _KINDS]
        yield homes
    finally:
        for home in homes:
            home.daemon.end()


def play(folder: Path, *, rounds: int, seed: int) -> Outcome:
    """Play rounds over all schemas, and check in the end what must hold."""
    chance = random.Random(seed)
    killed = {"writer": 0, "daemon": 0}
    with _homes(folder) as homes:
        for number in range(rounds):
            home = homes[number % len(homes)]
            who = chance.choice(["writer", "daemon"]) if home.journal == "WAL" else "daemon"
            killed[who] += 1
            home.play(seed + number, who, chance.randrange(_SESSIONS))
        for number, home in enumerate(homes):
            home.play(seed + rounds + number, None, _SESSIONS)
        sessions = sum(home.settle() for home in homes)
        longest = max(home.longest_wait_ms for home in homes)
    return Outcome(rounds, killed["writer"], killed["daemon"], sessions, longest)


def main() -> int:
    """Play; an assertion tells what does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="kills (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=12, help="of chance (default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="grader-kills-") as folder:
        sys.stdout.write(f"{play(Path(folder), rounds=arguments.rounds, seed=arguments.seed)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
