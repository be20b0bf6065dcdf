"""Archives of old sessions: graded by this process, or on a Dask cluster of this machine or another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from grader_daemon import bootstrap
from grader_daemon.api.context import GraderContext
from grader_daemon.archive.driver import ShardDone, grade_archive
from grader_daemon.archive.objects import Archive, import_package
from grader_daemon.archive.store import ArchiveProgress
from grader_daemon.errors import InputError

__all__ = ["Archive", "ShardDone", "backfill_archive", "cluster"]

_CLUSTER: Final = {
    "distributed.comm.timeouts.connect": "120s",  # workers of a busy machine
    "distributed.deploy.lost-worker-timeout": "365d",  # else one that ends again while it is started anew is given up
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""Of a cluster that is started here. What Dask watches itself by takes a twelfth of two cores; nobody looks at it."""


def backfill_archive(context: GraderContext, archive: Archive, client: Any | None) -> Iterator[ShardDone]:
    """Grade what is in an archive and was not graded by an earlier call; yields part by part.

    `client` is a `distributed.Client`, whose workers have this package installed and can read the archive; None: this
    process reads it.

    Raises:
        ConfigurationError: a package is missing, or rules or prior are wrong.
        InputError: the archive cannot be listed.
        StoreError: what was found cannot be saved.
    """
    settings, store = context.settings, context.make_store()
    ingest = bootstrap.make_ingest(settings, store, policy=bootstrap.make_policy(settings, store), clock=context.now)
    return grade_archive(
        archive,
        client,
        ingest.examiner,
        save=ingest.save_examined,
        done=ArchiveProgress(store),
        batch=settings.batch_sessions,
        now=context.now(),
    )


@contextmanager
def cluster(*, workers: int, scheduler: str | None = None) -> Iterator[Any]:
    """Connect to the cluster of a scheduler, or start one of so many processes here, for this user alone.

    Raises:
        ConfigurationError: the package distributed is not installed.
        InputError: there is no scheduler.
    """
    distributed = import_package("distributed")
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout="10s")
        except (OSError, ValueError) as error:
            raise InputError(f"{scheduler}: no scheduler answers: {error}") from error
        with client:
            yield client
        return
    import_package("dask").config.set(_CLUSTER)
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="tls://127.0.0.1",
            security=True,  # whoever reaches a scheduler can run programs as its user
            dashboard_address="127.0.0.1:0",  # of its metrics; None is port 8787, which another cluster may have
            scheduler_kwargs={"dashboard": False},
            silence_logs="CRITICAL",
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client
