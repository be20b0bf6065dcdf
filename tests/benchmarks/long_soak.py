"""Hours beside agents that never stop: does the daemon keep its memory while their databases and open files grow?

Run it as ``python -m tests.benchmarks.long_soak``. Beside ``grader-daemon run``, with its usual settings, one
``state.db`` of Hermes and open rollouts of Codex get messages, one after the other, as many a second as `--rate` says.
Twelve sessions of each are under way at any time; each ends after 60 messages, and another one begins. Every minute
the daemon is looked at. The figure compares the most memory of the last quarter of the time with that of the second.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import apsw

from tests.benchmarks.live import folder_in
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
from tests.benchmarks.targets import LOST_SESSIONS, SOAK_GROWTH_MEGABYTES, SOAK_MORE_DESCRIPTORS, SOAK_MORE_THREADS
from tests.state_db import StateHome, inserted

_UNDER_WAY: Final = 12
_MESSAGES: Final = 60
_RESULT: Final = 2_000
"""Characters of a tool result."""

_ROWS_SHOWN: Final = 16

Add = Callable[[str, int, str], None]
"""Adds a message to a session: its name, which of its messages it is, and its text."""


class Look(NamedTuple):
    """How the daemon stood: after so many minutes, with bytes of memory."""

    minutes: float
    sessions: int
    resident: int
    descriptors: int
    threads: int
    database: int


@contextmanager
def in_database(folder: Path) -> Iterator[Add]:
    """Keep sessions in a database of Hermes that stays open."""
    home = StateHome(folder)
    with closing(apsw.Connection(str(home.path))) as connection:

        def add(session: str, place: int, text: str) -> None:
            if place == 0:
                connection.execute(*inserted("sessions", id=session, source="cli", started_at=_now()))
            role = ("user", "assistant", "tool")[min(place, 1 + place % 2)]
            calls: dict[str, object] = {}
            if role == "assistant" and place < _MESSAGES - 1:
                calls = {"tool_calls": json.dumps([_call(f"{session}-{place}")])}
            elif role == "tool":
                calls = {"tool_call_id": f"{session}-{place - 1}", "tool_name": "terminal"}
            row = inserted("messages", session_id=session, role=role, content=text, timestamp=_now(), **calls)
            connection.execute(*row)

        yield add


@contextmanager
def in_rollouts(folder: Path) -> Iterator[Add]:
    """Keep sessions as lines of files that stay open while they are written, as Codex does."""
    files: dict[str, BinaryIO] = {}

    def add(session: str, place: int, text: str) -> None:
        if place == 0:
            path = folder / f"rollout-2026-11-22T15-22-54-{session}.jsonl"
            files[session] = path.open("ab", buffering=0)
            files[session].write(_line("session_meta", {"id": session, "cli_version": "0.169.0"}))
        role, kind = ("user", "input_text") if place == 0 else ("assistant", "output_text")
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        files[session].write(_line("response_item", said))
        if place == _MESSAGES - 1:
            files.pop(session).close()

    try:
        yield add
    finally:
        for file in files.values():
            file.close()


def _now() -> float:
    return time.clock_gettime(time.CLOCK_REALTIME)


def _line(kind: str, payload: dict[str, Any]) -> bytes:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"timestamp": stamp, "type": kind, "payload": payload}).encode() + b"\n"


def _call(name: str) -> dict[str, Any]:
    function = {"name": "terminal", "arguments": json.dumps({"command": f"make {name}"})}
    return {"id": name, "type": "function", "function": function}


def messages(keep: str) -> Iterator[tuple[str, int, str]]:
    """Yield, without an end, the messages of sessions that go on side by side."""
    chance, begun = random.Random(keep), 0
    under_way: dict[str, int] = {}
    while True:
        while len(under_way) < _UNDER_WAY:
            under_way[f"{len(keep):08}-0000-4000-8000-{begun:012}"] = 0
            begun += 1
        session = chance.choice(list(under_way))
        place = under_way[session]
        text = f"{keep} {session} {place} " + chance.choice(("built ", "error: no such file ", "done ")) * (
            _RESULT // 8
        )
        yield session, place, text
        under_way[session] += 1
        if under_way[session] == _MESSAGES:
            del under_way[session]


def look(sandbox: Sandbox, daemon: Daemon, minutes: float) -> Look:
    """Say how the daemon stands."""
    process = Path(f"/proc/{daemon.pid}")
    return Look(
        minutes=minutes,
        sessions=sandbox.count_grades(),
        resident=daemon.resident_bytes(),
        descriptors=len(list((process / "fd").iterdir())),
        threads=len(list((process / "task").iterdir())),
        database=sum(file.stat().st_size for file in folder_in(sandbox, "database").parent.rglob("state.db*")),
    )


def soak(sandbox: Sandbox, *, minutes: float, rate: float) -> tuple[list[Look], int]:
    """Write for so long, and look at the daemon every minute; gives the sessions that ended, too."""
    seen: list[Look] = []
    names = ("database", "lines")
    for name in names:
        folder_in(sandbox, name).mkdir(parents=True, exist_ok=True)
    streams = [messages(name) for name in names]
    ended = 0
    with (
        in_database(folder_in(sandbox, "database")) as to_database,
        in_rollouts(folder_in(sandbox, "lines")) as to_rollouts,
        sandbox.daemon() as daemon,
    ):
        daemon.wait_for_event("reconcile.finished")
        began, written = time.monotonic(), 0
        while (spent := time.monotonic() - began) < minutes * 60:
            for add, stream in zip((to_database, to_rollouts), streams, strict=True):
                session, place, text = next(stream)
                add(session, place, text)
                ended += place == _MESSAGES - 1
            written += 1
            if spent / 60 > len(seen):
                seen.append(look(sandbox, daemon, spent / 60))
                progress(f"minute {len(seen)} of {minutes:.0f}: {seen[-1].resident / 1e6:.1f} MB")
            time.sleep(max(0.0, began + written * 2 / rate - time.monotonic()))
        daemon.wait_until(lambda: sandbox.count_grades() >= ended, "all is graded")
        seen.append(look(sandbox, daemon, (time.monotonic() - began) / 60))
        progress_done()
    return seen, ended


def figures(seen: list[Look], *, ended: int) -> list[Figure]:
    """Compare the last quarter with the second."""
    quarter = max(1, len(seen) // 4)
    before, last = seen[quarter : 2 * quarter], seen[-quarter:]
    grown = max(each.resident for each in last) - max(each.resident for each in before)
    return [
        at_most("sessions without a grade", max(0, ended - seen[-1].sessions), target=LOST_SESSIONS, unit="", digits=0),
        at_most("memory: last quarter over the second", grown / 1e6, target=SOAK_GROWTH_MEGABYTES, unit="MB"),
        at_most("memory at most", max(each.resident for each in seen) / 1e6, target=None, unit="MB"),
        at_most(
            "more descriptors than then", last[-1].descriptors - before[0].descriptors, target=SOAK_MORE_DESCRIPTORS,
            unit="", digits=0,
        ),
        at_most(
            "more threads than then", last[-1].threads - before[0].threads, target=SOAK_MORE_THREADS, unit="", digits=0
        ),
    ]  # fmt: skip


def main() -> None:
    """Parse the arguments, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120, help="how long to write (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=4, help="messages a second (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder / "soak", settings={"GRADER_SOURCES": '["hermes", "codex"]'})
        sandbox.settings["GRADER_CODEX_ROOTS"] = str(folder_in(sandbox, "lines"))
        seen, ended = soak(sandbox, minutes=options.minutes, rate=options.rate)
    print_table(
        ("minute", "sessions", "memory", "descriptors", "threads", "agent's database"),
        [
            (
                f"{each.minutes:.0f}",
                f"{each.sessions:,}",
                f"{each.resident / 1e6:.1f} MB",
                str(each.descriptors),
                str(each.threads),
                f"{each.database / 1e6:.1f} MB",
            )
            for each in seen[:: max(1, len(seen) // _ROWS_SHOWN)]
        ],
    )
    print_figures(figures(seen, ended=ended))


if __name__ == "__main__":
    main()
