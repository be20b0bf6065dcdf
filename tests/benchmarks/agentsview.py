"""What grading the labelled sessions costs beside agentsview, a viewer that reads the same files into its database.

Run it as ``python -m tests.benchmarks.agentsview`` where the labelled sessions are at hand; ``--install`` fetches
agentsview first, from PyPI. Both get the same home with all sessions as Hermes writes them and a new database: CPU
seconds of ``agentsview sync`` and of ``grader-daemon grade`` as whole processes with their children, in turns, on
files in the page cache; the median of each. `net` is without the start, measured with a home of one session.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from tests.benchmarks.corpora import ARCHIVES, real_corpora
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, progress, progress_done, work_folder
from tests.benchmarks.targets import TIMES_AGENTSVIEW

VERSION = "0.46.1"
TOOL = Path(__file__).parents[2] / ".agents" / "agentsview"
OTHER, OURS = f"agentsview {VERSION}", "grader-daemon"


class Program(NamedTuple):
    """A program that reads sessions: its command, what its surroundings say beside the home, where it counts them."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    database: str
    table: str


PROGRAMS = {
    OTHER: Program(
        (f"{TOOL}/bin/agentsview", "sync"),
        {"AGENTSVIEW_NO_DAEMON": "1", "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1", "AGENTSVIEW_TELEMETRY_ENABLED": "0"},
        ".agentsview/sessions.db",
        "sessions",
    ),
    OURS: Program(
        (sys.executable, "-m", "grader_daemon", "grade"),
        {"GRADER_WATCH_ROOTS": "~/.hermes"},
        ".timmy/uniwizard/session_grades.db",
        "session_grades",
    ),
}


def install() -> None:
    """Install agentsview in a folder of its own."""
    venv.create(TOOL, with_pip=True)
    subprocess.run([TOOL / "bin" / "pip", "install", "-q", f"agentsview=={VERSION}"], check=True)


def cpu_seconds(program: Program, home: Path, *, sessions: int) -> float:
    """Return the CPU seconds that a program and its children take to read a home into a new database.

    Raises:
        SystemExit: it failed, or passed over a session.
    """
    database = home / program.database
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **program.environment}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(program.command, env=environment, cwd=home, stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY) if database.exists() else None
    found = reader.execute(f"SELECT count(*) FROM {program.table}").get if reader is not None else None
    if process.returncode or found != sessions:
        said = (home / "log").read_text(errors="replace")[-600:]
        sys.exit(f"{program.command[0]}: exit {process.returncode}, {found} of {sessions} sessions\n{said}")
    return used.ru_utime + used.ru_stime


def measure(folder: Path, *, turns: int) -> dict[str, tuple[float, float]]:
    """Return the CPU seconds of each program, and those without its start."""
    many, one = folder / "many", folder / "one"
    sessions = sum(corpus.sessions for corpus in real_corpora(many / ".hermes", slices=None))
    (one / ".hermes" / "sessions").mkdir(parents=True)
    any_of_them = next((many / ".hermes" / "sessions").iterdir())
    (one / ".hermes" / "sessions" / any_of_them.name).write_bytes(any_of_them.read_bytes())
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    for turn in range(turns):
        for name, program in PROGRAMS.items():
            progress(f"turn {turn + 1} of {turns}: {name}")
            work: Callable[..., float] = partial(cpu_seconds, program)
            spent[name].append((work(many, sessions=sessions), work(one, sessions=1)))
    progress_done()
    print(f"{sessions:,} sessions\n")
    return {name: (_median(each, 0), _median(each, 0) - _median(each, 1)) for name, each in spent.items()}


def _median(spent: list[tuple[float, float]], place: int) -> float:
    return statistics.median(each[place] for each in spent)


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help=f"install agentsview into {TOOL.parent.name}/ first")
    parser.add_argument("--turns", type=int, default=3, help="how often each is run (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    if options.install:
        install()
    missing = [str(path) for path in (TOOL, *ARCHIVES) if not path.exists()]
    if missing:
        sys.exit(f"nothing is measured without {', '.join(missing)}")
    print_machine()
    with work_folder(options.folder) as folder:
        spent = measure(folder, turns=options.turns)
    ours = spent[OURS]
    rows = [
        (name, f"{whole:.1f}", f"{net:.1f}", f"{whole / ours[0]:.1f}", f"{net / ours[1]:.1f}")
        for name, (whole, net) in spent.items()
    ]
    print_table(("program", "CPU s", "net", f"of ours (>= {TIMES_AGENTSVIEW:g})", "net"), rows)


if __name__ == "__main__":
    main()
