from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader_daemon.calibration.prior import Provenance, ShippedPrior, Validity
from grader_daemon.errors import ConfigurationError
from grader_daemon.rules.load_prior import load_prior, prior_text
from tests.calibration_examples import prior

MADE = ShippedPrior(
    prior=prior(),
    provenance=Provenance(data="examples", sessions={"there": 200}, made_on="2026-11-22", code_version="1"),
    validity=Validity(sources=2, ranking=0.7, model_matthews=0.3, rules_matthews=0.2),
)


def _file(tmp_path: Path, **changes: Any) -> Path:
    made = msgspec.to_builtins(MADE)
    made["prior"] |= changes
    path = tmp_path / "prior.json"
    path.write_bytes(msgspec.json.encode(made))
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "prior.json"
    path.write_text(prior_text(MADE))
    read = load_prior(path)
    assert (read.provenance, read.validity, read.prior.names) == (MADE.provenance, MADE.validity, MADE.prior.names)
    assert read.prior.weights == pytest.approx(MADE.prior.weights, rel=1e-5)
    assert prior_text(read) == prior_text(MADE)


def test_the_shipped_prior_names_its_data_and_was_tested_elsewhere() -> None:
    shipped = load_prior()
    assert "MINT" in shipped.provenance.data
    assert sum(shipped.provenance.sessions.values()) > 4_000
    assert shipped.validity.ranking is not None
    assert shipped.validity.ranking > 0.7
    assert len(shipped.prior.names) == len(shipped.prior.weights) == len(shipped.prior.scaling.scales)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"weights": [1.0]}, "not one number for each of its 4 features", id="a-weight-is-missing"),
        pytest.param({"names": []}, "not one number for each of its 0 features", id="no-features"),
        pytest.param({"variances": [1.0, 1.0, 0.0, 1.0]}, "must be above 0", id="a-variance-of-nothing"),
        pytest.param({"base_rate": 1.0}, "base_rate must be between 0 and 1", id="all-completed"),
        pytest.param({"intercept": 1e7}, "must be at most 1e+06", id="an-intercept-beyond-all"),
        pytest.param({"threshold": 1.5}, "threshold must be between 0 and 1", id="a-threshold-above-1"),
        pytest.param({"threshold": "high"}, "not a file of `calibration train`: Expected `float`", id="no-number"),
    ],
)
def test_a_wrong_prior_is_refused_in_one_line(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=r"calibration_prior .*prior\.json: ") as refused:
        load_prior(_file(tmp_path, **changes))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param(b"{", "not a file of `calibration train`", id="half-a-file"),
        pytest.param(b'{"x": "\xff"}', "not a file of `calibration train`", id="not-utf-8"),
    ],
)
def test_a_file_that_holds_none_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "prior.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=said):
        load_prior(path)
