from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.alerts.budget import part_of
from grader_daemon.domain.alert import Metric, Stream
from grader_daemon.domain.rollup import Dimension
from tests.alert_examples import SHIPPED

ALL_SESSIONS = [Stream(metric, Dimension.OVERALL, "") for metric in Metric]
CODING = Stream(Metric.COMPLETION_RATE, Dimension.TASK_TYPE, "coding")


@given(groups=st.integers(1, 1000))
def test_all_parts_together_are_the_whole(groups: int) -> None:
    of_all = sum(part_of(stream, groups=groups, rules=SHIPPED) for stream in ALL_SESSIONS)
    assert of_all + groups * part_of(CODING, groups=groups, rules=SHIPPED) == pytest.approx(1)


def test_the_completion_rate_of_all_sessions_has_the_largest_part() -> None:
    parts = {stream: part_of(stream, groups=14, rules=SHIPPED) for stream in [*ALL_SESSIONS, CODING]}
    assert max(parts, key=parts.__getitem__) == ALL_SESSIONS[0]
    assert min(parts, key=parts.__getitem__) == CODING


def test_a_group_that_is_not_counted_yet_has_the_part_of_a_first_one() -> None:
    assert part_of(CODING, groups=0, rules=SHIPPED) == part_of(CODING, groups=1, rules=SHIPPED)
