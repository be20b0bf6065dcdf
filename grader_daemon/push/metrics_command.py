"""``export metrics``: what is known of all sessions, for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks
from grader_daemon.domain.text import clean
from grader_daemon.push.exposition import prometheus_text
from grader_daemon.push.metrics import read_metrics, write_metrics


@click.command("metrics")
@asks
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(*, grader: SelfGrader, out: Path | None) -> None:
    """Print metrics in Prometheus's text format.

    With --out, every user can read the file, also Prometheus's textfile collector. The file is never half written.
    The setting metrics_file lets the daemon update a file.
    """
    text = prometheus_text(read_metrics(grader.context))
    if out is None:
        output.line(text.rstrip("\n"))
    else:
        write_metrics(out, text)
        output.line(clean(f"{out} is written."))
