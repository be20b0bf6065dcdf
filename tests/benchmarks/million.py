"""What it costs to ask a database of 1,000,000 sessions of a year.

Run it as ``python -m tests.benchmarks.million`` in the repository; it takes some minutes and 5 GB of disk. 400 sessions
are graded, and their rows multiplied (see `tests/benchmarks/multiplied.py`). With ``--keep FOLDER`` all of it is made
there once, and stays for the next time.

1. Commands: user and system time of the process, start-up included, the median of three; each was called once before,
   so that what it reads is in the page cache.
2. The same filters without the process: what the database takes to find the first page, the median of three.
3. What the daemon asks at its start: opening the database, files graded under other rules, files that are due; and its
   look through the whole file.
4. The daemon itself: each of the files of these sessions is there as a link to one of the 400; from its start until it
   has compared all of them with the database, and its memory then.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import NamedTuple

from grader_daemon import bootstrap
from grader_daemon.domain.analysis import Category
from grader_daemon.settings import Settings
from grader_daemon.storage.records import GradeFilter, SortKey
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.benchmarks import machine
from tests.benchmarks.machine import Figure, at_most
from tests.benchmarks.multiplied import SELDOM, common_word, make_home
from tests.benchmarks.process import Sandbox
from tests.benchmarks.targets import (
    ASKED_CPU_MILLISECONDS,
    FILTER_MILLISECONDS,
    KNOWN_FILES_CPU_SECONDS,
    KNOWN_FILES_MEGABYTES,
)

_SESSIONS = 1_000_000
_TIMES = 3
_PAGE = 21
_BATCH = 100
_NOT_RUNNING = 3
_PAUSE = timedelta(hours=1)


class _Known(NamedTuple):
    """What is asked for: a session, a tool and an error of many sessions, and a word of many tasks."""

    session_id: str
    tool: str
    error: str
    word: str


def main() -> int:
    """Make the database and ask; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=_SESSIONS, help="how many (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="make it in this folder, or use what was made there before")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    machine.print_machine()
    kept = nullcontext(arguments.keep) if arguments.keep else machine.work_folder(arguments.folder)
    with kept as folder:
        machine.forget_settings(folder)
        sandbox, settings = make_home(folder, sessions=arguments.sessions)
        print(f"{sandbox.count_grades():,} sessions, {sandbox.database.stat().st_size / 1e9:.1f} GB\n")
        known = _known(settings)
        figures = [*_commands(sandbox, known), *_filters(settings, known), *_starts(settings), *_first_scan(sandbox)]
    machine.progress_done()
    machine.print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _known(settings: Settings) -> _Known:
    store = bootstrap.open_store(settings)
    facet = "SELECT value FROM session_facets WHERE facet = ? GROUP BY value ORDER BY count(*) DESC LIMIT 1"
    known = _Known(
        session_id=store.rows("SELECT session_id FROM session_list ORDER BY ended_at LIMIT 1")[0][0],
        tool=store.rows(facet, ("tool",))[0][0],
        error=store.rows(facet, ("error",))[0][0],
        word=common_word(settings),
    )
    store.close()
    return known


def _commands(sandbox: Sandbox, known: _Known) -> Iterator[Figure]:
    asked = (
        ("list",),
        ("list", "--model", SELDOM),
        ("list", "--tool", known.tool),
        ("list", "--error", known.error),
        ("list", "--search", known.word),
        ("list", "--search", "absent"),
        ("list", "--unsure"),
        ("list", "--sort", "quality"),
        ("list", "--sort", "probability", "--reverse"),
        ("status",),
        ("show", known.session_id),
        ("why", known.session_id),
        (),
        ("-d", "365"),
        ("report", "patterns"),
        ("report", "patterns", "-d", "365"),
        ("report", "errors"),
        ("alerts",),
        ("export", "metrics"),
        ("report",),
        ("calibration",),
        ("doctor",),
    )
    for arguments in asked:
        name = " ".join(("grader-daemon", *arguments))
        machine.progress(name)
        _, *used = (sandbox.command(*arguments, allowed=(0, _NOT_RUNNING)).cpu_seconds for _ in range(1 + _TIMES))
        yield at_most(
            f"{name}: CPU", statistics.median(used) * 1000, target=ASKED_CPU_MILLISECONDS, unit="ms", digits=0
        )


def _filters(settings: Settings, known: _Known) -> Iterator[Figure]:
    store = bootstrap.open_store(settings)
    filters = {
        "nothing": GradeFilter(limit=_PAGE),
        "model": GradeFilter(model=SELDOM, limit=_PAGE),
        "tool": GradeFilter(tool=known.tool, limit=_PAGE),
        "error": GradeFilter(error=Category(known.error), limit=_PAGE),
        "a common word": GradeFilter(text=known.word, limit=_PAGE),
        "an absent word": GradeFilter(text="absent", limit=_PAGE),
        "unsure": GradeFilter(unsure=True, limit=_PAGE),
        "sort by quality": GradeFilter(sort=SortKey.QUALITY, limit=_PAGE),
        "sort by probability": GradeFilter(sort=SortKey.PROBABILITY, lowest_first=True, limit=_PAGE),
    }
    for name, which in filters.items():
        spent = _milliseconds(lambda which=which: store.list.find(which))  # type: ignore[misc]
        yield at_most(f"database: {name}", spent, target=FILTER_MILLISECONDS, unit="ms")
    store.close()


def _starts(settings: Settings) -> Iterator[Figure]:
    yield at_most("start: open", _milliseconds(lambda: bootstrap.open_store(settings).close()), target=None, unit="ms")
    store = bootstrap.open_store(settings)
    version = str(store.rows("SELECT rules_version FROM session_files LIMIT 1")[0][0])
    yield at_most("start: files graded under other rules", _outdated(store, version), target=None, unit="ms", digits=2)
    due = _milliseconds(lambda: store.due_units(bootstrap.utc_now(), longest_pause=_PAUSE, limit=_BATCH))
    yield at_most("start: files that are due", due, target=None, unit="ms", digits=2)
    began = process_time()
    store.check()
    yield at_most("start: the whole file looked through, once", process_time() - began, target=None, unit="s")
    store.close()


def _outdated(store: SqliteStore, version: str) -> float:
    return _milliseconds(lambda: store.outdated_units(version, after=None, limit=_BATCH))


def _first_scan(sandbox: Sandbox) -> Iterator[Figure]:
    machine.progress("the daemon compares all files")
    with sandbox.daemon() as daemon:
        report = daemon.wait_for_event("reconcile.finished")
        cpu, resident = daemon.cpu_seconds_with_ended_threads(), daemon.resident_bytes()
    yield at_most("start of the daemon: files compared", report["files"], target=None, unit="", digits=0)
    yield at_most("  CPU until then", cpu, target=KNOWN_FILES_CPU_SECONDS, unit="s")
    yield at_most("  memory then", resident / 1e6, target=KNOWN_FILES_MEGABYTES, unit="MB", digits=0)


def _milliseconds(ask: Callable[[], object]) -> float:
    """Give the CPU time of an answer, the median of three."""
    ask()
    spent = []
    for _ in range(_TIMES):
        began = process_time()
        ask()
        spent.append(process_time() - began)
    return statistics.median(spent) * 1000


if __name__ == "__main__":
    sys.exit(main())
