"""A process that has a SQLite database open and writes it when it is told to: what another program is to a reader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType

_PROGRAM = """
import json, sys, time
import apsw
connection = apsw.Connection(sys.argv[1])
began_to_wait = waited = 0.0
def wait(times):
    global began_to_wait, waited
    began_to_wait = began_to_wait if times else time.monotonic()
    time.sleep(0.001)
    waited = time.monotonic() - began_to_wait
    return waited < 5
connection.set_busy_handler(wait)
for line in sys.stdin:
    waited = 0.0
    statements = json.loads(line)
    if len(statements) > 1:
        connection.execute("BEGIN IMMEDIATE")
    rows = [connection.execute(statement, values).fetchall() for statement, values in statements]
    if len(statements) > 1:
        connection.execute("COMMIT")
    print(json.dumps([waited, rows[-1]]), flush=True)
connection.close()
"""


class DatabaseWriter:
    """The process; leaving it closes the database in order."""

    def __init__(self, path: Path) -> None:
        self.longest_wait_seconds = 0.0
        """For a lock that another process held."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> DatabaseWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, statement: str, *values: object) -> list[list[object]]:
        """Run one statement in a transaction of its own; returns its rows."""
        return self.commit((statement, values))

    def commit(self, *statements: tuple[str, tuple[object, ...]]) -> list[list[object]]:
        """Run statements in one transaction; returns the rows of the last."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(statements) + "\n")
        self._process.stdin.flush()
        waited, rows = json.loads(self._process.stdout.readline())
        self.longest_wait_seconds = max(self.longest_wait_seconds, waited)
        return list(rows)

    def close(self) -> None:
        """End in order."""
        self._process.communicate()

    def kill(self) -> None:
        """End as by ``kill -9``; what lies beside the database stays."""
        self._process.kill()
        self._process.communicate()
