"""``grade --archive``: old sessions, in this process or on a cluster."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import nullcontext
from typing import Final

import click

from grader_daemon import IngestOutcome, IngestResult
from grader_daemon.api.grader import SelfGrader
from grader_daemon.archive.graded_archive import Archive, ShardDone, backfill_archive, cluster
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, asks, json_option
from grader_daemon.cli.outcome_lines import is_trouble, tell_outcomes
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.text import count

_SILENT_SECONDS: Final = 8.0
"""After so long a line says how far it is: with what is waited for, every ten seconds at least."""

_FIRST_SECONDS: Final = 2.0
_COPIES: Final = (SkipReason.COPY, SkipReason.SUPERSEDED)


@click.command("--archive")
@click.argument("url")
@asks
@click.option("--jobs", type=Whole(1, 64), default=1, show_default=True, help="Read files in this many processes.")
@click.option("--scheduler", metavar="URL", help="Read the archive on a Dask cluster; URL is its scheduler.")
@json_option
def command(*, grader: SelfGrader, url: str, jobs: int, scheduler: str | None, as_json: bool) -> int:
    """Grade an archive of old sessions. You can stop it at any time and start it again.

    URL is a local folder or file, or a remote one such as s3://bucket/sessions. The archive may contain
    sessions of any agent, plain or packed (.gz, .zst, .tar); see docs/archives.md.
    """
    archive = Archive(url)
    # A terminal is told how much is left, which takes a look at all names first.
    total = sum(stored.bytes for stored in archive.objects()) if sys.stderr.isatty() else 0
    summary = _Summary(archive.url, tells=not total)
    is_alone = jobs == 1 and scheduler is None
    workers = nullcontext() if is_alone else cluster(workers=jobs, scheduler=scheduler)
    with workers as client, output.progress("Grading", total) as advance:
        for part in backfill_archive(grader.context, archive, client):
            summary.add(part)
            advance(part.bytes)
    tell_outcomes(summary.outcomes, as_json=as_json)
    if not as_json:
        summary.tell_rest()
    return 1 if summary.troubles or is_trouble(summary.outcomes) else 0


class _Summary:
    """Results of an archive so far; where no bar shows it, a line says how far it is."""

    def __init__(self, url: str, *, tells: bool) -> None:
        self._url = url
        self._tells = tells
        self._told_at = time.monotonic() - _SILENT_SECONDS + _FIRST_SECONDS
        self._name = ""
        self._copies = self._others = 0
        self.outcomes: Counter[IngestOutcome] = Counter()
        self.troubles = 0

    def add(self, part: ShardDone) -> None:
        """Count a part, and tell what is wrong with it."""
        self.outcomes.update(each.outcome for each in part.recorded)
        self._copies += sum(map(self._copies_in, part.recorded))
        self._others += part.others
        self.troubles += len(part.unreadable) + len(part.bugs)
        for name, reason in part.unreadable:
            output.error(f"grader-daemon: {self._url}/{name}: {reason}")
        for each in part.recorded:
            if each.outcome is IngestOutcome.QUARANTINED:
                output.error(f"grader-daemon: {each.path}: {each.reason}")
        for bug in part.bugs:
            output.error(f"grader-daemon: internal error: {bug.splitlines()[-1]}")
        self._name = part.name or self._name
        self._tell_progress()

    def _copies_in(self, recorded: IngestResult) -> int:
        """Return how many sessions of the archive are known not to count beside another one of it, by this one."""
        replaced = recorded.instead_of is not None and recorded.instead_of.locator.startswith(f"{self._url}/")
        return len(recorded.fallen) + replaced + (recorded.reason in _COPIES)

    def tell_rest(self) -> None:
        """Print what was found that is no session, and which sessions are the same."""
        if self._copies:
            output.line(
                f"{self._copies:,} of them are copies or earlier parts of others: each such session gets one grade."
            )
        if self._others:
            output.line(f"No session of a known agent was found in {count(self._others, 'file')}.")

    def _tell_progress(self) -> None:
        now = time.monotonic()
        if self._tells and now - self._told_at >= _SILENT_SECONDS:
            self._told_at = now
            where = f"{self._url}/{self._name}" if self._name else self._url
            output.error(f"{where}: {count(self.outcomes.total(), 'session')} so far")
