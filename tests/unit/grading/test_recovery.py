from __future__ import annotations

import pytest

from grader_daemon.domain.analysis import Analysis
from grader_daemon.grading.scores import grade_recovery
from tests.strategies import analysis, failures


@pytest.mark.parametrize(
    ("found", "recovered", "rule", "messages"),
    [
        pytest.param(analysis(), True, "recovery.no_failures", (), id="no-failures"),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=True, recovery_index=6),
            True,
            "recovery.recovered",
            (4, 6),
            id="recovered",
        ),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=False), False, "recovery.not_recovered", (4,), id="not"
        ),
        pytest.param(
            analysis(failures=failures(2), errors_recovered=False, recovery_index=6),
            False,
            "recovery.not_recovered",
            (4,),
            id="success-but-no-answer",
        ),
    ],
)
def test_recovery_shows_the_last_failure_and_the_success_after_it(
    found: Analysis, recovered: bool, rule: str, messages: tuple[int, ...]
) -> None:
    verdict, reason = grade_recovery(found)
    assert (verdict, reason.score, reason.rule, reason.messages) == (recovered, "errors_recovered", rule, messages)
