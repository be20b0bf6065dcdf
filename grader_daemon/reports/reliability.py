"""Reliability of grades, in words: calibrations, agreement of verdicts with people, reliability of probabilities.

Numbers stand with their intervals and the number of labels; what has no value is a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from grader_daemon.domain.calibration import (
    FEWEST_LABELS,
    Agreement,
    Calibration,
    Evidence,
    LabelCounts,
    ReliabilityBin,
)
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import VerdictBy, VerdictSetting
from grader_daemon.reports.numbers import DASH, MINUS, UNKNOWN
from grader_daemon.reports.verdicts import grader_name

AGREEMENT_ROWS: Final = (
    ("Brier score (0 is best)", "brier"),
    ("calibration error", "ece"),
    ("Matthews correlation", "mcc"),
    ("Cohen's kappa", "kappa"),
    ("area under the curve", "auc"),
)
UNSEEN: Final = (
    "the model that comes with the program, on data kept apart from development: area under the curve 0.60,"
    " and where it was sure that a task was done, it was right in 54 % of cases"
)
"""Measured worth of the model that comes with the program; see `docs/validity.md`."""

_BAR: Final = 40
"""Characters of a bar from 0 to 100 %."""


def calibration_lines(made: Calibration) -> Iterator[str]:
    """Return what a calibration found, and what it changed."""
    evidence = made.evidence
    yield f"{label_words(evidence.counts)}."
    yield f"{sentence(evidence.why)}."
    yield f"Verdicts by the {grader_name(made.verdict_by)}: {because_words(made.policy, evidence)}."
    if not made.adopted:
        yield "Nothing changes."
        return
    if made.completion_policy.version == evidence.before:
        yield "The result is stored; weights and verdicts do not change."
        return
    yield f"Adopted: {evidence.before} becomes {made.completion_policy.version}."
    if not evidence.counts.total:
        yield f"The base rate comes from {evidence.sessions} finished sessions."
        return
    yield (
        f"The probability of labelled sessions changes by {evidence.shift:.3f} on average,"
        f" and {evidence.turned} verdicts of the model change."
    )
    for change in evidence.weights:
        yield f"  {change.name}: {number_words(change.before)} to {number_words(change.after)}"


def trial_words(made: Calibration, before: float | None) -> tuple[str, ...]:
    """Return what a calibration would change; `before` is the agreement of the verdicts of now, if it is known."""
    if not made.adopted or made.completion_policy.version == made.evidence.before:
        return (f"{label_words(made.evidence.counts)}.", f"{sentence(made.evidence.why)}.", "No verdict would change.")
    measured = made.evidence.model if made.verdict_by is VerdictBy.MODEL else made.evidence.rules
    now = None if measured is None else measured.mcc.value
    known = [f"{each:.2f}".replace("-", MINUS) for each in (before, now) if each is not None]
    arrow = " \N{RIGHTWARDS ARROW} "
    agreement = "" if now is None else f"Agreement with your labels: {arrow.join(known)} (1 is best)."
    turned = f"{count(made.evidence.turned, 'verdict')} on labelled sessions would change."
    return tuple(filter(None, (agreement, turned)))


def label_words(counts: LabelCounts) -> str:
    """Return how many labels there are to learn from, and how they came."""
    others = "" if not counts.left_out else f"; {counts.left_out} {_are(counts.left_out)} too old or unfinished"
    if not counts.total:
        return f"No label is used yet{others}; calibration needs {FEWEST_LABELS}"
    kinds = (
        (counts.random, "on random sessions"),
        (counts.uncertain, "on uncertain sessions"),
        (counts.given, "chosen by you"),
        (counts.rewards, "from rewards"),
    )
    said = ", ".join(f"{count} {kind}" for count, kind in kinds if count)
    few = "" if counts.total >= FEWEST_LABELS else f"; calibration needs {FEWEST_LABELS}"
    given = counts.total + counts.left_out
    return f"{counts.total} of your {given} labels {_are(counts.total)} used ({said}){others}{few}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def because_words(policy: VerdictSetting, evidence: Evidence) -> str:
    """Return why it is the rules, or the model, that decide."""
    if policy is not VerdictSetting.AUTO:
        return f"the setting verdict says {policy}"
    if evidence.by_labels:
        return f"by your labels, the {grader_name(evidence.better)} did better on sessions not used for training"
    return (
        f"the {grader_name(evidence.better)} did better on public data that it was not trained on; only your labels can"
        " show whether it does better on your sessions"
    )


def sentence(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def number_words(value: float) -> str:
    """Return a number of about 1 with its sign."""
    return f"{value:+.3f}".replace("-", MINUS)


def agreement_words(estimate: Estimate) -> str:
    """Return a number with its interval: "0.21 (0.18-0.24)"."""
    if estimate.value is None:
        return UNKNOWN
    shown = f"{estimate.value:.2f}".replace("-", MINUS)
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} ({estimate.low:.2f}{DASH}{estimate.high:.2f})".replace("-", MINUS)


def agreement_table(rules: Agreement, model: Agreement) -> list[tuple[str, str, str, str]]:
    """Return name, model and rules of each number, and the number of labels, row by row."""
    return [
        (
            name,
            agreement_words(getattr(model, field)),
            agreement_words(getattr(rules, field)),
            str(getattr(model, field).sample),
        )
        for name, field in AGREEMENT_ROWS
    ]


def reliability_lines(bins: Sequence[ReliabilityBin]) -> Iterator[tuple[str, bool]]:
    """Draw how often what was called likely came true: a bar is what people say, the mark what the model had said.

    Each line comes with whether what was said is within the interval of what people say.
    """
    for each in bins:
        share = each.completed.value or 0.0
        bar = list("#" * round(share * _BAR) + " " * (_BAR - round(share * _BAR)))
        bar[min(_BAR - 1, int(each.likely * _BAR))] = "|"
        said = (
            f"  {each.likely:4.0%} said  {''.join(bar)}  {agreement_words(each.completed)} of {each.completed.sample}"
        )
        yield said, (each.completed.low or 0.0) <= each.likely <= (each.completed.high or 0.0)
