"""``calibration``: what the probability of completion is learned from."""

from __future__ import annotations

from pathlib import Path

import click

from grader_daemon.cli import output
from grader_daemon.cli.options import read_settings
from grader_daemon.domain.text import clean


@click.group("calibration")
def command() -> None:
    """What the probability of completion is learned from, and how far it holds."""


@command.command("train")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--labels", required=True, type=click.Path(path_type=Path), help="A table: session_id, completed, source, task_id."
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the prior there; without it, only measure.")
@click.option("--data", help="What the sessions are and under which licence; kept with the prior.")
def train(*, folder: Path, labels: Path, out: Path | None, data: str | None) -> None:
    """Learn a prior from the labelled sessions below FOLDER, and measure it where it was not trained."""
    from grader_daemon.api.training import train as learn  # the other commands must not wait for it

    trained = learn(read_settings(), folder, labels, data=data)
    made, measured = trained.shipped, trained.shipped.validity
    output.facts(
        [
            ("sessions", f"{sum(made.provenance.sessions.values()):,}"),
            ("labels without a session", f"{trained.missing:,}"),
            ("sources tested, each left out", measured.sources),
            ("area under the curve", _number(measured.ranking)),
            ("Matthews correlation, model", _number(measured.model_matthews)),
            ("Matthews correlation, rules", _number(measured.rules_matthews)),
            ("better verdict", measured.better),
            ("version", made.prior.version),
        ]
    )
    if out is not None:
        output.file(out, trained.text)
        output.line(clean(f"{out} is written; the setting calibration_prior makes it the one in use."))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
