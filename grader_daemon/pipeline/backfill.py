"""Everything that is not graded yet, in one or several processes.

The ledger is asked first, so a backfill may be stopped at any time and started again. Several processes examine, one
writes.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import datetime

import msgspec

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import UngradableError
from grader_daemon.pipeline.commit import IngestResult
from grader_daemon.pipeline.examine import Examined, Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.trouble import examine_file

_DIED = (
    "a helper process died (out of memory? or a program without a guard of its main module?); what is graded is saved:"
    " start again for the rest, in one process"
)
_LARGEST_CHUNK = 250
_CHUNKS_PER_JOB = 8
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Examined]).decode
_examine: Callable[[Unit], Iterator[Examined]] | None = None
"""Set in every helper process when it starts."""


def backfill(units: Sequence[Unit], ingest: Ingest, *, batch: int) -> Iterator[list[IngestResult]]:
    """Ingest `units` in this process, `batch` to a transaction."""
    for start in range(0, len(units), batch):
        recorded, _ = ingest.ingest(units[start : start + batch], within_seconds=float("inf"))
        yield recorded


def regrade(
    units: Sequence[Unit], ingest: Ingest, *, batch: int, clock: Callable[[], datetime]
) -> Iterator[list[IngestResult]]:
    """Examine `units` in this process, also what is graded as it is, and save `batch` to a transaction."""
    for start in range(0, len(units), batch):
        now = clock()
        some = units[start : start + batch]
        yield ingest.save_examined(
            [examined for unit in some for examined in examine_file(ingest.examiner, unit, now=now)]
        )


def backfill_in_processes(
    units: Sequence[Unit],
    ingest: Ingest,
    *,
    jobs: int,
    make_examiner: Callable[[], Examiner],
    clock: Callable[[], datetime],
) -> Iterator[list[IngestResult]]:
    """Examine `units` in `jobs` processes and save here, one chunk to a transaction.

    `make_examiner` and `clock` are called in the helper processes, so they must be picklable.

    Raises:
        UngradableError: a helper process died.
    """
    chunk = max(1, min(_LARGEST_CHUNK, len(units) // (jobs * _CHUNKS_PER_JOB)))
    chunks = [units[start : start + chunk] for start in range(0, len(units), chunk)]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_helper, initargs=(make_examiner, clock))
    try:
        for done in as_completed([pool.submit(_examine_all, some) for some in chunks]):
            yield ingest.save_examined(_decode(done.result()))
    except BrokenProcessPool as error:
        raise UngradableError(_DIED) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start_helper(make_examiner: Callable[[], Examiner], clock: Callable[[], datetime]) -> None:
    """Runs in a helper process. The terminal's Ctrl-C is for the parent, which ends the helpers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    examiner = make_examiner()
    global _examine  # noqa: PLW0603  a pool hands its helpers nothing else
    _examine = lambda unit: examine_file(examiner, unit, now=clock())  # noqa: E731


def _examine_all(units: Sequence[Unit]) -> bytes:
    assert _examine is not None
    return _encode([examined for unit in units for examined in _examine(unit)])
