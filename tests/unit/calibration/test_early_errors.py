"""What early errors say of how a task ends, and whether they say anything."""

from __future__ import annotations

import pytest

from grader_daemon.calibration.early_errors import early_errors, early_worth
from grader_daemon.domain.early import EarlyCount, EarlyReason


def counts(*tasks: tuple[int, int, int]) -> list[EarlyCount]:
    """Each as errors, how many such tasks were completed, and how many were not."""
    return [
        EarlyCount(errors, completed, number)
        for errors, *both in tasks
        for completed, number in zip((True, False), both, strict=True)
        if number
    ]


@pytest.mark.parametrize(
    ("errors", "span", "share", "sample"),
    [
        pytest.param(0, (0, 0), 0.75, 40, id="none"),
        pytest.param(1, (1, 2), 0.5, 40, id="one-or-two-together"),
        pytest.param(2, (1, 2), 0.5, 40, id="two"),
        pytest.param(4, (3, 10), 0.2, 20, id="three-and-more"),
    ],
)
def test_sessions_that_began_alike_are_told_together(
    errors: int, span: tuple[int, int], share: float, sample: int
) -> None:
    known = counts((0, 30, 10), (1, 15, 5), (2, 5, 15), (3, 4, 6), (10, 0, 10))
    found = early_errors(errors, known)

    assert (found.errors, (found.least, found.most)) == (errors, span)
    assert (found.completion.value, found.completion.sample) == (share, sample)


def test_of_fewer_than_twenty_no_share_is_told() -> None:
    found = early_errors(0, counts((0, 10, 9)))

    assert (found.completion.value, found.completion.sample) == (None, 19)


def test_errors_tell_where_completed_tasks_surely_have_fewer() -> None:
    found = early_worth(counts((0, 50, 10), (3, 10, 50)))

    assert found.reason is None
    assert found.area.value == pytest.approx(0.83, abs=0.01)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        pytest.param(counts((0, 30, 30), (3, 30, 30)), EarlyReason.NOT_TELLING, id="at-chance"),
        pytest.param(counts((0, 35, 25), (3, 25, 35)), EarlyReason.NOT_TELLING, id="not-surely"),
        pytest.param(counts((0, 60, 0), (3, 60, 0)), EarlyReason.NOT_TELLING, id="one-outcome"),
        pytest.param(counts((0, 50, 0), (3, 0, 49)), EarlyReason.TOO_FEW, id="too-few"),
    ],
)
def test_else_nothing_is_told_of_a_session_that_runs(known: list[EarlyCount], reason: EarlyReason) -> None:
    assert early_worth(known).reason is reason
