"""Read and write what is thought of sessions before their user labelled any: JSON, checked to the last number."""

from __future__ import annotations

import math
from importlib.resources import files
from itertools import chain
from pathlib import Path

import msgspec

from grader_daemon.calibration.prior import Prior, ShippedPrior
from grader_daemon.errors import ConfigurationError

_DIGITS = 6
_LARGEST = 1e6
"""Numbers beyond it are no work of `calibration train`, and none that can be reckoned with."""


def load_prior(path: Path | None = None) -> ShippedPrior:
    """Return the prior in a file, or the one that comes with the package.

    Raises:
        ConfigurationError: the file cannot be read, or holds no prior.
    """
    if path is None:
        return msgspec.json.decode(_shipped(), type=ShippedPrior)
    try:
        read = msgspec.json.decode(path.read_bytes(), type=ShippedPrior)
    except OSError as error:
        raise ConfigurationError(f"calibration_prior {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"calibration_prior {path}: not a file of `calibration train`: {error}") from error
    _check(read.prior, path)
    return read


def prior_text(shipped: ShippedPrior) -> str:
    """Return a prior as the text of its file; numbers are kept to six digits."""
    rounded = _rounded(msgspec.to_builtins(shipped))
    return msgspec.json.format(msgspec.json.encode(rounded), indent=1).decode() + "\n"


def _shipped() -> bytes:
    return files("grader_daemon.calibration").joinpath("prior.json").read_bytes()


def _check(prior: Prior, path: Path) -> None:
    features = len(prior.names)
    parts = (prior.scaling.means, prior.scaling.scales, prior.weights, prior.variances)
    if not features or any(len(part) != features for part in parts):
        raise ConfigurationError(f"calibration_prior {path}: not one number for each of its {features} features")
    if not all(map(math.isfinite, chain(*parts))) or min(*prior.scaling.scales, *prior.variances) <= 0:
        raise ConfigurationError(f"calibration_prior {path}: scales and variances must be above 0")
    if max(map(abs, (*prior.scaling.means, *prior.weights, prior.intercept))) > _LARGEST:
        raise ConfigurationError(
            f"calibration_prior {path}: means, weights and intercept must be at most {_LARGEST:.0e}"
        )
    if not 0 < prior.base_rate < 1:
        raise ConfigurationError(f"calibration_prior {path}: base_rate must be between 0 and 1")
    if not 0 <= prior.threshold <= 1:
        raise ConfigurationError(f"calibration_prior {path}: threshold must be between 0 and 1")
    if not 0 <= prior.self_taught <= _LARGEST:
        raise ConfigurationError(f"calibration_prior {path}: self_taught must be 0 or more")
    if not 0 <= prior.doubtful[0] <= prior.doubtful[1] <= 1:
        raise ConfigurationError(
            f"calibration_prior {path}: doubtful must be two numbers from 0 to 1, the lower one first"
        )


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
