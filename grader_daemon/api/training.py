"""A prior from a folder of labelled sessions: the code that made the one that ships with the package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import xxhash

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.analysis.features import DIRECTIONS
from grader_daemon.calibration.crossvalidation import doubtful_elsewhere, has_both, predictions, validity
from grader_daemon.calibration.prior import Provenance, ShippedPrior
from grader_daemon.calibration.prior_training import train_prior
from grader_daemon.calibration.samples import Sample, by_source
from grader_daemon.domain.session_features import FEATURES_VERSION
from grader_daemon.errors import InputError
from grader_daemon.pipeline.labelled import Sampler, read_labels, samples_in
from grader_daemon.rules import load_rules
from grader_daemon.rules.load_prior import prior_text

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

FEWEST_SESSIONS = 50
"""Less of them say nothing that is worth to be kept."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """A prior, its file as text, and the labels whose sessions were not found or cannot be read."""

    shipped: ShippedPrior
    text: str
    missing: int


def train(
    settings: Settings,
    folder: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    *,
    data: str | None = None,
    clock: bootstrap.Clock,
) -> Trained:
    """Train a prior on the sessions below `folder` that the table `labels` names; `data` says what they are.

    Raises:
        InputError: a file is missing or wrong, there are too few sessions, or all of them ended alike.
    """
    said = read_labels(Path(labels))
    sampler = Sampler(load_rules(settings.rules_file))
    samples = list(samples_in(Path(folder), said, sampler=sampler, sources=bootstrap.make_sources(settings)))
    _check(samples, len(said))
    prior = train_prior(samples, DIRECTIONS, version=_version(samples), features_version=FEATURES_VERSION)
    predicted = predictions(samples, DIRECTIONS)
    shipped = ShippedPrior(
        prior=msgspec.structs.replace(prior, doubtful=doubtful_elsewhere(predicted)),
        provenance=Provenance(
            data=data or Path(os.path.abspath(folder)).name,
            sessions={source: len(each) for source, each in by_source(samples).items()},
            made_on=clock().date().isoformat(),
            code_version=__version__,
        ),
        validity=validity(predicted),
    )
    return Trained(shipped=shipped, text=prior_text(shipped), missing=len(said) - len(samples))


def _check(samples: Sequence[Sample], labels: int) -> None:
    if len(samples) < FEWEST_SESSIONS:
        raise InputError(
            f"read only {len(samples)} of {labels} labelled sessions; at least {FEWEST_SESSIONS} are needed"
        )
    if not has_both(samples):
        raise InputError("no source has both done and not done tasks, so there is nothing to learn")


def _version(samples: Sequence[Sample]) -> str:
    """Return a name for a prior by what it was trained on."""
    seen = sorted(msgspec.json.encode(sample) for sample in samples)
    return xxhash.xxh3_64_hexdigest(b"\n".join(seen))[:12]
