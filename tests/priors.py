"""Models to begin with, for tests."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader_daemon.analysis.features import FEATURES
from grader_daemon.calibration.prior import Prior, Provenance, ShippedPrior, Validity
from grader_daemon.calibration.samples import Scaling
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.session_features import FEATURES_VERSION
from grader_daemon.domain.verdict import VerdictBy
from tests.strategies import model


def any_model(**changes: object) -> CompletionModel:
    """A model that reads the features of sessions and thinks nothing of any, but for `changes`."""
    zeros = (0.0,) * len(FEATURES)
    fields = {"names": tuple(FEATURES), "features_version": FEATURES_VERSION, "means": zeros, "weights": zeros}
    return model(**{**fields, **changes})


def prior(**changes: object) -> Prior:
    """A prior that looks at one feature and thinks nothing of it, but for `changes`."""
    base = Prior(
        version="p1",
        features_version=1,
        names=("a",),
        scaling=Scaling(means=(0.0,), scales=(1.0,)),
        weights=(0.0,),
        variances=(1.0,),
        intercept=0.0,
        base_rate=0.5,
        threshold=0.5,
    )
    return msgspec.structs.replace(base, **changes)


def write_prior(path: Path, *, better: VerdictBy = VerdictBy.RULES, **changes: object) -> Path:
    """Write a prior that reads the features of sessions and thinks nothing of any, but for `changes`."""
    zeros, ones = (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)
    fields = {
        "names": tuple(FEATURES),
        "features_version": FEATURES_VERSION,
        "scaling": Scaling(means=zeros, scales=ones),
        "weights": zeros,
        "variances": ones,
        **changes,
    }
    sure = 0.5 if better is VerdictBy.MODEL else 0.1
    shipped = ShippedPrior(
        prior=prior(**fields),
        provenance=Provenance(data="made up", sessions={"tests": 60}, made_on="2026-11-22", code_version="1"),
        validity=Validity(sources=2, ranking=0.7, model_matthews=sure, rules_matthews=0.2),
    )
    path.write_bytes(msgspec.json.encode(shipped))
    return path
