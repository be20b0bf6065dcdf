from __future__ import annotations

from grader_daemon.domain.calibration import GraderChange
from grader_daemon.domain.verdict import VerdictCounts
from tests.strategies import NOW, calibration, evidence


def test_a_calibration_changes_the_grader_where_it_counted_what_the_one_before_said() -> None:
    counts = VerdictCounts(done=2, not_done=1, unsure=3, no_answer=4)
    assert counts.answered == 6
    made = calibration(labels=7, evidence=evidence(why="labels say so", verdicts=counts))
    assert made.grader_change == GraderChange(at=NOW, labels=7, why="labels say so", before=counts)
    assert calibration().grader_change is None
