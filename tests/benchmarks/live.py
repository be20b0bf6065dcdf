"""How long after its last write a session's grade is there, while sessions come in at a steady rate.

Run it as ``python -m tests.benchmarks.live``. It starts ``grader-daemon run`` with a home, a watched folder and a
database of its own, writes each session to a temporary file in the same folder, syncs it (``--no-fsync`` leaves that
out) and renames it, as Hermes does. With ``--backlog 50000`` so many are there already and are graded meanwhile, with
``--regrade`` again, because other rules graded them before; with
``--kept-in lines`` each is a rollout that stays open, as Codex keeps it, and with ``--kept-in database`` all are rows
of one ``state.db`` whose log is written all the time. Measured is the time from just before the last write to the
moment at which a second, read-only connection sees the committed row, less the quiet time.

Resolution: the second connection asks ``PRAGMA data_version`` about every millisecond (``--poll-ms``), so a figure is
late by up to that and the few hundred microseconds of the query behind it, and never early. `graded_at` of the row,
which is taken before the commit, is shown beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from grader_daemon import SelfGrader, bootstrap
from grader_daemon.settings import load_settings
from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    forget_settings,
    percentile,
    print_figures,
    print_machine,
    work_folder,
)
from tests.benchmarks.process import Daemon, Sandbox, make_sandbox
from tests.benchmarks.sessions import SessionFile, make_session, write_sessions
from tests.benchmarks.targets import LIVE_MILLISECONDS, LOST_SESSIONS
from tests.state_db import StateHome, inserted

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
    begin: Callable[[SessionFile], Callable[[], object]],
    sessions: Sequence[SessionFile],
    renames: Renames,
    *,
    rate: float,
) -> None:
    """Write `sessions`, `rate` a second; `renames.late` counts those that came after their turn.

    `begin` writes all of one but its end, and returns what does that.
    """
    began = time.monotonic()
    for number, session in enumerate(sessions):
        pause = began + number / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        renames.late += pause < -1 / rate
        end = begin(session)
        renames.wall[session.session_id] = _now()
        renames.moments[session.session_id] = time.monotonic()
        end()


@contextmanager
def snapshots(folder: Path, *, fsync: bool) -> Iterator[Callable[[SessionFile], Callable[[], object]]]:
    """Keep sessions as Hermes' snapshots: a file that is renamed."""

    def begin(session: SessionFile) -> Callable[[], object]:
        temporary = folder / f".{session.name.removesuffix('.json')}_bench.tmp"
        with temporary.open("wb") as file:
            file.write(session.content)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        return partial(os.replace, temporary, folder / session.name)

    yield begin


@contextmanager
def lines(folder: Path, *, fsync: bool) -> Iterator[Callable[[SessionFile], Callable[[], object]]]:
    """Keep sessions as Codex does: lines of a file that stays open."""
    del fsync
    with ExitStack() as files:

        def begin(session: SessionFile) -> Callable[[], object]:
            path = folder / f"rollout-2026-11-22T15-22-54-{session.session_id}.jsonl"
            file = files.enter_context(path.open("ab", buffering=0))
            file.write(_line("session_meta", {"id": session.session_id, "cli_version": "0.169.0"}))
            file.write(
                _line("response_item", _spoken("user", "input_text", f"Fix {session.session_id} " + "x" * 10_000))
            )
            return partial(file.write, _line("response_item", _spoken("assistant", "output_text", "Fixed.")))

        yield begin


@contextmanager
def database(folder: Path, *, fsync: bool) -> Iterator[Callable[[SessionFile], Callable[[], object]]]:
    """Keep sessions as rows of one database of Hermes, by a writer that keeps it open."""
    del fsync
    home = StateHome(folder)
    with closing(apsw.Connection(str(home.path))) as connection:

        def begin(session: SessionFile) -> Callable[[], object]:
            name = session.session_id
            connection.execute(*inserted("sessions", id=name, source="cli", started_at=_now()))
            _add(connection, name, "user", f"Fix {name} " + "x" * 10_000)
            return partial(_add, connection, name, "assistant", "Fixed.", finish_reason="stop")

        yield begin


def _add(connection: apsw.Connection, session_id: str, role: str, content: str, **columns: object) -> None:
    row = inserted("messages", session_id=session_id, role=role, content=content, timestamp=_now(), **columns)
    connection.execute(*row)


def _now() -> float:
    return time.clock_gettime(time.CLOCK_REALTIME)


def _line(kind: str, payload: dict[str, Any]) -> bytes:
    return json.dumps({"timestamp": "2026-11-22T15:26:00Z", "type": kind, "payload": payload}).encode() + b"\n"


def _spoken(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


KEEPERS = {"snapshots": snapshots, "lines": lines, "database": database}


def watch_rows(
    reader: apsw.Connection, *, expected: frozenset[str], until: float, poll_seconds: float
) -> Iterator[Row]:
    """Give every row of the `expected` sessions soon after its commit, until all are there or the time is up."""
    version, found = -1, 0
    last_id = reader.execute("SELECT coalesce(max(id), 0) FROM session_grades").get
    while found < len(expected) and time.monotonic() < until:
        now_version = reader.execute("PRAGMA data_version").get
        if now_version == version:
            time.sleep(poll_seconds)
            continue
        version = now_version
        rows: list[Any] = reader.execute(_NEW_ROWS, (last_id,)).fetchall()
        seen = time.monotonic()
        last_id = max([last_id, *(row[0] for row in rows)])
        awaited = [Row(session_id, graded_at, seen) for _, session_id, graded_at in rows if session_id in expected]
        found += len(awaited)
        yield from awaited


def measure(
    sandbox: Sandbox, daemon: Daemon, sessions: Sequence[SessionFile], options: argparse.Namespace
) -> list[Figure]:
    """Let sessions come in and give the figures."""
    folder = folder_in(sandbox, options.kept_in)
    kept = KEEPERS[options.kept_in](folder, fsync=options.fsync)
    reader = sandbox.reader()
    renames = Renames()
    until = time.monotonic() + options.seconds + options.quiet + _GIVE_UP_SECONDS
    cpu = daemon.cpu_seconds_with_helpers()
    with kept as begin:
        writer = threading.Thread(target=write_steadily, args=(begin, sessions, renames), kwargs={"rate": options.rate})
        writer.start()
        expected = frozenset(session.session_id for session in sessions)
        rows = list(watch_rows(reader, expected=expected, until=until, poll_seconds=options.poll_ms / 1000))
        writer.join()
    reader.close()
    cpu = daemon.cpu_seconds_with_helpers() - cpu
    return figures(rows, renames, sessions=len(sessions), quiet=options.quiet, cpu=cpu, kept_in=options.kept_in)


def figures(
    rows: Sequence[Row], renames: Renames, *, sessions: int, quiet: float, cpu: float, kept_in: str
) -> list[Figure]:
    """What came out, in milliseconds after the quiet time."""
    p50, p99 = LIVE_MILLISECONDS[kept_in]
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
            "last write to committed row, less quiet time, p50",
            percentile(committed, 0.5),
            target=p50,
            unit="ms",
        ),
        at_most("  p99", percentile(committed, 0.99), target=p99, unit="ms"),
        at_most("  longest", max(committed), target=None, unit="ms"),
        at_most("last write to graded_at, less quiet time, p50", percentile(graded, 0.5), target=None, unit="ms"),
        at_most("  p99", percentile(graded, 0.99), target=None, unit="ms"),
        lost,
        at_most("writes more than a turn late", renames.late, target=None, unit="sessions", digits=0),
        at_most("daemon's CPU per session", cpu / len(rows) * 1000, target=None, unit="ms", digits=2),
    ]


def make_sessions(sizes: Sequence[int], count: int) -> list[SessionFile]:
    """Sessions of `sizes` in turn."""
    return [make_session(sizes[seed % len(sizes)], seed) for seed in range(count)]


def folder_in(sandbox: Sandbox, kept_in: str) -> Path:
    """Return the folder of the sessions; lines in one of the name ``sessions`` would be taken for Hermes' own."""
    return sandbox.root / "agent" / ("rollouts" if kept_in == "lines" else "sessions")


def named_as_threads(sessions: Sequence[SessionFile]) -> list[SessionFile]:
    """Return sessions with ids as Codex gives them."""
    return [replace(session, session_id=str(uuid.UUID(int=number))) for number, session in enumerate(sessions, 1)]


def grade_by_other_rules(sandbox: Sandbox) -> None:
    """Leave what is there in the database as graded, so that the daemon grades it again."""
    settings = load_settings(db_path=str(sandbox.database), watch_roots=[str(sandbox.root)])
    with SelfGrader(settings=settings) as grader:
        for _ in grader.grading.backfill(grader.grading.ungraded_files()):
            pass
    with closing(bootstrap.open_store(settings)) as store:
        store.connection.execute("UPDATE session_files SET rules_version = 'before'")


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long sessions come in (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=20.0, help="sessions per second (default: %(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000], help="bytes, in turn (default: %(default)s)")
    parser.add_argument("--quiet", type=float, default=2.0, help="the daemon's quiet_seconds (default: %(default)s)")
    parser.add_argument("--poll-ms", type=float, default=1.0, help="pause between two looks (default: %(default)s)")
    parser.add_argument("--no-fsync", dest="fsync", action="store_false", help="do not sync before the rename")
    parser.add_argument("--kept-in", choices=KEEPERS, default="snapshots", help="how (default: %(default)s)")
    parser.add_argument("--backlog", type=int, default=0, help="sessions of 4 KB there before (default: none)")
    parser.add_argument("--regrade", action="store_true", help="those there before were graded, by other rules")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    sessions = make_sessions(options.sizes, round(options.seconds * options.rate))
    with work_folder(options.folder) as folder:
        sandbox = make_sandbox(folder, settings={"GRADER_QUIET_SECONDS": str(options.quiet)})
        kept = folder_in(sandbox, options.kept_in)
        kept.mkdir(parents=True)
        if options.kept_in == "lines":
            sessions = named_as_threads(sessions)
            sandbox.settings.update({"GRADER_SOURCES": '["hermes", "codex"]', "GRADER_CODEX_ROOTS": str(kept)})
        if options.backlog:
            waiting = sandbox.root / "before" / "sessions"
            waiting.mkdir(parents=True)
            write_sessions([waiting] * options.backlog, size=4_000, first_seed=len(sessions))
            if options.regrade:
                forget_settings(folder)
                grade_by_other_rules(sandbox)
        with sandbox.daemon() as daemon:
            daemon.wait_for_event("session.graded" if options.backlog else "reconcile.finished")
            results = measure(sandbox, daemon, sessions, options)
    print(f"{len(sessions)} sessions, {options.rate:g} a second, quiet time {options.quiet:g} s")
    print_figures(results)


if __name__ == "__main__":
    main()
