from __future__ import annotations

import pytest

from grader_daemon.calibration.doubt import doubtful
from grader_daemon.calibration.samples import Sample
from grader_daemon.calibration.trial import guess, taught, tried
from tests.calibration_examples import prior, samples

PRIOR = prior()


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
    trial = tried(PRIOR, labelled, history=[])
    assert trial.name == name
    assert len(trial.likely) == len(trial.verdicts) == trial.gain.sample == len(labelled)


def test_what_teaches_nothing_leaves_the_prior_at_the_level_of_the_sessions() -> None:
    history = [each.features for each in samples(20, seed=9)]
    trial = tried(PRIOR, [], history=history)
    assert taught(trial, [], history) == trial.untaught
    assert trial.untaught.version.startswith(f"{PRIOR.version}~")


@pytest.mark.parametrize(
    ("labelled", "is_looked_at"),
    [
        pytest.param(samples(49, intercept=-3.0), False, id="too-few-labels"),
        pytest.param(samples(200, weights=(0.0, 0.0, 4.0, 0.0)), True, id="enough-labels"),
    ],
)
def test_labels_say_where_a_verdict_is_little_better_than_a_guess(labelled: list[Sample], is_looked_at: bool) -> None:
    trial = tried(PRIOR, labelled, history=[])
    seen = [(likely, each.completed) for likely, each in zip(trial.likely, labelled, strict=True)]
    expected = doubtful([seen]) if is_looked_at else PRIOR.doubtful
    assert taught(trial, labelled, history=[]).doubtful == expected


def test_a_model_is_named_by_what_it_says() -> None:
    labelled = samples(200, weights=(0.0, 0.0, 4.0, 0.0))
    made = [
        taught(tried(PRIOR, some, history=[]), some, history=[]).version for some in (labelled, labelled, labelled[1:])
    ]
    assert made[0] == made[1] != made[2]
    assert all(version.startswith(f"{PRIOR.version}-") for version in made)


def test_a_model_without_an_idea_guesses_that_a_session_failed() -> None:
    [unknown] = [Sample(features=(), completed=True, task="t")]
    assert guess(PRIOR.model, unknown) == (0.0, False)
