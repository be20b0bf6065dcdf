"""How long after its last write a session's grade is there, while sessions come in at a steady rate.

Run it as ``python -m tests.benchmarks.live``. It starts ``grader-daemon run`` with a home, a watched folder and a
database of its own, writes each session to a temporary file in the same folder, syncs it (``--no-fsync`` leaves that
out) and renames it, as Hermes does. Measured is the time from just before the rename to the moment at which a second,
read-only connection sees the committed row, less the quiet time.

Resolution: the second connection asks ``PRAGMA data_version`` about every millisecond (``--poll-ms``), so a figure is
late by up to that and the few hundred microseconds of the query behind it, and never early. `graded_at` of the row,
which is taken before the commit, is shown beside it.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    percentile,
    print_figures,
    print_machine,
    work_folder,
)
from tests.benchmarks.process import Daemon, Sandbox, make_sandbox
from tests.benchmarks.sessions import SessionFile, make_session
from tests.benchmarks.targets import LIVE_P50_MILLISECONDS, LIVE_P99_MILLISECONDS, LOST_SESSIONS

_GIVE_UP_SECONDS = 20.0
_NEW_ROWS = "SELECT id, session_id, graded_at FROM session_grades WHERE id > ?"


@dataclass(slots=True)
class Renames:
    """When each session got its name: on the monotonic clock and, to compare with `graded_at`, on the wall's."""

    moments: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    late: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row as the second connection saw it first."""

    session_id: str
    graded_at: str
    seen: float


def write_steadily(
    folder: Path, sessions: Sequence[SessionFile], renames: Renames, *, rate: float, fsync: bool
) -> None:
    """Write and rename `sessions`, `rate` a second; `renames.late` counts those that came after their turn."""
    began = time.monotonic()
    for number, session in enumerate(sessions):
        pause = began + number / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        renames.late += pause < -1 / rate
        temporary = folder / f".{session.name.removesuffix('.json')}_bench.tmp"
        with temporary.open("wb") as file:
            file.write(session.content)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        renames.wall[session.session_id] = time.clock_gettime(time.CLOCK_REALTIME)
        renames.moments[session.session_id] = time.monotonic()
        os.replace(temporary, folder / session.name)


def watch_rows(reader: apsw.Connection, *, expected: int, until: float, poll_seconds: float) -> Iterator[Row]:
    """Give every row soon after its commit, until all are there or the time is up."""
    version, last_id, found = -1, 0, 0
    while found < expected and time.monotonic() < until:
        now_version = reader.execute("PRAGMA data_version").get
        if now_version == version:
            time.sleep(poll_seconds)
            continue
        version = now_version
        rows: list[Any] = reader.execute(_NEW_ROWS, (last_id,)).fetchall()
        seen = time.monotonic()
        found += len(rows)
        last_id = max([last_id, *(row[0] for row in rows)])
        yield from (Row(session_id, graded_at, seen) for _, session_id, graded_at in rows)


def measure(
    sandbox: Sandbox, daemon: Daemon, sessions: Sequence[SessionFile], options: argparse.Namespace
) -> list[Figure]:
    """Let sessions come in and give the figures."""
    folder = sandbox.root / "agent" / "sessions"
    reader = sandbox.reader()
    renames = Renames()
    writer = threading.Thread(
        target=write_steadily, args=(folder, sessions, renames), kwargs={"rate": options.rate, "fsync": options.fsync}
    )
    until = time.monotonic() + options.seconds + options.quiet + _GIVE_UP_SECONDS
    cpu = daemon.cpu_seconds_with_ended_threads()
    writer.start()
    rows = list(watch_rows(reader, expected=len(sessions), until=until, poll_seconds=options.poll_ms / 1000))
    writer.join()
    reader.close()
    cpu = daemon.cpu_seconds_with_ended_threads() - cpu
    return figures(rows, renames, sessions=len(sessions), quiet=options.quiet, cpu=cpu)


def figures(rows: Sequence[Row], renames: Renames, *, sessions: int, quiet: float, cpu: float) -> list[Figure]:
    """What came out, in milliseconds after the quiet time."""
    committed = [(row.seen - renames.moments[row.session_id] - quiet) * 1000 for row in rows]
    graded = [
        (datetime.fromisoformat(row.graded_at).timestamp() - renames.wall[row.session_id] - quiet) * 1000
        for row in rows
    ]
    lost = at_most("not graded", sessions - len(rows), target=LOST_SESSIONS, unit="sessions", digits=0)
    if not rows:
        return [lost]
    return [
        at_most(
            "rename to committed row, less quiet time, p50",
            percentile(committed, 0.5),
            target=LIVE_P50_MILLISECONDS,
            unit="ms",
        ),
        at_most("  p99", percentile(committed, 0.99), target=LIVE_P99_MILLISECONDS, unit="ms"),
        at_most("  longest", max(committed), target=None, unit="ms"),
        at_most("rename to graded_at, less quiet time, p50", percentile(graded, 0.5), target=None, unit="ms"),
        at_most("  p99", percentile(graded, 0.99), target=None, unit="ms"),
        lost,
        at_most("renames more than a turn late", renames.late, target=None, unit="sessions", digits=0),
        at_most("daemon's CPU per session", cpu / len(rows) * 1000, target=None, unit="ms", digits=2),
    ]


def make_sessions(sizes: Sequence[int], count: int) -> list[SessionFile]:
    """Sessions of `sizes` in turn."""
    return [make_session(sizes[seed % len(sizes)], seed) for seed in range(count)]


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long sessions come in (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=20.0, help="sessions per second (default: %(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000], help="bytes, in turn (default: %(default)s)")
    parser.add_argument("--quiet", type=float, default=2.0, help="the daemon's quiet_seconds (default: %(default)s)")
    parser.add_argument("--poll-ms", type=float, default=1.0, help="pause between two looks (default: %(default)s)")
    parser.add_argument("--no-fsync", dest="fsync", action="store_false", help="do not sync before the rename")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    sessions = make_sessions(options.sizes, round(options.seconds * options.rate))
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder, settings={"GRADER_QUIET_SECONDS": str(options.quiet)})
        (sandbox.root / "agent" / "sessions").mkdir(parents=True)
        with sandbox.daemon() as daemon:
            daemon.wait_for_event("reconcile.finished")
            results = measure(sandbox, daemon, sessions, options)
    print(f"{len(sessions)} sessions, {options.rate:g} a second, quiet time {options.quiet:g} s")
    print_figures(results)


if __name__ == "__main__":
    main()
