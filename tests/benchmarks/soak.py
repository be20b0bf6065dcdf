"""A week of a busy agent in a few minutes: does the daemon keep its memory, descriptors, threads and size of rows?

Run it as ``python -m tests.benchmarks.soak``. It starts ``grader-daemon run`` and plays 900 sessions a day, of 20 KB:
each file is written again as its session grows, twenty are under way at any time, one in ten is resumed after its end,
one in thirty goes on in a second file with a summary of the first (a compaction). Times inside the files are those of
the week that ends now, so days, weekly reports and the watch on degradation get what they would get in a week. After
each day the daemon catches up and is looked at: resident memory, open descriptors, threads, bytes of the database.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    print_figures,
    print_machine,
    print_table,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.process import Daemon, Sandbox, make_sandbox
from tests.benchmarks.sessions import make_session
from tests.benchmarks.targets import (
    LOST_SESSIONS,
    SOAK_BYTES_RATIO,
    SOAK_GROWTH_MEGABYTES,
    SOAK_MORE_DESCRIPTORS,
    SOAK_MORE_THREADS,
)

_SETTINGS = {"GRADER_QUIET_SECONDS": "0.2", "GRADER_SCAN_SECONDS": "5", "GRADER_JOB_SECONDS": "1"}
_AT_A_TIME = 20
_WRITES = 6
_RESUMED = 1 / 10
_COMPACTED = 1 / 30
_WARM_UP_DAYS = 2
_SIZES = ("page_count", "freelist_count", "page_size")
_SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below."

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Day:
    """How the daemon stood after one day."""

    number: int
    sessions: int
    resident: int
    descriptors: int
    threads: int
    database: int


def snapshots(seed: int, started: datetime, *, size: int) -> Iterator[tuple[str, Json]]:
    """Give the states of one session's files in the order in which they are written: id and content."""
    rng = random.Random(seed)
    made = make_session(size, seed)
    whole = msgspec.json.decode(made.content, type=Json)
    whole |= {"session_start": f"{started:%Y-%m-%dT%H:%M:%S}.{seed % 1_000_000:06d}"}
    messages: list[Json] = whole["messages"]
    session_id = made.session_id
    for step in range(1, _WRITES + 1):
        cut = len(messages) * step // _WRITES
        yield session_id, _state(whole, session_id, messages[:cut], started + timedelta(minutes=step))
    if rng.random() < _RESUMED:
        more = [{"role": "user", "content": "And now the other one"}, {"role": "assistant", "content": "Done."}]
        yield session_id, _state(whole, session_id, messages + more, started + timedelta(hours=1))
    if rng.random() < _COMPACTED:
        after = [messages[0], {"role": "assistant", "content": _SUMMARY}, *messages[-4:]]
        yield f"{session_id}0", _state(whole, f"{session_id}0", after, started + timedelta(hours=2))


def _state(whole: Json, session_id: str, messages: list[Json], updated: datetime) -> Json:
    return whole | {
        "session_id": session_id,
        "last_updated": updated.isoformat(),
        "message_count": len(messages),
        "messages": messages,
    }


def play(folder: Path, seeds: range, began: datetime, *, size: int, rate: float) -> None:
    """Play one day: its sessions begin one after the other, and `rate` snapshots a second are written."""
    waiting = [
        snapshots(seed, began + timedelta(days=1) * place / len(seeds) * 0.9, size=size)
        for place, seed in enumerate(seeds)
    ]
    under_way: list[Iterator[tuple[str, Json]]] = []
    next_write = time.monotonic()
    while waiting or under_way:
        while waiting and len(under_way) < _AT_A_TIME:
            under_way.append(waiting.pop(0))
        session = under_way.pop(0)
        state = next(session, None)
        if state is None:
            continue
        under_way.append(session)
        write_snapshot(folder, *state)
        next_write += 1 / rate
        time.sleep(max(0.0, next_write - time.monotonic()))


def write_snapshot(folder: Path, session_id: str, content: Json) -> None:
    """Write a session as Hermes does, to a temporary file that is renamed."""
    temporary = folder / f".session_{session_id}_soak.tmp"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2))
    os.replace(temporary, folder / f"session_{session_id}.json")


def is_caught_up(sandbox: Sandbox) -> bool:
    """Does the ledger know every file as it is?"""
    reader = sandbox.reader()
    try:
        rows = reader.execute("SELECT path, written_ns FROM session_files")
        known = {row[0]: row[1] for row in rows}
    finally:
        reader.close()
    with os.scandir(sandbox.root) as files:
        return all(known.get(file.path) == file.stat().st_mtime_ns for file in files if file.name.endswith(".json"))


def look(sandbox: Sandbox, daemon: Daemon, number: int) -> Day:
    """Say how the daemon stands."""
    process = Path(f"/proc/{daemon.pid}")
    return Day(
        number=number,
        sessions=sandbox.count_grades(),
        resident=daemon.resident_bytes(),
        descriptors=len(list((process / "fd").iterdir())),
        threads=len(list((process / "task").iterdir())),
        database=_database_bytes(sandbox),
    )


def _database_bytes(sandbox: Sandbox) -> int:
    """Pages in use, whether they are in the file or still in the log beside it."""
    reader = sandbox.reader()
    try:
        pages, free, size = (int(reader.execute(f"PRAGMA {name}").get) for name in _SIZES)
    finally:
        reader.close()
    return (pages - free) * size


def soak(sandbox: Sandbox, *, days: int, sessions: int, size: int, rate: float) -> list[Day]:
    """Play the days, and look at the daemon after each."""
    monday = datetime.now() - timedelta(days=days)  # noqa: DTZ005, TID251  as Hermes writes it: local, without a zone
    seen = []
    with sandbox.daemon() as daemon:
        daemon.wait_for_event("reconcile.finished")
        for number in range(days):
            progress(f"day {number + 1} of {days}")
            seeds = range(number * sessions, (number + 1) * sessions)
            play(sandbox.root, seeds, monday + timedelta(days=number), size=size, rate=rate)
            daemon.wait_until(lambda: is_caught_up(sandbox), "all is graded")
            seen.append(look(sandbox, daemon, number + 1))
        progress_done()
        troubles = [event for event in daemon.events() if event["level"] in {"warning", "error"}]
    for event in troubles[:10]:
        print(event)
    return seen


def figures(days: list[Day], *, lost: int) -> list[Figure]:
    """Compare each day after the warm-up with the last day of it."""
    warm, after = days[_WARM_UP_DAYS - 1], days[_WARM_UP_DAYS:]
    added = [
        (day.database - before.database) / (day.sessions - before.sessions)
        for before, day in zip(days[_WARM_UP_DAYS - 1 :], after, strict=False)
    ]
    growth = max((abs(day.resident - warm.resident) for day in after), default=0) / 1e6
    descriptors = max((day.descriptors - warm.descriptors for day in after), default=0)
    threads = max((day.threads - warm.threads for day in after), default=0)
    return [
        at_most("sessions without a row", lost, target=LOST_SESSIONS, unit="", digits=0),
        at_most("memory: furthest from that after two days", growth, target=SOAK_GROWTH_MEGABYTES, unit="MB"),
        at_most("more descriptors than then", descriptors, target=SOAK_MORE_DESCRIPTORS, unit="", digits=0),
        at_most("more threads than then", threads, target=SOAK_MORE_THREADS, unit="", digits=0),
        at_most("database: bytes per session", sum(added) / len(added), target=None, unit="bytes", digits=0),
        at_most(
            "  the most of a day by the least", max(added) / min(added), target=SOAK_BYTES_RATIO, unit="", digits=2
        ),
    ]


def count_lost(sandbox: Sandbox) -> int:
    """Sessions whose file has no row in the ledger, or one that says trouble."""
    reader = sandbox.reader()
    try:
        fine = {row[0] for row in reader.execute("SELECT path FROM session_files WHERE state IN ('graded', 'skipped')")}
    finally:
        reader.close()
    return sum(str(path) not in fine for path in sandbox.root.glob("session_*.json"))


def main() -> None:
    """Parse the arguments, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=7, help="days to play, 3 or more (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=900, help="sessions a day (default: %(default)s)")
    parser.add_argument("--size", type=int, default=20_000, help="bytes of a session (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=150, help="snapshots a second (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder / "soak", settings=_SETTINGS)
        days = soak(sandbox, days=options.days, sessions=options.sessions, size=options.size, rate=options.rate)
        lost = count_lost(sandbox)
    print_table(
        ("day", "sessions", "memory", "descriptors", "threads", "database"),
        [
            (
                str(day.number),
                f"{day.sessions:,}",
                f"{day.resident / 1e6:.1f} MB",
                str(day.descriptors),
                str(day.threads),
                f"{day.database / 1e6:.2f} MB",
            )
            for day in days
        ],
    )
    print_figures(figures(days, lost=lost))


if __name__ == "__main__":
    main()
