"""How fast grades get into the PostgreSQL of a fleet, how soon they are seen there, and what they take.

Run it as ``python -m tests.benchmarks.fleet [--rows N]``. It starts a PostgreSQL of its own with the durability that a
server has by default (a batch is on disk before anybody is told), on this machine: what clients and server take of the
processors adds up. Grades are those of the labelled sessions, or of made ones where these are not at hand.

1. Sent: all grades by one connection; then by four processes, each with the grades of ten hosts one after the other.
   Once as the product does it, from the database of the host, and once the server alone: the same batches, made
   before the clock runs.
2. Seen: ``fleet push --follow`` runs; sessions are graded one at a time, at random moments. Measured is the time from
   the beginning of grading, which takes some milliseconds, to the moment at which another connection, which asks
   every millisecond, sees the row.
3. With ``--rows``: so many rows more, copies of those that are there made by SQL, of 40 other hosts over a year; then
   ``fleet status``, and batches as the product sends them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from grader_daemon import SelfGrader
from grader_daemon.fleet.admin import fleet_push
from grader_daemon.fleet.push_command import collecting_rarely
from grader_daemon.fleet.push_job import FleetPush
from grader_daemon.settings import Settings, load_settings
from tests.benchmarks.corpora import made_corpus, real_corpora
from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    forget_settings,
    percentile,
    print_figures,
    print_machine,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.process import Program, Sandbox, make_sandbox
from tests.benchmarks.sessions import write_sessions
from tests.benchmarks.targets import FLEET_GRADES_A_SECOND, FLEET_SEEN_SECONDS
from tests.fleet_hosts import let_in, make_fleet
from tests.postgres import Server, serving

_PROCESSES, _HOSTS_EACH, _BATCHES_EACH = 4, 10, 5
_LOOKS_SECONDS = 0.5
"""How often the product looks what is new: grades come at any moment between two looks."""
_POLL_SECONDS = 0.001
_PATIENCE_SECONDS = 30.0
_COPIES_AT_ONCE = 250_000
_BATCHES_MEASURED = 20
_STATUS_TIMES = 5

Batch = tuple[Sequence[Any], dict[str, Any]]
"""What `HostRows.save` was given."""


class Sent(NamedTuple):
    """What one or several clients took, by the clock and of the processors, and what the server took for them."""

    grades: int
    seconds: float
    cpu_seconds: float
    server_seconds: float = 0.0


# -- sending -----------------------------------------------------------------------------------------------------------


@contextmanager
def pushing(settings: Settings, url: str) -> Iterator[FleetPush]:
    """What sends the grades of a database to one host's rows."""
    with SelfGrader(settings=settings.model_copy(update={"fleet_url": _secret(url)})) as grader:
        export = fleet_push(grader.context)
        try:
            yield export
        finally:
            export.close()


def _secret(url: str) -> Any:
    return load_settings(fleet_url=url).fleet_url


def send(settings: Settings, url: str, *, batches: int | None = None) -> int:
    """Send as the product does, all or so many batches; gives how many grades."""
    with collecting_rarely(), pushing(settings, url) as export:
        runs = iter(export.run, None)
        return sum(done.sessions for done in islice(_while_more(runs), batches))


def _while_more(runs: Iterator[Any]) -> Iterator[Any]:
    for done in runs:
        if not done.more:
            return
        yield done


def recorded(settings: Settings, url: str) -> list[Batch]:
    """Send all, and return what was handed to the connection, but for what the product does meanwhile."""
    batches: list[Batch] = []
    with pushing(settings, url) as export:
        save = export._rows.save

        def record(*arguments: Any, **named: Any) -> None:
            batches.append((arguments, {name: each for name, each in named.items() if name != "meanwhile"}))
            save(*arguments, **named)

        export._rows.save = record  # type: ignore[method-assign]
        for _ in _while_more(iter(export.run, None)):
            pass
    return batches


def replay(settings: Settings, url: str, *, batches: Sequence[Batch]) -> int:
    """Hand what was recorded to the connection of another host."""
    with pushing(settings, url) as export:
        export._rows.taken()
        for arguments, named in batches:
            export._rows.save(*arguments, **named)
    return sum(len(arguments[0]) for arguments, _ in batches)


def with_server(server: Server, send_all: Callable[[], Sent]) -> Sent:
    """Add what all processes of the server took of the processors."""
    before = _server_cpu(server)
    sent = send_all()
    return sent._replace(server_seconds=_server_cpu(server) - before)


def _server_cpu(server: Server) -> float:
    """Return the CPU seconds of the server's processes, also of those that ended (``/proc/PID/stat``, to 10 ms)."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    ticks = sum(_ticks(server.pid)) + sum(sum(_ticks(int(pid))[:2]) for pid in children)
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    """Return the time of a process, as user and as system, and both of its children that ended."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:  # it ended meanwhile
        return [0] * 4
    return [int(number) for number in told.rpartition(")")[2].split()[11:15]]


def timed(work: Callable[[], int]) -> Sent:
    """Do it in this process."""
    began, cpu = time.monotonic(), time.process_time()
    grades = work()
    return Sent(grades, time.monotonic() - began, time.process_time() - cpu)


def timed_in_processes(work: Callable[[str], int], urls: Sequence[str]) -> Sent:
    """Do it for each host, in processes that begin together, each with as many hosts as the others."""
    context = multiprocessing.get_context("fork")  # with what was recorded
    beginning, results = context.Barrier(_PROCESSES), context.SimpleQueue()
    processes = [
        context.Process(target=_work_through, args=(work, urls[number::_PROCESSES], beginning, results))
        for number in range(_PROCESSES)
    ]
    for process in processes:
        process.start()
    done = [results.get() for _ in processes]
    for process in processes:
        process.join()
    began, ended, cpu, grades = zip(*done, strict=True)
    return Sent(sum(grades), max(ended) - min(began), sum(cpu))


def _work_through(work: Callable[[str], int], urls: Sequence[str], beginning: Barrier, results: Any) -> None:
    beginning.wait()
    began, cpu = time.monotonic(), time.process_time()
    grades = sum(work(url) for url in urls)
    results.put((began, time.monotonic(), time.process_time() - cpu, grades))


def sent_figures(server: Server, settings: Settings) -> list[Figure]:
    """Send all grades in four ways."""
    progress("sending, one connection")
    product_url = let_in(server, "product")
    product = with_server(server, lambda: timed(lambda: send(settings, product_url)))
    batches = recorded(settings, let_in(server, "recorded"))
    url = let_in(server, "alone")
    alone = with_server(server, lambda: timed(lambda: replay(settings, url, batches=batches)))
    size = _bytes_a_row(server)
    progress(f"sending, {_PROCESSES} connections")
    few = batches[:_BATCHES_EACH]
    hosts = [let_in(server, f"of-{number}") for number in range(_PROCESSES * _HOSTS_EACH)]
    many_product = with_server(
        server, lambda: timed_in_processes(lambda url: send(settings, url, batches=_BATCHES_EACH), hosts)
    )
    others = [let_in(server, f"alone-{number}") for number in range(_PROCESSES * _HOSTS_EACH)]
    many_alone = with_server(server, lambda: timed_in_processes(lambda url: replay(settings, url, batches=few), others))
    progress_done()
    one, four = FLEET_GRADES_A_SECOND
    return [
        *_rate("one connection, the server alone", alone, target=one),
        *_rate("one connection, as the product does it", product, target=one),
        *_rate("4 connections, 40 hosts, the server alone", many_alone, target=four),
        *_rate("4 connections, 40 hosts, as the product does it", many_product, target=four),
        at_most("bytes a grade on the server", size, target=None, unit="B", digits=0),
    ]


def _rate(name: str, sent: Sent, *, target: float) -> list[Figure]:
    rate = sent.grades / sent.seconds
    cpu = sent.cpu_seconds / sent.grades * 1e6
    return [
        Figure(f"{name}: grades a second, of {sent.grades:,}", f"{rate:,.0f}", f">= {target:,.0f}", met=rate >= target),
        Figure("  CPU of the clients a grade", f"{cpu:,.0f} \u00b5s"),
        Figure("  CPU of the server a grade", f"{sent.server_seconds / sent.grades * 1e6:,.0f} \u00b5s"),
    ]


def _bytes_a_row(server: Server) -> float:
    """With its part of the indexes."""
    [size] = _asked(server, "SELECT pg_total_relation_size('grader.grades') / count(*)::float8 FROM grader.grades")
    return float(size)


# -- seeing ------------------------------------------------------------------------------------------------------------


def seen_figures(server: Server, sandbox: Sandbox, settings: Settings, *, grades: int) -> list[Figure]:
    """Grade sessions while the product follows, and wait for each."""
    url = let_in(server, "laptop")
    send(settings, url)
    paths = write_sessions([sandbox.root] * grades, size=4_000, first_seed=1_000_000)
    command = [sys.executable, "-m", "grader_daemon", "fleet", "push", "--follow"]
    follower = subprocess.Popen(command, env=sandbox.environment | {"GRADER_FLEET_URL": url})
    try:
        with SelfGrader(settings=settings) as grader, server.admin() as looking:
            waited = [_until_seen(grader, looking, path) for path in _told(paths)]
    finally:
        Program(follower).stop()
    seconds, grading = zip(*waited, strict=True)
    return [
        at_most("from grading to the server: p50", percentile(seconds, 0.5), target=None, unit="s", digits=2),
        at_most("  p95", percentile(seconds, 0.95), target=FLEET_SEEN_SECONDS, unit="s", digits=2),
        at_most("  slowest", max(seconds), target=None, unit="s", digits=2),
        at_most("  of it grading, p50", percentile(grading, 0.5) * 1000, target=None, unit="ms"),
    ]


def _told(paths: Sequence[str]) -> Iterator[str]:
    for number, path in enumerate(paths):
        progress(f"seen {number} of {len(paths)}")
        yield path
    progress_done()


def _until_seen(grader: SelfGrader, looking: psycopg.Connection, path: str) -> tuple[float, float]:
    """Grade one session at some moment; gives the seconds until it was seen, and those that grading took."""
    time.sleep(random.uniform(0, _LOOKS_SECONDS))
    began = time.monotonic()
    name = grader.grading.grade_file(path).session_id
    graded = time.monotonic()
    while not _is_there(looking, name):
        if time.monotonic() - graded > _PATIENCE_SECONDS:
            raise SystemExit(f"waited {_PATIENCE_SECONDS:.0f} s in vain for {name}")
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - began, graded - began


def _is_there(looking: psycopg.Connection, name: str) -> bool:
    found = looking.execute("SELECT FROM grader.grades WHERE host = 'laptop' AND session_id = %s", (name,))
    return found.fetchone() is not None


# -- many rows ---------------------------------------------------------------------------------------------------------


def large_figures(server: Server, sandbox: Sandbox, settings: Settings, *, rows: int) -> list[Figure]:
    """Fill the table, and see what takes longer then."""
    before = _large(server, sandbox, settings, name="before")
    began = time.monotonic()
    _fill(server, rows)
    seconds = time.monotonic() - began
    [there, size] = _asked(server, "SELECT count(*), pg_total_relation_size('grader.grades') FROM grader.grades")
    after = _large(server, sandbox, settings, name="after")
    return [
        Figure(f"{there:,} rows", f"{size / 1e9:,.1f} GB", f"filled in {seconds:,.0f} s"),
        at_most("fleet status, by the clock: before", before[0], target=None, unit="ms", digits=0),
        at_most("  with these rows", after[0], target=None, unit="ms", digits=0),
        at_most("a batch of 1,000 new grades: before", before[1], target=None, unit="ms", digits=0),
        at_most("  with these rows", after[1], target=None, unit="ms", digits=0),
    ]


def _large(server: Server, sandbox: Sandbox, settings: Settings, *, name: str) -> tuple[float, float]:
    """Return the milliseconds of `fleet status`, and of a batch of a new host, the middle ones."""
    status = statistics.median(_status_seconds(server, sandbox) for _ in range(_STATUS_TIMES))
    with pushing(settings, let_in(server, name)) as export:
        batches = []
        for _ in range(_BATCHES_MEASURED):
            began = time.monotonic()
            if not export.run().more:
                break
            batches.append(time.monotonic() - began)
    return status * 1000, statistics.median(batches[:-1] or batches) * 1000


def _status_seconds(server: Server, sandbox: Sandbox) -> float:
    began = time.monotonic()
    sandbox.command("fleet", "status", "--url", server.url())
    return time.monotonic() - began


def _fill(server: Server, rows: int) -> None:
    """Copy rows of one host, with times of their own, to hosts of their own."""
    with server.admin() as connection:
        connection.execute("INSERT INTO grader.hosts (host) SELECT 'filled' || n FROM generate_series(0, 39) AS n")
        names = [name for (name,) in connection.execute(_COLUMNS)]
        made = ", ".join(_MADE.get(name, f"g.{name}") for name in names)
        [of_one] = _asked(server, "SELECT count(*) FROM grader.grades WHERE host = 'recorded'")
        copies, step = max(1, rows // of_one), max(1, _COPIES_AT_ONCE // of_one)
        for first in range(0, copies, step):
            progress(f"filled {first * of_one:,} of {rows:,} rows")
            connection.execute(
                f"INSERT INTO grader.grades ({', '.join(names)}) SELECT {made} FROM generate_series(%s::int, %s) AS n,"
                " grader.grades AS g WHERE g.host = 'recorded'",
                (first, min(first + step, copies) - 1),
            )
        progress_done()
        connection.execute("ANALYZE grader.grades")


_COLUMNS = (
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = 'grader' AND table_name = 'grades' ORDER BY ordinal_position"
)
_MADE = {
    "host": "'filled' || mod(n, 40)",
    "session_id": "g.session_id || '-' || n",
    "ended_at": "now() - random() * interval '365 days'",
}
"""What a copy has of its own."""


def _asked(server: Server, sql: str) -> tuple[Any, ...]:
    with server.admin() as connection:
        found = connection.execute(sql.encode()).fetchone()
    assert found is not None
    return found


# -- all of it ---------------------------------------------------------------------------------------------------------


def make_grades(settings: Settings, root: Path) -> int:
    """Grade the labelled sessions, or made ones; gives how many."""
    if not real_corpora(root, slices=None):
        made_corpus(root, "4 KB", slices=None)
    progress("grading")
    with SelfGrader(settings=settings) as grader:
        done = sum(len(results) for results in grader.grading.backfill(grader.grading.ungraded_files()))
    progress_done()
    return done


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grades", type=int, default=200, help="graded one at a time (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=0, help="rows more on the server (default: none)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder, serving(settings={}) as server:
        forget_settings(folder)
        sandbox = make_sandbox(folder)
        settings = load_settings(db_path=str(sandbox.database), watch_roots=[str(sandbox.root)])
        [version] = _asked(server, "SELECT current_setting('server_version')")
        print(f"PostgreSQL {version}, {make_grades(settings, sandbox.root):,} sessions graded\n")
        make_fleet(server)
        print_figures(sent_figures(server, settings))
        if options.grades:
            print_figures(seen_figures(server, sandbox, settings, grades=options.grades))
        if options.rows:
            print_figures(large_figures(server, sandbox, settings, rows=options.rows))


if __name__ == "__main__":
    main()
