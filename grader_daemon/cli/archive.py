"""``backfill ARCHIVE``: old sessions, on a cluster."""

from __future__ import annotations

import sys
from collections import Counter

from grader_daemon import IngestOutcome
from grader_daemon.api.archive import Archive, backfill_archive, cluster
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.outcomes import is_trouble, tell_outcomes
from grader_daemon.reports.numbers import count


def grade_archive(grader: SelfGrader, url: str, *, workers: int, scheduler: str | None, as_json: bool) -> int:
    """Grade an archive with a progress bar, tell what came of it, and return the exit code."""
    archive = Archive(url)
    outcomes: Counter[IngestOutcome] = Counter()
    others = troubles = 0
    # A terminal is told how much is left, which takes a look at all names first.
    total = sum(stored.bytes for stored in archive.objects()) if sys.stderr.isatty() else 0
    with cluster(workers=workers, scheduler=scheduler) as client, output.progress("Grading", total) as advance:
        for shard in backfill_archive(grader.context, archive, client):
            outcomes.update(each.outcome for each in shard.recorded)
            others += shard.others
            troubles += len(shard.unreadable) + len(shard.bugs)
            for name, reason in shard.unreadable:
                output.error(f"grader-daemon: {archive.url}/{name}: {reason}")
            for bug in shard.bugs:
                output.error(f"grader-daemon: internal error: {bug.splitlines()[-1]}")
            advance(shard.bytes)
    tell_outcomes(outcomes, as_json=as_json)
    if others and not as_json:
        output.line(f"No session of a known agent was found in {count(others, 'file')}.")
    return 1 if troubles or is_trouble(outcomes) else 0
