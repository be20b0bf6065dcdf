"""A process that writes a ``state.db`` as Hermes does, in the transactions of each version, and watches what it meets.

Run as ``python -m tests.hermes_writer PATH JOURNAL VERSION FIRST COUNT SEED``. 0.13 and 0.15 (schemas 11 and 13) write
a row as a turn begins, tokens after each call of the model, and all messages at its end; 0.19 and later (22, 30) each
message and each sum of tokens by itself. Between sessions it makes checkpoints, deletes an old session, vacuums, or
closes and opens again. A line of JSON says how long a lock kept it waiting at most, and what became of its files.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from tests.state_db import BEGAN, call, inserted, schema

Statement = tuple[str, tuple[object, ...]]

_ROUNDS = 3
_PAUSE_SECONDS = 0.004
_DELETES = ("DELETE FROM messages WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?")


class Writer:
    """Keeps a connection while it works; `met` is what it has met so far."""

    def __init__(self, path: Path, journal: str, version: int, seed: int) -> None:
        self._path = path
        self._journal = journal
        self._version = version
        self._random = random.Random(seed)
        self.longest_wait_seconds = 0.0
        self.lost: list[str] = []
        self._waited = 0.0
        self._at = BEGAN + seed * 1_000_000
        self._open()

    def play(self, name: str) -> None:
        """Write one session in the order in which its version does."""
        self._at += 60
        started = ("INSERT INTO sessions (id, source, model, started_at) VALUES (?, 'cli', 'm', ?)", (name, self._at))
        messages = [self._message(name, "user", f"Count to {_ROUNDS}.")]
        for number in range(_ROUNDS):
            calls = call(f"call_{name}_{number}", command=f"echo {number}")
            messages.append(self._message(name, "assistant", "", tool_calls=calls, finish_reason="tool_calls"))
            result = json.dumps({"output": f"{number} " * 500, "exit_code": 0, "error": None})
            messages.append(self._message(name, "tool", result, tool_call_id=f"call_{name}_{number}"))
        messages.append(self._message(name, "assistant", "Counted.", finish_reason="stop"))
        tokens = ("UPDATE sessions SET input_tokens = input_tokens + 100 WHERE id = ?", (name,))
        self._commit(started)
        if self._version >= 22:
            for message in messages:
                self._commit(message)
                self._commit(tokens)
        else:
            for _ in range(_ROUNDS):
                self._commit(tokens)
            self._commit(*messages[:4])
            self._commit(*messages[4:], tokens)

    def tidy(self, name: str) -> None:
        """Do one of the things that are done between sessions."""
        match self._random.randrange(6):
            case 0:
                self._run("PRAGMA wal_checkpoint(PASSIVE)")
            case 1:
                self._run("PRAGMA wal_checkpoint(TRUNCATE)")
            case 2:
                self._run("VACUUM")
            case 3:
                self._commit(*((statement, (name,)) for statement in _DELETES))
            case 4:
                self.close()
                self._open()

    def close(self) -> None:
        """Close in order, and see that what lies there then stays as it is."""
        self._connection.close()
        before = self._beside()
        time.sleep(10 * _PAUSE_SECONDS)
        if self._beside() != before:
            self.lost.append(f"between two openings {before} became {self._beside()}")

    def _open(self) -> None:
        self._log: int | None = None
        self._connection = apsw.Connection(str(self._path))
        self._connection.set_busy_handler(self._wait)
        self._run(f"PRAGMA journal_mode = {self._journal}")
        self._run("PRAGMA wal_autocheckpoint = 50")
        if not self._connection.execute("SELECT 1 FROM sqlite_schema").fetchall():
            self._commit(*((statement, ()) for statement in schema(self._version)))

    def _message(self, name: str, role: str, content: str, **columns: object) -> Statement:
        self._at += 1
        return inserted("messages", session_id=name, role=role, content=content, timestamp=self._at, **columns)

    def _commit(self, *statements: Statement) -> None:
        time.sleep(self._random.random() * _PAUSE_SECONDS)
        self._waited = 0.0
        self._connection.execute("BEGIN IMMEDIATE")
        for statement, values in statements:
            self._connection.execute(statement, values)
        self._connection.execute("COMMIT")
        self._note()

    def _run(self, statement: str) -> None:
        self._waited = 0.0
        self._connection.execute(statement).fetchall()

    def _note(self) -> None:
        self.longest_wait_seconds = max(self.longest_wait_seconds, self._waited)
        if self._journal != "WAL":
            return
        try:
            log = os.stat(f"{self._path}-wal").st_ino
            os.stat(f"{self._path}-shm")
        except FileNotFoundError as error:
            self.lost.append(f"gone while it was open: {error.filename}")
            return
        if self._log not in (None, log):
            self.lost.append("another -wal took the place of the one that is open")
        self._log = log

    def _wait(self, tries: int) -> bool:
        time.sleep(0.001)
        self._waited += 0.001
        return tries < 5_000

    def _beside(self) -> dict[str, tuple[int, int]]:
        """Files beside the database, the log as it is; the index may be another size after a reader."""
        found = {}
        for suffix in ("-wal", "-shm"):
            path = Path(f"{self._path}{suffix}")
            if path.exists():
                status = path.stat()
                found[suffix] = (status.st_ino, status.st_size if suffix == "-wal" else 0)
        return found


def main(arguments: Sequence[str]) -> int:
    """Write sessions; their names are told as each is complete."""
    path, journal, (version, first, count, seed) = Path(arguments[0]), arguments[1], map(int, arguments[2:])
    writer = Writer(path, journal, version, seed)
    for number in range(first, first + count):
        writer.play(f"20261122_{number:06d}_c138de")
        _say(f"20261122_{number:06d}_c138de")
        writer.tidy(f"20261122_{number - 5:06d}_c138de")
    writer.close()
    _say({"waited_ms": 1_000 * writer.longest_wait_seconds, "lost": writer.lost})
    return 0


def _say(said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
