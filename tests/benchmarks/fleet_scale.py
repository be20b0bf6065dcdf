"""The first screen of a new member of a large fleet: ``python -m tests.benchmarks.fleet_scale [--rows N]``.

A PostgreSQL of its own is filled by SQL with N sessions of 50 machines and 360 days (18,000,000: 1,000 a day of each),
copies of rows that the product sent of real sessions. Measured are, each with nothing copied before,

1. `grader-daemon` alone of a member with a login: the whole command, which asks PostgreSQL, median of three;
2. `fleet serve`: its start, the first screen of a new member, asked at once and again while it copies, its summary, and
   the memory of it after half a minute;
3. `fleet status`.

A row takes 1.5 KB, an hour fills some 20 million.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from tests.benchmarks import machine
from tests.benchmarks.dashboard_server import Dashboard
from tests.benchmarks.filled_fleet import HOSTS, FilledFleet, fill_fleet
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.process import Sandbox, make_sandbox
from tests.postgres import Server, serving

_DAYS: Final = 360
_TIMES: Final = 3
_PAGES: Final = ("/", "/api/summary")
_COPIES_SECONDS: Final = 30.0
_FEWEST: Final = 200_000
"""Fewer are copied before anybody can look."""
_COPIED_FIRST: Final = HOSTS * 50
_MANY: Final = 1_000_000
_FIRST_SECONDS: Final = {False: 1.0, True: 2.0}
"""Of the first screen, of about a million rows and of more."""
_MOST_MEGABYTES: Final = 300
_FILLED_FAST: Final = {"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0"}


def main() -> int:
    """Fill the server, and be a new member of it; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=_MANY, help="on the server (default: %(default)s)")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    if arguments.rows < _FEWEST:
        parser.error(f"--rows: give {_FEWEST:,} or more")
    machine.print_machine()
    with machine.work_folder(arguments.folder) as folder, serving(settings=_FILLED_FAST) as server:
        machine.forget_settings(folder)
        began = monotonic()
        fleet = fill_fleet(server, folder, days=_DAYS, a_day=max(1, round(arguments.rows / _DAYS / HOSTS)))
        figures = [_filled(fleet, monotonic() - began), *measured(server, fleet, folder)]
    machine.progress_done()
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def measured(server: Server, fleet: FilledFleet, folder: Path) -> list[Figure]:
    """Return what a filled fleet takes its new members."""
    within = _FIRST_SECONDS[fleet.rows > 2 * _MANY]
    return [
        *_alone(fleet, folder, within=within),
        *_served(fleet, folder, within=within),
        _status(server, folder),
    ]


def _filled(fleet: FilledFleet, seconds: float) -> Figure:
    name = f"{fleet.rows:,} rows; bytes a row"
    return Figure(name, f"{fleet.bytes / 1e9:,.1f} GB; {fleet.bytes / fleet.rows:,.0f}", f"filled in {seconds:,.0f} s")


def _new_member(folder: Path, fleet: FilledFleet) -> Sandbox:
    folder.mkdir()
    read = {"fleet_read_url": fleet.url, "fleet_copy_file": str(folder / "copy.db"), "timezone": "UTC"}
    return make_sandbox(folder, settings={f"GRADER_{name.upper()}": value for name, value in read.items()})


def _alone(fleet: FilledFleet, folder: Path, *, within: float) -> Iterator[Figure]:
    machine.progress("new members")
    spent, started, used = [], [], []
    for number in range(_TIMES):
        sandbox = _new_member(folder / f"member{number}", fleet)
        started.append(_seconds_of(sandbox, "--version")[0])
        seconds, cpu_seconds = _seconds_of(sandbox)
        spent.append(seconds)
        used.append(cpu_seconds)
    middle = statistics.median
    yield at_most("grader-daemon, nothing copied before", middle(spent), target=within, unit="s", digits=2)
    yield at_most("  CPU time of it", middle(used), target=None, unit="s", digits=2)
    yield at_most("  grader-daemon --version, for comparison", middle(started), target=None, unit="s", digits=2)


def _seconds_of(sandbox: Sandbox, *arguments: str) -> tuple[float, float]:
    """Return how long a command took, and of the processors."""
    began = monotonic()
    usage = sandbox.command(*arguments)
    return monotonic() - began, usage.cpu_seconds


def _served(fleet: FilledFleet, folder: Path, *, within: float) -> Iterator[Figure]:
    machine.progress("a new server")
    sandbox = _new_member(folder / "server", fleet)
    token = json.loads(_said(sandbox.environment, "fleet", "add-token", "anna", "--json"))["token"]
    command = [sys.executable, "-m", "grader_daemon", "fleet", "serve", "--port", "0"]
    began = monotonic()
    with subprocess.Popen(
        command, env=sandbox.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        server = Dashboard(process, process.stdout.readline().decode().split()[-1], token)
        try:
            yield at_most("fleet serve: its start", monotonic() - began, target=None, unit="s", digits=2)
            totals = _until_it_has_totals(server, began)
            yield at_most("  until it shows the totals of all", totals, target=None, unit="s", digits=2)
            for page in _PAGES:
                spent = [server.ask(page).seconds for _ in range(1 + _TIMES)]
                yield at_most(f"  {page}, first", spent[0], target=within, unit="s", digits=2)
                again = statistics.median(spent[1:])
                yield at_most("    again, while it copies", again, target=within, unit="s", digits=2)
            sleep(max(0.0, _COPIES_SECONDS - (monotonic() - began)))
            memory = server.peak_bytes() / 1e6
            yield at_most("  memory of it, at most", memory, target=_MOST_MEGABYTES, unit="MB")
        finally:
            server.stop()


def _until_it_has_totals(server: Dashboard, began: float) -> float:
    """Return after how many seconds the summary counts more sessions than are copied at first."""
    while not _has_totals(server):
        sleep(0.05)
    return monotonic() - began


def _has_totals(server: Dashboard) -> bool:
    try:
        answer = server.ask("/api/summary")
    except SystemExit:  # nothing is read yet
        return False
    return bool(json.loads(answer.body)["summary"]["sessions"] > _COPIED_FIRST)


def _said(environment: Mapping[str, str], *arguments: str) -> bytes:
    command = [sys.executable, "-m", "grader_daemon", *arguments]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout


def _status(server: Server, folder: Path) -> Figure:
    sandbox = make_sandbox(folder)
    spent = [_seconds_of(sandbox, "fleet", "status", "--url", server.url())[0] for _ in range(_TIMES)]
    return at_most("fleet status", statistics.median(spent), target=1.0, unit="s", digits=2)


if __name__ == "__main__":
    sys.exit(main())
