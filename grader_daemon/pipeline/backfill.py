"""Many units, in this process or in several: they examine, one writes.

The ledger is asked first, so a backfill may be stopped at any time and started again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.helpers import CHUNK
from grader_daemon.pipeline.ingest import Ingest

_FOREVER = float("inf")
_LOOK_SECONDS = 0.1


def backfill(units: Sequence[Unit], ingest: Ingest, *, batch: int) -> Iterator[list[IngestResult]]:
    """Ingest `units`, at most `batch` to a transaction; in the processes of `ingest` if it is worth them."""
    if ingest.processes and len(units) > CHUNK:
        yield from _in_processes(units, ingest)
        return
    for start in range(0, len(units), batch):
        recorded, _ = ingest.ingest(units[start : start + batch], within_seconds=_FOREVER)
        yield recorded


def _in_processes(units: Sequence[Unit], ingest: Ingest) -> Iterator[list[IngestResult]]:
    ingest.hand_out(units)
    try:
        while ingest.busy:
            yield ingest.collect(within_seconds=_LOOK_SECONDS)
    finally:
        ingest.close()
