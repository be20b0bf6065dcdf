"""What the dashboard costs: its pages with a million sessions, how soon a grade is seen, and many who look at once.

Run it as ``python -m tests.benchmarks.dashboard``; it takes some minutes and 8 GB of disk. The database is that of
`tests.benchmarks.million`, and with ``--keep FOLDER`` the same one. Parts of it run alone:

pages      CPU of the server and time by the clock of every page, asked for by a program: the median of five, each
           after one that does not count; and of the first request of a new process. What is read is in the page cache.
           Then what pages weigh, and the memory of the process after all of them, here and with 5,000 sessions.
appearing  Grades are saved by another process while Chromium shows the list of sessions: from the moment at which the
           commit is done to the frame that draws the row.
idle       CPU of the server while one page is open in Chromium and nothing happens; then while none is.
crowd      A daemon that has graded 2,000 sessions gets 500 a minute, first alone, then beside the dashboard, 20 tabs
           and a client that stopped reading: from the last write to the committed row, less the quiet time, as
           `tests.benchmarks.live` has it; and how the dashboard answers meanwhile.

`appearing` and `idle` use a copy of the database.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.benchmarks import machine
from tests.benchmarks.dashboard_crowd import crowd
from tests.benchmarks.dashboard_live import appearing, idle
from tests.benchmarks.dashboard_pages import addresses, furnish, measure, memory, print_costs, weights
from tests.benchmarks.dashboard_server import served
from tests.benchmarks.machine import Figure
from tests.benchmarks.multiplied import common_word, make_home
from tests.benchmarks.process import Sandbox
from tests.benchmarks.targets import PAGE_MEGABYTES

_PARTS = ("pages", "appearing", "idle", "crowd")
_FEW, _MANY = sorted(PAGE_MEGABYTES)
_SEEN = 60
_SECONDS = 60.0


def main() -> int:
    """Make the database and look at it; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)} (default: all)")
    parser.add_argument("--sessions", type=int, default=_MANY, help="how many (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="make it in this folder, or use what was made there before")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(_PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}")
    parts = arguments.parts or _PARTS
    machine.print_machine()
    met = True
    if set(parts) - {"crowd"}:
        met &= _with_many(arguments, parts)
    if "crowd" in parts:
        met &= _crowd(arguments.folder)
    machine.progress_done()
    return int(not met)


def _with_many(arguments: argparse.Namespace, parts: tuple[str, ...]) -> bool:
    """Look at a home of many sessions, which is made or kept."""
    met = True
    kept = nullcontext(arguments.keep) if arguments.keep else machine.work_folder(arguments.folder)
    with kept as folder:
        machine.forget_settings(folder)
        sandbox, settings = make_home(folder, sessions=arguments.sessions)
        session, word, sessions = furnish(sandbox, settings), common_word(settings), sandbox.count_grades()
        print(f"{sessions:,} sessions, {sandbox.database.stat().st_size / 1e9:.1f} GB\n")
        if "pages" in parts:
            met &= _pages(sandbox, session=session, word=word, sessions=sessions)
            met &= _few(arguments.folder, word=word)
        if {"appearing", "idle"} & set(parts):
            met &= _open_pages(sandbox, parts, arguments.folder)
    return met


def _pages(sandbox: Sandbox, *, session: str, word: str, sessions: int) -> bool:
    with served(sandbox) as dashboard:
        asked = addresses(dashboard, session=session, word=word)
        costs = measure(sandbox, dashboard, asked)
        figures = [
            *weights(dashboard, costs),
            memory(dashboard, asked.values(), target=PAGE_MEGABYTES[_MANY], sessions=sessions),
        ]
    machine.progress_done()
    print_costs(costs)
    return _print(figures) and all(cost.met for cost in costs)


def _few(parent: Path | None, *, word: str) -> bool:
    """Look at all pages of a home with few sessions."""
    with machine.work_folder(parent) as folder:
        sandbox, settings = make_home(folder, sessions=_FEW)
        session = furnish(sandbox, settings)
        with served(sandbox) as dashboard:
            asked = addresses(dashboard, session=session, word=word)
            return _print([memory(dashboard, asked.values(), target=PAGE_MEGABYTES[_FEW], sessions=_FEW)])


def _open_pages(sandbox: Sandbox, parts: tuple[str, ...], folder: Path | None) -> bool:
    figures: list[Figure] = []
    with _copied(sandbox, folder) as copy:
        if "appearing" in parts:
            with served(copy) as dashboard:
                figures += appearing(copy, dashboard, count=_SEEN)
        if "idle" in parts:
            with served(copy) as dashboard:
                figures += idle(dashboard, seconds=_SECONDS)
    return _print(figures)


def _crowd(parent: Path | None) -> bool:
    with machine.work_folder(parent) as folder:
        return _print(crowd(folder, seconds=_SECONDS))


@contextmanager
def _copied(sandbox: Sandbox, parent: Path | None) -> Iterator[Sandbox]:
    """A sandbox with a copy of the database, and the same files."""
    with machine.work_folder(parent) as folder:
        machine.progress("copying the database")
        (folder / "home").mkdir()
        for file in sandbox.folder.glob(f"{sandbox.database.name}*"):
            shutil.copy(file, folder)
        yield Sandbox(folder, sandbox.root, sandbox.settings)


def _print(figures: list[Figure]) -> bool:
    machine.progress_done()
    machine.print_figures(figures)
    return all(figure.met is not False for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
