from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import msgspec
import pytest

from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.evaluation import FEWEST_OF_EACH, Evaluation, cross_validate, evaluate, predict
from grader_daemon.calibration.samples import Sample
from grader_daemon.domain.completion_model import CompletionModel
from tests.calibration_examples import prior, samples
from tests.examples import repeats

PRIOR = prior()
OTHER = (0.0, 0.0, 3.0, 0.0)


LABELLED = {
    "no-labels": [],
    "too-few": samples(19, intercept=-3.0),
    "too-few-tasks": samples(40, intercept=-3.0, tasks=4),
    "another-level": samples(49, intercept=-3.0),
    "other-weights": samples(200, weights=(0.0, 0.0, 4.0, 0.0)),
}


@cache
def _evaluated(labels: str) -> Evaluation:
    return evaluate(PRIOR, LABELLED[labels], history=[])


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ("no-labels", ""),
        ("too-few", ""),
        ("too-few-tasks", ""),
        ("another-level", "level and slope"),
        ("other-weights", "weights"),
    ],
)
def test_the_most_that_labels_are_shown_to_teach_is_taken(labels: str, name: str) -> None:
    labelled, evaluation = LABELLED[labels], _evaluated(labels)
    assert evaluation.name == name
    assert len(evaluation.likely) == len(evaluation.verdicts) == evaluation.gain.sample == len(labelled)


def test_what_teaches_nothing_leaves_the_prior_at_the_level_of_the_sessions() -> None:
    evaluation = evaluate(PRIOR, [], history=[each.features for each in samples(20, seed=9)])
    assert not evaluation.is_taught
    assert evaluation.model.version.startswith(f"{PRIOR.version}~")


def test_a_level_of_its_own_turns_no_verdict() -> None:
    labelled = samples(49, intercept=-3.0)
    history = [each.features for each in samples(30, seed=9)]
    untaught, taught = evaluate(PRIOR, [], history).model, evaluate(PRIOR, labelled, history).model
    asked = samples(100, seed=10)
    assert [predict(taught, each)[1] for each in asked] == [predict(untaught, each)[1] for each in asked]
    assert sum(predict(taught, each)[0] for each in asked) < sum(predict(untaught, each)[0] for each in asked)


@pytest.mark.thorough
@pytest.mark.no_cover
def test_labels_without_meaning_teach_no_weights_though_the_prior_is_wrong() -> None:
    names = []
    for seed in range(repeats(5, thorough=10)):
        labelled = samples(100, seed=seed)
        told = [each.completed for each in labelled]
        random.Random(seed).shuffle(told)
        shuffled = [msgspec.structs.replace(each, completed=by) for each, by in zip(labelled, told, strict=True)]
        names.append(evaluate(PRIOR, shuffled, history=[]).name)
    assert names.count("weights") <= 1


def test_weights_need_enough_labels_of_either_outcome() -> None:
    labelled = samples(200, weights=OTHER)
    failed = [each for each in labelled if not each.completed]
    completed = [each for each in labelled if each.completed]
    assert evaluate(PRIOR, failed + completed[: FEWEST_OF_EACH - 1], history=[]).name != "weights"
    assert evaluate(PRIOR, failed, history=[]).name != "weights"


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("labels", "is_looked_at"),
    [
        pytest.param("another-level", False, id="too-few-labels"),
        pytest.param("other-weights", True, id="enough-labels"),
    ],
)
def test_labels_say_where_a_verdict_is_little_better_than_a_guess(labels: str, is_looked_at: bool) -> None:
    labelled, evaluation = LABELLED[labels], _evaluated(labels)
    seen = [(likely, each.completed) for likely, each in zip(evaluation.likely, labelled, strict=True)]
    assert evaluation.model.doubtful == (doubtful([seen]) if is_looked_at else PRIOR.doubtful)


@pytest.mark.no_cover
def test_a_model_is_named_by_what_it_says() -> None:
    labelled = samples(80, weights=(0.0, 0.0, 4.0, 0.0))
    made = [evaluate(PRIOR, some, history=[]).model.version for some in (labelled, labelled, labelled[1:])]
    assert made[0] == made[1] != made[2]
    assert all(version.startswith(f"{PRIOR.version}-") for version in made)


def test_a_model_without_an_idea_guesses_that_a_session_failed() -> None:
    [unknown] = [Sample(features=(), completed=True, task="t")]
    assert predict(PRIOR.model, unknown) == (0.0, False)


def test_every_label_is_told_by_a_model_that_has_not_seen_its_task() -> None:
    labelled = samples(40, tasks=8)

    def teacher(some: Sequence[Sample]) -> CompletionModel:
        tasks.append({each.task for each in some})
        return PRIOR.model

    tasks: list[set[str]] = []
    found = cross_validate(teacher, labelled)
    assert found.likely == tuple(predict(PRIOR.model, each)[0] for each in labelled)
    assert all(any(each.task not in seen for seen in tasks) for each in labelled)
    assert len(tasks) == 5
