from __future__ import annotations

import msgspec
import pytest

from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.evaluation import cross_validate, evaluate, matthews_gain, predict, trained
from grader_daemon.calibration.samples import Sample
from grader_daemon.calibration.update import update
from tests.calibration_examples import prior, samples

PRIOR = prior()
OTHER = (0.0, 0.0, 3.0, 0.0)


@pytest.mark.parametrize(
    ("labelled", "name"),
    [
        pytest.param([], "", id="no-labels"),
        pytest.param(samples(19, intercept=-3.0), "", id="too-few"),
        pytest.param(samples(40, intercept=-3.0, tasks=4), "", id="too-few-tasks"),
        pytest.param(samples(49, intercept=-3.0), "the base rate", id="another-base-rate"),
        pytest.param(samples(200, weights=(0.0, 0.0, 4.0, 0.0)), "base rate and weights", id="other-weights"),
    ],
)
def test_the_most_that_labels_are_shown_to_teach_is_taken(labelled: list[Sample], name: str) -> None:
    evaluation = evaluate(PRIOR, labelled, history=[])
    assert evaluation.name == name
    assert len(evaluation.likely) == len(evaluation.verdicts) == evaluation.gain.sample == len(labelled)


def test_what_teaches_nothing_leaves_the_prior_at_the_level_of_the_sessions() -> None:
    history = [each.features for each in samples(20, seed=9)]
    evaluation = evaluate(PRIOR, [], history=history)
    assert trained(evaluation, [], history) == evaluation.untaught
    assert evaluation.untaught.version.startswith(f"{PRIOR.version}~")


@pytest.mark.parametrize(
    ("labelled", "is_looked_at"),
    [
        pytest.param(samples(49, intercept=-3.0), False, id="too-few-labels"),
        pytest.param(samples(200, weights=(0.0, 0.0, 4.0, 0.0)), True, id="enough-labels"),
    ],
)
def test_labels_say_where_a_verdict_is_little_better_than_a_guess(labelled: list[Sample], is_looked_at: bool) -> None:
    evaluation = evaluate(PRIOR, labelled, history=[])
    seen = [(likely, each.completed) for likely, each in zip(evaluation.likely, labelled, strict=True)]
    expected = doubtful([seen]) if is_looked_at else PRIOR.doubtful
    assert trained(evaluation, labelled, history=[]).doubtful == expected


def test_a_model_is_named_by_what_it_says() -> None:
    labelled = samples(80, weights=(0.0, 0.0, 4.0, 0.0))
    made = [
        trained(evaluate(PRIOR, some, history=[]), some, history=[]).version
        for some in (labelled, labelled, labelled[1:])
    ]
    assert made[0] == made[1] != made[2]
    assert all(version.startswith(f"{PRIOR.version}-") for version in made)


def test_a_model_without_an_idea_guesses_that_a_session_failed() -> None:
    [unknown] = [Sample(features=(), completed=True, task="t")]
    assert predict(PRIOR.model, unknown) == (0.0, False)


def test_learning_where_all_is_different_is_better_than_the_prior_and_better_than_rules_that_guess() -> None:
    labelled = [
        msgspec.structs.replace(each, by_rules=number % 2 == 0)
        for number, each in enumerate(samples(150, weights=OTHER))
    ]
    found = cross_validate(PRIOR, labelled, history=[], current=PRIOR.model)
    assert found.is_better
    gain, error = matthews_gain(labelled, found.verdicts)
    assert gain > error
    assert found.brier_gain.low is not None
    assert found.brier_gain.low > 0
    assert len(found.probabilities) == len(found.verdicts) == 150


def test_rules_that_are_always_right_are_not_beaten() -> None:
    labelled = [msgspec.structs.replace(each, by_rules=each.completed) for each in samples(60)]
    found = cross_validate(PRIOR, labelled, history=[], current=PRIOR.model)
    gain, error = matthews_gain(labelled, found.verdicts)
    assert gain <= error


def test_a_model_that_was_learned_from_the_same_labels_is_not_beaten() -> None:
    labelled = samples(80)
    assert not cross_validate(
        PRIOR, labelled, history=[], current=update(PRIOR, labelled, history=[], version="v")
    ).is_better
