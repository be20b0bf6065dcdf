"""What a large ``state.db`` of Hermes costs: to find out that nothing is new in it, and to notice one new message.

Run it as ``python -m tests.benchmarks.state_db`` in the repository. The database has the indexes of schema 22 but no
full-text tables, 22,000 sessions with 348,000 messages in 2 GB. A new process lists all and compares them with a
ledger that knows them; then another program writes messages one by one, and each is told, looked at and read.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import apsw

from grader_daemon.daemon.scanner import Scanner
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.limits import Limits
from grader_daemon.sources.hermes.hermes_source import Hermes
from grader_daemon.sources.protocol import Sources
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks import machine
from tests.benchmarks.machine import at_most
from tests.database_writer import DatabaseWriter
from tests.state_db import BEGAN, inserted, schema

_NOW = datetime(2026, 11, 22, 15, 0, tzinfo=UTC)
_MESSAGES = 200
_PROMPT_BYTES, _CONTENT_BYTES = 20_000, 4_500
_START_SECONDS, _START_MEGABYTES, _MESSAGE_MILLISECONDS = 10.0, 100.0, 5.0


def main() -> int:
    """Measure; exit code 1 if a figure misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=22_000, help="sessions (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=348_000, help="messages of all (default: %(default)s)")
    parser.add_argument("--inner", choices=["start", "messages"], help=argparse.SUPPRESS)
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    if arguments.inner == "start":
        return _start(arguments.folder)
    if arguments.inner == "messages":
        return _new_messages(arguments.folder, arguments.sessions)
    machine.print_machine()
    with machine.work_folder(arguments.folder) as folder:
        _make(folder / "home", arguments.sessions, arguments.messages)
        _remember(folder)
        size = (folder / "home" / "state.db").stat().st_size / 1e9
        print(f"{arguments.sessions:,} sessions, {arguments.messages:,} messages, {size:.2f} GB\n")
        seconds, megabytes = _inner(folder, "start", arguments.sessions)
        middle, slowest = _inner(folder, "messages", arguments.sessions)
    figures = [
        at_most("processor, first listing and comparison", seconds, target=_START_SECONDS, unit="s"),
        at_most("memory of the process", megabytes, target=_START_MEGABYTES, unit="MB"),
        at_most("processor, a new message (p50)", middle, target=_MESSAGE_MILLISECONDS, unit="ms"),
        at_most("processor, a new message (p99)", slowest, target=None, unit="ms"),
    ]
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _inner(folder: Path, part: str, sessions: int) -> tuple[float, float]:
    """Run one part in a process of its own; returns its two figures."""
    command = [sys.executable, "-m", "tests.benchmarks.state_db", "--folder", str(folder), "--sessions", str(sessions)]
    ran = subprocess.run([*command, "--inner", part], check=True, stdout=subprocess.PIPE, text=True)
    first, second = ran.stdout.split()
    return float(first), float(second)


def _make(home: Path, sessions: int, messages: int) -> None:
    home.mkdir()
    words = random.Random(12)
    prompt, content = "p" * _PROMPT_BYTES, "c" * _CONTENT_BYTES
    with closing(apsw.Connection(str(home / "state.db"))) as connection:
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        for statement in schema(22):
            connection.execute(statement)
        connection.execute("BEGIN")
        for number in range(sessions):
            row = {"id": _name(number), "source": "cli", "model": "m", "system_prompt": prompt, "cwd": "/work"}
            connection.execute(*inserted("sessions", **row, started_at=BEGAN + number, input_tokens=1_000))
            connection.execute(*inserted("session_model_usage", session_id=row["id"], model="m", input_tokens=1_000))
        for number in range(messages):
            role = "user" if number < sessions else words.choice(["assistant", "tool"])
            session_id = _name(number if number < sessions else words.randrange(sessions))
            text = content[: words.randrange(2 * _CONTENT_BYTES)]
            row = {"session_id": session_id, "role": role, "content": text}
            connection.execute(*inserted("messages", **row, timestamp=BEGAN + number))
            if number % 10_000 == 0:
                machine.progress(f"{number:,} messages")
        connection.execute("COMMIT")
    machine.progress_done()


def _name(number: int) -> str:
    return f"20261122_{number:06d}_c138de"


def _sources(folder: Path) -> Sources:
    return Sources([Hermes([str(folder / "home")], zone=UTC, limits=Limits())])


def _remember(folder: Path) -> None:
    """Have a ledger know all sessions as they are."""
    found = list(next(_sources(folder).walks()))
    with closing(SqliteStore(folder / "grades.db", host="here")) as store, store.transaction():
        entries = [
            LedgerEntry(
                unit=each.unit, stamp=each.stamp, written_ns=each.written_ns, state=FileState.GRADED, digest="0",
                session_id=each.unit.key,
            )
            for each in found
        ]  # fmt: skip
        store.save_entries(entries, now=_NOW)


def _start(folder: Path) -> int:
    """Print CPU seconds and megabytes of a start."""
    before = process_time()
    with closing(SqliteStore(folder / "grades.db", host="here")) as store:
        scanner = Scanner(_sources(folder), store.unit_stamps, lambda: iter(()))
        scanner.start()
        report = None
        while report is None:
            missing, report = scanner.step(1_000, within_seconds=1.0)
            assert not missing
    print(process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000)
    return 0


def _new_messages(folder: Path, sessions: int) -> int:
    """Print CPU milliseconds of a new message: the middle one, and the slowest of a hundred."""
    sources, path = _sources(folder), folder / "home" / "state.db"
    assert len(list(next(sources.walks()))) == sessions
    spent = []
    with DatabaseWriter(path) as writer:
        for number in range(_MESSAGES):
            session_id = _name(random.Random(number).randrange(sessions))
            row = {"session_id": session_id, "role": "assistant", "content": "c" * _CONTENT_BYTES}
            writer.run(*_flat(inserted("messages", **row, timestamp=BEGAN + 1e6 + number)))
            before = process_time()
            (unit,) = sources.touched(f"{path}-wal")
            sources.read(unit)
            spent.append(1_000 * (process_time() - before))
            assert unit.key == session_id
    print(machine.percentile(spent, 0.5), machine.percentile(spent, 0.99))
    return 0


def _flat(statement: tuple[str, tuple[object, ...]]) -> tuple[str, *tuple[object, ...]]:
    return statement[0], *statement[1]


if __name__ == "__main__":
    sys.exit(main())
