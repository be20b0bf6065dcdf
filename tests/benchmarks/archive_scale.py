"""What an archive of a billion sessions takes, by what one session costs: arithmetic, and a simulation of the cluster.

Of the cluster it is simulated who waits for whom: each worker has as many shards in hand as `archive.driver` hands out,
and what it found waits until the one process that writes has saved it. Assumed is that a session costs the same however
many are in the database, that workers are as fast as the core that was measured, and that nobody waits for the network
or the disk.
"""

from __future__ import annotations

from collections import deque
from heapq import heapreplace
from typing import Final, NamedTuple

from tests.benchmarks.machine import print_table

SESSIONS: Final = 1_000_000_000

WORKER_MICROSECONDS: Final = 2_280.0
WRITER_MICROSECONDS: Final = 480.0
"""CPU of a session from .tar.zst in a worker, and in the process that writes: measured, see docs/performance.md."""
SHARD_SESSIONS: Final = 4_400
"""In a tar file of 64 MB."""
AHEAD: Final = 2

BYTES: Final = {
    "plain files": 14_400,
    "in .tar.zst": 2_140,
    "from worker to writer": 414,
    "SQLite": 3_960,
    "Parquet": 99,
}
"""Of a session: measured."""

CORE_HOUR_DOLLARS: Final = 0.04
READ_DOLLARS: Final = 0.4e-6
MONTH_OF_BYTE_DOLLARS: Final = 0.023e-9
"""What a core, a read of an object and its bytes cost, about, where such things are rented."""


class Simulated(NamedTuple):
    """What became of a run: seconds, and the shares of them in which the writer and the workers had something to do."""

    seconds: float
    writer: float
    workers: float


def simulate(workers: int, *, shards: int) -> Simulated:
    """Play a run of some shards, which are examined and saved in the order in which they are handed out."""
    examine, save = (SHARD_SESSIONS * each / 1e6 for each in (WORKER_MICROSECONDS, WRITER_MICROSECONDS))
    free_at = [0.0] * workers
    in_hand = deque([0.0] * (workers * AHEAD))
    """When each of those that are handed out was saved: then the next one is handed out."""
    saved_at = 0.0
    for _ in range(shards):
        examined_at = max(in_hand.popleft(), free_at[0]) + examine
        heapreplace(free_at, examined_at)
        saved_at = max(saved_at, examined_at) + save
        in_hand.append(saved_at)
    return Simulated(saved_at, shards * save / saved_at, shards * examine / saved_at / workers)


def print_scale() -> int:
    """Print what a billion sessions take by the clock, of processors, of disks and of money."""
    rows = []
    for workers, writers in ((1, 1), (2, 1), (4, 1), (5, 1), (8, 1), (16, 1), (4, 12), (4, 100)):
        run = simulate(workers, shards=SESSIONS // SHARD_SESSIONS // writers)
        cores = writers * (workers + 1)
        rows.append(
            (
                f"{writers} x {workers}",
                f"{SESSIONS / run.seconds:,.0f}",
                _time(run.seconds),
                f"{run.writer:.0%}",
                f"{run.workers:.0%}",
                f"{cores * run.seconds / 3600 * CORE_HOUR_DOLLARS:,.0f}",
            )
        )
    print_table(("writers x workers", "a second", "takes", "writer busy", "workers busy", "dollars for cores"), rows)
    processor = SESSIONS * (WORKER_MICROSECONDS + WRITER_MICROSECONDS) / 1e6 / 3600
    print(f"{processor:,.0f} hours of a core, {processor * CORE_HOUR_DOLLARS:,.0f} dollars if all of them are busy")
    objects = SESSIONS / SHARD_SESSIONS
    reads = (
        f"{SESSIONS * READ_DOLLARS:,.0f} dollars one by one, {objects * READ_DOLLARS:.2f} in {objects:,.0f} tar files"
    )
    print(f"reads: {reads}\n")
    print_table(
        ("what", "bytes a session", "TB in all", "dollars a month"),
        [
            (name, f"{each:,}", f"{each * SESSIONS / 1e12:.2f}", f"{each * SESSIONS * MONTH_OF_BYTE_DOLLARS:,.0f}")
            for name, each in BYTES.items()
        ],
    )
    return 0


def _time(seconds: float) -> str:
    return f"{seconds / 86_400:.1f} days" if seconds > 2 * 86_400 else f"{seconds / 3600:.1f} hours"
