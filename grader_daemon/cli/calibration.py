"""``calibration``: how sure grades are and why, and learning from labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.calibration import CalibrationState, Weight
from grader_daemon.api.documents import calibration_document, calibration_state_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.calibration.prior import Provenance, Validity
from grader_daemon.cli import output
from grader_daemon.cli.groups import GroupWithDefault
from grader_daemon.cli.options import asks, json_option, read_settings, settings_options
from grader_daemon.domain.calibration import Calibration, LabelCounts
from grader_daemon.domain.text import clean
from grader_daemon.reports.early_words import worth_words
from grader_daemon.reports.numbers import COMPLETION, MINUS, value_words
from grader_daemon.reports.reliability import (
    UNSEEN,
    agreement_table,
    calibration_lines,
    label_words,
    number_words,
    reliability_lines,
    sentence,
)
from grader_daemon.reports.verdicts import grader_name

if TYPE_CHECKING:
    from grader_daemon.api.training import Trained

_LISTED_WEIGHTS = 10
_WEIGHTS_NOTE = "A weight above 0 makes it likelier that the task is done, a weight below 0 less likely."


@click.group("calibration", cls=GroupWithDefault, default="show")
def command() -> None:
    """Show how reliable grades are, and learn from your labels. Without a subcommand, it is `calibration show`."""


@command.command("show")
@asks
@json_option
def show(*, grader: SelfGrader, as_json: bool) -> None:
    """Show which grader gives verdicts, why, and how often it agrees with labels it did not learn from."""
    state = grader.calibration.state()
    if as_json:
        output.document(calibration_state_document(state))
    else:
        _print(state)


def _print(state: CalibrationState) -> None:
    output.facts(
        [
            ("verdicts by", f"the {grader_name(state.verdict_by)}"),
            ("because", state.why),
            ("model", state.model),
            ("prior", state.prior),
            *(("", words) for words in _provenance(state.provenance, state.validity)),
            ("labels", label_words(LabelCounts() if state.look is None else state.look.evidence.counts)),
            ("live warnings", worth_words(state.while_running)),
        ]
    )
    if state.look is not None:
        _print_look(state.look)
    if state.new_labels:
        output.line()
        told = (
            "The newest labels are not used yet. Use them now: grader-daemon calibration update (automatic once a week)"
        )
        output.paragraph("", f"{told}.")
    _print_weights(state.weights)
    _print_history(state.history)


def _print_look(look: Calibration) -> None:
    evidence = look.evidence
    output.line()
    output.paragraph("", f"{sentence(evidence.why)}.")
    if evidence.model is not None and evidence.rules is not None:
        output.line()
        columns = ("on sessions not used for training", "model", "rules", "labels")
        output.table(columns, agreement_table(evidence.rules, evidence.model))
    if evidence.reliability:
        output.line()
        output.line("How often tasks were done, by their probability (| marks the probability):")
        for line, fits in reliability_lines(evidence.reliability):
            output.styled_line(line, "green" if fits else "yellow")


def _print_weights(weights: Sequence[Weight]) -> None:
    if weights:
        output.line()
        output.table(
            ("feature", "weight (above 0: more likely done)", "meaning"),
            [(each.name, number_words(each.weight), each.meaning) for each in weights[:_LISTED_WEIGHTS]],
        )
        output.paragraph("", _WEIGHTS_NOTE)


def _print_history(history: Sequence[Calibration]) -> None:
    if history:
        output.line()
        output.table(
            ("on", "labels", "adopted", "policy", "why"),
            [
                (each.made_at, each.labels, each.adopted, each.completion_policy.version, each.evidence.why)
                for each in history
            ],
        )


def _provenance(provenance: Provenance, validity: Validity) -> Iterator[str]:
    """Return what a prior was trained on, what it was worth there, and what the shipped one is worth elsewhere."""
    sessions = sum(provenance.sessions.values())
    yield f"{sessions:,} sessions of {len(provenance.sessions)} sources, {provenance.made_on}: {provenance.data}"
    if validity.ranking is not None:
        worth = f"area under the curve {validity.ranking:.2f}; {_matthews(validity)}"
        yield f"on its training sources, each left out in turn: {worth}"
        yield UNSEEN


def _matthews(validity: Validity) -> str:
    both = (("model", validity.model_matthews), ("rules", validity.rules_matthews))
    known = [f"{name} {value:.2f}" for name, value in both if value is not None]
    return f"Matthews correlation: {', '.join(known) or 'not known'}".replace("-", MINUS)


@command.command("update")
@asks
@click.option(
    "--dry-run", is_flag=True, help="Write nothing, only show whether the newly trained grader would be used."
)
@json_option
def update(*, grader: SelfGrader, dry_run: bool, as_json: bool) -> None:
    """Train the grader on your labels. If that makes it measurably better, use it for all grades from then on."""
    with output.busy("Learning from labels …"):
        made = grader.calibration.try_out() if dry_run else grader.calibration.learn()
    if as_json:
        output.document({"dry_run": dry_run, **calibration_document(made)})
        return
    for line in calibration_lines(made):
        output.paragraph("", line)
    if dry_run:
        output.line("Nothing was written.")
    elif made.number is None:
        output.line("Another calibration was adopted at the same time, so this one was dropped.")
    elif made.completion_policy.version != made.evidence.before:
        output.paragraph(
            "", "A running daemon updates all grades within a minute; without one, run grader-daemon grade --again."
        )


@command.command("level")
@asks
@click.argument("share", required=False)
@click.option("--forget", is_flag=True, help="Delete the guess.")
@json_option
def level(*, grader: SelfGrader, share: str | None, forget: bool, as_json: bool) -> None:
    """Store your guess of the share of tasks that get done, such as 70%. Without SHARE, show it.

    The guess is shown as the completion rate until 20 sessions chosen at random have labels. It changes no verdict.
    """
    if forget and share is not None:
        raise click.UsageError("--forget takes no SHARE")
    if forget or share is not None:
        grader.migrate()
    if share is not None:
        grader.calibration.guess_level(_share(share))
    if forget:
        grader.calibration.forget_level()
    guess = grader.calibration.level()
    if as_json:
        output.document({"level": None if guess is None else msgspec.to_builtins(guess)})
    elif guess is None:
        output.paragraph(
            "", "No guess is stored. About how many of ten tasks get done? grader-daemon calibration level 70%"
        )
    else:
        told = f"Your guess: {value_words(guess.rate, COMPLETION)} of tasks get done."
        output.paragraph("", f"{told} To replace it with labels: grader-daemon label")


def _share(text: str) -> float:
    """Read a share as 70% or 0.7."""
    try:
        rate = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise click.UsageError(f"SHARE: {clean(text)!r} is not a share of tasks; write 70% or 0.7")
    return rate


@command.command("train")
@settings_options
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--labels",
    required=True,
    type=click.Path(path_type=Path),
    help="Read labels from this table; columns: session_id, completed, source, task_id, family.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the start model to this file. Default: only measure."
)
@click.option("--data", help="Store this text with the start model: which sessions, which licence.")
@json_option
def train(*, folder: Path, labels: Path, out: Path | None, data: str | None, as_json: bool) -> None:
    """Train a start model (prior) from labelled sessions in FOLDER, and measure it on sources it did not learn from."""
    from grader_daemon.api.training import train as learn  # the other commands must not wait for it

    with output.busy("Reading sessions, and learning from them …"):
        trained = learn(read_settings(), folder, labels, data=data, clock=bootstrap.utc_now)
    if out is not None:
        output.file(out, trained.text)
    if as_json:
        output.document(_trained_document(trained, out))
    else:
        _print_trained(trained, out)


def _trained_document(trained: Trained, out: Path | None) -> dict[str, object]:
    made = trained.shipped
    return {
        "version": made.prior.version,
        "sessions": sum(made.provenance.sessions.values()),
        "labels_without_a_session": trained.missing,
        "validity": msgspec.to_builtins(made.validity),
        "file": None if out is None else str(out),
    }


def _print_trained(trained: Trained, out: Path | None) -> None:
    made, measured = trained.shipped, trained.shipped.validity
    output.facts(
        [
            ("sessions", f"{sum(made.provenance.sessions.values()):,}"),
            ("labels without a session", f"{trained.missing:,}"),
            ("sources tested, each left out in turn", measured.sources),
            ("area under the curve", _number(measured.ranking)),
            ("Matthews correlation, model", _number(measured.model_matthews)),
            ("Matthews correlation, rules", _number(measured.rules_matthews)),
            ("better verdict", measured.better),
            ("version", made.prior.version),
        ]
    )
    if out is not None:
        output.paragraph("", clean(f"{out} is written. To use it, set calibration_prior to it."))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
