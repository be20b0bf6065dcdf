from __future__ import annotations

import pytest

from grader_daemon.calibration.prior import Validity
from grader_daemon.domain.verdict import VerdictBy


@pytest.mark.parametrize(
    ("model", "rules", "better"),
    [
        pytest.param(0.3, 0.2, VerdictBy.MODEL, id="the-model-where-it-agrees-better"),
        pytest.param(0.2, 0.2, VerdictBy.RULES, id="the-rules-where-it-does-not"),
        pytest.param(None, None, VerdictBy.RULES, id="the-rules-where-nothing-was-measured"),
    ],
)
def test_the_better_verdict_is_told(model: float | None, rules: float | None, better: VerdictBy) -> None:
    assert Validity(sources=2, ranking=0.7, model_matthews=model, rules_matthews=rules).better is better
