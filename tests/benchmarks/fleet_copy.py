"""What it costs to have a copy of a fleet, and to ask it: ``python -m tests.benchmarks.fleet_copy [--days N]``.

A PostgreSQL of its own is filled with the sessions of 50 machines, 1,000 a day each, of the last days: rows that the
product sent of the labelled sessions, or of made ones where these are not at hand, multiplied by SQL. Measured are

1. the copy: made from nothing, when it can answer first, its size; nothing new; 500 new sessions of one machine;
2. commands on it, as whole processes that look for something new first: time by the clock, the median of three;
3. `fleet serve` on it: the first screen after its start, and when it took up all sessions for alerts; its pages, the
   same commands of a member who has no copy, and the memory of the server.

The days are as dense as those of such a fleet; what a year adds are sums by day and depth of trees.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Final

from grader_daemon import SelfGrader
from grader_daemon.fleet.copy_settings import settings_of_copy
from grader_daemon.settings import Settings, load_settings
from tests.benchmarks import machine
from tests.benchmarks.dashboard_server import Dashboard
from tests.benchmarks.filled_fleet import fill_fleet
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.process import Sandbox, make_sandbox
from tests.postgres import Server, serving

_A_DAY: Final = 1_000
_TIMES: Final = 3
_QUESTIONS: Final = (
    ("list",),
    ("list", "--user", "user7"),
    (),
    ("report", "patterns"),
    ("report", "patterns", "-d", "28"),
    ("report",),
    ("report", "errors"),
    ("alerts",),
    ("route",),
)
_ANSWER_MILLISECONDS: Final = 500
_NEW_SECONDS: Final = 1.0
_FIRST_SECONDS: Final = 1.0
_PAGES: Final = ("/", "/sessions", "/errors", "/alerts", "/usage", "/reports", "/api/summary", "/api/patterns?days=28")
_MOST_MEGABYTES: Final = 300


def main() -> int:
    """Make the fleet and its copy, and ask; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=20, help="of 50,000 sessions each (default: %(default)s)")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    machine.print_machine()
    with machine.work_folder(arguments.folder) as folder, serving() as server:
        machine.forget_settings(folder)
        url = fill_fleet(server, folder, days=arguments.days, a_day=_A_DAY).url
        read = {"fleet_read_url": url, "fleet_copy_file": str(folder / "copy.db"), "timezone": "UTC"}
        lead = folder / "lead"
        lead.mkdir()
        sandbox = make_sandbox(lead, settings={f"GRADER_{name.upper()}": value for name, value in read.items()})
        settings = settings_of_copy(load_settings(**read))
        figures = [*_copying(server, settings), *_asking(sandbox), *_serving(server, sandbox, folder)]
    machine.progress_done()
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _copying(server: Server, settings: Settings) -> Iterator[Figure]:
    machine.progress("copying")
    with SelfGrader(settings=settings) as grader:
        assert grader.context.fleet is not None
        began, cpu = monotonic(), process_time()
        batches = grader.context.fleet.catch_up(grader.context.now)
        first = next(batches)
        answers = monotonic() - began
        copied = first + sum(batches)
        seconds, used = monotonic() - began, process_time() - cpu
    size = settings.db_path.stat().st_size
    yield at_most(
        f"the newest {first:,}, of all machines, are there", answers, target=_FIRST_SECONDS, unit="s", digits=2
    )
    yield Figure(f"a copy of {copied:,} sessions is made", f"{seconds:,.0f} s, {copied / seconds:,.0f} a second")
    yield Figure("  CPU of it a session; its size a session", f"{used / copied * 1e6:,.0f} µs; {size / copied:,.0f} B")
    with SelfGrader(settings=settings) as grader:
        grader.read_fleet()
        began = monotonic()
        assert grader.read_fleet() == 0
        yield at_most("nothing is new", monotonic() - began, target=_NEW_SECONDS, unit="s", digits=3)
        with server.admin() as connection:
            connection.execute(
                "UPDATE grader.grades SET changed_seq = changed_seq + 1000000 WHERE host = 'h7' AND changed_seq <= 500"
            )
            connection.execute("UPDATE grader.hosts SET last_seq = last_seq + 1000000 WHERE host = 'h7'")
        began = monotonic()
        assert grader.read_fleet() == 500
        seconds = monotonic() - began
        yield at_most("500 sessions of one machine are new", seconds, target=_NEW_SECONDS, unit="s", digits=3)


def _serving(postgres: Server, sandbox: Sandbox, folder: Path) -> Iterator[Figure]:
    """Serve the copy, and ask for all pages and for all commands of before."""
    made = subprocess.run(
        [sys.executable, "-m", "grader_daemon", "fleet", "add-token", "anna", "--json"],
        env=sandbox.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    token = json.loads(made.stdout)["token"]
    command = [sys.executable, "-m", "grader_daemon", "fleet", "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=sandbox.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        server = Dashboard(process, process.stdout.readline().decode().split()[-1], token)
        try:
            seconds = server.ask("/").seconds
            yield at_most("first screen after its start", seconds, target=_FIRST_SECONDS, unit="s", digits=2)
            _until_it_watched(postgres)
            answer = server.ask("/")
            yield at_most("first screen of a new member", answer.seconds, target=_FIRST_SECONDS, unit="s", digits=2)
            yield Figure("  CPU of the server for it", f"{answer.cpu_seconds * 1000:,.0f} ms")
            for address in _PAGES:
                machine.progress(f"page {address}")
                server.ask(address)
                seconds = statistics.median(server.ask(address).seconds for _ in range(_TIMES))
                yield at_most(f"page {address}", seconds * 1000, target=_ANSWER_MILLISECONDS, unit="ms", digits=0)
            yield from _asking(_member(folder / "member", server), of="; of a member")
            figure = at_most(
                "memory of the server, at most", server.peak_bytes() / 1e6, target=_MOST_MEGABYTES, unit="MB"
            )
            yield figure
        finally:
            server.stop()


def _until_it_watched(postgres: Server) -> None:
    """Wait until the server took up all sessions for its alerts, which it does once."""
    machine.progress("watching")
    with postgres.admin() as connection:
        while connection.execute("SELECT 1 FROM grader.watch WHERE worked_at IS NULL").fetchone():
            sleep(1)


def _member(folder: Path, server: Dashboard) -> Sandbox:
    folder.mkdir()
    (folder / "token").write_text(server.token)
    read = {"GRADER_FLEET_READ_URL": server.base, "GRADER_FLEET_READ_TOKEN_FILE": str(folder / "token")}
    return make_sandbox(folder, settings=read)


def _asking(sandbox: Sandbox, of: str = "") -> Iterator[Figure]:
    for arguments in _QUESTIONS:
        name = " ".join(("grader-daemon", *arguments))
        machine.progress(name)
        spent = []
        for _ in range(1 + _TIMES):
            began = monotonic()
            sandbox.command(*arguments)
            spent.append((monotonic() - began) * 1000)
        yield at_most(f"{name}{of}", statistics.median(spent[1:]), target=_ANSWER_MILLISECONDS, unit="ms", digits=0)


if __name__ == "__main__":
    sys.exit(main())
