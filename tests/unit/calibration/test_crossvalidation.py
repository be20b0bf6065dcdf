from __future__ import annotations

import msgspec
import pytest

from grader_daemon.calibration.crossvalidation import (
    Prediction,
    doubtful_elsewhere,
    folds,
    has_both,
    leave_out,
    predictions,
    validity,
)
from tests.calibration_examples import DIRECTIONS, sample, samples


def test_parts_are_about_equally_large_and_never_share_a_task() -> None:
    labelled = samples(50, tasks=12)
    parts = folds(labelled)
    tasks = [{labelled[index].task for index in part} for part in parts]
    assert sorted(index for part in parts for index in part) == list(range(50))
    assert all(tasks[one].isdisjoint(tasks[other]) for one in range(5) for other in range(one))
    assert max(map(len, parts)) - min(map(len, parts)) <= 5


def test_one_task_makes_one_part() -> None:
    assert folds(samples(6, tasks=1)) == [[0, 1, 2, 3, 4, 5]]


def test_each_source_is_left_out_once_and_relatives_together() -> None:
    labelled = [
        sample(1.0, source="a", task="1"),
        sample(1.0, source="b", task="2"),
        sample(2.0, source="c", task="1"),
        sample(3.0, source="d", task="3"),
        sample(3.0, source="e", task="3"),
    ]
    left = [sorted({each.source for each in tested}) for _, tested in leave_out(labelled)]
    assert sorted(left) == [["a", "c"], ["b"], ["d", "e"]]
    assert all(
        {each.source for each in training}.isdisjoint(names)
        for (training, _), names in zip(leave_out(labelled), left, strict=True)
    )


def test_one_source_is_tested_by_parts_of_its_tasks() -> None:
    labelled = samples(50, tasks=10)
    splits = list(leave_out(labelled))
    assert len(splits) == 5
    assert all({each.task for each in training}.isdisjoint(each.task for each in tested) for training, tested in splits)


def test_a_prior_is_measured_where_it_was_not_trained() -> None:
    labelled = [each for source in ("a", "b", "c") for each in samples(150, source=source)]
    found = validity(predictions(labelled, DIRECTIONS))
    assert found.sources == 3
    assert found.ranking is not None
    assert 0.7 < found.ranking < 1
    assert found.model_matthews is not None
    assert found.rules_matthews is not None


def test_where_the_rest_teaches_nothing_nothing_is_measured() -> None:
    failed = [msgspec.structs.replace(each, completed=False) for each in samples(20, source="failures")]
    found = validity(predictions([*samples(40), *failed], DIRECTIONS))
    assert (found.sources, found.ranking, found.model_matthews) == (0, None, None)


def test_verdicts_are_doubtful_where_as_many_were_not_completed() -> None:
    wrong = [Prediction(sample(0.0, completed=number % 2 == 0), 0.9, completed=True) for number in range(90)]
    assert doubtful_elsewhere({"a": wrong})[1] > 0.9
    assert doubtful_elsewhere({}) == pytest.approx((0.425, 0.625), abs=0.05)


@pytest.mark.parametrize(
    ("completed", "expected"),
    [pytest.param((True, False), True, id="both"), pytest.param((True, True), False, id="one")],
)
def test_there_must_be_both_outcomes_in_one_source(completed: tuple[bool, bool], expected: bool) -> None:
    assert has_both([sample(1.0, completed=completed[0]), sample(2.0, completed=completed[1])]) is expected
    assert not has_both([sample(1.0, source="a"), sample(2.0, source="b", completed=False)])
