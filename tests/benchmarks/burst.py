"""What happens when very many sessions appear at once: nothing may be lost, and memory must stay bounded.

Run it as ``python -m tests.benchmarks.burst``; ``--count 10000`` for a quick look. Three runs on the same files:

1. burst: the daemon watches, and all sessions are renamed into its folders within two seconds, many more than the
   kernel's queue of events holds (``fs.inotify.max_queued_events``). Time from the first rename until the last row is
   there. A session counts as lost when no row has been added for ``--patience`` seconds. That is longer than
   `scan_seconds`, but with so many files `scan_cpu_share` makes the daemon pause longer between two scans, so this
   shows what events and the scan after an overflow find, not what a regular scan would find later.
2. restart: the daemon starts again over the graded files, of which none has changed; its CPU time until the log says
   that the first scan is finished, with the time that the same start takes over an empty folder beside it.
3. first start: a new database, and all files are there already.

CPU is that of the daemon and its helpers, from ``/proc/PID/stat`` (10 ms; of the restart, of the daemon alone). Memory
is that of all of them together ten times a second, what they share counted once (Pss of ``/proc/PID/smaps_rollup``).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    print_figures,
    print_machine,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.process import Daemon, Sandbox, count_grades, make_sandbox
from tests.benchmarks.sessions import write_sessions
from tests.benchmarks.targets import (
    BURST_PEAK_MEGABYTES,
    BURST_SECONDS,
    FIRST_START_SECONDS,
    LOST_SESSIONS,
    RESTART_CPU_SECONDS,
)

_LOOK_SECONDS = 0.1
_QUIET_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """How rows arrived: how many, when the last one did (monotonic clock), and the most memory meanwhile (bytes)."""

    rows: int
    last: float
    memory: int


def prepare(folder: Path, sandbox: Sandbox, *, count: int, size: int, folders: int) -> list[tuple[str, str]]:
    """Write the sessions outside the root, and give for each its path there and the one that it is to have."""
    waiting = [folder / "waiting" / str(number) for number in range(folders)]
    homes = [sandbox.root / f"home{number}" / "sessions" for number in range(folders)]
    for made in (*waiting, *homes):
        made.mkdir(parents=True)
    progress(f"writing {count:,} sessions")
    paths = write_sessions([waiting[number % folders] for number in range(count)], size=size)
    progress_done()
    return [(path, str(homes[number % folders] / Path(path).name)) for number, path in enumerate(paths)]


def rename_all(moves: Sequence[tuple[str, str]]) -> float:
    """Give every session its name, as fast as it goes; the seconds that took."""
    began = time.monotonic()
    for source, target in moves:
        os.rename(source, target)
    return time.monotonic() - began


def wait_for_rows(sandbox: Sandbox, daemon: Daemon, *, expected: int, patience: float) -> Arrival:
    """Wait until all rows are committed, or none has been added for `patience` seconds."""
    reader = sandbox.reader()
    rows, last, memory = 0, time.monotonic(), 0
    try:
        while rows < expected and time.monotonic() - last < patience:
            time.sleep(_LOOK_SECONDS)
            now_rows, memory = count_grades(reader), max(memory, daemon.memory_with_helpers())
            if now_rows > rows:
                rows, last = now_rows, time.monotonic()
                progress(f"{rows:,} of {expected:,} graded")
            daemon.check_alive()
    finally:
        reader.close()
        progress_done()
    return Arrival(rows, last, memory)


def burst(sandbox: Sandbox, moves: Sequence[tuple[str, str]], *, patience: float) -> list[Figure]:
    """Rename all into the folders of a running daemon."""
    with sandbox.daemon() as daemon:
        daemon.wait_for_event("reconcile.finished")
        cpu = daemon.cpu_seconds_with_helpers()
        began = time.monotonic()
        renaming = rename_all(moves)
        arrival = wait_for_rows(sandbox, daemon, expected=len(moves), patience=patience)
        cpu, written = daemon.cpu_seconds_with_helpers() - cpu, daemon.written_bytes()
        overflows = sum(event.get("event") == "watcher.gap_noticed" for event in daemon.events())
    lost = len(moves) - arrival.rows
    seconds = arrival.last - began
    return [
        at_most("burst: renames took", renaming, target=_QUIET_SECONDS, unit="s"),
        at_most("  first rename to last row", seconds, target=BURST_SECONDS, unit="s"),
        at_most("  lost", lost, target=LOST_SESSIONS, unit="sessions", digits=0),
        at_most("  gaps noticed (overflows)", overflows, target=None, unit="", digits=0),
        at_most("  most memory, all processes", arrival.memory / 1e6, target=BURST_PEAK_MEGABYTES, unit="MB"),
        at_most("  CPU per session, all processes", cpu / len(moves) * 1e6, target=None, unit="us", digits=0),
        at_most("  written to disk per session", written / len(moves) / 1000, target=None, unit="KB"),
        at_most("  processor used", 100 * cpu / seconds, target=None, unit="%", digits=0),
    ]


def restart(sandbox: Sandbox, empty: Sandbox) -> list[Figure]:
    """Start over files that are all graded as they are."""
    over_nothing, _ = _until_first_scan(empty)
    cpu, report = _until_first_scan(sandbox)
    if report["missing"]:
        raise SystemExit(f"the restart found {report['missing']} files to grade, so it was not one without changes")
    return [
        at_most("restart: CPU until the first scan is finished", cpu, target=RESTART_CPU_SECONDS, unit="s", digits=2),
        at_most("  the same over an empty folder", over_nothing, target=None, unit="s", digits=2),
        at_most("  the scan alone, CPU", float(report["cpu_seconds"]), target=None, unit="s", digits=2),
        at_most("  the scan alone, wall-clock", float(report["seconds"]), target=None, unit="s", digits=2),
    ]


def _until_first_scan(sandbox: Sandbox) -> tuple[float, dict[str, float]]:
    with sandbox.daemon() as daemon:
        report = daemon.wait_for_event("reconcile.finished")
        return daemon.cpu_seconds_with_ended_threads(), report


def first_start(sandbox: Sandbox, *, count: int, patience: float) -> list[Figure]:
    """Start with a new database over files that have been there for long."""
    began = time.monotonic()
    with sandbox.daemon() as daemon:
        daemon.wait_until(sandbox.database.exists, "there is a database")
        daemon.wait_for_event("service.started")
        arrival = wait_for_rows(sandbox, daemon, expected=count, patience=patience)
        cpu = daemon.cpu_seconds_with_helpers()
    return [
        at_most("first start: until the last row", arrival.last - began, target=FIRST_START_SECONDS, unit="s"),
        at_most("  lost", count - arrival.rows, target=LOST_SESSIONS, unit="sessions", digits=0),
        at_most("  most memory, all processes", arrival.memory / 1e6, target=BURST_PEAK_MEGABYTES, unit="MB"),
        at_most("  CPU per session, all processes", cpu / count * 1e6, target=None, unit="us", digits=0),
    ]


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="sessions (default: %(default)s)")
    parser.add_argument("--size", type=int, default=4_000, help="bytes of a session (default: %(default)s)")
    parser.add_argument("--folders", type=int, default=100, help="folders they go to (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=70.0, help="seconds without a new row (default: %(default)s)")
    parser.add_argument("--only-burst", action="store_true", help="leave out the restart and the first start")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder / "burst")
        moves = prepare(folder, sandbox, count=options.count, size=options.size, folders=options.folders)
        results = burst(sandbox, moves, patience=options.patience)
        if not options.only_burst:
            results += restart(sandbox, make_sandbox(folder / "empty"))
            fresh = make_sandbox(folder / "fresh", root=sandbox.root)
            results += first_start(fresh, count=options.count, patience=options.patience)
    print(f"{options.count:,} sessions of about {options.size:,} bytes in {options.folders} folders")
    print_figures(results)


if __name__ == "__main__":
    main()
